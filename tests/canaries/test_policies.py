"""What dtype policies do in Keras beside what cells of notebooks 03 and 04 print (test_cells.py).

When a new release changes one of these behaviours, the test that fails names the notebook to mend.
"""

import keras
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from course_utils import hardware
from course_utils.training import dtype_policy

Layer, Dense, SGD = keras.layers.Layer, keras.layers.Dense, keras.optimizers.SGD

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
    model.compile("sgd", "mse", jit_compile=False)
    model.fit(np.ones((16, 4)), np.ones((16, 2)), verbose=0)
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


# What compile adds


def network():
    return keras.Sequential([keras.Input((4,)), Dense(2)])


def test_03_compile_goes_by_the_policy_the_model_was_built_under_and_wraps_once():
    plain = network()
    with dtype_policy("mixed_float16"):
        plain.compile("sgd", "mse")
        wrapped = network()
        wrapped.compile(keras.optimizers.LossScaleOptimizer(SGD()), "mse")
    assert type(plain.optimizer) is type(wrapped.optimizer.inner_optimizer) is SGD


# Custom layers


def output_dtype(call, weight=None, policy="mixed_float16"):
    """The output dtype of a custom layer with one weight of 2 × 2."""

    class Custom(Layer):
        def build(self, _):
            self.w = weight(self) if weight else None

        def call(self, x):
            return call(x, self.w)

    return Custom(dtype=policy)(tf.ones((2, 2))).dtype


def of_keras(layer):
    return layer.add_weight(name="kernel", shape=(2, 2))


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


def test_03_the_name_of_a_weight_is_no_positional_argument_any_more():
    """Keras 3.13 has an error of Python's, later versions one of their own."""
    message = "multiple values for argument 'shape'|`name` must be passed as a keyword"
    with pytest.raises((TypeError, ValueError), match=message):
        Dense(1).add_weight("kernel", shape=(2, 2))


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
