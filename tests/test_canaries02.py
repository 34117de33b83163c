"""One test for each behaviour of Keras, TensorFlow or NumPy that notebook 02 teaches.

When a new release changes one of them, the test that fails names the notebook to mend.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf

from course_utils.stepping import dtype_policy

SGD, Adam = keras.optimizers.SGD, keras.optimizers.Adam
LossScaleOptimizer = keras.optimizers.LossScaleOptimizer
FLOAT16 = np.arange(2**16, dtype=np.uint16).view(np.float16)  # every code
FLOAT16 = FLOAT16[np.isfinite(FLOAT16)]


def on_one_weight(optimizer):
    weight = keras.Variable([1.0])
    optimizer.build([weight])
    return weight


def apply(optimizer, gradient):
    with tf.device("CPU:0"):
        optimizer.apply([tf.constant([gradient], tf.float32)])


def number(variable):
    return float(keras.ops.convert_to_numpy(variable).item())


def test_02_the_loss_scale_has_no_floor_and_zero_makes_the_weights_nan():
    optimizer = LossScaleOptimizer(SGD())
    weight = on_one_weight(optimizer)
    scales = [number(optimizer.dynamic_scale)]
    for _ in range(150):
        apply(optimizer, np.inf)
        scales.append(number(optimizer.dynamic_scale))
    assert scales[:15] == [2.0**e for e in range(15, 0, -1)]
    assert (scales[15], scales[16]) == (1, 0.5)  # below 1 after 16 bad steps
    assert (scales[141], scales[142]) == (2.0**-126, 0)  # 0 after 142, on a CPU
    assert number(weight) == 1 and number(optimizer.iterations) == 0
    apply(optimizer, 0.0)
    assert np.isnan(number(weight))


def test_02_the_loss_scale_has_no_cap_and_never_comes_back_from_infinity():
    optimizer = LossScaleOptimizer(SGD(), dynamic_growth_steps=1)
    weight = on_one_weight(optimizer)
    for _ in range(112):
        apply(optimizer, 0.0)
    assert number(optimizer.dynamic_scale) == 2.0**127
    apply(optimizer, 0.0)
    assert number(optimizer.dynamic_scale) == np.inf
    apply(optimizer, 1.0)  # 1 / inf: a step that moves nothing, and counts
    assert number(weight) == 1 and number(optimizer.iterations) == 114
    apply(optimizer, np.inf)
    assert number(optimizer.dynamic_scale) == np.inf


def test_02_the_loss_is_float32_and_gradients_are_float16_inside_and_float32_at_the_weights():
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


def test_02_float32_gradients_at_the_weights_hold_nothing_that_float16_does_not():
    """They were computed in float16 and cast: what underflowed there stays 0."""
    with dtype_policy("mixed_float16"):
        layer = keras.layers.Dense(3, use_bias=False)
    with tf.GradientTape() as tape:
        y = layer(tf.constant([[1 / 3]]))
        loss = tf.reduce_sum(tf.cast(y, tf.float32) * [0.1, 1e-7, 1e-8])
    (gradient,) = tape.gradient(loss, layer.trainable_variables)
    gradient = gradient.numpy()
    assert gradient.dtype == np.float32 and gradient[0, 2] == 0
    assert np.array_equal(gradient.astype(np.float16), gradient) and gradient[0, 0] > 0


def test_02_pure_float16_has_float16_weights_and_float16_gradients():
    layer = keras.layers.Dense(3, dtype="float16")
    with tf.GradientTape() as tape:
        loss = keras.losses.MeanSquaredError()(tf.zeros((4, 3)), layer(tf.ones((4, 5))))
    assert {g.dtype for g in tape.gradient(loss, layer.trainable_variables)} == {tf.float16}
    assert layer.kernel.dtype == "float16" and loss.dtype == tf.float32


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_02_a_skipped_step_moves_neither_weights_nor_iterations_and_halves_the_scale(bad):
    optimizer = LossScaleOptimizer(SGD(momentum=0.9))
    weight = on_one_weight(optimizer)
    apply(optimizer, 2.0**15)
    before = [number(v) for v in optimizer.inner_optimizer.variables] + [number(weight)]
    apply(optimizer, bad)
    assert [number(v) for v in optimizer.inner_optimizer.variables] + [number(weight)] == before
    assert number(optimizer.iterations) == 1 and number(optimizer.step_counter) == 0
    assert number(optimizer.dynamic_scale) == 2**14


def test_02_one_bad_value_skips_the_step_for_all_weights():
    weights = [keras.Variable(np.ones(3)), keras.Variable(np.ones(2))]
    optimizer = LossScaleOptimizer(SGD())
    optimizer.apply([tf.constant([0.0, np.nan, 0.0]), tf.ones(2)], weights)
    assert all((weight.numpy() == 1).all() for weight in weights)


def test_02_apply_unscales_before_it_clips_and_before_the_new_scale():
    optimizer = LossScaleOptimizer(SGD(1.0, clipnorm=0.5), dynamic_growth_steps=1)
    weight = on_one_weight(optimizer)
    apply(optimizer, 0.25 * 2**15)  # a gradient of 0.25: nothing to clip
    assert number(weight) == 0.75 and number(optimizer.dynamic_scale) == 2**16
    apply(optimizer, 4.0 * 2**16)  # a gradient of 4: clipped to 0.5
    assert number(weight) == 0.25
    with pytest.raises(ValueError, match="clipnorm"):
        LossScaleOptimizer(SGD(), clipnorm=0.5)


def one_layer(optimizer, policy="mixed_float16", layer_policy=None, **compile_options):
    with dtype_policy(policy):
        layer = keras.layers.Dense(1, use_bias=False, dtype=layer_policy)
        model = keras.Sequential([keras.Input((1,)), layer])
        model.compile(optimizer, "mse", jit_compile=False, **compile_options)
    model.set_weights([np.ones((1, 1))])
    return model


def test_02_a_fixed_scale_checks_nothing():
    for target, finite in ((0.5, True), (np.inf, False)):
        model = one_layer(SGD(0.25, loss_scale_factor=1024), auto_scale_loss=False)
        assert type(model.optimizer) is SGD and model.optimizer.loss_scale_factor == 1024
        model.fit(np.ones((1, 1)), np.full((1, 1), target), verbose=0)
        weight = number(model.trainable_variables[0])
        assert np.isfinite(weight) == finite and number(model.optimizer.iterations) == 1
    assert weight == np.inf
    model = one_layer(SGD(0.25, loss_scale_factor=1024), auto_scale_loss=False)
    model.fit(np.ones((1, 1)), np.full((1, 1), 0.5), verbose=0)
    assert number(model.trainable_variables[0]) == 0.75  # unscaled: 1 - 0.25 * 2 * (1 - 0.5)


def test_02_wrapping_turns_a_fixed_scale_off_without_a_word():
    model = one_layer(SGD(loss_scale_factor=1024))
    assert model.optimizer.inner_optimizer.loss_scale_factor is None


def train(optimizer, factor=1.0, scaled=True, steps=10):
    """A custom loop on a weight of 1 with the gradient `factor`; how far the weight moves."""
    model = one_layer(optimizer)
    optimizer, (weight,) = model.optimizer, model.trainable_variables
    for _ in range(steps):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.cast(model(tf.ones((1, 1))), tf.float32)) * factor
            if scaled:
                loss = optimizer.scale_loss(loss)
        optimizer.apply(tape.gradient(loss, [weight]), [weight])
    return number(weight) - 1


def test_02_gradients_that_all_underflow_to_zero_are_good_steps():
    optimizer = LossScaleOptimizer(SGD(2.0**20), dynamic_growth_steps=3)
    assert train(optimizer, factor=2.0**-41, steps=4) == 0  # 2**-41 * 2**15 is below 2**-25
    assert number(optimizer.iterations) == 4
    assert (number(optimizer.step_counter), number(optimizer.dynamic_scale)) == (1, 2**16)
    assert train(SGD(2.0**20), factor=2.0**-30, steps=4) == -(2.0**-8)


def test_02_a_loop_that_forgets_scale_loss_makes_sgd_32768_times_too_slow():
    right, wrong = (train(SGD(2.0**-3), scaled=scaled) for scaled in (True, False))
    assert right == -10 / 8 and wrong == right / 2**15


def test_02_adam_hides_a_forgotten_scale_loss_unless_its_epsilon_outweighs_the_gradients():
    for factor, low, high in ((1.0, 0.94, 1.0), (2.0**-10, 0.01, 0.1)):
        right, wrong = (train(Adam(2.0**-7), factor, scaled) for scaled in (True, False))
        assert low < wrong / right < high
        assert right == pytest.approx(-10 / 128, rel=0.01)


def test_02_unscaling_the_weight_after_the_update_is_wrong():
    weight, gradient, rate, scale = 1.0, 0.5, 0.1, 1024
    right = weight - rate * (scale * gradient) / scale
    wrong = (weight - rate * (scale * gradient)) / scale
    assert (right, wrong) == (0.95, pytest.approx(-0.0490, abs=5e-5))
    optimizer = LossScaleOptimizer(SGD(rate), initial_scale=scale)
    own = on_one_weight(optimizer)
    apply(optimizer, scale * gradient)
    assert number(own) == pytest.approx(right)
    plain = SGD(rate)
    own = on_one_weight(plain)
    apply(plain, scale * gradient)
    assert number(own) / scale == pytest.approx(wrong)


@pytest.mark.parametrize(
    ("policy", "layer_policy", "wrapped"),
    [
        ("mixed_float16", None, True),
        ("mixed_bfloat16", None, False),
        ("float16", None, False),
        ("float32", "mixed_float16", False),
    ],
)
def test_02_compile_wraps_for_the_policy_of_the_model_alone(policy, layer_policy, wrapped):
    model = one_layer("sgd", policy, layer_policy)
    assert isinstance(model.optimizer, LossScaleOptimizer) == wrapped


def test_02_a_small_update_is_lost_in_float16_and_kept_by_a_float32_master_weight():
    weight, master, update = np.float16(1), np.float32(1), np.float16(2**-11)
    assert weight + update == 1 and type(weight + update) is np.float16
    assert master + update == 1 + 2**-11
    for _ in range(8):
        weight, master = weight + update, master + update
    assert weight == 1 and np.float16(master) == 1 + 2**-8


def test_02_relu_add_and_multiply_in_float16_are_the_exact_results_rounded_once():
    """So they are within half a unit in the last place."""
    rng = np.random.default_rng(0)
    a, b = (rng.choice(FLOAT16, 100_000) for _ in range(2))
    with tf.device("CPU:0"), np.errstate(over="ignore"):
        for operation, exact in ((tf.add, np.add), (tf.multiply, np.multiply)):
            expected = exact(a.astype(np.float64), b.astype(np.float64)).astype(np.float16)
            assert np.array_equal(operation(a, b).numpy(), expected)
        relu = keras.activations.relu(tf.constant(FLOAT16)).numpy()
    assert relu.dtype == np.float16 and np.array_equal(relu, np.maximum(FLOAT16, 0))


def test_02_exp_in_float16_overflows_from_11_09():
    with np.errstate(over="ignore"):
        for exp in (np.exp, lambda x: tf.exp(x).numpy()):
            overflowing = np.isinf(exp(FLOAT16))
            assert FLOAT16[overflowing].min() == 11.09375
            assert exp(np.array([11.0859375], np.float16)).item() == 65248
    assert np.log(65520) == pytest.approx(11.0901, abs=5e-5)


@pytest.mark.parametrize("module", [tf.nn, keras.ops, keras.activations])
def test_02_softmax_in_float16_stays_finite_and_a_naive_one_does_not(module):
    logits = tf.constant([[0, 20, 1000, 60000], [11, 12, 12, 12]], tf.float16)
    probabilities, logs = module.softmax(logits), module.log_softmax(logits)
    assert probabilities.dtype == logs.dtype == tf.float16
    assert probabilities.numpy()[0].tolist() == [0, 0, 0, 1]
    assert np.isfinite(logs).all() and np.allclose(tf.reduce_sum(probabilities, -1), 1, atol=2e-3)
    powers = tf.exp(logits)
    naive = powers / tf.reduce_sum(powers, -1, keepdims=True)
    assert np.isnan(naive.numpy()).any(-1).all()


def test_02_squares_in_float16_overflow_from_256():
    with np.errstate(over="ignore"):
        for square in (np.square, lambda x: tf.square(x).numpy()):
            overflowing = FLOAT16[np.isinf(square(FLOAT16))]
            assert np.abs(overflowing).min() == 256


def test_02_a_matrix_product_of_float16_adds_up_in_float32():
    row = tf.ones((1, 4096), tf.float16)
    product = tf.matmul(row, row, transpose_b=True)
    assert product.dtype == tf.float16 and product.numpy().item() == 4096
    by_steps = np.float16(0)
    for one in np.ones(4096, np.float16):
        by_steps = by_steps + one
    assert by_steps == 2048


def test_02_a_mean_of_squares_overflows_sooner_in_tensorflow_than_in_keras_and_numpy():
    """tf.reduce_mean divides a float16 sum; the other two sum in float32."""
    x = tf.constant([200, -200], tf.float16)
    assert float(keras.ops.mean(x * x)) == float(np.mean(x.numpy() ** 2)) == 40_000
    with tf.device("CPU:0"):
        assert float(tf.reduce_mean(x * x)) == np.inf
        assert float(tf.reduce_mean(x[:1] * x[:1])) == 40_000


def test_02_keras_ops_var_squares_in_float32_but_its_result_is_float16():
    near, far = (tf.constant([v, -v], tf.float16) for v in (255, 256))
    assert float(keras.ops.var(near)) == 65_024 and float(keras.ops.var(far)) == np.inf
    assert float(keras.ops.moments(far, 0)[1]) == 65_504  # cut off, not overflowed


@pytest.mark.parametrize("policy", ["mixed_float16", "float16"])
@pytest.mark.parametrize(
    "kind",
    [
        keras.layers.BatchNormalization,
        keras.layers.LayerNormalization,
        keras.layers.GroupNormalization,
        keras.layers.RMSNormalization,
    ],
)
def test_02_normalization_layers_compute_in_float32_inside(policy, kind):
    """A variance of 3e5 or 4e8 fits into no float16, and these layers get it right."""
    options = {"groups": 2} if kind is keras.layers.GroupNormalization else {}
    training = {"training": True} if kind is keras.layers.BatchNormalization else {}
    for top in (1000, 30_000):
        x = np.random.default_rng(0).uniform(-top, top, (64, 8)).astype(np.float16)
        y = kind(dtype=policy, **options)(x, **training)
        expected = kind(dtype="float32", **options)(x.astype(np.float32), **training)
        assert y.dtype == tf.float16
        assert np.allclose(y, expected, rtol=2**-10, atol=1e-3)


def test_02_unit_normalization_computes_in_float16_and_returns_zeros_for_large_inputs():
    x = np.full((1, 8), 1000, np.float16)
    assert not np.any(keras.layers.UnitNormalization(dtype="mixed_float16")(x))
    assert np.allclose(keras.layers.UnitNormalization()(x.astype(np.float32)), 8**-0.5)


def test_02_one_skipped_step_spoils_the_mean_of_the_epoch_and_not_the_weights():
    model = one_layer(SGD(0.25))
    x, y = np.ones((4, 1), np.float32), np.array([[np.nan], [0.5], [0.5], [0.5]], np.float32)
    history = model.fit(x, y, batch_size=1, epochs=2, shuffle=False, verbose=0).history
    assert np.isnan(history["loss"]).all()
    assert np.isfinite(model.get_weights()[0]).all() and number(model.optimizer.iterations) == 6
