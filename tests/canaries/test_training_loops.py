"""What a training loop of one's own does in 16 bits, as notebook 06 teaches it.

When a new release changes one of these behaviours, the test that fails names the notebook to mend.
What a run needs to go on, its iterator and the dice of dropout among it, is in test_resume.py.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf
from common import number, on_the_cpu  # noqa: F401

from course_utils.training import dtype_policy

Dense, SGD, Dropout = keras.layers.Dense, keras.optimizers.SGD, keras.layers.Dropout
LossScaleOptimizer = keras.optimizers.LossScaleOptimizer
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
POLICIES = "float32", "mixed_float16", "mixed_bfloat16"
SOURCE = np.random.default_rng(0)
X, Y = SOURCE.normal(size=(32, 8)).astype("float32"), SOURCE.integers(0, 3, 32)
pytestmark = pytest.mark.usefixtures("on_the_cpu")


def flat(arrays):
    return np.concatenate([np.ravel(keras.ops.convert_to_numpy(a)) for a in arrays])


def length(vector):
    return np.linalg.norm(np.asarray(vector, np.float64))


def equal(ones, others):
    return all(np.array_equal(a.numpy(), b.numpy()) for a, b in zip(ones, others, strict=True))


def network(policy="mixed_float16", *extra, kind=keras.Sequential):
    """The same weights at each call."""
    keras.utils.set_random_seed(1)
    with dtype_policy(policy):
        return kind([keras.Input((8,)), Dense(16, "relu"), *extra, Dense(3, dtype="float32")])


def float32_step(rate=0.1):
    """What one step of SGD changes in float32."""
    model = network("float32")
    with tf.GradientTape() as tape:
        loss = LOSS(Y, model(X))
    return -rate * flat(tape.gradient(loss, model.trainable_variables))


def step_of(model, optimizer):
    def step():
        with tf.GradientTape() as tape:
            loss = LOSS(Y, model(X, training=True))
            scaled = optimizer.scale_loss(loss)
        gradients = tape.gradient(scaled, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
        return loss

    return step


def steps(model, optimizer, count=1):
    """What `count` steps of a loop change, and the last loss."""
    optimizer.build(model.trainable_variables)
    before, step = flat(model.weights), step_of(model, optimizer)
    losses = [step() for _ in range(count)]
    return flat(model.weights) - before, losses[-1]


# The loop that is right


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("wrapped", [False, True])
def test_06_scale_loss_and_apply_take_the_step_of_float32_under_every_policy(policy, wrapped):
    optimizer = LossScaleOptimizer(SGD(0.1)) if wrapped else SGD(0.1)
    moved, loss = steps(network(policy), optimizer)
    right = float32_step()
    assert length(moved - right) < 0.1 * length(right)
    assert loss.dtype == tf.float32


# Ways to get it wrong; the rest is in test_notebook06.py


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


# A train_step of your own, and fit


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


@pytest.mark.parametrize("policy", POLICIES)
def test_00_06_a_train_step_needs_scale_loss_under_mixed_float16_alone(policy):
    moved = {}
    for kind in (Own, Forgetful):
        model = network(policy, kind=kind)
        model.compile(SGD(1.0), LOSS, jit_compile=False)
        assert isinstance(model.optimizer, LossScaleOptimizer) == (policy == "mixed_float16")
        before = flat(model.weights)
        model.fit(X, Y, batch_size=32, verbose=0)
        moved[kind] = flat(model.weights) - before
    right = float32_step(1.0)
    assert length(moved[Own] - right) < 0.1 * length(right)
    share = length(moved[Forgetful]) / length(right)
    assert share < 2e-3 if policy == "mixed_float16" else share == pytest.approx(1, abs=0.1)


def test_06_fit_puts_the_average_into_the_model_at_its_end():
    ends = []
    for use_ema in (False, True):
        model = network()
        model.compile(SGD(0.5, use_ema=use_ema, ema_momentum=0.9), LOSS, jit_compile=False)
        model.fit(X, Y, batch_size=8, shuffle=False, epochs=3, verbose=0)
        ends.append(flat(model.weights))
    start = flat(network().weights)
    assert 0.1 < length(ends[1] - start) / length(ends[0] - start) < 0.9


# What a checkpoint holds


def scaled(scale=1024.0, growth=3):
    return LossScaleOptimizer(keras.optimizers.Adam(0.01), scale, growth)


def trained(policy="mixed_float16", *extra, optimizer=None):
    """A model and its optimizer after four steps: the scale has doubled once."""
    model, optimizer = network(policy, *extra), optimizer or scaled()
    steps(model, optimizer, count=4)
    return model, optimizer


def test_06_a_checkpoint_of_the_optimizer_holds_scale_counter_and_moments(tmp_path):
    model, optimizer = trained()
    path = tf.train.Checkpoint(optimizer=optimizer).save(tmp_path / "c")
    other_model, other = network(), scaled()
    other.build(other_model.trainable_variables)
    tf.train.Checkpoint(optimizer=other).restore(path)
    assert (number(other.dynamic_scale), number(other.step_counter)) == (2048, 1)
    assert equal(other.variables, optimizer.variables)
    # The optimizer refers to the weights it trains, so they are in its checkpoint too.
    assert equal(other_model.trainable_variables, model.trainable_variables)
    path = tf.train.Checkpoint(optimizer=optimizer.inner_optimizer).save(tmp_path / "inner")
    names = [name for name, _ in tf.train.list_variables(path)]
    assert not any("dynamic_scale" in name or "step_counter" in name for name in names)
    _, skipping = trained(optimizer=scaled(2.0**40))  # iterations leave out skipped steps
    assert number(skipping.iterations) == 0 and number(skipping.dynamic_scale) == 2**36


def test_06_but_no_weights_that_are_not_trained(tmp_path):
    normalized = keras.layers.BatchNormalization
    model, optimizer = trained("float32", normalized(), optimizer=keras.optimizers.Adam())
    path = tf.train.Checkpoint(optimizer=optimizer).save(tmp_path / "c")
    other_model, other = network("float32", normalized()), keras.optimizers.Adam()
    other.build(other_model.trainable_variables)
    tf.train.Checkpoint(optimizer=other).restore(path)
    assert equal(other_model.trainable_variables, model.trainable_variables)
    assert not equal(other_model.non_trainable_variables, model.non_trainable_variables)


def test_06_a_scaled_optimizer_restored_before_it_is_built_takes_one_step_with_another_scale(
    tmp_path,
):
    """scale_loss multiplies by initial_scale, apply divides by the restored one."""
    path = tf.train.Checkpoint(optimizer=trained()[1]).save(tmp_path / "c")
    for built in (True, False):
        model, other = network(), scaled()
        if built:
            other.build(model.trainable_variables)
        tf.train.Checkpoint(optimizer=other).restore(path)
        assert number(other.scale_loss(tf.constant(1.0))) == (2048 if built else 1024)
        assert hasattr(other, "dynamic_scale") == built
        if not built:
            other.build(model.trainable_variables)
        assert number(other.dynamic_scale) == 2048


def dice(model):
    return model.layers[1].seed_generator.state


def test_06_backup_and_restore_keeps_the_scale_and_begins_the_epoch_again(tmp_path):
    def fit(cut_before=None):
        model, optimizer = network("mixed_float16", Dropout(0.5)), scaled()
        optimizer.build(model.trainable_variables)
        model.compile(optimizer, LOSS, jit_compile=False)
        begun = []

        def look(batch, logs):
            if len(begun) == cut_before:
                raise InterruptedError
            begun.append((number(optimizer.dynamic_scale), dice(model).numpy().tolist()))

        backup = keras.callbacks.BackupAndRestore(str(tmp_path / "backup"), save_freq=5)
        calls = [backup, keras.callbacks.LambdaCallback(on_train_batch_begin=look)]
        try:
            model.fit(X, Y, batch_size=2, verbose=0, callbacks=calls)
        except InterruptedError:
            pass
        return begun

    before, after = fit(cut_before=8), fit()
    assert (len(before), len(after)) == (8, 16)  # 5 batches are seen twice
    assert after[0][0] == before[5][0] != before[0][0]
    assert after[0][1] == before[0][1] != before[5][1]  # and the dice as at the start


def test_03_06_a_saved_model_keeps_updates_scale_and_counter_but_no_dice(tmp_path):
    model, optimizer = trained("mixed_float16", Dropout(0.5))
    model.compile(optimizer, LOSS)
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    assert equal(loaded.optimizer.variables, optimizer.variables)
    assert number(loaded.optimizer.dynamic_scale) == 2048
    assert not equal([dice(model)], [dice(loaded)])


# Compiled steps

WRAPS = {
    "plain": lambda function: function,
    "graph": tf.function,
    "XLA": lambda function: tf.function(function, jit_compile=True),
}


@pytest.mark.parametrize("policy", POLICIES)
def test_06_a_compiled_step_makes_the_same_updates(policy):
    ends, scales = {}, {}
    for name, wrap in WRAPS.items():
        model = network(policy)
        wrapped = policy == "mixed_float16"
        optimizer = scaled(2.0**24, 2) if wrapped else keras.optimizers.Adam(0.01)
        optimizer.build(model.trainable_variables)
        step = wrap(step_of(model, optimizer))
        scales[name] = []
        for _ in range(12):
            step()
            scales[name].append(number(getattr(optimizer, "dynamic_scale", np.zeros(()))))
        ends[name] = flat(model.weights)
    assert scales["plain"] == scales["graph"] == scales["XLA"]
    if wrapped:
        assert len(set(scales["plain"])) > 3  # skipped and doubled
    if policy == "float32":  # the others may be merged with a bias, and rounded once
        assert np.array_equal(ends["graph"], ends["plain"])
    np.testing.assert_allclose(ends["graph"], ends["plain"], atol=0.02)
    np.testing.assert_allclose(ends["XLA"], ends["plain"], atol=0.02)


def test_06_python_runs_while_the_graph_is_recorded_and_not_again():
    for jit in (False, True):
        seen, scale = [], 1024.0

        @tf.function(jit_compile=jit)
        def scaled(loss):
            seen.append(scale)  # noqa: B023
            return scale * loss  # noqa: B023

        first = number(scaled(tf.constant(1.0)))
        scale = 2.0
        assert (first, number(scaled(tf.constant(1.0))), seen) == (1024, 1024, [1024])


class Gate(keras.layers.Layer):
    def call(self, x):
        return 2 * x if tf.reduce_sum(x) > 0 else x


def branch(x):
    if tf.reduce_sum(x) > 0:
        x = 2 * x
    return x


def show(x):
    tf.print("x is", x)
    return x


@pytest.mark.parametrize(
    ("function", "in_graph", "in_xla"),
    [
        (branch, None, None),
        (Gate(), TypeError, TypeError),  # TensorFlow's error for a tensor in a Python condition
        (lambda x: x.numpy(), AttributeError, AttributeError),
        (show, None, tf.errors.InvalidArgumentError),
    ],
    ids=["if", "if in a layer", "numpy", "print"],
)
def test_06_what_a_compiled_function_may_do(function, in_graph, in_xla):
    for jit, error in ((False, in_graph), (True, in_xla)):
        compiled = tf.function(function, jit_compile=jit)
        if error:
            with pytest.raises(error):
                compiled(tf.constant([1.0]))
        else:
            compiled(tf.constant([1.0]))


# A gradient inside the loss


def critic(policy, *extra):
    keras.utils.set_random_seed(0)
    layers = [Dense(8, dtype=policy), *extra, Dense(1, dtype=policy)]
    return keras.Sequential([keras.Input((8,)), *layers])


def test_06_the_inner_gradient_has_the_dtype_of_the_images():
    for dtype in (tf.float32, tf.float16):
        model, images = critic("mixed_float16"), tf.cast(X, dtype)
        with tf.GradientTape() as tape:
            tape.watch(images)
            score = tf.reduce_sum(model(images))
        assert tape.gradient(score, images).dtype == dtype


@pytest.mark.parametrize("policy", POLICIES)
def test_06_a_penalty_is_right_if_the_inner_gradient_is_unscaled_before_the_square(policy):
    """Through float16 twice; S² too large if it is left scaled."""

    def penalty(policy, scale, unscale):
        model, images = critic(policy, keras.layers.LeakyReLU(0.2, dtype=policy)), tf.constant(X)
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                inner.watch(images)
                score = scale * tf.cast(tf.reduce_sum(model(images)), "float32")
            gradient = inner.gradient(score, images) / (scale if unscale else 1.0)
            value = tf.reduce_mean((tf.norm(gradient, axis=1) - 3) ** 2)
            scaled = scale * value
        gradients = outer.gradient(scaled, model.trainable_variables)
        assert gradients[-1] is None  # the score's gradient does not depend on the last bias
        return number(value), flat(g for g in gradients if g is not None)

    right, exact = penalty("float32", 1.0, True)
    value, gradient = penalty(policy, 1024.0, True)
    assert value == pytest.approx(right, rel=0.02)
    assert np.linalg.norm(gradient / 1024 - exact) < 0.03 * np.linalg.norm(exact)
    assert penalty(policy, 1024.0, False)[0] > 1000 * right  # it squares 1024 times too much
