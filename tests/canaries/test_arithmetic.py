"""What TensorFlow, Keras and NumPy do with 16-bit numbers, as notebooks 01, 02, 05 and 06 teach it.

When a new release changes one of these behaviours, the test that fails names the notebook to mend.
"""

import gfloat
import keras
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
from common import on_the_cpu  # noqa: F401

from course_utils import formats

FLOAT16 = np.arange(2**16, dtype=np.uint16).view(np.float16)  # every code
FLOAT16 = FLOAT16[np.isfinite(FLOAT16)]
ON_CPU = not tf.config.list_physical_devices("GPU")
pytestmark = pytest.mark.usefixtures("on_the_cpu")


# Casts and rounding


def test_01_tensorflow_casts_float64_by_way_of_float32_and_numpy_does_not():
    def through(value, dtype):
        return float(tf.cast(tf.constant(value, tf.float64), dtype))

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
    assert float(tf.constant(1e-40) * 1) == 0
    assert float(tf.constant(6e-8, tf.float16) * 1) == 2**-24
    assert np.float32(1e-40) * np.float32(1) != 0


def test_01_gfloat_misrounds_nearest_away_below_half_of_the_smallest_subnormal():
    """Why formats.encode hands on 40 bits and not 53; once this fails, it need not."""
    below = float(np.nextafter(2.0**-25, 0))
    info = formats.FORMATS["float16"]
    assert gfloat.round_float(info, below, gfloat.RoundMode.TiesToAway) == 2**-24
    assert formats.encode(below, "float16", "nearest_away").value == 0


def test_04_numpy_divides_uint8_by_a_python_float_in_float64():
    images = np.zeros((2, 28, 28), np.uint8)
    assert (images / 255.0).dtype == np.float64
    assert (images.astype("float32") / 255).dtype == np.float32


# Sums and products


def test_01_02_05_sums_and_products_accumulate_in_more_bits_and_running_sums_do_not():
    for dtype, total, stall in ((tf.float16, 10_000, 2048), (tf.bfloat16, 9984, 256)):
        ones = tf.ones(10_000, dtype)
        assert float(tf.reduce_sum(ones)) == total
        assert float(tf.tensordot(ones, ones, axes=1)) == total
        assert float(tf.cumsum(ones)[-1]) == stall
    by_steps = np.float16(0)
    for one in np.ones(4096, np.float16):
        by_steps = by_steps + one
    assert by_steps == 2048


def test_02_relu_add_and_multiply_in_float16_are_the_exact_results_rounded_once():
    """So they are within half a unit in the last place."""
    rng = np.random.default_rng(0)
    a, b = (rng.choice(FLOAT16, 100_000) for _ in range(2))
    with np.errstate(over="ignore"):
        for operation, exact in ((tf.add, np.add), (tf.multiply, np.multiply)):
            expected = exact(a.astype(np.float64), b.astype(np.float64)).astype(np.float16)
            assert np.array_equal(operation(a, b).numpy(), expected)
    relu = keras.activations.relu(tf.constant(FLOAT16)).numpy()
    assert relu.dtype == np.float16 and np.array_equal(relu, np.maximum(FLOAT16, 0))


@pytest.mark.skipif(not ON_CPU, reason="said of CPUs")
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("function", [tf.exp, tf.tanh, lambda v: v + v], ids=["exp", "tanh", "add"])
def test_05_element_wise_operations_round_once_as_by_way_of_float32(dtype, function):
    values = tf.cast(tf.random.normal((4096,), seed=0), dtype)
    direct = tf.cast(function(values), tf.float32).numpy()
    around = tf.cast(tf.cast(function(tf.cast(values, tf.float32)), dtype), tf.float32).numpy()
    unit = 2.0 ** -(7 if dtype == "bfloat16" else 10)  # one ULP, relative
    assert np.max(np.abs(direct - around) / np.abs(around)) <= unit
    if function is not tf.tanh:  # which has a formula of its own for float16
        assert np.mean(direct == around) > 0.99


# Overflow


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


def test_02_06_squares_in_float16_overflow_from_256():
    with np.errstate(over="ignore"):
        for square in (np.square, lambda x: tf.square(x).numpy(), lambda x: x * x):
            overflowing = FLOAT16[np.isinf(square(FLOAT16))]
            assert np.abs(overflowing).min() == 256


def test_01_numpy_turns_a_python_int_into_the_array_s_dtype():
    """The mean by hand: inf / inf."""
    with np.errstate(all="ignore"):
        assert np.isnan(np.full(100_000, 200, np.float16).sum() / 100_000)


def test_02_a_mean_of_squares_overflows_sooner_in_tensorflow_than_in_keras_and_numpy():
    """tf.reduce_mean divides a float16 sum; the other two sum in float32."""
    x = tf.constant([200, -200], tf.float16)
    assert float(keras.ops.mean(x * x)) == float(np.mean(x.numpy() ** 2)) == 40_000
    assert float(tf.reduce_mean(x * x)) == np.inf
    assert float(tf.reduce_mean(x[:1] * x[:1])) == 40_000


def test_02_keras_ops_var_squares_in_float32_but_its_result_is_float16():
    near, far = (tf.constant([v, -v], tf.float16) for v in (255, 256))
    assert float(keras.ops.var(near)) == 65_024 and float(keras.ops.var(far)) == np.inf
    assert float(keras.ops.moments(far, 0)[1]) == 65_504  # cut off, not overflowed


# Small steps


def test_01_02_06_sgd_does_not_move_16_bit_weights_by_small_steps():
    moved = {}
    for dtype in ("float32", "bfloat16", "float16"):
        weight = keras.Variable(1.0, dtype=dtype)
        optimizer = keras.optimizers.SGD(1e-4)
        optimizer.build([weight])
        for _ in range(20):
            optimizer.apply([tf.ones((), dtype)])
        moved[dtype] = float(weight.numpy()) != 1
    assert moved == {"float32": True, "bfloat16": False, "float16": False}
