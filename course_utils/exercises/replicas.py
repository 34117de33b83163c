"""The judge of a check on which all replicas agree, in notebook 07."""

import math

import numpy as np

from .answers import describe
from .functions import Function, edited

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
CASES = [  # (replicas, {(replica, array, place): what overflows})
    (2, {}),
    (2, {(1, 0, 2): math.inf}),
    (2, {(0, 1, 0): math.inf}),
    (3, {(2, 0, 1): math.nan}),
    (4, {(1, 0, 0): -math.inf, (3, 1, 1): math.nan}),
    (3, {(0, 1, 1): math.inf, (1, 1, 1): -math.inf}),  # their sum is NaN
    (2, {(r, 0, place): math.inf for r in range(2) for place in range(3)}),
    (3, {(1, 0, 1): -math.inf}),
    (1, {}),
]


def trials():
    """Gradients of each case: for each replica float32 arrays of three and of two numbers."""
    source, found = np.random.RandomState(7), []
    for replicas, spoiled in CASES:
        gradients = [
            [source.normal(0, 1, n).astype("float32") for n in (3, 2)] for _ in range(replicas)
        ]
        for (replica, array, place), value in spoiled.items():
            gradients[replica][array][place] = value
        found.append((gradients,))
    return found


def check_finite(gradients):
    """The slow and obvious reference: number by number."""
    values = [value for replica in gradients for array in replica for value in array]
    return [all(map(math.isfinite, values))] * len(gradients)


def _read(result):
    """`(list of bool, None)`, or `(None, what is wrong)`."""
    flags = list(result) if isinstance(result, (list, tuple)) or np.ndim(result) == 1 else [None]
    if all(str(flag) in ("True", "False") for flag in map(np.asarray, flags)):
        return [bool(flag) for flag in flags], None
    return None, f"{describe(result)}: a list with one flag for each replica is needed."


def _differs(arguments, flags, right):
    """Which case it is that comes out otherwise."""
    (gradients,) = arguments
    bad = [str(r) for r, g in enumerate(gradients) if not all(np.isfinite(a).all() for a in g)]
    where = (
        f"overflow on replica{'s' * (len(bad) > 1)} {' and '.join(bad)}" if bad else "all finite"
    )
    count = f"{len(gradients)} replica{'s' * (len(gradients) > 1)}"
    return f"{count}, {where}: you return {flags}."


AGREED = Function(
    check_finite,
    trials,
    {message: edited(CODE, NAME, edits) for message, edits in SLIPS.items()},
    rules=(
        (
            lambda gradients: check_finite(gradients)[:1],
            lambda arguments, flags, right: len(flags) != len(right),
            "Return as many flags as there are replicas.",
        ),
        (
            lambda gradients: [True, *check_finite(gradients)[1:]],
            lambda arguments, flags, right: len(set(flags)) > 1,
            "Your replicas do not agree. Decide once, for all of them.",
        ),
    ),
    read=_read,
    same=lambda flags, right: flags == right,
    differs=_differs,
    wrong=((lambda gradients: True, "True: a list with one flag"),),
)
