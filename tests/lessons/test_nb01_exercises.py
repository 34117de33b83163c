"""Notebook 01's exercises: every answer computed again, another way than the judges do."""

import ml_dtypes
import numpy as np
import pytest

from course_utils import exercises
from course_utils.lessons.nb01 import judge

FORMATS = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


def test_the_bits():
    assert np.float16(-6.25).view(np.uint16) == judge.CODE.right
    for code in (0, 1, 0x3C00, 0x7C00, 0xFFFF):
        value = np.uint16(code).view(np.float16)
        assert f"is {value:g} in float16" in judge.which_number(float(code))


def test_each_tensor_has_one_format_of_16_bits_or_none():
    keeps = {
        "gradients": lambda kind: np.geomspace(1e-9, 1e-3, 100).astype(kind).all(),
        "scores": lambda kind: len(set(np.arange(1, 2, 0.002).astype(kind))) == 500,
        "counts": lambda kind: len(set(np.arange(1e5 + 1).astype(kind))) == 100_001,
    }
    for name, kept in keeps.items():
        with np.errstate(over="ignore"):
            fit = [fmt for fmt, kind in FORMATS.items() if kept(kind)]
        assert [judge.FITTING_FORMATS.right[name]] == (fit or ["neither"])


@pytest.mark.parametrize(
    "number, answer, entry, said",
    [
        (1, 0x8A40, "0x8A40", "1 00010 1001000000"),
        (4, judge.FITTING_FORMATS.right | {"gradients": "float16"}, "1e-9", "zero"),
    ],
)
def test_a_wrong_answer_opens_floatlab_where_one_sees_why(number, answer, entry, said):
    feedback = exercises.load("01")[number].check(answer)
    assert feedback.explorer.entry == entry and said in repr(feedback)
    html = feedback._repr_html_()
    assert "See why in FloatLab</summary>\n<div data-floatlab>" in html


def test_the_first_gap_and_where_infinity_begins():
    whole = np.arange(1, 70_000, dtype=np.float64)
    with np.errstate(over="ignore"):
        rounded = whole.astype(np.float16)
    around = 2.0**24 + np.arange(-9.0, 9)
    lost = around[around.astype(np.float32) != around]
    assert lost[0] == judge.FIRST_GAP.right
    assert whole[np.isinf(rounded)][0] == judge.LIMIT.right
