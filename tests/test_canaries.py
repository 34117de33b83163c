"""One test for each behaviour of Keras, TensorFlow or NumPy that a notebook teaches.

When a new release changes one of them, the test that fails names the notebook to mend.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf

from course_utils import hardware, models
from course_utils.stepping import dtype_policy


def compiled(policy, layer_policy=None):
    with dtype_policy(policy):
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, dtype=layer_policy)])
        model.compile("sgd", "mse", jit_compile=False)
    return model


@pytest.mark.parametrize(
    ("policy", "compute"), [("mixed_float16", "float16"), ("mixed_bfloat16", "bfloat16")]
)
def test_00_weights_stay_in_float32_and_layers_compute_in_16_bits(policy, compute):
    with dtype_policy(policy):
        model = models.mnist_cnn()
    first, last = model.layers[0], model.layers[-1]
    assert (first.kernel.dtype, first.compute_dtype, first.output.dtype) == (
        "float32",
        compute,
        compute,
    )
    assert (last.compute_dtype, last.output.dtype) == ("float32", "float32")


def test_00_a_layer_keeps_the_policy_it_was_made_under():
    early = keras.layers.Dense(2)
    with dtype_policy("mixed_bfloat16"):
        late = keras.layers.Dense(2)
    assert (early.compute_dtype, late.compute_dtype) == ("float32", "bfloat16")


def test_00_a_mixed_policy_trains_without_any_accelerator():
    for policy in ("mixed_float16", "mixed_bfloat16"):
        model = compiled(policy)
        with tf.device("CPU:0"):
            history = model.fit(np.ones((8, 4), "f4"), np.ones((8, 2), "f4"), verbose=0).history
        assert np.isfinite(history["loss"]).all()


def test_04_compile_adds_loss_scaling_under_mixed_float16_alone():
    wrapped = compiled("mixed_float16").optimizer
    assert isinstance(wrapped, keras.optimizers.LossScaleOptimizer)
    assert isinstance(wrapped.inner_optimizer, keras.optimizers.SGD)
    for policy in ("float32", "mixed_bfloat16"):
        assert isinstance(compiled(policy).optimizer, keras.optimizers.SGD)


def test_04_the_loss_scale_starts_at_32768():
    model = compiled("mixed_float16")
    model.optimizer.build(model.trainable_variables)
    assert float(keras.ops.convert_to_numpy(model.optimizer.dynamic_scale)) == 2**15


def test_04_numpy_divides_uint8_by_a_python_float_in_float64():
    images = np.zeros((2, 28, 28), np.uint8)
    assert (images / 255.0).dtype == np.float64
    assert (images.astype("float32") / 255).dtype == np.float32


def test_04_fit_hands_float64_data_to_the_model_as_float32():
    seen = set()

    class Spy(keras.layers.Layer):
        def call(self, x):
            seen.add(x.dtype if isinstance(x.dtype, str) else x.dtype.name)
            return x

    model = keras.Sequential([keras.Input((4,)), Spy(dtype="float32"), keras.layers.Dense(2)])
    model.compile("sgd", "mse", jit_compile=False)
    model.fit(np.ones((8, 4)), np.ones((8, 2)), verbose=0)
    assert seen == {"float32"}


def gradient(layer, from_logits):
    logits = tf.constant([[0.0, 20.0]])
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=from_logits)(
            tf.constant([0]), layer(logits)
        )
    return float(loss), tape.gradient(loss, logits).numpy()


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_04_a_16_bit_softmax_can_lose_its_whole_gradient(policy):
    loss, lost = gradient(keras.layers.Activation("softmax", dtype=policy), from_logits=False)
    assert loss == pytest.approx(-np.log(1e-7), abs=1e-3) and not lost.any()
    loss, kept = gradient(keras.layers.Activation("linear", dtype="float32"), from_logits=True)
    assert loss == pytest.approx(20) and np.allclose(kept, [[-1, 1]])


def test_04_keras_computes_the_loss_in_float32():
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    value = loss(tf.constant([0]), tf.constant([[1.0, 2.0]], tf.float16))
    assert value.dtype == tf.float32


@pytest.mark.skipif(
    "x86_64" not in hardware.detect().system or not hardware.detect().onednn,
    reason="only oneDNN's allocator counts memory on a CPU",
)
def test_04_the_cpu_allocator_counts_memory_with_onednn_on():
    with tf.device("CPU:0"):
        before = tf.config.experimental.get_memory_info("CPU:0")["current"]
        block = tf.zeros((1000, 1000))
        after = tf.config.experimental.get_memory_info("CPU:0")["current"]
    assert 4_000_000 <= after - before < 5_000_000
    del block
