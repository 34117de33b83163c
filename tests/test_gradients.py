"""The octave histogram, held to casting value by value: every format, every scale,
every border.
"""

import json
import math
import re

import numpy as np
import pytest

from course_utils import formats, gradients
from course_utils.gradients import OctaveHistogram, Survival

SCALES = range(-24, 41)
every_format = pytest.mark.parametrize("fmt", formats.FORMATS)


def edges(fmt):
    """Half of the smallest subnormal, the tie below the smallest normal, the tie above
    the largest number; then fraction bits, exponents of smallest normal and largest.
    """
    facts = formats.facts(fmt)
    half = facts["smallest_subnormal"] / 2
    normal = facts["smallest_normal"]
    top = math.frexp(facts["largest"])[1] - 1
    over = facts["largest"] + 2.0 ** (top - facts["fraction_bits"] - 1)
    ends = math.frexp(normal)[1] - 1, top
    return half, normal - half, over, facts["fraction_bits"], *ends


# The facts are held to NumPy's and ml_dtypes' in `test_formats`.
BORDERS = {fmt: edges(fmt) for fmt in formats.FORMATS}


# --- the other way: round every value -------------------------------------------------


def by_casting(values, scale, fraction, lowest, largest):
    """What `survival` must say of float64 values, and their relative error."""
    finite = values[np.isfinite(values)]
    scaled = np.abs(np.ldexp(finite, scale))
    ulp = np.maximum(np.frexp(scaled)[1] - 1, lowest) - fraction
    results = np.ldexp(np.rint(np.ldexp(scaled, -ulp)), ulp)
    gone = (results == 0) & (finite != 0)
    zero = finite == 0
    over = results > largest
    small = (results > 0) & (results < 2.0**lowest)
    normal = len(finite) - np.count_nonzero(zero | gone | over | small)
    # squares of the smallest would be zero
    sizes = finite / (np.abs(finite).max(initial=0) or 1)
    lost = np.sum(sizes[gone] ** 2) / (np.sum(sizes**2) or 1)
    flags = [np.count_nonzero(which) for which in (zero, gone, small)]
    over, bad, error = np.count_nonzero(over), len(values) - len(finite), math.inf
    if not over and not bad:
        unit = scaled.max(initial=0) or 1
        off = np.linalg.norm((results - scaled) / unit)
        error = off / (np.linalg.norm(scaled / unit) or 1)
    return Survival(*flags, normal, over, bad, lost), error


def check(values, histogram=None, fmts=formats.FORMATS, scales=SCALES):
    histogram = histogram or OctaveHistogram.from_values(values)
    wide = np.asarray(values).astype(np.float64).ravel()
    for fmt in fmts:
        *_, fraction, lowest, _ = BORDERS[fmt]
        largest = formats.facts(fmt)["largest"]
        for scale in scales:
            found = histogram.survival(fmt, scale)
            wanted, off = by_casting(wide, scale, fraction, lowest, largest)
            assert vars(found) == pytest.approx(vars(wanted), rel=1e-12), (fmt, scale)
            assert found.total == histogram.total == len(wide)
            if fmt != "float32":
                error = histogram.relative_error(fmt, scale)
                assert error == pytest.approx(off, rel=1e-12), (fmt, scale)


def spread(count=20_000, seed=0):
    """Float32 of every kind: log-normal, zeros of both signs, NaN, infinities."""
    generator = np.random.default_rng(seed)
    values = np.exp(generator.normal(-10, 12, count)) * generator.choice([-1, 1], count)
    values[generator.random(count) < 0.1] = 0
    values[:30] = [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf] * 5
    with np.errstate(over="ignore", under="ignore"):
        return values.astype(np.float32)


def borders(dtype):
    """Every border of every format at every scale, its neighbors in a dtype, with both
    signs.
    """
    exact = np.array([b for row in BORDERS.values() for b in row[:3]] + [1.0, 3.0])
    exact = np.ldexp(exact[:, None], -np.array(SCALES)).ravel()
    with np.errstate(over="ignore", under="ignore"):
        at = exact.astype(dtype)
    at = at[np.isfinite(at) & (at > 0)]
    around = np.concatenate(
        [at, np.nextafter(at, dtype(0)), np.nextafter(at, dtype(np.inf))]
    )
    return np.concatenate([around, -around])


@every_format
@pytest.mark.parametrize(
    "values",
    [spread(), borders(np.float32), borders(np.float64)],
    ids=["spread", "borders", "borders in float64"],
)
def test_every_scale_is_what_casting_gives(values, fmt):
    check(values, fmts=[fmt])


