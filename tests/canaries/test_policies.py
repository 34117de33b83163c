"""What dtype policies do in Keras, as notebooks 00, 03 and 04 teach it: layers, outputs, files.

When a new release changes one of these behaviours, the test that fails names the notebook to mend.
"""

import re
import warnings

import keras
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
from common import number

from course_utils import hardware, models
from course_utils.training import dtype_policy

Layer, Dense = keras.layers.Layer, keras.layers.Dense
Adam, LossScaleOptimizer = keras.optimizers.Adam, keras.optimizers.LossScaleOptimizer
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
X, Y = np.random.default_rng(0).normal(size=(16, 4)).astype("float32"), np.zeros(16, "int32")


def network(policy="mixed_float16", head="float32"):
    with dtype_policy(policy or keras.config.dtype_policy().name):
        layers = [Dense(8, activation="relu"), keras.layers.BatchNormalization()]
        return keras.Sequential([keras.Input((4,)), *layers, Dense(2, dtype=head)])


def policies(model):
    return [model.dtype_policy.name, *(layer.dtype_policy.name for layer in model.layers)]


# What a policy is


def test_00_04_weights_stay_in_float32_and_layers_compute_in_16_bits():
    for policy, compute in (("mixed_float16", "float16"), ("mixed_bfloat16", "bfloat16")):
        with dtype_policy(policy):
            first, *_, last = models.mnist_cnn().layers
        assert (first.kernel.dtype, first.compute_dtype) == ("float32", compute)
        assert first.output.dtype == compute
        assert (last.compute_dtype, last.output.dtype) == ("float32", "float32")


def test_00_03_a_policy_holds_only_for_layers_made_after_it():
    """Early layers stay as they are: also in a model, also if it was never called."""
    early, model = Dense(2), network("float32", head=None)
    with dtype_policy("mixed_float16"):
        late = Dense(2)
        outputs = [layer(X).dtype for layer in (early, late, model)]
    assert outputs == [tf.float32, tf.float16, tf.float32]
    assert late(X).dtype == tf.float16  # and late ones keep theirs


def test_03_dtypes_of_policies_layers_and_keras_tensors_are_strings():
    policy = keras.DTypePolicy("mixed_float16")
    assert (policy.compute_dtype, policy.variable_dtype) == ("float16", "float32")
    layer = Dense(2, dtype=policy)
    symbolic = layer(keras.Input((4,)))
    assert all(type(d) is str for d in (policy.compute_dtype, layer.compute_dtype, symbolic.dtype))
    assert layer(X).dtype == tf.float16  # an eager tensor has TensorFlow's dtype


def test_03_an_input_is_float32_whatever_the_policy_and_an_unknown_one_is_refused():
    with dtype_policy("mixed_float16"):
        assert keras.Input((4,)).dtype == "float32"
    with pytest.raises(ValueError, match="'half'"):
        keras.config.set_dtype_policy("half")


# What Keras casts


class Spy(Layer):
    """Notes the dtypes that arrive."""

    def call(self, x, other=None, *, more=None):
        self.seen = keras.tree.map_structure(
            lambda value: getattr(value, "dtype", type(value)), (x, other, more), none_is_leaf=False
        )
        return keras.tree.flatten(x)[0]


FLOAT32, FLOAT64 = tf.ones((2, 2)), tf.ones((2, 2), tf.float64)
INT32, BOOL = tf.ones((2, 2), tf.int32), tf.ones((2, 2), tf.bool)


def test_04_fit_hands_float64_data_to_the_model_as_float32():
    seen = []

    class Noting(keras.Sequential):
        def train_step(self, data):
            seen.append(data[0].dtype)
            return super().train_step(data)

    model = Noting([keras.Input((4,)), Dense(2)])
    model.compile("sgd", LOSS, jit_compile=False)
    model.fit(X.astype(np.float64), Y, verbose=0)
    assert set(seen) == {tf.float32}


