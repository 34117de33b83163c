"""The judge of a check on which all replicas agree, in notebook 07.

The function runs as on a real strategy: on several replicas, and whoever comes to an
all-reduce waits for all others.
"""

import contextlib
import io
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from course_utils.exercises.answers import Mistake, attempt, call, describe
from course_utils.exercises.functions import Function, slipped

if TYPE_CHECKING:
    import tensorflow as tf

CODE = """\
import tensorflow as tf


def check_finite(gradients, context):
    present = [g for g in gradients if g is not None]
    finite = tf.reduce_all([tf.reduce_all(tf.math.is_finite(g)) for g in present])
    overflows = context.all_reduce("SUM", tf.cast(~finite, tf.float32))
    return overflows == 0

"""
NAME = "check_finite"
ALL_REDUCE = 'context.all_reduce("SUM", tf.cast(~finite, tf.float32))'
IS_FINITE = "tf.math.is_finite(g)"
STUCK = (
    "a replica waits in an all-reduce for good, because another one never comes to it"
)
BOOL = "True and False cannot be added up: cast the flag to `tf.float32` first."
GRAPH = (
    "It works on numbers and not in a graph, as which Keras runs it: use `tf.reduce_all` and"
    " `tf.cast` in place of `if`, `all` and NumPy."
)
UNUSED = (
    "A gradient is None where the loss does not depend on its weight. Your function takes it for"
    " a tensor, or for an overflow: leave it out."
)
SLIPS = {  # what to say, and the edits that make the right check a wrong one
    "Each replica decides alone here. Add up what they find, with `context.all_reduce`.": {
        ALL_REDUCE: "tf.cast(~finite, tf.float32)"
    },
    STUCK: {
        "    overflows": "    if not finite:\n        return finite\n    overflows"
    },
    "You ask replica 0 alone, as Keras's own does.": {
        ALL_REDUCE: ALL_REDUCE[:-1] + " * float(context.replica_id_in_sync_group == 0))"
    },
    "You take the step if any replica is finite. All of them have to be.": {
        "overflows == 0": "overflows < context.num_replicas_in_sync"
    },
    "You look at the first gradient of each replica. There is one for each weight.": {
        "in present]": "in present[:1]]"
    },
    "You look for NaN only. Infinity is an overflow too.": {
        IS_FINITE: "~tf.math.is_nan(g)"
    },
    "You look for infinity only. NaN comes of an overflow too.": {
        IS_FINITE: "~tf.math.is_inf(g)"
    },
    "True stands for a step that is taken.": {"overflows == 0": "overflows > 0"},
    BOOL: {"tf.cast(~finite, tf.float32)": "~finite"},
    GRAPH: {
        "tf.reduce_all(tf.math.is_finite(g))": "bool(tf.reduce_all(tf.math.is_finite(g)))"
    },
    UNUSED: {" if g is not None": ""},
    "return one True or False": {"return overflows == 0": "return [overflows == 0]"},
}
CASES = (  # (replicas, {(replica, array, place): what overflows})
    (2, {}),
    (2, {(1, 0, 2): math.inf}),
    (2, {(0, 1, 0): math.inf}),
    (3, {(2, 0, 1): math.nan}),
    (3, {(0, 1, 1): math.inf, (1, 1, 1): -math.inf}),  # their sum is NaN
    (1, {}),
)


class _Waits(BaseException):  # passes through what catches errors
    """A replica waits in an all-reduce until all others have brought their `value`."""


class Context:
    """What a replica is given: a part of what `tf.distribute.get_replica_context()`
    returns.

    `sums` are those of the all-reduces that are over; at the next one the replica waits.
    """

    def __init__(self, rank: int, count: int, sums: "list[tf.Tensor]"):
        self.replica_id_in_sync_group = rank
        self.num_replicas_in_sync = count
        self._sums = iter(sums)

    def all_reduce(self, reduce_op: object, value: "tf.Tensor") -> "tf.Tensor":
        """The sum of what all replicas bring."""
        import tensorflow as tf

        if "SUM" not in str(reduce_op):
            raise ValueError('Add up, with "SUM".')
        dtypes = [tf.convert_to_tensor(each).dtype for each in tf.nest.flatten(value)]
        if tf.bool in dtypes:
            raise TypeError(BOOL)
        if self.num_replicas_in_sync == 1:
            return value
        total = next(self._sums, None)
        if total is None:
            raise _Waits(value)
        return total


