"""What Keras's loss scaling does to a step, as notebooks 02, 04 and 06 teach it.

When a new release changes one of these behaviours, the test that fails names the notebook to mend.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf
from common import number, on_the_cpu  # noqa: F401

from course_utils.training import dtype_policy

SGD, Adam = keras.optimizers.SGD, keras.optimizers.Adam
LossScaleOptimizer = keras.optimizers.LossScaleOptimizer
S = 2.0**15  # the scale that a LossScaleOptimizer starts with
G = np.array([3.0, 4.0], np.float32)  # a gradient of length 5
pytestmark = pytest.mark.usefixtures("on_the_cpu")


def on_one_weight(optimizer):
    weight = keras.Variable([1.0])
    optimizer.build([weight])
    return weight


def apply(optimizer, gradient):
    optimizer.apply([tf.constant([gradient], tf.float32)])


def updated(optimizer, *gradients):
    """What weights of zero become when these gradients are applied."""
    weight = keras.Variable(np.zeros(gradients[0].shape))
    optimizer.build([weight])
    for gradient in gradients:
        optimizer.apply([tf.constant(gradient)], [weight])
    return keras.ops.convert_to_numpy(weight)


# The scale


def test_02_04_06_the_scale_is_there_once_the_optimizer_is_built():
    optimizer = LossScaleOptimizer(SGD())
    assert not hasattr(optimizer, "dynamic_scale")
    on_one_weight(optimizer)
    assert number(optimizer.dynamic_scale) == S == 32768


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_02_a_skipped_step_moves_neither_weights_nor_iterations_and_halves_the_scale(bad):
    optimizer = LossScaleOptimizer(SGD(momentum=0.9))
    weight = on_one_weight(optimizer)
    apply(optimizer, S)
    before = [number(v) for v in optimizer.inner_optimizer.variables] + [number(weight)]
    apply(optimizer, bad)
    assert [number(v) for v in optimizer.inner_optimizer.variables] + [number(weight)] == before
    assert number(optimizer.iterations) == 1 and number(optimizer.step_counter) == 0
    assert number(optimizer.dynamic_scale) == S / 2
    weights = [keras.Variable(np.ones(3)), keras.Variable(np.ones(2))]
    LossScaleOptimizer(SGD()).apply([tf.constant([0.0, bad, 0.0]), tf.ones(2)], weights)
    assert all((weight.numpy() == 1).all() for weight in weights)  # one bad value skips all


def test_06_a_plain_optimizer_gives_the_loss_back_and_a_fixed_one_multiplies():
    loss = tf.constant(2.4)
    assert SGD().scale_loss(loss) is loss
    assert number(SGD(loss_scale_factor=8.0).scale_loss(loss)) == number(8 * loss)
    scaled = LossScaleOptimizer(SGD()).scale_loss(loss)  # not built
    assert number(scaled) == number(S * loss) > 65504 and scaled.dtype == tf.float32


# Gradients


def test_02_06_gradients_are_float16_inside_and_float32_at_the_weights():
    """They were computed in float16 and cast: what underflowed there stays 0."""
    with dtype_policy("mixed_float16"):
        first, last = keras.layers.Dense(3, activation="relu"), keras.layers.Dense(2)
    loss_function = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    with tf.GradientTape() as tape:
        hidden = first(tf.ones((4, 5)))
        logits = last(hidden)
        loss = loss_function(tf.zeros(4, tf.int32), logits)
    assert (hidden.dtype, logits.dtype, loss.dtype) == (tf.float16, tf.float16, tf.float32)
    inside = tape.gradient(loss, [hidden, logits, first.kernel.value, last.bias.value])
    assert [gradient.dtype for gradient in inside] == [tf.float16] * 2 + [tf.float32] * 2
    with dtype_policy("mixed_float16"):
        layer = keras.layers.Dense(3, use_bias=False)
    with tf.GradientTape() as tape:
        y = layer(tf.constant([[1 / 3]]))
        loss = tf.reduce_sum(tf.cast(y, tf.float32) * [0.1, 1e-7, 1e-8])
    gradient = tape.gradient(loss, layer.trainable_variables)[0].numpy()
    assert gradient.dtype == np.float32 and gradient[0, 2] == 0
    assert np.array_equal(gradient.astype(np.float16), gradient) and gradient[0, 0] > 0


def test_02_pure_float16_has_float16_weights_and_float16_gradients():
    layer = keras.layers.Dense(3, dtype="float16")
    with tf.GradientTape() as tape:
        loss = keras.losses.MeanSquaredError()(tf.zeros((4, 3)), layer(tf.ones((4, 5))))
    assert {g.dtype for g in tape.gradient(loss, layer.trainable_variables)} == {tf.float16}
    assert layer.kernel.dtype == "float16" and loss.dtype == tf.float32


def one_layer(optimizer, **compile_options):
    with dtype_policy("mixed_float16"):
        model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
        model.compile(optimizer, "mse", jit_compile=False, **compile_options)
    model.set_weights([np.ones((1, 1))])
    return model


def test_02_06_a_fixed_scale_checks_nothing_and_wrapping_turns_it_off():
    for target, finite in ((0.5, True), (np.inf, False)):
        model = one_layer(SGD(0.25, loss_scale_factor=1024), auto_scale_loss=False)
        assert type(model.optimizer) is SGD and model.optimizer.loss_scale_factor == 1024
        model.fit(np.ones((1, 1)), np.full((1, 1), target), verbose=0)
        weight = number(model.trainable_variables[0])
        assert np.isfinite(weight) == finite and number(model.optimizer.iterations) == 1
        if finite:
            assert weight == 0.75  # unscaled: 1 - 0.25 * 2 * (1 - 0.5)
    assert weight == np.inf
    wrapped = one_layer(SGD(loss_scale_factor=1024)).optimizer  # by compile, without a word
    assert wrapped.inner_optimizer.loss_scale_factor is None


def test_02_one_skipped_step_spoils_the_mean_of_the_epoch_and_not_the_weights():
    model = one_layer(SGD(0.25))
    x, y = np.ones((4, 1), np.float32), np.array([[np.nan], [0.5], [0.5], [0.5]], np.float32)
    history = model.fit(x, y, batch_size=1, epochs=2, shuffle=False, verbose=0).history
    assert np.isnan(history["loss"]).all()
    assert np.isfinite(model.get_weights()[0]).all() and number(model.optimizer.iterations) == 6


def test_02_gradients_that_all_underflow_to_zero_are_good_steps():
    for gradient, moved in ((2.0**-41, 0), (2.0**-30, -(2.0**-8))):  # times 2**15
        model = one_layer(LossScaleOptimizer(SGD(2.0**20), dynamic_growth_steps=3))
        optimizer, (weight,) = model.optimizer, model.trainable_variables
        for _ in range(4):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.cast(model(tf.ones((1, 1))), tf.float32)) * gradient
                scaled = optimizer.scale_loss(loss)
            optimizer.apply(tape.gradient(scaled, [weight]), [weight])
        assert number(weight) - 1 == moved and number(optimizer.iterations) == 4
        assert (number(optimizer.step_counter), number(optimizer.dynamic_scale)) == (1, 2**16)


# Adam


@pytest.mark.parametrize("g", [1.0, S * 1e-7, 1e-5])
def test_02_06_after_many_equal_gradients_adams_step_is_g_over_g_plus_epsilon(g):
    """So it hides a forgotten scale_loss, unless its epsilon outweighs the gradients.

    Slots as after many steps, so that the test need not make them.
    """
    for received in (g, g / S):
        adam = Adam(0.001)
        weight = on_one_weight(adam)
        adam.iterations.assign(10**6)
        slots = {v.name: v for v in adam.variables}
        first = next(v for name, v in slots.items() if name.endswith("momentum"))
        second = next(v for name, v in slots.items() if name.endswith("velocity"))
        first.assign([received])
        second.assign([received**2])
        weight.assign([0.0])
        apply(adam, received)
        assert -number(weight) == pytest.approx(0.001 * received / (received + 1e-7), rel=1e-2)


def test_06_far_below_epsilon_adam_is_sgd_with_momentum():
    """With the learning rate lr / (S ε): Adam's mean of gradients, corrected for its start."""
    gradients = np.random.default_rng(3).normal(0, 1e-5, (40, 2)).astype(np.float32)
    got = updated(Adam(0.001), *(gradients / np.float32(S)))
    rate, mean, wanted = 0.001 / (S * 1e-7), np.zeros(2), np.zeros(2)
    for step, g in enumerate(gradients, 1):
        mean = 0.9 * mean + 0.1 * g
        # Keras puts ε beside the uncorrected root: early on it weighs more.
        wanted -= rate * mean * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    assert np.allclose(got, wanted, rtol=0.02)