def test_03_a_layer_casts_every_floating_tensor_in_its_arguments_and_nothing_else():
    """Keras 2 cast the first argument alone."""
    spy, half = Spy(dtype="mixed_float16"), tf.float16
    for value in (FLOAT32, FLOAT64, tf.ones((2, 2), tf.bfloat16), np.ones((2, 2))):
        spy(value, value, more=value)
        assert spy.seen == (half, half, half)
    spy({"a": FLOAT32, "b": INT32}, {"deep": [FLOAT32, BOOL]}, more=[FLOAT64, np.ones(2, np.int64)])
    assert spy.seen == ({"a": half, "b": tf.int32}, {"deep": [half, tf.bool]}, [half, tf.int64])
    spy(FLOAT32, more=1.5)
    assert spy.seen[2] is float
    spy = Spy(dtype="mixed_float16", autocast=False)
    spy(FLOAT32, FLOAT64)
    assert spy.seen[:2] == (tf.float32, tf.float64)


# The output in float32


@pytest.mark.parametrize("policy", ["float32", "mixed_float16", "mixed_bfloat16", "float16"])
def test_03_04_losses_and_metrics_are_float32(policy):
    y = tf.constant([[1, 2]], tf.float16)
    with dtype_policy(policy):
        loss, metric = keras.losses.MeanSquaredError(), keras.metrics.MeanSquaredError()
        assert {loss(tf.zeros((1, 2)), y).dtype, metric(tf.zeros((1, 2)), y).dtype} == {tf.float32}
        assert {variable.dtype for variable in metric.variables} == {"float32"}
    function = keras.losses.mean_squared_error(tf.zeros((1, 2)), y)
    assert function.dtype == tf.float16  # the bare function casts nothing


def loss_and_gradient(layers, from_logits=False):
    """For the logits [18, 0] and class 1."""
    logits = tf.constant([[18.0, 0.0]])
    loss_function = keras.losses.SparseCategoricalCrossentropy(from_logits=from_logits)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        output = logits
        for layer in layers:
            output = layer(output)
        loss = loss_function(tf.constant([1]), output)
    return float(loss), tape.gradient(loss, logits).numpy().tolist()


def head(policy, activation=None):
    layer = Dense(2, activation=activation, use_bias=False, dtype=policy)
    layer.build((1, 2))
    layer.set_weights([np.eye(2)])
    return layer


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float16"])
def test_03_04_a_softmax_head_in_16_bits_has_a_wrong_loss_and_no_gradient(policy):
    loss, gradient = loss_and_gradient([head(policy, "softmax")])
    assert loss == pytest.approx(16.118, abs=5e-4) and gradient == [[0, 0]]
    assert loss == pytest.approx(-np.log(1e-7), abs=1e-3)  # Keras clips probabilities there


def test_03_04_a_float32_head_is_right_with_and_without_a_softmax():
    right = (pytest.approx(18, abs=1e-4), [pytest.approx([1, -1], abs=1e-4)])
    assert loss_and_gradient([head("float32", "softmax")]) == right
    assert loss_and_gradient([head("float32")], from_logits=True) == right
    last = keras.layers.Activation("softmax", dtype="float32")
    assert loss_and_gradient([head("mixed_float16"), last]) == right


# What compile adds


def functional():
    inputs = keras.Input((4,))
    return keras.Model(inputs, Dense(2)(inputs))


def compiled(build, policy, optimizer="sgd", **options):
    with dtype_policy(policy):
        model = build()
        model.compile(optimizer, LOSS, **options)
    return model.optimizer


@pytest.mark.parametrize("build", [functional, lambda: network(None, head=None)])
def test_02_03_04_compile_wraps_under_mixed_float16_alone(build):
    for policy in ("float32", "mixed_float16", "mixed_bfloat16", "float16"):
        optimizer = compiled(build, policy)
        assert isinstance(optimizer, LossScaleOptimizer) == (policy == "mixed_float16")
    assert type(compiled(build, "mixed_float16").inner_optimizer) is keras.optimizers.SGD