def test_values_and_scales_far_beyond_every_format():
    values = [1e300, 1.7e308, 5e-324, -1e-310, 1e-300, 2.0**-1074, 3.0, -0.0]
    values += [math.inf, math.nan]
    histogram = OctaveHistogram.from_values(np.array(values))
    assert (histogram.first, len(histogram.counts)) == (-1074, 1023 + 1074 + 1)
    with np.errstate(over="ignore"):
        check(np.array(values), histogram)
    assert OctaveHistogram.from_values(1e300).survival("float16", -1000).normal == 1
    for far in (3000, 10**6):
        assert histogram.survival("float32", far).overflow == 7
        assert histogram.survival("float32", -far).rounded_to_zero == 7
    assert histogram.survival("float32", np.int64(3)) == histogram.survival(
        "float32", 3
    )


# --- what the histogram holds ---------------------------------------------------------


def same(one, other):
    one, other = one.as_data(), other.as_data()
    for sums in ("squares", "errors"):  # the order of adding may differ
        np.testing.assert_allclose(one.pop(sums), other.pop(sums), rtol=1e-12)
    assert one == other


# --- what one may give ----------------------------------------------------------------


@pytest.mark.parametrize(
    "values", [[], np.zeros(0, np.float32), np.zeros((3, 0)), [[], [None]]]
)
def test_nothing_and_nothing_finite(values):
    histogram = OctaveHistogram.from_values(values)
    assert histogram.survival("float16", 3) == Survival(0, 0, 0, 0, 0, 0, 0.0)
    found = OctaveHistogram.from_values([*values, 0.0, -0.0, math.nan, math.inf])
    assert found.survival("float16") == Survival(2, 0, 0, 0, 0, 2, 0.0)


def test_what_was_written_down_comes_back():
    histogram = OctaveHistogram.from_values(spread())
    back = OctaveHistogram.from_data(json.loads(json.dumps(histogram.as_data())))
    assert back.as_data() == histogram.as_data()
    assert (back + back).total == 2 * histogram.total


def test_lists_numbers_and_arrays_of_every_layout():
    values = [
        np.float32([[1, 2], [3, 0]]),
        None,
        [np.float64(1e-300), (4, 5.5)],
        np.int8([-128]),
    ]
    histogram = OctaveHistogram.from_values(values)
    same(histogram, OctaveHistogram.from_values([1.0, 2, 3, 0, 1e-300, 4.0, 5.5, -128]))
    assert OctaveHistogram.from_values(3).total == 1
    values = spread(60_000).reshape(300, 200)
    plain = OctaveHistogram.from_values(values)
    for other in (values.T, values[::-1, ::-1], values.astype(">f4")):
        same(OctaveHistogram.from_values(other), plain)


def test_tensors_and_variables():
    import keras
    import tensorflow as tf

    values = spread(1000)
    plain = OctaveHistogram.from_values(values)
    slices = tf.IndexedSlices(tf.constant(values), tf.range(1000), dense_shape=(5000,))
    for other in (tf.Variable(values), keras.Variable(values), slices):
        same(OctaveHistogram.from_values(other), plain)
    both = plain + OctaveHistogram.from_values(2.0)
    same(OctaveHistogram.from_values([slices, None, tf.constant(2.0)]), both)
    assert OctaveHistogram.from_values(tf.constant(1e-40)).first == -133

    @tf.function(autograph=False)
    def traced(x):
        return OctaveHistogram.from_values(x).total

    with pytest.raises(TypeError, match="outside of tf.function and jax.jit.$"):
        traced(tf.constant(1.0))


NO_VALUES = [
    (1j, "complex of complex128"),
    ([1.0, True], "bool of bool"),
    ("0.5", "str of <U3"),
    ({"a": 1}, "type dict"),
    (np.array([1, None]), "type ndarray"),
]


@pytest.mark.parametrize("values, fragment", NO_VALUES)
def test_what_has_no_octaves(values, fragment):
    told = f"{re.escape(fragment)}.* has no octaves: give integers or floats .*[.]$"
    with pytest.raises(TypeError, match=told):
        OctaveHistogram.from_values(values)


def test_unknown_formats_and_scales_that_are_no_exponents():
    histogram = OctaveHistogram.from_values([1.0])
    for call in (histogram.survival, gradients.limits):
        with pytest.raises(ValueError, match="choose one of float32"):
            call("fp16")
    for scale in (2.0**15, "3"):
        with pytest.raises(TypeError):
            histogram.survival("float16", scale)
