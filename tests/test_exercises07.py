"""Notebook 07's exercises: each number found a second way, and the mistakes told apart."""

import itertools

import pytest

from course_utils import distributed
from course_utils.exercises import nb07, replicas
from course_utils.exercises.functions import edited


def test_a_ring_sends_what_the_answer_says():
    assert distributed.ring_bytes(nb07.WEIGHTS, nb07.DEVICES) / 1e6 == pytest.approx(nb07.SENT)


def test_how_far_it_scales_by_the_course_s_own_model():
    """An exchange of 20 ms between two devices: 1e6 float32 numbers at 200 MB a second."""
    link, right = distributed.Link(2e8), nb07.SCALING.right
    steps = {
        policy: distributed.step_seconds(seconds, 1e6, 2, link)
        for policy, seconds in (("float32", 0.04), ("mixed", 0.02))
    }
    assert steps["float32"] / steps["mixed"] == pytest.approx(right["speedup"])
    for policy, seconds in (("float32", 0.04), ("mixed", 0.02)):
        assert 100 * seconds / steps[policy] == pytest.approx(right[policy])


def test_the_cases_tell_all_mistakes_apart():
    functions = [edited(replicas.CODE, replicas.NAME), *(wrong for wrong, _ in replicas.WRONG)]
    outcomes = [[replicas.flags_of(f, case) for case in replicas.CASES] for f in functions]
    assert all(one != other for one, other in itertools.combinations(outcomes, 2))


def sum_first(gradients, context):
    import tensorflow as tf

    total = context.all_reduce(tf.distribute.ReduceOp.SUM, gradients)
    return tf.reduce_all([tf.reduce_all(tf.math.is_finite(g)) for g in total])


def by_the_mean(gradients, context):
    import tensorflow as tf

    flat = tf.concat(gradients, 0)
    return context.all_reduce("MEAN", tf.cast(tf.math.is_finite(flat), tf.float32))[0] > 2


def test_another_order_is_right_and_a_replica_that_waits_for_good_is_told():
    assert replicas.judge(sum_first) is None
    assert "they return" in replicas.judge(by_the_mean)

    def only_the_first(gradients, context):
        if context.replica_id_in_sync_group == 0:
            context.all_reduce("SUM", gradients)
        return True

    assert replicas.STUCK in replicas.judge(only_the_first)
