"""The loss scale in plain Python against Keras's LossScaleOptimizer, step by step."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from helpers.loss_scale import LARGEST, SMALLEST_NORMAL, DynamicLossScale

STEPS = 10_000
# the largest float32 significand: its half is no float32 below 2**-126
BELOW_TWO = 2 - 2.0**-23


def keras_scales(initial_scale, growth_steps, finite):
    """What Keras makes of a sequence: dynamic_scale after each step, and whether it
    moved.
    """
    variable = keras.Variable([1.0])
    optimizer = keras.optimizers.LossScaleOptimizer(
        keras.optimizers.SGD(0.0),
        initial_scale=initial_scale,
        dynamic_growth_steps=growth_steps,
    )
    optimizer.build([variable])

    @tf.function
    def run(finite):
        def step(before, is_finite):
            with tf.control_dependencies(before):
                optimizer.apply([tf.where(is_finite, [1.0], [np.inf])], [variable])
            return optimizer.dynamic_scale.value + 0, tf.cast(
                optimizer.iterations.value, tf.int32
            )

        return tf.scan(step, finite, (0.0, 0), parallel_iterations=1)

    with tf.device("CPU:0"):
        scales, iterations = run(tf.constant(finite))
    return scales.numpy().tolist(), (
        np.diff(iterations.numpy(), prepend=0) == 1
    ).tolist()


def own_scales(initial_scale, growth_steps, finite):
    loss_scale = DynamicLossScale(initial_scale, growth_steps)
    applied, scales = [], []
    for is_finite in finite:
        applied.append(loss_scale.update(is_finite))
        scales.append(loss_scale.scale)
    return scales, applied


def sequences():
    """Shares of finite steps that vary, so that scales sink to 0, hover, and climb to
    inf.
    """
    rng = np.random.default_rng(2017)
    for growth_steps, share in ((1, 0.5), (20, 0.97), (2000, 0.9999)):
        yield 2.0**15, growth_steps, rng.random(STEPS) < share
    yield 1 / 3, 2, rng.random(STEPS) < 0.1  # down to 0, and no more up
    yield 1.0, 1, rng.random(STEPS) < 0.8  # up to inf, and no more down
    yield SMALLEST_NORMAL * 8, 1, rng.random(STEPS) < 0.5
    for start in (2**-149, 65_537.3, LARGEST):
        yield start, 9, np.array([True])
    # Halved and rounded to float32, it would be the smallest normal number.
    yield BELOW_TWO * SMALLEST_NORMAL, 5, np.array([False, True])


@pytest.mark.parametrize(
    ("initial_scale", "growth_steps", "finite"),
    list(sequences()),
    ids=lambda value: "" if isinstance(value, np.ndarray) else f"{value:g}",
)
def test_it_is_keras_step_by_step(initial_scale, growth_steps, finite):
    expected, moved = keras_scales(initial_scale, growth_steps, finite)
    scales, applied = own_scales(initial_scale, growth_steps, finite)
    assert applied == moved == finite.tolist()
    assert scales == expected  # nothing that float32 would round


def test_the_defaults_are_those_of_keras():
    own = DynamicLossScale()
    theirs = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD())
    assert (
        own.scale == theirs.initial_scale
        and own.growth_steps == theirs.dynamic_growth_steps
    )
