"""Notebook 07's exercises: the mistakes told apart."""

from course_utils.exercises.functions import slipped
from course_utils.lessons.nb07 import judge


def test_the_cases_tell_all_mistakes_apart():
    wrong = [each for each, _ in slipped(judge.CODE, judge.NAME, judge.SLIPS)]
    found = [str(judge.outcomes(function)) for function in wrong]
    assert len({*found}) == len(wrong)


def sum_first(gradients, context):
    import tensorflow as tf

    total = context.all_reduce(tf.distribute.ReduceOp.SUM, gradients)
    return tf.reduce_all([tf.reduce_all(tf.math.is_finite(g)) for g in total])


def by_the_mean(gradients, context):
    import tensorflow as tf

    flat = tf.concat(gradients, 0)
    return (
        context.all_reduce("MEAN", tf.cast(tf.math.is_finite(flat), "float32"))[0] > 0
    )


def test_another_order_is_right_and_a_replica_that_waits_for_good_is_told():
    assert judge.judge(sum_first) is None
    assert 'Add up, with "SUM"' in judge.judge(by_the_mean)

    def only_the_first(gradients, context):
        if context.replica_id_in_sync_group == 0:
            context.all_reduce("SUM", gradients)
        return True

    assert judge.STUCK in judge.judge(only_the_first)
