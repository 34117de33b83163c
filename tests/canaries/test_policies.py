"""What dtype policies do in Keras, as notebooks 03 and 04 teach it: layers, outputs, files.

When a new release changes one of these behaviours, the test that fails names the notebook to mend.
What a cell prints is held by the stored outputs, which `make test` compares.
"""

import re
import warnings

import keras
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
from common import number

from course_utils import hardware
from course_utils.training import dtype_policy

Dense = keras.layers.Dense
Adam, LossScaleOptimizer = keras.optimizers.Adam, keras.optimizers.LossScaleOptimizer
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
X, Y = np.random.default_rng(0).normal(size=(16, 4)).astype("float32"), np.zeros(16, "int32")


def network(policy):
    with dtype_policy(policy):
        layers = [Dense(8, activation="relu"), keras.layers.BatchNormalization()]
        return keras.Sequential([keras.Input((4,)), *layers, Dense(2, dtype="float32")])


def policies(model):
    return [model.dtype_policy.name, *(layer.dtype_policy.name for layer in model.layers)]


# What Keras casts


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


# What compile adds


def test_03_compile_goes_by_the_policy_a_functional_model_was_made_under_and_wraps_once():
    inputs = keras.Input((4,))
    for policy, wraps in (("float32", False), ("mixed_float16", True)):
        layer = Dense(2)  # made under float32
        with dtype_policy(policy):
            model = keras.Model(inputs, layer(inputs))
        model.compile("sgd", LOSS)
        assert isinstance(model.optimizer, LossScaleOptimizer) == wraps
    model.compile(LossScaleOptimizer(keras.optimizers.SGD()), LOSS)
    assert type(model.optimizer.inner_optimizer) is keras.optimizers.SGD


# Custom layers


def test_03_a_weight_that_is_not_cast_widens_in_keras_and_is_refused_by_tensorflow():
    half, weight = tf.ones((2, 2), tf.float16), keras.Variable(np.ones((2, 2)), dtype="float32")
    assert (half * weight).dtype == tf.float32
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
        tf.multiply(half, weight)


def test_03_the_name_of_a_weight_is_no_positional_argument_any_more():
    """Keras 3.13 has an error of Python's, later versions one of their own."""
    message = "multiple values for argument 'shape'|`name` must be passed as a keyword"
    with pytest.raises((TypeError, ValueError), match=message):
        Dense(1).add_weight("kernel", shape=(2, 2))


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


# Transfer learning


def test_03_frozen_normalization_keeps_its_statistics_and_normalizes_as_in_inference():
    """That the frozen base of the notebook keeps its weights is held by `test_notebook03.py`."""
    normalization = keras.layers.BatchNormalization(dtype="mixed_float16")
    x = np.random.default_rng(0).normal(3, 2, (32, 8)).astype(np.float16)
    inference, before = normalization(x, training=False), normalization.get_weights()
    for trainable in (False, True):
        normalization.trainable = trainable
        same = np.array_equal(normalization(x, training=True), inference)
        kept = all(map(np.array_equal, normalization.get_weights(), before))
        assert inference.dtype == tf.float16 and same == kept == (not trainable)


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