def test_03_compile_goes_by_the_policy_the_model_was_built_under_and_wraps_once():
    built_mixed, built_plain = network(), network("float32")
    built_mixed.compile("sgd", LOSS)  # under float32
    assert isinstance(built_mixed.optimizer, LossScaleOptimizer)
    assert type(compiled(lambda: built_plain, "mixed_float16")) is keras.optimizers.SGD
    one_layer = keras.Sequential([keras.Input((4,)), Dense(2, dtype="mixed_float16")])
    assert type(compiled(lambda: one_layer, "float32")) is keras.optimizers.SGD
    once = compiled(network, "mixed_float16", LossScaleOptimizer(keras.optimizers.SGD()))
    assert type(once.inner_optimizer) is keras.optimizers.SGD
    told_not_to = compiled(network, "mixed_float16", auto_scale_loss=False)
    assert type(told_not_to) is keras.optimizers.SGD


# Custom layers


def output_dtype(call, weight=None, policy="mixed_float16"):
    """The output dtype of a custom layer with one weight of 2 × 2."""

    class Custom(Layer):
        def build(self, _):
            self.w = weight(self) if weight else None

        def call(self, x):
            return call(x, self.w)

    return Custom(dtype=policy)(tf.ones((2, 2))).dtype


def of_tensorflow(_):
    return tf.Variable(tf.ones((2, 2)))


def of_keras(layer):
    return layer.add_weight(name="kernel", shape=(2, 2))


def not_autocast(layer):
    return layer.add_weight(shape=(2, 2), autocast=False)


MISMATCH = "expected to be a (half|float) tensor but is a (half|float) tensor"


def test_03_a_raw_tensor_or_variable_beside_a_float16_tensor_fails():
    for call, weight in (
        (lambda x, _: x * tf.constant(2.0), None),
        (lambda x, _: tf.constant(2.0) * x, None),
        (lambda x, w: x * w, of_tensorflow),
        (lambda x, w: tf.matmul(x, w), of_tensorflow),
    ):
        assert output_dtype(call, weight, "float32") == tf.float32
        with pytest.raises(tf.errors.InvalidArgumentError, match=MISMATCH):
            output_dtype(call, weight)


def test_03_weights_of_keras_and_numbers_of_python_and_numpy_follow_the_policy():
    for call, weight in (
        (lambda x, w: tf.matmul(x, w), of_keras),
        (lambda x, w: x @ w, lambda _: keras.Variable(np.ones((2, 2)))),
        (lambda x, _: 2.0 * x + 1, None),
        (lambda x, _: x * np.float32(2), None),
        (lambda x, _: x * np.ones(2, np.float32), None),
        (lambda x, _: x * tf.cast(tf.constant(2.0), x.dtype), None),
    ):
        assert output_dtype(call, weight) == tf.float16


def test_03_keras_ops_promote_where_tensorflow_refuses():
    half, single = tf.ones(2, tf.float16), tf.ones(2)
    assert keras.ops.add(half, single).dtype == tf.float32
    assert keras.ops.add(half, tf.ones(2, tf.bfloat16)).dtype == tf.float32
    assert keras.ops.add(half, 1.5).dtype == tf.float16
    with pytest.raises(tf.errors.InvalidArgumentError, match=MISMATCH):
        tf.add(half, single)


def test_03_a_weight_with_autocast_off_makes_the_output_float32_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for call in (lambda x, w: keras.ops.matmul(x, w), lambda x, w: x * w):
            assert output_dtype(call, not_autocast) == tf.float32
    with pytest.raises(tf.errors.InvalidArgumentError, match=MISMATCH):
        output_dtype(lambda x, w: tf.matmul(x, w), not_autocast)


def test_03_the_name_of_a_weight_is_no_positional_argument_any_more():
    """Keras 3.13 has an error of Python's, later versions one of their own."""
    message = "multiple values for argument 'shape'|`name` must be passed as a keyword"
    with pytest.raises((TypeError, ValueError), match=message):
        Dense(1).add_weight("kernel", shape=(2, 2))


