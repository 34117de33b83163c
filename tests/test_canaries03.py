"""One test for each behaviour of Keras or TensorFlow that notebook 03 teaches.

When a new release changes one of them, the test that fails names the notebook to mend.
"""

import warnings

import keras
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from course_utils import hardware
from course_utils.stepping import dtype_policy

Layer, Dense = keras.layers.Layer, keras.layers.Dense
LossScaleOptimizer = keras.optimizers.LossScaleOptimizer
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
X, Y = np.random.default_rng(0).normal(size=(16, 4)).astype("float32"), np.zeros(16, "int32")


def number(variable):
    return float(keras.ops.convert_to_numpy(variable).item())


def network(policy="mixed_float16", head="float32"):
    with dtype_policy(policy):
        layers = [Dense(8, activation="relu"), keras.layers.BatchNormalization()]
        return keras.Sequential([keras.Input((4,)), *layers, Dense(2, dtype=head)])


def policies(model):
    return [model.dtype_policy.name, *(layer.dtype_policy.name for layer in model.layers)]


# What a policy is


def test_03_a_policy_holds_only_for_layers_made_after_it():
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


def test_03_an_input_is_float32_whatever_the_policy():
    with dtype_policy("mixed_float16"):
        assert keras.Input((4,)).dtype == "float32"


def test_03_a_policy_of_an_unknown_name_is_refused():
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


@pytest.mark.parametrize("value", [FLOAT32, FLOAT64, tf.ones((2, 2), tf.bfloat16), np.ones((2, 2))])
def test_03_a_layer_casts_inputs_of_any_floating_dtype(value):
    spy = Spy(dtype="mixed_float16")
    spy(value)
    assert spy.seen[0] == tf.float16


def test_03_a_layer_does_not_cast_integers_and_truth_values():
    spy = Spy(dtype="mixed_float16")
    spy([FLOAT32, INT32, BOOL, np.ones((2, 2), np.int64)])
    assert spy.seen[0] == [tf.float16, tf.int32, tf.bool, tf.int64]


def test_03_a_layer_casts_every_tensor_argument_not_only_the_first():
    """Keras 2 cast the first one alone."""
    spy = Spy(dtype="mixed_float16")
    spy(FLOAT32, FLOAT32, more=FLOAT64)
    assert spy.seen == (tf.float16,) * 3
    spy({"a": FLOAT32, "b": INT32}, {"deep": [FLOAT32, INT32]}, more=[FLOAT64])
    assert spy.seen == (
        {"a": tf.float16, "b": tf.int32},
        {"deep": [tf.float16, tf.int32]},
        [tf.float16],
    )


def test_03_a_layer_casts_no_python_number_and_nothing_with_autocast_off():
    spy = Spy(dtype="mixed_float16")
    spy(FLOAT32, more=1.5)
    assert spy.seen[2] is float
    spy = Spy(dtype="mixed_float16", autocast=False)
    spy(FLOAT32, FLOAT64)
    assert spy.seen[:2] == (tf.float32, tf.float64)


# The output in float32


@pytest.mark.parametrize("policy", ["float32", "mixed_float16", "mixed_bfloat16", "float16"])
def test_03_losses_and_metrics_are_float32(policy):
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
def test_03_a_softmax_head_in_16_bits_has_a_wrong_loss_and_no_gradient(policy):
    loss, gradient = loss_and_gradient([head(policy, "softmax")])
    assert loss == pytest.approx(16.118, abs=5e-4) and gradient == [[0, 0]]
    assert loss == pytest.approx(-np.log(1e-7), abs=1e-3)  # Keras clips probabilities there


def test_03_a_float32_head_is_right_with_and_without_a_softmax():
    right = (pytest.approx(18, abs=1e-4), [pytest.approx([1, -1], abs=1e-4)])
    assert loss_and_gradient([head("float32", "softmax")]) == right
    assert loss_and_gradient([head("float32")], from_logits=True) == right
    last = keras.layers.Activation("softmax", dtype="float32")
    assert loss_and_gradient([head("mixed_float16"), last]) == right


