"""What Keras's loss scaling does to a step, as notebooks 02, 04 and 06 teach it.

When a new release changes one of these behaviours, the test that fails names the
notebook to mend.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf
from common import number, on_the_cpu  # noqa: F401

SGD = keras.optimizers.SGD
Adam = keras.optimizers.Adam
LossScaleOptimizer = keras.optimizers.LossScaleOptimizer
S = 2.0**15  # the scale that a LossScaleOptimizer starts with
G = np.array([3.0, 4.0], np.float32)  # a gradient of length 5
pytestmark = pytest.mark.usefixtures("on_the_cpu")


def on_one_weight(optimizer, start=1.0):
    weight = keras.Variable(np.atleast_1d(start), dtype="float32")
    optimizer.build([weight])
    return weight


def apply(optimizer, gradient):
    optimizer.apply([tf.constant(np.atleast_1d(gradient), tf.float32)])


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_02_a_skipped_step_moves_neither_weights_nor_iterations_and_halves_the_scale(
    bad,
):
    optimizer = LossScaleOptimizer(SGD(momentum=0.9))
    weights = [keras.Variable(np.ones(3)), keras.Variable(np.ones(2))]
    optimizer.build(weights)
    optimizer.apply([tf.fill(3, S), tf.fill(2, S)])
    kept = weights + optimizer.inner_optimizer.variables
    before = list(map(keras.ops.convert_to_numpy, kept))
    optimizer.apply([tf.constant([0.0, bad, 0.0]), tf.ones(2)])  # one skips all
    assert all(map(np.array_equal, map(keras.ops.convert_to_numpy, kept), before))
    assert number(optimizer.iterations) == 1 and number(optimizer.step_counter) == 0
    assert number(optimizer.dynamic_scale) == S / 2


def test_06_a_plain_optimizer_gives_the_loss_back_and_a_fixed_one_multiplies():
    loss = tf.constant(2.4)
    assert SGD().scale_loss(loss) is loss
    assert number(SGD(loss_scale_factor=8.0).scale_loss(loss)) == number(8 * loss)
    scaled = LossScaleOptimizer(SGD()).scale_loss(loss)  # not built
    assert number(scaled) == number(S * loss) > 65504 and scaled.dtype == tf.float32


# Adam


@pytest.mark.parametrize("g", [1.0, S * 1e-7, 1e-5])
def test_02_06_after_many_equal_gradients_adams_step_is_g_over_g_plus_epsilon(g):
    """So it hides a forgotten scale_loss, unless its epsilon outweighs the gradients.

    Slots as after many steps, so that the test need not make them.
    """
    for received in (g, g / S):
        adam = Adam(0.001)
        weight = on_one_weight(adam, 0.0)
        adam.iterations.assign(10**6)
        slots = {v.name: v for v in adam.variables}
        first = next(v for name, v in slots.items() if name.endswith("momentum"))
        second = next(v for name, v in slots.items() if name.endswith("velocity"))
        first.assign([received])
        second.assign([received**2])
        apply(adam, received)
        assert -number(weight) == pytest.approx(
            0.001 * received / (received + 1e-7), rel=1e-2
        )


# What belongs on the inner optimizer


@pytest.mark.parametrize(
    "option",
    [{"global_clipnorm": 1.0}, {"use_ema": True}, {"gradient_accumulation_steps": 4},
     {"loss_scale_factor": 2.0}, {"weight_decay": 0.1}],
)  # fmt: skip
def test_02_06_the_wrapper_refuses_what_belongs_on_the_inner_optimizer(option):
    (name,) = option
    message = (
        f"does not support `{name}`. Instead, set `{name}` on the `inner_optimizer`"
    )
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        LossScaleOptimizer(SGD(), **option)


def test_02_06_apply_unscales_before_the_inner_optimizer_clips_and_before_the_new_scale():
    optimizer = LossScaleOptimizer(SGD(1.0, clipnorm=0.5), dynamic_growth_steps=1)
    weight = on_one_weight(optimizer)
    apply(optimizer, 0.25 * S)  # a gradient of 0.25: nothing to clip
    assert number(weight) == 0.75 and number(optimizer.dynamic_scale) == 2 * S
    apply(optimizer, 4.0 * 2 * S)  # a gradient of 4: clipped to 0.5
    assert number(weight) == 0.25


def test_06_accumulation_averages_and_takes_another_batch_for_one_that_overflows():
    optimizer = LossScaleOptimizer(SGD(1.0, gradient_accumulation_steps=2))
    weight = on_one_weight(optimizer, 0 * G)
    seen = []
    for gradient in (S * G, np.inf * G, S / 2 * 3 * G):  # the bad one halves the scale
        apply(optimizer, gradient)
        seen.append(keras.ops.convert_to_numpy(weight).tolist())
    # the mean of g and 3 g, each unscaled
    assert seen == [[0, 0], [0, 0], (-2 * G).tolist()]
    assert number(optimizer.dynamic_scale) == S / 2


def test_06_a_schedule_counts_small_batches_and_iterations_counts_updates():
    schedule = keras.optimizers.schedules.PolynomialDecay(1.0, 100, 0.0)
    inner = SGD(schedule, gradient_accumulation_steps=4)
    optimizer = LossScaleOptimizer(inner)
    on_one_weight(optimizer)
    for _ in range(8):
        apply(optimizer, S / 2)
    assert number(optimizer.iterations) == number(inner.iterations) == 2
    assert number(inner.learning_rate) == pytest.approx(1 - 8 / 100)


def test_12_a_loop_has_to_put_the_average_of_weights_into_the_model_itself():
    optimizer = LossScaleOptimizer(SGD(1.0, use_ema=True))
    weight = on_one_weight(optimizer, 0 * G)
    for _ in range(2):
        apply(optimizer, S * G)
    (average,) = (v for v in optimizer.variables if "average" in v.path)
    kept = keras.ops.convert_to_numpy(average)
    assert average.dtype == "float32" and not np.allclose(kept, weight)
    assert np.array_equal(weight, -2 * G)
    apply(optimizer, np.nan * G)
    assert np.array_equal(average, kept)  # a skipped step leaves it
    optimizer.finalize_variable_values([weight])
    assert np.array_equal(weight, kept)
