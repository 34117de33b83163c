"""What TensorFlow, Keras and NumPy do with 16-bit numbers, as notebooks 01, 02, 05 and
06 teach it.

When a new release changes one of these behaviours, the test that fails names the
notebook to mend.
"""

from functools import partial

import gfloat
import ml_dtypes
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from common import apart, on_the_cpu  # noqa: F401

from course_utils import formats, hardware

ON_CPU = not tf.config.list_physical_devices("GPU")
pytestmark = pytest.mark.usefixtures("on_the_cpu")


# Casts and rounding


def test_01_tensorflow_rounds_float32_to_nearest_even():
    around = [65504.0, 65519, 65519.99, 65520]
    found = tf.cast(tf.constant(around), tf.float16).numpy().tolist()
    assert found == [formats.encode(value, "float16").value for value in around]


PRODUCT = """
import tensorflow as tf
one, more = tf.ones((2, 1), "bfloat16"), 1.5 * 2.0**-8
product = tf.constant([[1, more]], "bfloat16") @ one
print(product.numpy().item(), float(tf.cast(1 + more, "bfloat16")))
"""


def test_04_a_product_in_bfloat16_is_cut_off_where_onednn_has_no_routine_for_it():
    """The nearest bfloat16 is 1 + 2⁻⁷, as a cast finds it."""
    done = apart(PRODUCT, TF_ENABLE_ONEDNN_OPTS="0")
    assert done.stdout.split() == ["1.0", "1.0078125"], done.stderr


RELU = """
import keras, tensorflow as tf
layer = keras.layers.Dense(4, activation="relu")
nan = tf.fill((2, 8), float("nan"))
print(layer(nan).numpy().max(), tf.function(layer)(nan).numpy().max())
"""


@pytest.mark.parametrize("onednn, compiled", [("0", "nan"), ("1", "0.0")])
def test_09_onednn_makes_zero_of_nan_where_a_product_and_its_relu_are_merged(
    onednn, compiled
):
    """So a loss can be finite behind a layer of NaN; called by hand none is lost."""
    if onednn == "1" and "avx512f" not in (hardware.detect().instruction_sets or ()):
        pytest.skip("seen on CPUs with AVX-512 alone")
    done = apart(RELU, TF_ENABLE_ONEDNN_OPTS=onednn)
    assert done.stdout.split() == ["nan", compiled], done.stderr


def test_01_means_of_numpy_and_pandas_add_up_in_bfloat16():
    """The sum stops at 256; for float16 NumPy adds up in float32."""
    ones = np.ones(1000, ml_dtypes.bfloat16)
    for mean in (ones.mean(), pd.Series(ones).mean()):
        assert float(mean) == pytest.approx(256 / 1000, rel=2**-8)
    assert ones.mean(dtype=np.float32) == 1
    assert np.ones(10_000, np.float16).mean() == 1


def test_01_11_e4m3_overflows_to_nan_above_464_in_tensorflow_too():
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


# Sums and products


def test_01_02_05_sums_and_products_accumulate_in_more_bits_and_running_sums_do_not():
    for dtype, total, stall in ((tf.float16, 10_000, 2048), (tf.bfloat16, 9984, 256)):
        ones = tf.ones(10_000, dtype)
        assert float(tf.reduce_sum(ones)) == total
        assert float(tf.tensordot(ones, ones, axes=1)) == total
        assert float(tf.cumsum(ones)[-1]) == stall


@pytest.mark.skipif(not ON_CPU, reason="said of CPUs")
def test_01_a_cpu_adds_up_the_gradient_of_a_bias_in_bfloat16_and_nothing_else_does():
    def gradient(add, shares):
        bias = tf.zeros(8, shares.dtype)
        with tf.GradientTape() as tape:
            tape.watch(bias)
            y = add(tf.zeros_like(shares), bias)
        return tape.gradient(y, bias, shares)[0]

    for mode, wrap in (
        ("eager", lambda f: f),
        ("graph", tf.function),
        ("XLA", lambda f: tf.function(f, jit_compile=True)),
    ):
        for add in (tf.nn.bias_add, tf.add):
            for dtype in ("bfloat16", "float16"):
                stops = add is tf.nn.bias_add and dtype == "bfloat16" and mode != "XLA"
                shares = tf.ones((4096, 8), dtype)  # a constant would be folded before
                total = float(wrap(partial(gradient, add))(shares))
                assert total == (256 if stops else 4096), (mode, add, dtype)


@pytest.mark.skipif(not ON_CPU, reason="said of CPUs")
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize(
    "function", [tf.exp, tf.tanh, lambda v: v + v], ids=["exp", "tanh", "add"]
)
def test_05_element_wise_operations_round_once_as_by_way_of_float32(dtype, function):
    values = tf.cast(tf.random.normal((4096,), seed=0), dtype)
    direct = tf.cast(function(values), tf.float32).numpy()
    around = tf.cast(
        tf.cast(function(tf.cast(values, tf.float32)), dtype), tf.float32
    ).numpy()
    unit = 2.0 ** -(7 if dtype == "bfloat16" else 10)  # one ULP, relative
    assert np.max(np.abs(direct - around) / np.abs(around)) <= unit
    if function is not tf.tanh:  # which has a formula of its own for float16
        assert np.mean(direct == around) > 0.99