# What compile adds


class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = Dense(2)

    def call(self, x):
        return self.dense(x)


def functional():
    inputs = keras.Input((4,))
    return keras.Model(inputs, Dense(2)(inputs))


@pytest.mark.parametrize("build", [Own, functional, lambda: network(head=None)])
def test_03_compile_wraps_every_kind_of_model(build):
    with dtype_policy("mixed_float16"):
        model = build()
        model.compile("sgd", LOSS)
    assert isinstance(model.optimizer, LossScaleOptimizer)


def test_03_compile_goes_by_the_policy_the_model_was_built_under():
    built_mixed, built_plain = network(), network("float32")
    built_mixed.compile("sgd", LOSS)  # under float32
    assert isinstance(built_mixed.optimizer, LossScaleOptimizer)
    with dtype_policy("mixed_float16"):
        built_plain.compile("sgd", LOSS)
    assert type(built_plain.optimizer) is keras.optimizers.SGD


def test_03_compile_wraps_once_and_not_if_told_not_to():
    model = network()
    model.compile(LossScaleOptimizer(keras.optimizers.SGD()), LOSS)
    assert type(model.optimizer.inner_optimizer) is keras.optimizers.SGD
    model.compile("sgd", LOSS, auto_scale_loss=False)
    assert type(model.optimizer) is keras.optimizers.SGD


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


@pytest.mark.parametrize(
    ("call", "weight"),
    [
        (lambda x, _: x * tf.constant(2.0), None),
        (lambda x, _: tf.constant(2.0) * x, None),
        (lambda x, w: x * w, of_tensorflow),
        (lambda x, w: tf.matmul(x, w), of_tensorflow),
    ],
)
def test_03_a_raw_tensor_or_variable_beside_a_float16_tensor_fails(call, weight):
    assert output_dtype(call, weight, "float32") == tf.float32
    with pytest.raises(tf.errors.InvalidArgumentError, match=MISMATCH):
        output_dtype(call, weight)


@pytest.mark.parametrize(
    ("call", "weight"),
    [
        (lambda x, w: tf.matmul(x, w), of_keras),
        (lambda x, w: x @ w, lambda _: keras.Variable(np.ones((2, 2)))),
        (lambda x, _: 2.0 * x + 1, None),
        (lambda x, _: x * np.float32(2), None),
        (lambda x, _: x * np.ones(2, np.float32), None),
        (lambda x, _: x * tf.cast(tf.constant(2.0), x.dtype), None),
    ],
)
def test_03_weights_of_keras_and_numbers_of_python_and_numpy_follow_the_policy(call, weight):
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


def trained(model, optimizer):
    model.compile(optimizer, LOSS, jit_compile=False)
    model.fit(X, Y, batch_size=4, verbose=0)
    return model


def load(path, policy):
    """The loaded model and the warnings about its optimizer."""
    with dtype_policy(policy), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = keras.models.load_model(path)
    return model, [str(w.message) for w in caught if "Skipping variable" in str(w.message)]


@pytest.fixture
def saved(tmp_path):
    """A model saved under mixed_float16 after some steps: the file and the model."""
    model = trained(network(), keras.optimizers.Adam())
    assert number(model.optimizer.iterations) > 0
    model.save(tmp_path / "mixed.keras")
    return tmp_path / "mixed.keras", model


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_03_loaded_under_another_policy_the_optimizer_starts_again(saved, policy):
    path, before = saved
    model, said = load(path, policy)
    assert type(model.optimizer) is keras.optimizers.Adam
    assert number(model.optimizer.iterations) == 0
    (said,) = said
    assert said.startswith("Skipping variable loading for optimizer 'adam")
    assert "it has 14 variables whereas the saved optimizer has 18" in said
    assert policies(model) == [policy, "mixed_float16", "mixed_float16", "float32"]
    assert all(map(np.array_equal, model.get_weights(), before.get_weights()))
    model.fit(X, Y, verbose=0)
    assert type(model.optimizer) is keras.optimizers.Adam  # it trains on, without loss scaling


