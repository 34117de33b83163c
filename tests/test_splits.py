"""Splits of 16 bits, held to a slow rounding value by value and to the formats that
they make.
"""

import numpy as np
import pytest
from test_gradients import by_casting

from course_utils.gradients import splits

BITS = splits.EXPONENT_BITS
every_split = pytest.mark.parametrize("bits", BITS)


def counted(values, bits, log2_scale=0):
    """What the survey keeps of values in one split, at one scale."""
    return splits.survey(values, [log2_scale])["kept"][0][BITS.index(bits)]


@every_split
@pytest.mark.parametrize("log2_scale", [0, 7, 24])
def test_a_survey_is_what_slow_rounding_gives(bits, log2_scale):
    """20,000 values of both signs, spread beyond both ends of every split but the
    widest.
    """
    generator = np.random.default_rng(bits)
    values = 2.0 ** generator.normal(-log2_scale, 40, 20_000) * generator.choice(
        [-1, 1], 20_000
    )
    values = (
        values[np.abs(np.log2(np.abs(values))) < 126].astype(np.float32).astype(float)
    )
    bias = 2 ** (bits - 1) - 1
    form = 15 - bits, 1 - bias, (2 - 2.0 ** (bits - 15)) * 2.0**bias
    wanted, _ = by_casting(values, log2_scale, *form)
    error, *found = counted(values, bits, log2_scale)
    assert found == [wanted.rounded_to_zero, wanted.subnormal, wanted.overflow]
    assert (error is None) == (found[2] > 0)
    fit = values[np.abs(values) * 2.0**log2_scale < form[2]]
    _, off = by_casting(fit, log2_scale, *form)
    assert counted(fit, bits, log2_scale)[0] == pytest.approx(off, rel=1e-12)


@every_split
def test_ties_go_to_even_at_both_ends(bits):
    places = splits.split_limits(bits)
    tie = 2.0 ** -(places["fraction_bits"] + 1)
    smallest, normal = (2.0 ** places[f"{name}_octave"] for name in ("zero", "normal"))
    over = (2 - tie) * 2.0 ** places["top_octave"]
    edges = [smallest, normal * (1 - tie), over]
    ends = [np.nextafter(edge, towards) for edge in edges for towards in (0, np.inf)]
    assert counted(edges, bits)[1:] == [1, 0, 1]  # the second one is normal
    assert counted(ends, bits)[1:] == [1, 2, 1]


def test_what_is_no_number_is_counted_and_left_out():
    found = splits.survey([np.nan, -np.inf, 0.0, None, [np.float32(0.3)]])
    assert [found[name] for name in ("total", "bad", "zeros")] == [4, 2, 1]
    assert (found["first"], found["counts"]) == (-2, [1])
    assert found["kept"] == splits.survey(np.float32(0.3))["kept"]
    for nothing in ([], [0.0], [np.nan]):
        assert splits.survey(nothing)["kept"] == [[[0.0, 0, 0, 0]] * len(BITS)]
    with pytest.raises(TypeError, match="complex"):
        splits.survey([1j])
