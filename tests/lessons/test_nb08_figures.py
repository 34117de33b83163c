"""Notebook 08's figures: what a smaller model costs."""

from functools import partial

import pytest
from helpers import figures as checks

from course_utils import records
from course_utils.lessons.nb08 import figures

EXAMPLES = {
    "draw_sensitivity": partial(
        figures.draw_sensitivity,
        {"conv": {0: 0.9, 80: 0.5}, "dense": {0: 0.9, 80: 0.9}},
        "weights set to zero, %",
        "One layer",
    ),
    "draw_front": partial(figures.draw_front, records.smaller(), 10_000),
}


def test_every_figure_has_an_example():
    assert checks.makers(figures) == {*EXAMPLES}


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_is_drawn_and_told_and_reads_on_its_card(name):
    checks.check_picture(EXAMPLES[name]())