def gradients_of(case: tuple[int, dict]) -> list:
    """Gradients of a case: for each replica float32 tensors of three and of two
    numbers.
    """
    import tensorflow as tf

    count, overflows = case
    source = np.random.RandomState(7)
    gradients = source.normal(0, 1, (count, 2, 3)).astype("float32")
    for place, value in overflows.items():
        gradients[place] = value
    return [[tf.constant(three), tf.constant(two[:2])] for three, two in gradients]


def flags_of(check_finite: Callable, case: tuple[int, dict]) -> list[bool]:
    """[the flag that each replica returns], True or False.

    The replicas run one after the other, each as far as the first all-reduce whose sum
    is not known yet; when all have come there, they begin again and get it. One replica
    alone runs in a graph, as Keras runs it.
    """
    import tensorflow as tf

    count = case[0]
    function = check_finite
    if count == 1:
        function = tf.function(
            lambda *arguments: check_finite(*arguments), autograph=False
        )
    sums = []
    while True:
        values = []
        flags = []
        for rank, gradients in enumerate(gradients_of(case)):
            try:
                context = Context(rank, count, sums)
                flags.append(call(function, gradients, context, end="`return`"))
            except _Waits as waiting:
                values += waiting.args
        if not values:
            break
        if flags:
            raise Mistake(STUCK)
        sums.append(call(tf.nest.map_structure, lambda *all: tf.add_n(all), *values))
    array = attempt(lambda: np.asarray(flags))
    if array is None or array.dtype != bool or array.shape != (count,):
        what = f"{describe(flags[0])}: return one True or False"
        raise Mistake(f"Your function returns {what}.")
    return array.tolist()


def outcome(check_finite: Callable, case: tuple[int, dict]) -> list[bool] | str:
    """The flags of a case, or a text that says what is wrong."""
    try:
        return flags_of(check_finite, case)
    except Mistake as mistake:
        in_graph = case[0] == 1 and " raises " in str(mistake)
        return GRAPH if in_graph else str(mistake)


def outcomes(check_finite: Callable) -> list[list[bool] | str]:
    """What comes of each case."""
    return [outcome(check_finite, case) for case in CASES]


def unused_problem(check_finite: Callable) -> str | None:
    """What is wrong where the loss does not depend on the first weight, or None."""

    def check(gradients, context):
        return check_finite([None, *gradients], context)

    for case in CASES:
        count, overflows = case
        if outcome(check, case) != [not overflows] * count:
            return UNUSED
    return None


def compare(check_finite: Callable, case: tuple[int, dict] | None) -> str | None:
    """The flags of a case, where they are wrong, and why, or None.

    No case, None, stands for all of them once more, with a gradient that is None.
    """
    if case is None:
        return unused_problem(check_finite)
    count, overflows = case
    start = f"Replicas: {count}, overflows on: {sorted({r for r, *_ in overflows}) or 'none'};"
    flags = outcome(check_finite, case)
    if flags == [not overflows] * count:
        return None
    if isinstance(flags, str):
        return f"{start} {STUCK}." if flags == STUCK else flags
    # what a learner prints is shown once
    with contextlib.redirect_stdout(io.StringIO()):
        mine = outcomes(check_finite)
        listed = slipped(CODE, NAME, SLIPS)
        # of the listed one that returns the same in all cases
        why = next((why for wrong, why in listed if outcomes(wrong) == mine), "")
    if not why and len(set(flags)) > 1:
        why = "Your replicas do not agree. Decide once, for all of them."
    return f"{start} they return {flags}. {why}".strip()


judge = Function(compare, (*CASES, None))
