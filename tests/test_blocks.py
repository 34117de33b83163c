"""Block formats, held to gfloat's own block by block, and to the definition of NVFP4."""

import gfloat
import numpy as np
import pytest
from gfloat import formats as known

from course_utils.formats import blocks

MX = [info.name for info in known.all_block_formats]


def hard_blocks(count, seed=0):
    """float32 (count, 32), in float64: blocks of any spread and size, with zeros of both
    signs, subnormal numbers, ties of all element types, and all values equal.
    """
    chance = np.random.default_rng(seed)
    octaves = chance.uniform(-149, 120, (count, 1))
    spread = chance.choice([0, 1, 6, 30, 200], (count, 1))
    values = 2.0 ** np.clip(
        octaves + spread * chance.normal(size=(count, 32)), -160, 127.9
    )
    # few bits, so that many lie in the middle between two numbers
    short = chance.random((count, 1)) < 0.5
    half, octave = np.frexp(values)
    steps = 2.0 ** chance.integers(1, 10, (count, 32))
    values = np.where(short, np.ldexp(np.rint(half * steps) / steps, octave), values)
    values[chance.random(values.shape) < 0.1] = 0
    values[: count // 20] = 0
    values[count // 20 : count // 10] = values[count // 20 : count // 10, :1]
    with np.errstate(over="ignore"):
        single = np.float32(values * chance.choice([-1, 1], values.shape))
    single[~np.isfinite(single)] = np.finfo(np.float32).max
    return single.astype(float)


HARD = hard_blocks(1_000)


def same(ours, right):
    """Are these the same numbers, zeros with the same sign?"""
    return np.array_equal(ours, right, equal_nan=True) and np.array_equal(
        np.signbit(ours) & ~np.isnan(ours), np.signbit(right) & ~np.isnan(right)
    )


@pytest.mark.parametrize("name", MX)
def test_mx_is_what_gfloat_makes_of_each_block(name):
    info = blocks.BLOCK_FORMATS[name]
    scale = gfloat.compute_scale_amax
    with np.errstate(divide="ignore"):
        right = [gfloat.quantize_block(info, row, scale) for row in HARD]
        scales = [scale(info.etype.emax, row) for row in HARD]
    found = blocks.quantize(HARD, name)
    assert found.values.shape == HARD.shape and same(found.values, np.array(right))
    assert found.scales.tolist() == scales and found.tensor_scale == 1


@pytest.mark.parametrize("name", MX)
@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_what_is_not_finite_spoils_its_block_alone(name, bad):
    values = np.append(HARD[:2], HARD[5])
    values[40] = bad
    found = blocks.quantize(values, name).values
    assert (
        np.isnan(found[32:64]).all()
        and np.isfinite(np.delete(found, range(32, 64))).all()
    )
    for whole in ("nvfp4", "e4m3_tensor"):
        assert np.isnan(blocks.quantize(values, whole).values).all()


def test_nvfp4_has_a_scale_for_16_values_and_one_for_all():
    """As NVIDIA's "Pretraining Large Language Models with NVFP4" has it, by value."""
    values = np.float32(np.random.default_rng(1).normal(size=160) ** 5)
    whole = np.float32(np.abs(values).max() / (6 * 448))
    found = blocks.quantize(values, "nvfp4")
    e2m1, e4m3 = known.format_info_ocp_e2m1, known.format_info_ocp_e4m3
    assert found.tensor_scale == whole and found.scales.max() == 448
    for at, row in enumerate(values.astype(float).reshape(-1, 16)):
        scale = gfloat.round_float(e4m3, np.abs(row).max() / 6 / float(whole))
        assert found.scales[at] == scale
        for place, value in enumerate(row):
            element = gfloat.round_float(e2m1, value / (scale * float(whole)), sat=True)
            assert found.values[16 * at + place] == element * scale * float(whole)


def test_in_nvfp4_a_block_far_below_the_largest_one_becomes_zero():
    found = blocks.quantize([*[1.0] * 16, *[1e-6] * 16, *[0.0] * 16], "nvfp4")
    assert found.scales.tolist() == [448, 0, 0]
    assert found.values.tolist() == [found.values[0]] * 16 + [0.0] * 32
    assert blocks.quantize([0.0, -0.0], "nvfp4").values.tolist() == [0, 0]
    assert blocks.quantize([1e-45], "nvfp4").values.tolist() == [0]


def test_one_scale_for_the_tensor_brings_the_largest_value_to_448():
    found = blocks.quantize([[7.0, -0.01], [1e-6, 0.0]], "e4m3_tensor")
    assert found.scales.tolist() == [7 / 448]
    assert found.values[:, 0].tolist() == [7, 0]
    bare = blocks.quantize([600, -3.3, 2.0**-10, np.inf, np.nan], "e4m3")
    assert str(bare.values.tolist()) == "[448.0, -3.25, 0.0, 448.0, nan]"


def test_a_block_may_have_another_length():
    values = np.tile([1.0, 1e-4], 16)
    assert np.count_nonzero(blocks.quantize(values, "mxfp4_e2m1").values) == 16
    found = blocks.quantize(values, "mxfp4_e2m1", block=1)
    assert len(found.scales) == 32 and np.count_nonzero(found.values) == 32
    assert len(blocks.quantize(values[:31], "mxint8", block=10).scales) == 4


@pytest.mark.parametrize(
    "values", [np.zeros((0, 3)), ["1"], [True], 1j, None, [[1], [1, 2]]]
)
def test_what_is_no_array_of_numbers_is_refused_in_one_sentence(values):
    with pytest.raises(
        ValueError, match="^Give an array of real numbers, one at least.$"
    ):
        blocks.quantize(values, "mxint8")
    with pytest.raises(
        ValueError, match="^There is no 'mxfp9': choose one of mxfp8_e5m2, "
    ):
        blocks.quantize([1.0], "mxfp9")


@pytest.mark.parametrize("block", [0, -3, 1.5, True, "8", [8]])
def test_a_block_that_is_no_whole_number_is_refused_in_one_sentence(block):
    with pytest.raises(ValueError) as caught:
        blocks.quantize([1.0, 2.0], "mxint8", block=block)
    message = str(caught.value)
    assert f"a whole number from 1 on, or None; you gave {block!r}." in message
    assert ". " not in message


def test_a_format_that_is_no_text_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match=r"^There is no \['a'\]: choose one of mxfp8"):
        blocks.quantize([1.0], ["a"])


def test_a_block_may_be_a_number_of_numpy():
    found = blocks.quantize([1.0, 2.0, 3.0], "mxint8", block=np.int32(2))
    assert len(found.scales) == 2
