"""Notebook 07's exercises: the mistakes told apart."""

from course_utils.exercises.functions import edited, slipped
from course_utils.lessons.nb07 import judge


def test_the_cases_tell_all_mistakes_apart():
    wrong = [each for each, _ in slipped(judge.CODE, judge.NAME, judge.SLIPS)]
    found = [str(judge.outcomes(function)) for function in wrong]
    assert len({*found}) == len(wrong)


def sum_first(gradients, context):
    import tensorflow as tf

    present = [g for g in gradients if g is not None]
    total = context.all_reduce(tf.distribute.ReduceOp.SUM, present)
    return tf.reduce_all([tf.reduce_all(tf.math.is_finite(g)) for g in total])


def by_the_mean(gradients, context):
    import tensorflow as tf

    flat = tf.concat([g for g in gradients if g is not None], 0)
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


def finite_or_none(gradients, context):
    """Another right check: it asks each gradient in turn."""
    import tensorflow as tf

    overflows = tf.constant(0.0)
    for gradient in gradients:
        if gradient is not None:
            bad = tf.math.reduce_any(~tf.math.is_finite(gradient))
            overflows += tf.cast(bad, tf.float32)
    return context.all_reduce("SUM", overflows) < 1


def none_is_an_overflow(gradients, context):
    import tensorflow as tf

    present = [g for g in gradients if g is not None]
    bad = [tf.math.reduce_any(~tf.math.is_finite(g)) for g in present]
    missing = len(gradients) - len(present)
    overflows = tf.cast(tf.reduce_any(bad), tf.float32) + missing
    return context.all_reduce("SUM", overflows) < 1


def test_a_gradient_of_none_is_left_out():
    """Keras hands it on where the loss does not depend on a weight."""
    assert judge.judge(finite_or_none) is None
    assert judge.judge(none_is_an_overflow) == judge.UNUSED
    without = edited(judge.CODE, judge.NAME, {" if g is not None": ""})
    assert judge.judge(without) == judge.UNUSED


def test_the_right_check_works_in_keras_beside_a_weight_without_a_gradient():
    """In the notebook's own optimizer; a loss that uses one of two weights."""
    import keras
    import tensorflow as tf

    from tools.notebook_cells import Cells

    names = {
        "tf": tf,
        "LossScaleOptimizer": keras.optimizers.LossScaleOptimizer,
        "check_finite": edited(judge.CODE, judge.NAME),
    }
    Cells("07_devices").run("mine", names=names, until="for replica")
    for value, moved in ((1.0, 1.0), (float("inf"), 0.0)):
        weights = keras.Variable([0.0]), keras.Variable([0.0])
        optimizer = names["Mine"](keras.optimizers.SGD(1.0))
        optimizer.build(weights)
        optimizer.apply([optimizer.scale_loss(tf.constant([value])), None], weights)
        assert [-weight.numpy().item() for weight in weights] == [moved, 0.0]
