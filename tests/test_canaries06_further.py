"""One test for each behaviour that sections 5, 7 and 8 of notebook 06 teach.

When a new release changes one of them, the test that fails names the notebook to mend. What needs
processes of its own is in test_resume.py.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf

Dense, Layer = keras.layers.Dense, keras.layers.Layer
LossScaleOptimizer, SGD = keras.optimizers.LossScaleOptimizer, keras.optimizers.SGD
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
X = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")
Y = np.random.default_rng(1).integers(0, 3, 64)
POLICIES = "float32", "mixed_float16", "mixed_bfloat16"
WRAPS = {
    "plain": lambda function: function,
    "graph": tf.function,
    "XLA": lambda function: tf.function(function, jit_compile=True),
}


@pytest.fixture(autouse=True)
def on_the_cpu():
    with tf.device("CPU:0"):
        yield


def number(variable):
    return float(keras.ops.convert_to_numpy(variable).item())


def network(policy="mixed_float16", scale=1024.0, growth=3, *extra):
    keras.utils.set_random_seed(0)
    layers = [Dense(16, "relu", dtype=policy), *extra, Dense(3, dtype="float32")]
    optimizer = keras.optimizers.Adam(0.01)
    if policy == "mixed_float16":
        optimizer = LossScaleOptimizer(optimizer, scale, growth)
    return keras.Sequential([keras.Input((4,)), *layers]), optimizer


def step_of(model, optimizer):
    def step():
        with tf.GradientTape() as tape:
            loss = LOSS(Y, model(X, training=True))
            scaled = optimizer.scale_loss(loss)
        gradients = tape.gradient(scaled, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
        return loss

    return step


def trained(*arguments, steps=4):
    model, optimizer = network(*arguments)
    optimizer.build(model.trainable_variables)
    for _ in range(steps):
        step_of(model, optimizer)()
    return model, optimizer


def equal(ones, others):
    return all(
        np.array_equal(one.numpy(), other.numpy()) for one, other in zip(ones, others, strict=True)
    )


# 5: what a checkpoint holds


def test_06_a_checkpoint_of_the_optimizer_holds_scale_counter_and_moments(tmp_path):
    model, optimizer = trained()
    path = tf.train.Checkpoint(optimizer=optimizer).save(tmp_path / "c")
    other_model, other = network()
    other.build(other_model.trainable_variables)
    tf.train.Checkpoint(optimizer=other).restore(path)
    assert (number(other.dynamic_scale), number(other.step_counter)) == (2048, 1)
    assert equal(other.variables, optimizer.variables)
    # The optimizer refers to the weights it trains, so they are in its checkpoint too.
    assert equal(other_model.trainable_variables, model.trainable_variables)


def test_06_but_no_weights_that_are_not_trained(tmp_path):
    model, optimizer = trained("float32", None, None, keras.layers.BatchNormalization())
    path = tf.train.Checkpoint(optimizer=optimizer).save(tmp_path / "c")
    other_model, other = network("float32", None, None, keras.layers.BatchNormalization())
    other.build(other_model.trainable_variables)
    tf.train.Checkpoint(optimizer=other).restore(path)
    assert equal(other_model.trainable_variables, model.trainable_variables)
    assert not equal(other_model.non_trainable_variables, model.non_trainable_variables)


def test_06_the_inner_optimizer_alone_holds_no_scale(tmp_path):
    _, optimizer = trained()
    path = tf.train.Checkpoint(optimizer=optimizer.inner_optimizer).save(tmp_path / "c")
    names = [name for name, _ in tf.train.list_variables(path)]
    assert not any("dynamic_scale" in name or "step_counter" in name for name in names)


def test_06_a_scaled_optimizer_restored_before_it_is_built_takes_one_step_with_another_scale(
    tmp_path,
):
    """scale_loss multiplies by initial_scale, apply divides by the restored one."""
    _, optimizer = trained("mixed_float16", 1024.0, 3)
    path = tf.train.Checkpoint(optimizer=optimizer).save(tmp_path / "c")
    for built in (True, False):
        model, other = network("mixed_float16", 1024.0, 3)
        if built:
            other.build(model.trainable_variables)
        tf.train.Checkpoint(optimizer=other).restore(path)
        assert number(other.scale_loss(tf.constant(1.0))) == (2048 if built else 1024)
        assert hasattr(other, "dynamic_scale") == built
        if not built:
            other.build(model.trainable_variables)
        assert number(other.dynamic_scale) == 2048


def test_06_the_dice_of_dropout_are_in_no_checkpoint_of_the_model(tmp_path):
    def dice(model):
        return model.layers[1].seed_generator.state

    model, optimizer = trained("float32", None, None, keras.layers.Dropout(0.5))
    complete = {"model": model, "dice": [dice(model).value]}
    for kept, comes_back in (({"model": model}, False), (complete, True)):
        path = tf.train.Checkpoint(optimizer=optimizer, **kept).save(tmp_path / "c")
        other, other_optimizer = network("float32", None, None, keras.layers.Dropout(0.5))
        other_optimizer.build(other.trainable_variables)
        restored = {"model": other, "dice": [dice(other).value]}
        checkpoint = tf.train.Checkpoint(
            optimizer=other_optimizer, **{name: restored[name] for name in kept}
        )
        checkpoint.restore(path)
        assert equal([dice(other)], [dice(model)]) == comes_back
        assert equal(other.trainable_variables, model.trainable_variables)


def test_06_an_iterator_comes_back_with_its_place_and_its_shuffled_examples(tmp_path):
    def iterator():
        tf.random.set_seed(0)
        return iter(tf.data.Dataset.range(40).shuffle(10).repeat().batch(4))

    one, other = iterator(), iterator()
    for _ in range(7):
        next(one)
    path = tf.train.Checkpoint(iterator=one).save(tmp_path / "c")
    expected = [next(one).numpy().tolist() for _ in range(10)]
    tf.train.Checkpoint(iterator=other).restore(path)
    assert [next(other).numpy().tolist() for _ in range(10)] == expected


def test_06_iterations_leave_out_skipped_steps():
    _, optimizer = trained("mixed_float16", 2.0**40, 3, steps=4)
    assert number(optimizer.iterations) == 0 and number(optimizer.dynamic_scale) == 2**36


def test_06_backup_and_restore_keeps_the_scale_and_begins_the_epoch_again(tmp_path):
    def fit(cut_before=None):
        model, optimizer = network("mixed_float16", 1024.0, 3, keras.layers.Dropout(0.5))
        optimizer.build(model.trainable_variables)
        model.compile(optimizer, LOSS, jit_compile=False)
        begun = []

        def look(batch, logs):
            if len(begun) == cut_before:
                raise InterruptedError
            dice = model.layers[1].seed_generator.state.numpy().tolist()
            begun.append((number(optimizer.dynamic_scale), dice))

        backup = keras.callbacks.BackupAndRestore(str(tmp_path / "backup"), save_freq=5)
        calls = [backup, keras.callbacks.LambdaCallback(on_train_batch_begin=look)]
        try:
            model.fit(X, Y, batch_size=4, verbose=0, callbacks=calls)
        except InterruptedError:
            pass
        return begun

    before, after = fit(cut_before=8), fit()
    assert (len(before), len(after)) == (8, 16)  # 5 batches are seen twice
    assert after[0][0] == before[5][0] != before[0][0]
    assert after[0][1] == before[0][1] != before[5][1]  # and the dice as at the start


def test_06_a_saved_model_keeps_updates_scale_and_counter_but_no_dice(tmp_path):
    model, optimizer = trained("mixed_float16", 1024.0, 3, keras.layers.Dropout(0.5))
    model.compile(optimizer, LOSS)
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    assert equal(loaded.optimizer.variables, optimizer.variables)
    assert number(loaded.optimizer.dynamic_scale) == 2048
    states = [m.layers[1].seed_generator.state for m in (model, loaded)]
    assert not equal(*[[state] for state in states])


# 7: compiled steps


@pytest.mark.parametrize("policy", POLICIES)
def test_06_a_compiled_step_makes_the_same_updates(policy):
    ends, scales = {}, {}
    for name, wrap in WRAPS.items():
        model, optimizer = network(policy, 2.0**24, 2)
        optimizer.build(model.trainable_variables)
        step = wrap(step_of(model, optimizer))
        scales[name] = []
        for _ in range(12):
            step()
            scales[name].append(number(getattr(optimizer, "dynamic_scale", np.zeros(()))))
        ends[name] = np.concatenate([np.ravel(w) for w in model.get_weights()])
    assert scales["plain"] == scales["graph"] == scales["XLA"]
    if policy == "mixed_float16":
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


# TensorFlow's own error for a tensor in a Python condition; it is a TypeError.
IN_LAYER = TypeError


class Gate(Layer):
    def call(self, x):
        return 2 * x if tf.reduce_sum(x) > 0 else x


def branch(x):
    if tf.reduce_sum(x) > 0:
        x = 2 * x
    return x


def read(x):
    return x.numpy()


def show(x):
    tf.print("x is", x)
    return x


@pytest.mark.parametrize(
    ("function", "in_graph", "in_xla"),
    [
        (branch, None, None),
        (Gate(), IN_LAYER, IN_LAYER),
        (read, AttributeError, AttributeError),
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


# 8: a gradient inside the loss


def inner_gradient(policy, images, scale=1.0):
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((4,)), Dense(8, dtype=policy), Dense(1, dtype=policy)])
    images = tf.convert_to_tensor(images)
    with tf.GradientTape() as tape:
        tape.watch(images)
        score = tf.cast(tf.reduce_sum(model(images)), "float32") * scale
    return tape.gradient(score, images)


def test_06_the_inner_gradient_has_the_dtype_of_the_images_and_the_scale_in_it():
    plain = inner_gradient("mixed_float16", X)
    assert plain.dtype == tf.float32
    assert inner_gradient("mixed_float16", X.astype("float16")).dtype == tf.float16
    scaled = inner_gradient("mixed_float16", X, 1024.0)
    assert np.array_equal(scaled, 1024 * plain)
    np.testing.assert_allclose(plain, inner_gradient("float32", X), rtol=0.01, atol=0.003)


def test_06_squared_in_float16_a_number_overflows_from_256_on():
    values = tf.constant([255.875, 256.0], tf.float16)
    assert np.isinf(values**2).tolist() == [False, True]


@pytest.mark.parametrize("policy", POLICIES)
def test_06_a_penalty_is_right_if_the_inner_gradient_is_unscaled_before_the_square(policy):
    """Through float16 twice; S² too large if it is left scaled."""

    def penalty(policy, scale, unscale):
        keras.utils.set_random_seed(0)
        layers = [Dense(8, dtype=policy), keras.layers.LeakyReLU(0.2, dtype=policy)]
        head = [Dense(1, dtype=policy), keras.layers.Activation("linear", dtype="float32")]
        model = keras.Sequential([keras.Input((4,)), *layers, *head])
        images = tf.constant(X)
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                inner.watch(images)
                score = scale * tf.reduce_sum(model(images))
            gradient = inner.gradient(score, images) / (scale if unscale else 1.0)
            value = tf.reduce_mean((tf.norm(gradient, axis=1) - 3) ** 2)
            scaled = scale * value
        gradients = outer.gradient(scaled, model.trainable_variables)
        assert gradients[-1] is None  # the score's gradient does not depend on the last bias
        return number(value), np.concatenate([np.ravel(g) for g in gradients if g is not None])

    right, exact = penalty("float32", 1.0, True)
    value, gradient = penalty(policy, 1024.0, True)
    assert value == pytest.approx(right, rel=0.02)
    assert np.linalg.norm(gradient / 1024 - exact) < 0.03 * np.linalg.norm(exact)
    assert penalty(policy, 1024.0, False)[0] > 1000 * right  # it squares 1024 times too much