def test_03_matmul_with_an_output_type_wants_inputs_of_that_type():
    """So it does nothing in a layer that computes in float16, and fails in one of float32."""

    def call(x, w):
        return tf.matmul(x, w, output_type="float16")

    assert output_dtype(call, of_keras) == tf.float16
    with tf.device("CPU:0"):
        with pytest.raises(tf.errors.NotFoundError, match="Could not find device for node"):
            output_dtype(call, of_keras, "float32")
        with pytest.raises(tf.errors.InvalidArgumentError, match="No OpKernel was registered"):
            tf.function(call)(FLOAT32, FLOAT32)


# Saving and loading


@pytest.mark.parametrize(
    ("under", "optimizer", "then", "loaded", "goes_on"),
    [
        ("mixed_float16", Adam, "mixed_float16", LossScaleOptimizer, True),
        ("mixed_float16", Adam, "float32", Adam, False),
        ("mixed_float16", Adam, "mixed_bfloat16", Adam, False),
        ("mixed_float16", lambda: LossScaleOptimizer(Adam()), "float32", LossScaleOptimizer, True),
        ("float32", Adam, "mixed_float16", LossScaleOptimizer, False),
    ],
)
def test_03_a_loaded_optimizer_starts_again_where_the_policy_wraps_it_otherwise_than_its_file(
    under, optimizer, then, loaded, goes_on, tmp_path
):
    before = network(under)
    before.compile(optimizer(), LOSS, jit_compile=False)
    before.fit(X, Y, batch_size=4, verbose=0)
    before.save(tmp_path / "m.keras")
    with dtype_policy(then), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = keras.models.load_model(tmp_path / "m.keras")
    said = [str(w.message) for w in caught if "Skipping variable" in str(w.message)]
    assert type(model.optimizer) is loaded and bool(said) == (not goes_on)
    if goes_on:
        assert number(model.optimizer.iterations) == number(before.optimizer.iterations) > 0
        assert number(model.optimizer.dynamic_scale) == number(before.optimizer.dynamic_scale)
    else:
        assert number(model.optimizer.iterations) == 0
        assert said[0].startswith("Skipping variable loading for optimizer '")
        assert set(re.findall(r"has (\d+)", said[0])) == {"14", "18"}
    assert policies(model) == [then, *policies(before)[1:]]
    assert all(map(np.array_equal, model.get_weights(), before.get_weights()))
    model.fit(X, Y, verbose=0)
    assert type(model.optimizer) is loaded  # it trains on as it was loaded


# Another policy for a model that is built


def converted(layer):
    config = layer.get_config()
    del config["dtype"]  # a layer that names none takes the global policy
    return type(layer).from_config(config)


def test_03_clones_keep_the_policies_of_the_layers_unless_they_lose_their_dtype():
    model = network("float32")
    with dtype_policy("mixed_float16"):
        clones = keras.models.clone_model(model), type(model).from_config(model.get_config())
        clone = keras.models.clone_model(model, clone_function=converted)
    for same in clones:
        assert policies(same) == ["mixed_float16", "float32", "float32", "float32"]
    assert set(policies(clone)) == {"mixed_float16"}  # the head too: name its dtype again
    clone.set_weights(model.get_weights())
    assert all(map(np.array_equal, clone.get_weights(), model.get_weights()))
    assert clone(X).dtype == tf.float16 and np.allclose(clone(X), model(X), atol=0.02)
    clone.compile("sgd", LOSS)
    assert isinstance(clone.optimizer, LossScaleOptimizer)


def test_03_a_policy_assigned_to_a_layer_holds_at_once_and_one_to_a_model_for_no_layer():
    model = network("float32")
    model.layers[0].dtype_policy = "mixed_float16"
    assert (model.layers[0](X).dtype, model.layers[0].kernel.dtype) == (tf.float16, "float32")
    assert model(X).dtype == tf.float32 and model.dtype_policy.name == "float32"
    model.compile("sgd", LOSS)
    assert type(model.optimizer) is keras.optimizers.SGD
    other = network("float32")
    other.dtype_policy = "mixed_float16"
    assert policies(other) == ["mixed_float16", "float32", "float32", "float32"]
    other.compile("sgd", LOSS)
    assert isinstance(other.optimizer, LossScaleOptimizer)


