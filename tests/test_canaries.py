"""One test for each behaviour of Keras, TensorFlow or NumPy that a notebook teaches.

When a new release changes one of them, the test that fails names the notebook to mend.
"""

import subprocess
import sys

import gfloat
import keras
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from course_utils import formats, hardware, models
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
    """In a process of its own: after much use the allocator hands out a larger free block whole."""
    code = """
import tensorflow as tf
with tf.device("CPU:0"):
    before = tf.config.experimental.get_memory_info("CPU:0")["current"]
    block = tf.zeros((1000, 1000))
    print(tf.config.experimental.get_memory_info("CPU:0")["current"] - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert 4_000_000 <= int(done.stdout) < 5_000_000, done.stderr


def through(value, dtype):
    """What TensorFlow makes of a float64, as a float."""
    return float(tf.cast(tf.constant(value, tf.float64), dtype))


def test_01_tensorflow_casts_float64_by_way_of_float32_and_numpy_does_not():
    near_tie = 1 + 2**-11 + 2**-40
    assert formats.encode(near_tie, "float16").value == 1 + 2**-10
    assert through(near_tie, tf.float16) == 1
    assert float(np.float64(near_tie).astype(np.float16)) == 1 + 2**-10
    near_tie = 1 + 2**-8 + 2**-40
    assert formats.encode(near_tie, "bfloat16").value == 1 + 2**-7
    assert through(near_tie, tf.bfloat16) == 1
    assert float(np.float64(near_tie).astype(ml_dtypes.bfloat16)) == 1
    assert float(np.float64(1 + 2**-4 + 2**-40).astype(ml_dtypes.float8_e4m3fn)) == 1


def test_01_tensorflow_rounds_float32_to_nearest_even():
    around = [65504.0, 65519, 65519.99, 65520]
    found = tf.cast(tf.constant(around), tf.float16).numpy().tolist()
    assert found == [formats.encode(value, "float16").value for value in around]
    x = np.random.default_rng(0).normal(size=10_000).astype(np.float32)
    rounded = tf.cast(tf.cast(x, tf.bfloat16), tf.float32).numpy()
    dropped = (x.view(np.uint32) & 0xFFFF0000).view(np.float32)
    assert np.array_equal(rounded, x.astype(ml_dtypes.bfloat16).astype(np.float32))
    assert 0.4 < (rounded != dropped).mean() < 0.6


def test_01_e4m3_overflows_to_nan_above_464_in_tensorflow_too():
    e4m3 = tf.dtypes.experimental.float8_e4m3fn
    found = tf.cast(tf.cast(tf.constant([464.0, 465.0]), e4m3), tf.float32).numpy()
    assert found[0] == 448 and np.isnan(found[1])


def test_01_float32_subnormals_are_flushed_on_a_cpu_and_float16_ones_are_not():
    with tf.device("CPU:0"):
        assert float(tf.constant(1e-40) * 1) == 0
        assert float(tf.constant(6e-8, tf.float16) * 1) == 2**-24
    assert np.float32(1e-40) * np.float32(1) != 0


def test_01_sums_accumulate_in_more_bits_and_running_sums_do_not():
    for dtype, total, stall in ((tf.float16, 10_000, 2048), (tf.bfloat16, 9984, 256)):
        with tf.device("CPU:0"):
            ones = tf.ones(10_000, dtype)
            assert float(tf.reduce_sum(ones)) == total
            assert float(tf.tensordot(ones, ones, axes=1)) == total
            assert float(tf.cumsum(ones)[-1]) == stall


def test_01_sgd_does_not_move_16_bit_weights_by_small_steps():
    moved = {}
    for dtype in ("float32", "bfloat16", "float16"):
        weight = keras.Variable(1.0, dtype=dtype)
        optimizer = keras.optimizers.SGD(1e-4)
        optimizer.build([weight])
        for _ in range(20):
            optimizer.apply([tf.ones((), dtype)])
        moved[dtype] = float(weight.numpy()) != 1
    assert moved == {"float32": True, "bfloat16": False, "float16": False}


def test_01_numpy_turns_a_python_int_into_the_array_s_dtype():
    """The mean by hand: inf / inf."""
    with np.errstate(all="ignore"):
        assert np.isnan(np.full(100_000, 200, np.float16).sum() / 100_000)


def test_gfloat_misrounds_nearest_away_below_half_of_the_smallest_subnormal():
    """Why formats.encode hands on 40 bits and not 53; once this fails, it need not."""
    below = float(np.nextafter(2.0**-25, 0))
    info = formats.FORMATS["float16"]
    assert gfloat.round_float(info, below, gfloat.RoundMode.TiesToAway) == 2**-24
    assert formats.encode(below, "float16", "nearest_away").value == 0
