"""What TensorFlow and NumPy do with 16-bit numbers, as notebooks 01, 02, 05 and 06 teach it.

When a new release changes one of these behaviours, the test that fails names the notebook to mend.
What a cell prints is held by the stored outputs.
"""

import gfloat
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
from common import on_the_cpu  # noqa: F401

from course_utils import formats

FLOAT16 = np.arange(2**16, dtype=np.uint16).view(np.float16)  # every code
FLOAT16 = FLOAT16[np.isfinite(FLOAT16)]
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


# Overflow


def test_02_exp_in_float16_overflows_from_11_09():
    with np.errstate(over="ignore"):
        for exp in (np.exp, lambda x: tf.exp(x).numpy()):
            overflowing = np.isinf(exp(FLOAT16))
            assert FLOAT16[overflowing].min() == 11.09375
            assert exp(np.array([11.0859375], np.float16)).item() == 65248
    assert np.log(65520) == pytest.approx(11.0901, abs=5e-5)


def test_02_06_squares_in_float16_overflow_from_256():
    with np.errstate(over="ignore"):
        for square in (np.square, lambda x: tf.square(x).numpy(), lambda x: x * x):
            overflowing = FLOAT16[np.isinf(square(FLOAT16))]
            assert np.abs(overflowing).min() == 256
