"""Notebook 01's figures: the bits of a number, and what a format can hold."""

import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from helpers import figures as checks

import course_utils
from course_utils import formats
from course_utils.gradients import splits
from course_utils.lessons.nb01 import figures

EXAMPLES = {
    "draw_spacing": partial(
        figures.draw_spacing,
        checks.DTYPES,
        {"weights": splits.survey(2.0 ** np.arange(-40.0, 0))},
    ),
    "draw_bit_strips": partial(figures.draw_bit_strips, "0.1", checks.DTYPES),
}


def test_every_figure_has_an_example():
    assert checks.makers(figures) == {*EXAMPLES}


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_is_drawn_and_told_and_reads_on_its_card(name):
    checks.check_picture(EXAMPLES[name]())


def test_strips_wear_the_explorers_colors():
    css = (Path(course_utils.__file__).parent / "explorers/bits.css").read_text("utf-8")
    worn = dict(re.findall(r"--(sign|exponent|fraction): (#\w+);", css))
    fields = {field: figures.FIELDS[field][0].lower() for field in worn}
    assert len(worn) == 3 and fields == worn


TENTH = "0011110111" + f"{0x3DCCCCCD & 0x7FFFFF:023b}"  # with the 1 that is not stored
SHOWN = [
    # After 9 bits the digit before the point, after all of them the format and the
    # value.
    (lambda ax: "".join(checks.written(ax.texts)[:33]), TENTH),
    (lambda ax: checks.written(ax.texts)[33:35], ["float32", "≈ 0.10000000149"]),
]


@pytest.mark.parametrize(("look", "wanted"), SHOWN)
def test_it_shows_the_values(look, wanted):
    assert look(checks.drawn(EXAMPLES["draw_bit_strips"]())) == wanted


def test_a_strip_of_a_subnormal_has_no_1_before_the_point():
    ax = figures.draw_bit_strips([1.0, 2.0**-15], ["float16"]).figure.axes[0]
    assert [checks.written(ax.texts)[19 * row + 6] for row in (0, 1)] == ["1", "0"]
    assert len(ax.patches) == 2 * (16 + 1)


def test_spacing_is_the_gap_above_each_power_of_two():
    top = checks.drawn(EXAMPLES["draw_spacing"]())[0]
    assert [line.get_label() for line in top.lines] == list(checks.DTYPES)
    for line in top.lines:
        for power, relative in line.get_xydata():
            here = formats.encode(2.0**power, line.get_label())
            assert here.value == 2.0**power
            assert float(here.ulp / here.exact) == 2.0**relative


def test_spacing_says_which_tensor_float16_loses():
    late = [0.0, 2.0**-25, -(2.0**-30), 2.0**-30, 2.0**-24]  # 3 of 4 become 0
    values = {"weights": 2.0 ** np.arange(-10, 5), "gradients": late}
    surveys = {name: splits.survey(given) for name, given in values.items()}
    picture = figures.draw_spacing(checks.DTYPES, surveys)
    top = picture.figure.axes[0]
    assert top.get_title() == "Too small for float16: 75 % of nonzero gradients"
    assert (
        "of nonzero weights 0 % become 0 in float16; of nonzero gradients 75 %"
        in picture.alt
    )
