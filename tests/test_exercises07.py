"""Notebook 07's exercises: each number found a second way, and the mistakes told apart."""

import itertools

import ml_dtypes
import numpy as np
import pytest

from course_utils import distributed
from course_utils.exercises import nb07, replicas
from course_utils.exercises.functions import edited


def test_a_ring_sends_what_the_answer_says():
    assert distributed.ring_bytes(nb07.WEIGHTS, nb07.DEVICES) / 1e6 == pytest.approx(nb07.SENT)
    many = distributed.ring_bytes(nb07.WEIGHTS, 10**6) / 1e6
    assert 8.0 < many < 2 * nb07.SIZE < 8.095  # as `right` says


def test_what_the_messages_say_about_neighbours():
    for dtype, below, above in ((np.float16, 3276, 3278), (ml_dtypes.bfloat16, 3264, 3280)):
        low, high = dtype(below), dtype(above)
        assert (float(low), float(high)) == (below, above) and np.nextafter(low, high) == high
    assert float(np.finfo(np.float16).max) == 65504 and 49152 < 65504 < 2 * 49152 == 98304
    assert f"{float(np.finfo(np.float16).smallest_subnormal) / 2:.0e}" == "3e-08"


def test_the_cases_tell_all_mistakes_apart():
    functions = [edited(replicas.CODE, replicas.NAME), *(wrong for wrong, _ in replicas.WRONG)]
    outcomes = [[replicas.flags_of(f, case) for case in replicas.CASES] for f in functions]
    assert all(one != other for one, other in itertools.combinations(outcomes, 2))


def sum_first(gradients):
    total = [sum(arrays) for arrays in zip(*gradients, strict=True)]
    with np.errstate(invalid="ignore"):
        return np.full(len(gradients), all(np.isfinite(array).all() for array in total))


def with_tensors(gradients):
    import tensorflow as tf

    flags = [tf.reduce_all(tf.math.is_finite(a)) for replica in gradients for a in replica]
    return [tf.reduce_all(flags).numpy()] * len(gradients)


def test_other_right_checks():
    for function in (sum_first, with_tensors):
        assert replicas.judge(function) is None
