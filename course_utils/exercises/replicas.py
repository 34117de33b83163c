"""The judge of a check on which all replicas agree, in notebook 07."""

import math

import numpy as np

from .answers import call, describe
from .functions import Function, said_of, slipped

CODE = """\
import numpy as np


def check_finite(gradients):
    arrays = [array for replica in gradients for array in replica]
    return [all(np.isfinite(array).all() for array in arrays)] * len(gradients)"""
NAME, FINITE, ALL = "check_finite", "np.isfinite(array).all()", "[all("
SLIPS = {  # what to say, and the edits that make the right check a wrong one
    "Each replica decides alone here, and the others add up what is not finite. Decide once.": {
        "arrays)] * len(gradients)": "replica) for replica in gradients]"
    },
    "You look at replica 0 alone, as Keras's own does. Look at all of them.": {
        "in gradients for": "in gradients[:1] for"
    },
    "You look at the last replica alone.": {"in gradients for": "in gradients[-1:] for"},
    "You take the step if any replica is finite. All of them have to be.": {
        ALL: "[any(all(",
        "arrays)]": "replica) for replica in gradients)]",
    },
    "You look at the first array of each replica. There is one for each weight.": {
        "in replica]": "in replica[:1]]"
    },
    "You look for no overflow. `np.isfinite` is False for infinity and NaN.": {FINITE: "True"},
    "You look for NaN only. Infinity is an overflow too.": {FINITE: "not np.isnan(array).any()"},
    "You look for infinity only. NaN comes of an overflow too.": {
        FINITE: "not np.isinf(array).any()"
    },
    "You look for +infinity only. −infinity and NaN are overflows too.": {
        FINITE: "not np.isposinf(array).any()"
    },
    "True stands for a step that is taken.": {ALL: "[not all("},
}
CASES = (  # (replicas, {(replica, array, place): what overflows})
    (2, {}),
    (2, {(1, 0, 2): math.inf}),
    (2, {(0, 1, 0): math.inf}),
    (3, {(2, 0, 1): math.nan}),
    (4, {(1, 0, 0): -math.inf, (3, 1, 1): math.nan}),
    (3, {(0, 1, 1): math.inf, (1, 1, 1): -math.inf}),  # their sum is NaN
    (2, {(r, 0, place): math.inf for r in range(2) for place in range(3)}),
    (3, {(1, 0, 1): -math.inf}),
    (1, {}),
)


def gradients_of(case):
    """Gradients of a case: for each replica float32 arrays of three and of two numbers."""
    replicas, spoiled = case
    source = np.random.RandomState(7)
    gradients = [
        [source.normal(0, 1, n).astype("float32") for n in (3, 2)] for _ in range(replicas)
    ]
    for (replica, array, place), value in spoiled.items():
        gradients[replica][array][place] = value
    return gradients


def flags_of(check_finite, case):
    """`(the flags that a function gives for a case, None)`, or `(None, what is wrong)`."""
    result, problem = call(check_finite, gradients_of(case), end="`return`")
    if problem:
        return None, problem
    several, _ = call(lambda: isinstance(result, (list, tuple)) or np.ndim(result) == 1)
    flags, _ = call(lambda: [str(np.asarray(flag)) for flag in result] if several else [None])
    if flags is not None and set(flags) <= {"True", "False"}:
        return [flag == "True" for flag in flags], None
    needed = "a list with one flag for each replica is needed."
    return None, f"Your function returns {describe(result)}: {needed}"


def compare(check_finite, case):
    """The flags of a case, where they are wrong, and why, or None."""
    flags, problem = flags_of(check_finite, case)
    replicas, spoiled = case
    if problem or flags == [not spoiled] * replicas:
        return problem
    why = said_of(check_finite, WRONG, flags_of, CASES)
    if len(flags) != replicas:
        why = "Return as many flags as there are replicas."
    elif not why and len(set(flags)) > 1:
        why = "Your replicas do not agree. Decide once, for all of them."
    bad = sorted({replica for replica, *_ in spoiled}) or "none"
    said = f"Replicas: {replicas}, overflows on: {bad}; you return {flags}."
    return f"{said} {why or ''}".strip()


WRONG = slipped(CODE, NAME, SLIPS)
judge = Function(compare, CASES)