# What belongs on the inner optimizer


@pytest.mark.parametrize(
    "option",
    [{"clipnorm": 1.0}, {"global_clipnorm": 1.0}, {"clipvalue": 1.0}, {"use_ema": True},
     {"gradient_accumulation_steps": 4}, {"loss_scale_factor": 2.0}, {"weight_decay": 0.1},
     {"ema_overwrite_frequency": 5}],
)  # fmt: skip
def test_02_06_the_wrapper_refuses_what_belongs_on_the_inner_optimizer(option):
    (name,) = option
    message = f"does not support `{name}`. Instead, set `{name}` on the `inner_optimizer`"
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        LossScaleOptimizer(SGD(), **option)


def test_02_06_apply_unscales_before_the_inner_optimizer_clips_and_before_the_new_scale():
    optimizer = LossScaleOptimizer(SGD(1.0, clipnorm=0.5), dynamic_growth_steps=1)
    weight = on_one_weight(optimizer)
    apply(optimizer, 0.25 * S)  # a gradient of 0.25: nothing to clip
    assert number(weight) == 0.75 and number(optimizer.dynamic_scale) == 2 * S
    apply(optimizer, 4.0 * 2 * S)  # a gradient of 4: clipped to 0.5
    assert number(weight) == 0.25
    for limit, wanted in ((1.0, G / 5 / S), (S, G / 5)):  # clipped by hand, before
        clipped, _ = tf.clip_by_global_norm([S * G], limit)
        got = updated(LossScaleOptimizer(SGD(1.0)), clipped[0].numpy())
        assert np.allclose(-got, wanted, rtol=1e-5, atol=0)