# Transfer learning


def test_03_a_frozen_base_is_not_trained_and_normalizes_as_in_inference():
    base = network(head=None)
    base.trainable = False
    inputs = keras.Input((4,))
    with dtype_policy("mixed_float16"):
        model = keras.Model(inputs, Dense(2, dtype="float32")(base(inputs)))
    before = base.get_weights()
    model.compile(keras.optimizers.SGD(0.1), LOSS, jit_compile=False)
    assert isinstance(model.optimizer, LossScaleOptimizer) and len(model.trainable_variables) == 2
    model.fit(X + 5, Y, verbose=0)
    assert number(model.optimizer.iterations) == 1
    assert all(map(np.array_equal, base.get_weights(), before))  # the moving averages too
    normalization = base.layers[1]
    x = np.random.default_rng(0).normal(3, 2, (32, 8)).astype(np.float16)
    inference = normalization(x, training=False)
    assert inference.dtype == tf.float16
    assert np.array_equal(normalization(x, training=True), inference)
    normalization.trainable = True
    assert not np.array_equal(normalization(x, training=True), inference)


# Going further

GRAPH_LEVEL = "auto_mixed_precision_onednn_bfloat16"


def share_on_the_bfloat16_grid(values):
    values = np.asarray(values)
    return np.mean(values == values.astype(ml_dtypes.bfloat16).astype(np.float32))


@pytest.mark.skipif(
    not hardware.detect().onednn or "avx512f" not in (hardware.detect().instruction_sets or ()),
    reason="oneDNN converts to bfloat16 on CPUs with AVX-512",
)
def test_03_mixed_precision_in_the_graph_shows_in_the_values_alone():
    """Results are bfloat16 numbers in a float32 tensor; Keras knows nothing of it."""
    x = tf.constant(np.random.default_rng(0).normal(size=(64, 256)), tf.float32)
    weight = tf.Variable(np.random.default_rng(1).normal(size=(256, 256)), dtype=tf.float32)
    model = keras.Sequential([keras.Input((256,)), Dense(64)])

    def product(x):
        return tf.matmul(x, weight)

    def shares():
        model.compile("sgd", "mse", jit_compile=False)
        calls = tf.function(product), product, lambda x: model.predict(x, verbose=0)
        results = [call(x) for call in calls]
        assert {np.asarray(result).dtype.name for result in results} == {"float32"}
        return [share_on_the_bfloat16_grid(result) for result in results]

    with tf.device("CPU:0"):
        assert max(shares()) < 0.1
        try:
            tf.config.optimizer.set_experimental_options({GRAPH_LEVEL: True})
            in_graph, eager, predicted = shares()
            compiled = tf.function(product, jit_compile=True)(x)
        finally:
            tf.config.optimizer.set_experimental_options({GRAPH_LEVEL: False})
        assert (in_graph, predicted) == (1, 1) and eager < 0.1
        assert share_on_the_bfloat16_grid(compiled) < 0.1  # XLA does not convert
        assert model.layers[0].compute_dtype == "float32"
        assert max(shares()) < 0.1


@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method")
def test_03_int8_refuses_layers_that_compute_in_float16():
    for policy in ("float32", "mixed_bfloat16"):
        model = network(policy, head=None)
        model.quantize("int8")
        assert model.layers[0].dtype_policy.name == f"int8_from_{policy}"
        assert model.layers[0].kernel.dtype == "int8"
    message = "mode='int8' doesn't work well with compute_dtype='float16'"
    for policy in ("mixed_float16", "float16"):
        with pytest.raises(ValueError, match=message):
            network(policy, head=None).quantize("int8")
