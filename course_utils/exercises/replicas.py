"""The judge of a check on which all replicas agree, in notebook 07.

The function runs as on a real strategy: on several replicas at once, each a thread
here. Whoever comes to an all-reduce waits for all others.
"""

import contextlib
import io
import math
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from .answers import call, describe
from .functions import Function, slipped

CODE = """\
import tensorflow as tf


def check_finite(gradients, context):
    finite = tf.reduce_all([tf.reduce_all(tf.math.is_finite(g)) for g in gradients])
    overflows = context.all_reduce("SUM", tf.cast(~finite, tf.float32))
    return overflows == 0"""
NAME = "check_finite"
ASKED, ISFINITE = (
    'context.all_reduce("SUM", tf.cast(~finite, tf.float32))',
    "tf.math.is_finite(g)",
)
STUCK = (
    "a replica waits in an all-reduce for good, because another one never comes to it"
)
BOOL = "True and False cannot be added up: cast the flag to `tf.float32` first."
GRAPH = (
    "It works on numbers and not in a graph, as which Keras runs it: use `tf.reduce_all` and"
    " `tf.cast` in place of `if`, `all` and NumPy."
)
SLIPS = {  # what to say, and the edits that make the right check a wrong one
    "Each replica decides alone here. Add up what they find, with `context.all_reduce`.": {
        ASKED: "tf.cast(~finite, tf.float32)"
    },
    STUCK: {
        "    overflows": "    if not finite:\n        return finite\n    overflows"
    },
    "You ask replica 0 alone, as Keras's own does.": {
        ASKED: ASKED[:-1] + " * float(context.replica_id_in_sync_group == 0))"
    },
    "You take the step if any replica is finite. All of them have to be.": {
        "overflows == 0": "overflows < context.num_replicas_in_sync"
    },
    "You look at the first gradient of each replica. There is one for each weight.": {
        "in gradients]": "in gradients[:1]]"
    },
    "You look for NaN only. Infinity is an overflow too.": {
        ISFINITE: "~tf.math.is_nan(g)"
    },
    "You look for infinity only. NaN comes of an overflow too.": {
        ISFINITE: "~tf.math.is_inf(g)"
    },
    "True stands for a step that is taken.": {"overflows == 0": "overflows > 0"},
    BOOL: {"tf.cast(~finite, tf.float32)": "~finite"},
    GRAPH: {
        "tf.reduce_all(tf.math.is_finite(g))": "bool(tf.reduce_all(tf.math.is_finite(g)))"
    },
    "return one True or False": {"return overflows == 0": "return [overflows == 0]"},
}
CASES = (  # (replicas, {(replica, array, place): what overflows})
    (2, {}),
    (2, {(1, 0, 2): math.inf}),
    (2, {(0, 1, 0): math.inf}),
    (3, {(2, 0, 1): math.nan}),
    (4, {(1, 0, 0): -math.inf, (3, 1, 1): math.nan}),
    (3, {(0, 1, 1): math.inf, (1, 1, 1): -math.inf}),  # their sum is NaN
    (2, {(r, 0, place): math.inf for r in range(2) for place in range(3)}),
    (1, {}),
)


class _Stuck(BaseException):  # passes through what catches errors
    pass


class _Replicas:
    """So many replicas, which wait for each other."""

    def __init__(self, count):
        self.count = count
        self.ended = 0
        self.brought = []
        self.sums = []
        self.changed = threading.Condition()

    def sum(self, value):
        import tensorflow as tf

        if isinstance(value, (list, tuple)):
            return list(map(self.sum, value))
        if tf.convert_to_tensor(value).dtype == tf.bool:
            raise TypeError(BOOL)
        with self.changed:
            self.brought.append(tf.convert_to_tensor(value))
            turn = len(self.sums)
            if len(self.brought) == self.count:
                self.sums.append(tf.add_n(self.brought))
                self.brought = []
                self.changed.notify_all()
            while len(self.sums) == turn:
                if self.ended + len(self.brought) >= self.count:
                    raise _Stuck
                self.changed.wait()
            return self.sums[turn]

    def end(self):
        with self.changed:
            self.ended += 1
            self.changed.notify_all()


class Context:
    """What a replica is given: a part of what `tf.distribute.get_replica_context()`
    returns.
    """

    def __init__(self, replicas, rank):
        self._replicas, self.replica_id_in_sync_group = replicas, rank
        self.num_replicas_in_sync = replicas.count

    def all_reduce(self, reduce_op, value):
        """The sum, or the mean, of what all replicas bring."""
        total = self._replicas.sum(value)
        return (
            total / self.num_replicas_in_sync
            if "MEAN" in str(reduce_op).upper()
            else total
        )


def gradients_of(case):
    """Gradients of a case: for each replica float32 tensors of three and of two
    numbers.
    """
    import tensorflow as tf

    count, spoiled = case
    source = np.random.RandomState(7)
    gradients = [
        [source.normal(0, 1, n).astype("float32") for n in (3, 2)] for _ in range(count)
    ]
    for (replica, array, place), value in spoiled.items():
        gradients[replica][array][place] = value
    return [list(map(tf.constant, replica)) for replica in gradients]


def flags_of(check_finite, case):
    """`([the flag that each replica returns], None)`, or `(None, what is wrong)`.

    One replica alone runs in a graph, as Keras runs it.
    """
    import tensorflow as tf

    graph = case[0] == 1
    replicas = _Replicas(case[0])
    function = check_finite
    if graph:
        function = tf.function(lambda *given: check_finite(*given), autograph=False)

    def one(rank, gradients):
        try:
            return call(function, gradients, Context(replicas, rank), end="`return`")
        except _Stuck:
            return None, STUCK
        finally:
            replicas.end()

    with ThreadPoolExecutor(case[0]) as threads:
        found = list(threads.map(one, range(case[0]), gradients_of(case)))
    if problems := sorted((p for _, p in found if p), key=lambda said: said == STUCK):
        return None, GRAPH if graph and " raises " in problems[0] else problems[0]
    flags = [call(lambda flag=flag: str(np.asarray(flag)))[0] for flag, _ in found]
    if set(flags) <= {"True", "False"}:
        return [flag == "True" for flag in flags], None
    return (
        None,
        f"Your function returns {describe(found[0][0])}: return one True or False.",
    )


def compare(check_finite, case):
    """The flags of a case, where they are wrong, and why, or None."""
    flags, problem = flags_of(check_finite, case)
    count, spoiled = case
    if flags == [not spoiled] * count or problem and problem != STUCK:
        return problem
    said = f"Replicas: {count}, overflows on: {sorted({r for r, *_ in spoiled}) or 'none'};"
    if problem:
        return f"{said} {STUCK}."
    # what a learner prints is shown once
    with contextlib.redirect_stdout(io.StringIO()):
        found = [flags_of(check_finite, each) for each in CASES]
        same = (
            why for f, why in WRONG if [flags_of(f, each) for each in CASES] == found
        )
        why = next(same, None)  # of the listed one that returns the same in all cases
    if not why and len(set(flags)) > 1:
        why = "Your replicas do not agree. Decide once, for all of them."
    return f"{said} they return {flags}. {why or ''}".strip()


WRONG = slipped(CODE, NAME, SLIPS)
judge = Function(compare, CASES)