def test_06_clipnorm_cuts_each_weight_and_global_clipnorm_all_together():
    found = {}
    for name in ("clipnorm", "global_clipnorm"):
        weights = [keras.Variable([0.0]), keras.Variable([0.0])]
        optimizer = LossScaleOptimizer(SGD(1.0, **{name: 1.0}))
        optimizer.apply([tf.constant([3 * S]), tf.constant([4 * S])], weights)
        found[name] = [-number(weight) for weight in weights]
    assert found["clipnorm"] == pytest.approx([1, 1])
    assert found["global_clipnorm"] == pytest.approx([0.6, 0.8])


def test_06_accumulation_averages_and_takes_another_batch_for_one_that_overflows():
    bad = np.full_like(G, np.inf)
    optimizer = LossScaleOptimizer(SGD(1.0, gradient_accumulation_steps=2))
    weight = keras.Variable([0.0, 0.0])
    optimizer.build([weight])
    seen = []
    for gradient in (S * G, bad, S / 2 * 3 * G):  # the bad one halves the scale
        optimizer.apply([tf.constant(gradient)], [weight])
        seen.append(keras.ops.convert_to_numpy(weight).tolist())
    assert seen == [[0, 0], [0, 0], (-2 * G).tolist()]  # the mean of g and 3 g, each unscaled
    assert number(optimizer.dynamic_scale) == S / 2


def test_06_a_loop_has_to_put_the_average_of_weights_into_the_model_itself():
    optimizer, weight = LossScaleOptimizer(SGD(1.0, use_ema=True)), keras.Variable([0.0, 0.0])
    optimizer.build([weight])
    for _ in range(2):
        optimizer.apply([tf.constant(S * G)], [weight])
    (average,) = (v for v in optimizer.variables if "average" in v.path)
    kept = keras.ops.convert_to_numpy(average)
    assert average.dtype == "float32" and not np.allclose(kept, weight)
    assert np.array_equal(weight, -2 * G)
    optimizer.apply([tf.constant(np.full_like(G, np.nan))], [weight])
    assert np.array_equal(average, kept)  # a skipped step leaves it
    optimizer.finalize_variable_values([weight])
    assert np.array_equal(weight, kept)