def test_03_loaded_under_its_policy_a_model_goes_on_where_it_was(saved):
    path, before = saved
    model, said = load(path, "mixed_float16")
    assert isinstance(model.optimizer, LossScaleOptimizer) and not said
    assert number(model.optimizer.iterations) == number(before.optimizer.iterations)
    assert number(model.optimizer.dynamic_scale) == number(before.optimizer.dynamic_scale)


def test_03_an_optimizer_wrapped_by_hand_comes_back_whatever_the_policy(tmp_path):
    before = trained(network(), LossScaleOptimizer(keras.optimizers.Adam()))
    before.save(tmp_path / "m.keras")
    model, said = load(tmp_path / "m.keras", "float32")
    assert isinstance(model.optimizer, LossScaleOptimizer) and not said
    assert number(model.optimizer.iterations) == number(before.optimizer.iterations) > 0


def test_03_a_float32_model_loaded_under_mixed_float16_is_wrapped_and_starts_again(tmp_path):
    trained(network("float32"), keras.optimizers.Adam()).save(tmp_path / "m.keras")
    model, said = load(tmp_path / "m.keras", "mixed_float16")
    assert isinstance(model.optimizer, LossScaleOptimizer) and said
    assert number(model.optimizer.iterations) == 0
    assert policies(model) == ["mixed_float16", "float32", "float32", "float32"]


# Another policy for a model that is built


def converted(layer):
    config = layer.get_config()
    del config["dtype"]  # a layer that names none takes the global policy
    return type(layer).from_config(config)


def test_03_clones_keep_the_policies_of_the_layers():
    model = network("float32")
    with dtype_policy("mixed_float16"):
        clones = keras.models.clone_model(model), type(model).from_config(model.get_config())
    for clone in clones:
        assert policies(clone) == ["mixed_float16", "float32", "float32", "float32"]


def test_03_a_clone_whose_layers_lose_their_dtype_takes_the_policy_and_the_weights():
    model = network("float32")
    with dtype_policy("mixed_float16"):
        clone = keras.models.clone_model(model, clone_function=converted)
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


@pytest.fixture
def frozen():
    """A base that is frozen, and a model of it and a new head."""
    base = network(head=None)
    base.trainable = False
    inputs = keras.Input((4,))
    with dtype_policy("mixed_float16"):
        return base, keras.Model(inputs, Dense(2, dtype="float32")(base(inputs)))


def test_03_a_frozen_base_is_not_trained(frozen):
    base, model = frozen
    before = base.get_weights()
    model.compile(keras.optimizers.SGD(0.1), LOSS, jit_compile=False)
    assert isinstance(model.optimizer, LossScaleOptimizer) and len(model.trainable_variables) == 2
    model.fit(X + 5, Y, verbose=0)
    assert number(model.optimizer.iterations) == 1
    assert all(map(np.array_equal, base.get_weights(), before))  # the moving averages too
    with tf.GradientTape() as tape:
        loss = LOSS(Y, model(X, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    assert [gradient.dtype for gradient in gradients] == [tf.float32] * 2


def test_03_a_frozen_batch_normalization_runs_in_inference_mode(frozen):
    normalization = frozen[0].layers[1]
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


@pytest.mark.parametrize(
    ("policy", "works"),
    [("float32", True), ("mixed_bfloat16", True), ("mixed_float16", False), ("float16", False)],
)
@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method")
def test_03_int8_refuses_layers_that_compute_in_float16(policy, works):
    model = network(policy, head=None)
    if works:
        model.quantize("int8")
        assert model.layers[0].dtype_policy.name == f"int8_from_{policy}"
        assert model.layers[0].kernel.dtype == "int8"
    else:
        message = "mode='int8' doesn't work well with compute_dtype='float16'"
        with pytest.raises(ValueError, match=message):
            model.quantize("int8")
