"""One test for each behaviour of Keras or TensorFlow that notebook 06 teaches.

When a new release changes one of them, the test that fails names the notebook to mend.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf

from course_utils.stepping import dtype_policy

SGD, Adam = keras.optimizers.SGD, keras.optimizers.Adam
LossScaleOptimizer = keras.optimizers.LossScaleOptimizer
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
S = 2.0**15  # the scale that a LossScaleOptimizer starts with
SOURCE = np.random.default_rng(0)
X, Y = SOURCE.normal(size=(32, 8)).astype("float32"), SOURCE.integers(0, 3, 32)
G = np.array([3.0, 4.0], np.float32)  # a gradient of length 5


def number(variable):
    return float(keras.ops.convert_to_numpy(variable).item())


def network(policy="mixed_float16", kind=keras.Sequential):
    """The same weights at each call."""
    with dtype_policy(policy):
        layers = keras.layers.Dense(16, activation="relu"), keras.layers.Dense(3, dtype="float32")
        model = kind([keras.Input((8,)), *layers])
    source = np.random.default_rng(1)
    model.set_weights([source.normal(0, 0.3, w.shape) for w in model.get_weights()])
    return model


def flat(arrays):
    return np.concatenate([np.ravel(keras.ops.convert_to_numpy(a)) for a in arrays])


def float32_step(rate=0.1):
    """What one step of SGD changes in float32."""
    model = network("float32")
    with tf.GradientTape() as tape:
        loss = LOSS(Y, model(X))
    return -rate * flat(tape.gradient(loss, model.trainable_variables))


def steps(model, optimizer, images=X, mistake=None, count=1):
    """What `count` steps of a loop change, and the last loss."""
    optimizer.build(model.trainable_variables)
    before = flat(model.weights)
    for _ in range(count):
        with tf.GradientTape() as tape:
            loss = LOSS(Y, model(images, training=True))
            scaled = loss if mistake == "forgotten" else optimizer.scale_loss(loss)
        gradients = tape.gradient(scaled, model.trainable_variables)
        if mistake == "twice":
            gradients = [g / optimizer.dynamic_scale for g in gradients]
        if mistake == "clipped early":
            gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
        optimizer.apply(gradients, model.trainable_variables)
    return flat(model.weights) - before, loss


def updated(optimizer, *gradients):
    """What weights of zero become when these gradients are applied."""
    weight = keras.Variable(np.zeros(gradients[0].shape))
    optimizer.build([weight])
    for gradient in gradients:
        optimizer.apply([tf.constant(gradient)], [weight])
    return keras.ops.convert_to_numpy(weight)


def length(vector):
    return np.linalg.norm(vector.astype(np.float64))


# The loop that is right


@pytest.mark.parametrize("policy", ["float32", "mixed_float16", "mixed_bfloat16"])
@pytest.mark.parametrize("wrapped", [False, True])
def test_06_scale_loss_and_apply_take_the_step_of_float32_under_every_policy(policy, wrapped):
    optimizer = LossScaleOptimizer(SGD(0.1)) if wrapped else SGD(0.1)
    moved, loss = steps(network(policy), optimizer)
    right = float32_step()
    assert length(moved - right) < 0.03 * length(right)
    assert loss.dtype == tf.float32


def test_06_a_plain_optimizer_gives_the_loss_back_and_a_fixed_one_multiplies():
    loss = tf.constant(0.7)
    assert SGD().scale_loss(loss) is loss
    assert number(SGD(loss_scale_factor=8.0).scale_loss(loss)) == number(8 * loss)
    assert number(LossScaleOptimizer(SGD()).scale_loss(loss)) == number(S * loss)  # not built


def test_06_the_scale_is_there_once_the_optimizer_is_built():
    optimizer = LossScaleOptimizer(SGD())
    assert not hasattr(optimizer, "dynamic_scale")
    optimizer.build([keras.Variable([1.0])])
    assert number(optimizer.dynamic_scale) == S


def test_06_gradients_are_float16_inside_and_float32_at_the_weights_and_all_are_scaled():
    model, optimizer = network(), LossScaleOptimizer(SGD())
    first, last = model.layers
    with tf.GradientTape(persistent=True) as tape:
        hidden = first(X)
        loss = LOSS(Y, last(hidden))
        scaled = optimizer.scale_loss(loss)
    places = [hidden, first.kernel.value, last.kernel.value]
    inside, at_first, at_last = tape.gradient(scaled, places)
    assert (inside.dtype, at_first.dtype, at_last.dtype) == (tf.float16, tf.float32, tf.float32)

    def on_the_grid(gradient):
        return np.array_equal(gradient, gradient.numpy().astype(np.float16))

    assert on_the_grid(at_first) and not on_the_grid(at_last)  # the last layer is float32
    assert length(at_last.numpy()) == pytest.approx(
        S * length(tape.gradient(loss, places)[2].numpy()), rel=1e-2
    )


def test_06_the_scaled_loss_may_be_larger_than_float16_holds():
    optimizer = LossScaleOptimizer(SGD())
    scaled = optimizer.scale_loss(tf.constant(2.4))
    assert scaled.dtype == tf.float32 and number(scaled) > 65504


@pytest.mark.parametrize("name", ["get_scaled_loss", "get_unscaled_gradients", "loss_scale"])
def test_06_the_names_of_the_official_guide_are_gone(name):
    with pytest.raises(AttributeError, match=name):
        getattr(LossScaleOptimizer(SGD()), name)


# Four ways to get it wrong


@pytest.mark.parametrize("mistake", ["forgotten", "twice"])
def test_06_forgotten_or_unscaled_twice_the_step_is_divided_by_the_scale(mistake):
    moved, _ = steps(network(), LossScaleOptimizer(SGD(1000.0)), mistake=mistake)
    assert length(moved) == pytest.approx(length(float32_step(1000.0)) / S, rel=0.05)


def test_06_clipped_before_unscaling_the_step_is_as_short_as_one_over_the_scale():
    moved, _ = steps(network(), LossScaleOptimizer(SGD(1000.0)), mistake="clipped early")
    assert length(moved) == pytest.approx(1000 / S, rel=0.01)
    assert length(float32_step(1000.0)) > 1e4 * length(moved)


def test_06_a_fixed_scale_puts_an_overflow_into_the_weights_and_a_dynamic_one_does_not():
    fixed, dynamic = SGD(0.1, loss_scale_factor=2.0**24), LossScaleOptimizer(SGD(0.1))
    model = network()
    assert np.isfinite(steps(model, dynamic, 1e6 * X)[0]).all()
    assert not steps(network(), LossScaleOptimizer(SGD(0.1)), 1e6 * X)[0].any()
    assert not np.isfinite(steps(network(), fixed, 1e6 * X)[0]).all()
    assert number(fixed.iterations) == 1 and number(dynamic.iterations) == 0


def test_06_a_dynamic_scale_cures_an_overflow_and_no_other_nan():
    too_large = LossScaleOptimizer(SGD(0.1), initial_scale=2.0**24)
    moved, _ = steps(network(), too_large, count=30)
    assert 15 <= number(too_large.iterations) < 30 and length(moved) > 0
    assert number(too_large.dynamic_scale) < 2.0**24
    blank = LossScaleOptimizer(SGD(0.1), initial_scale=2.0**24)
    moved, _ = steps(network(), blank, np.full_like(X, np.nan), count=30)
    assert number(blank.iterations) == 0 and not moved.any()
    assert number(blank.dynamic_scale) == 2.0 ** (24 - 30)


@pytest.mark.parametrize("g", [1.0, 1e-3, S * 1e-7, 1e-5])
def test_06_after_many_equal_gradients_adams_step_is_g_over_g_plus_epsilon(g):
    """Slots as after many steps, so that the test need not make them."""
    for received in (g, g / S):
        weight, adam = keras.Variable([0.0]), Adam(0.001)
        adam.build([weight])
        adam.iterations.assign(10**6)
        slots = {v.name: v for v in adam.variables}
        first = next(v for name, v in slots.items() if name.endswith("momentum"))
        second = next(v for name, v in slots.items() if name.endswith("velocity"))
        first.assign([received])
        second.assign([received**2])
        adam.apply([tf.constant([received], tf.float32)])
        assert -number(weight) == pytest.approx(0.001 * received / (received + 1e-7), rel=1e-2)


def test_06_adams_factor_cancels_far_above_epsilon_and_not_below():
    def moved(g):
        return -updated(Adam(0.001), *[np.float32([g])] * 200)[0]

    assert moved(10.0 / S) > 0.95 * moved(10.0)
    assert moved(1e-5 / S) < 0.01 * moved(1e-5)


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


def test_06_a_scale_by_hand_is_right_with_a_raw_optimizer_and_divides_twice_with_a_wrapped_one():
    by_hand = 128 * G / 128
    assert np.allclose(updated(SGD(1.0), by_hand), -G)
    assert np.allclose(updated(LossScaleOptimizer(SGD(1.0)), by_hand), -G / S, rtol=1e-5, atol=0)


def test_06_a_tape_gives_the_gradient_of_the_sum_of_several_losses():
    crossentropy, model = keras.losses.sparse_categorical_crossentropy, network("float32")
    with tf.GradientTape(persistent=True) as tape:
        losses = crossentropy(Y, model(X), from_logits=True)
        mean = tf.reduce_mean(losses)
    assert losses.shape == (32,)
    each, one = (flat(tape.gradient(v, model.trainable_variables)) for v in (losses, mean))
    assert length(each) == pytest.approx(32 * length(one), rel=1e-4)


def test_06_a_loss_on_probabilities_cuts_logits_and_gives_those_no_gradient():
    crossentropy = keras.losses.sparse_categorical_crossentropy
    logits = tf.constant([[-2.0, 0.5, 3.0], [2.0, -1.0, 0.25]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(logits)
        wrong = crossentropy(np.array([0, 1]), logits)
        right = crossentropy(np.array([0, 1]), logits, from_logits=True)
    cut = (logits.numpy() < 0) | (logits.numpy() > 1)
    assert not tape.gradient(wrong, logits).numpy()[cut].any()
    assert tape.gradient(right, logits).numpy().all()
    assert wrong.numpy().min() > 2 * right.numpy().max()


# A train_step of your own


class Own(keras.Sequential):
    scales = True

    def train_step(self, data):
        images, labels, _ = keras.utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x=images, y=labels, y_pred=self(images, training=True))
            scaled = self.optimizer.scale_loss(loss) if self.scales else loss
        gradients = tape.gradient(scaled, self.trainable_variables)
        self.optimizer.apply(gradients, self.trainable_variables)
        return {"loss": loss}


class Forgetful(Own):
    scales = False


@pytest.mark.parametrize("way", ["fit", "train_on_batch"])
@pytest.mark.parametrize("policy", ["float32", "mixed_float16", "mixed_bfloat16"])
def test_06_a_train_step_needs_scale_loss_under_mixed_float16_alone(policy, way):
    moved = {}
    for kind in (Own, Forgetful):
        model = network(policy, kind)
        model.compile(SGD(1.0), LOSS, jit_compile=False)
        assert isinstance(model.optimizer, LossScaleOptimizer) == (policy == "mixed_float16")
        before = flat(model.weights)
        options = {"batch_size": 32, "verbose": 0} if way == "fit" else {}
        getattr(model, way)(X, Y, **options)
        moved[kind] = flat(model.weights) - before
    right = float32_step(1.0)
    assert length(moved[Own] - right) < 0.03 * length(right)
    share = length(moved[Forgetful]) / length(right)
    assert share < 2e-3 if policy == "mixed_float16" else share == pytest.approx(1, abs=0.03)


# Clipping, accumulation, averages


@pytest.mark.parametrize(
    "option",
    [{"clipnorm": 1.0}, {"global_clipnorm": 1.0}, {"clipvalue": 1.0}, {"use_ema": True},
     {"gradient_accumulation_steps": 4}, {"loss_scale_factor": 2.0}],
)  # fmt: skip
def test_06_the_wrapper_refuses_what_belongs_on_the_inner_optimizer(option):
    (name,) = option
    message = f"does not support `{name}`. Instead, set `{name}` on the `inner_optimizer`"
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        LossScaleOptimizer(SGD(), **option)


def test_06_an_inner_optimizer_clips_after_unscaling():
    inner = updated(LossScaleOptimizer(SGD(1.0, global_clipnorm=1.0)), S * G)
    assert np.allclose(-inner, G / 5)
    limits = {1.0: G / 5 / S, S: G / 5}
    for limit, wanted in limits.items():
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


def test_06_scaled_gradients_may_be_added_before_one_apply_and_an_overflow_skips_them_all():
    parts = [S * G, 3 * S * G]
    assert np.allclose(updated(LossScaleOptimizer(SGD(1.0)), sum(parts) / 2), -2 * G)
    assert np.allclose(updated(LossScaleOptimizer(SGD(1.0)), sum(parts)), -4 * G)  # the sum
    spoiled = sum([*parts, np.full_like(G, np.inf)])
    assert not updated(LossScaleOptimizer(SGD(1.0)), spoiled).any()


def average_of(optimizer):
    (average,) = (v for v in optimizer.variables if "average" in v.path)
    return average


def test_06_a_loop_has_to_put_the_average_of_weights_into_the_model_itself():
    optimizer, weight = LossScaleOptimizer(SGD(1.0, use_ema=True)), keras.Variable([0.0, 0.0])
    optimizer.build([weight])
    for _ in range(2):
        optimizer.apply([tf.constant(S * G)], [weight])
    average = average_of(optimizer)
    kept = keras.ops.convert_to_numpy(average)
    assert average.dtype == "float32" and not np.allclose(kept, weight)
    assert np.array_equal(weight, -2 * G)
    optimizer.apply([tf.constant(np.full_like(G, np.nan))], [weight])
    assert np.array_equal(average, kept)  # a skipped step leaves it
    optimizer.finalize_variable_values([weight])
    assert np.array_equal(weight, kept)


def test_06_fit_puts_the_average_into_the_model_at_its_end():
    ends = []
    for use_ema in (False, True):
        model = network()
        model.compile(SGD(0.5, use_ema=use_ema, ema_momentum=0.9), LOSS, jit_compile=False)
        model.fit(X, Y, batch_size=8, shuffle=False, epochs=3, verbose=0)
        ends.append(flat(model.weights))
    start = flat(network().weights)
    assert 0.1 < length(ends[1] - start) / length(ends[0] - start) < 0.9


def test_06_an_average_in_float16_stops_on_the_way():
    ends = []
    for dtype in (np.float32, np.float16):
        average = dtype(0)
        for _ in range(10_000):
            average = average + dtype(0.001) * (dtype(1) - average)
        ends.append(float(average))
    assert ends[0] > 0.999 and ends[1] < 0.8


# Metrics


def test_06_one_loss_that_is_not_finite_spoils_a_mean_and_a_weight_of_zero_does_not_help():
    for bad in (np.nan, np.inf):
        plain, masked, mended = (keras.metrics.Mean() for _ in range(3))
        for loss in (1.0, bad, 3.0):
            good = np.isfinite(loss)
            plain.update_state(loss)
            masked.update_state(loss, sample_weight=float(good))
            mended.update_state(loss if good else 0.0, sample_weight=float(good))
        assert not np.isfinite(number(plain.result())) and np.isnan(number(masked.result()))
        assert number(mended.result()) == 2


def test_06_an_overflowing_forward_pass_makes_the_loss_nan_and_counts_as_no_step():
    optimizer = LossScaleOptimizer(SGD(0.1))
    moved, loss = steps(network(), optimizer, 1e6 * X)
    assert np.isnan(number(loss)) and not moved.any() and number(optimizer.iterations) == 0


def test_06_numpys_argmax_takes_ten_nan_for_the_first_class():
    assert np.argmax(np.full((1, 10), np.nan), axis=1) == [0]


# Common mistakes


def test_06_apply_with_pairs_does_nothing_when_wrapped_and_raises_when_not():
    for method, end in (("apply", 1.0), ("apply_gradients", 0.95)):
        weight = keras.Variable([1.0])
        wrapper = LossScaleOptimizer(SGD(0.1))
        wrapper.build([weight])
        pairs = zip([wrapper.scale_loss(tf.constant([0.5]))], [weight], strict=True)
        getattr(wrapper, method)(pairs)
        assert weight.numpy()[0] == pytest.approx(end) and wrapper.dynamic_scale.numpy() == 2**15
        assert int(wrapper.iterations.numpy()) == (method == "apply_gradients")
    with pytest.raises((TypeError, ValueError)):
        SGD(0.1).apply(zip([tf.constant([0.5])], [weight], strict=True))


def test_06_the_inner_optimizer_by_itself_does_not_unscale():
    optimizer = LossScaleOptimizer(SGD(0.1))
    assert np.allclose(updated(optimizer.inner_optimizer, S * G), -0.1 * S * G)
