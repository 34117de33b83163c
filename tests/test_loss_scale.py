"""The loss scale in plain Python against Keras's LossScaleOptimizer, step by step."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from helpers.loss_scale import SMALLEST_NORMAL, DynamicLossScale

STEPS = 10_000
# the largest float32 significand: its half is no float32 below 2**-126
BELOW_TWO = 2 - 2.0**-23


def keras_scales(initial_scale, growth_steps, finite):
    """What Keras makes of a sequence: after each step whether it moved the weight, and
    the scale.
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
            return optimizer.iterations.value + 0, optimizer.dynamic_scale.value + 0

        start = tf.zeros((), optimizer.iterations.dtype), 0.0
        return tf.scan(step, finite, start, parallel_iterations=1)

    with tf.device("CPU:0"):
        iterations, scales = run(tf.constant(finite))
    return np.diff(iterations.numpy(), prepend=0), scales.numpy()


@pytest.mark.parametrize(
    ("initial_scale", "growth_steps", "share"),
    [
        (2.0**15, 20, 0.97),
        (2.0**15, 2000, 0.9999),
        (1 / 3, 2, 0.1),  # down to 0, and no more up
        (1.0, 1, 0.8),  # up to inf, and no more down
        (SMALLEST_NORMAL * 8, 1, 0.5),
        # Halved and rounded to float32, it would be the smallest normal number.
        (BELOW_TWO * SMALLEST_NORMAL, 5, 0.5),
    ],
)
def test_it_is_keras_step_by_step(initial_scale, growth_steps, share):
    """Shares of finite steps vary, so that scales sink to 0, hover, and climb to inf."""
    finite = np.random.default_rng(2017).random(STEPS) < share
    loss_scale = DynamicLossScale(initial_scale, growth_steps)
    own = [(loss_scale.update(one), loss_scale.scale) for one in finite]
    moved, scales = keras_scales(initial_scale, growth_steps, finite)
    # nothing that float32 would round
    assert own == list(zip(moved.astype(bool), scales, strict=True))
