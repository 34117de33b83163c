"""Notebook 08's figures: what a smaller model costs."""

from functools import partial

import numpy as np
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
    "draw_grid": partial(
        figures.draw_grid,
        np.array([[-0.4], [0.1], [1.0], [0.3]]),
        {
            3: np.array([[-1 / 3], [0.0], [1.0], [1 / 3]]),
            2: np.array([[0.0], [0.0], [1.0], [0.0]]),
        },
    ),
    "draw_parts": partial(
        figures.draw_parts,
        {
            "float32": {"fixed part": 2.0, "places": 7.0, "values": 28.0},
            "int8": {"fixed part": 2.0, "places": 5.0, "values": 8.0},
        },
    ),
}


def test_every_figure_has_an_example():
    assert checks.makers(figures) == {*EXAMPLES}


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_is_drawn_and_told_and_reads_on_its_card(name):
    checks.check_picture(EXAMPLES[name]())


def test_the_grid_has_a_line_for_each_value_and_the_followed_weight_stands_on_one():
    picture = EXAMPLES["draw_grid"]()
    ax = checks.drawn(picture)
    three, two = (lines.get_segments() for lines in ax.collections)
    assert [segment[0][0] for segment in two] == [-1, 0, 1]
    assert np.allclose(np.diff([s[0][0] for s in three]), 1 / 3) and len(three) == 7
    (line,) = ax.lines
    assert line.get_xdata() == pytest.approx([0.3, 1 / 3, 0])
    assert checks.written(ax.texts) == ["25% are 0", "75% are 0"]
    assert "2 bits: one weight 0, 75% are 0" in picture.alt


def test_the_parts_of_a_packed_file_lie_end_to_end():
    ax = checks.drawn(EXAMPLES["draw_parts"]())
    assert checks.ends(ax) == [[2, 2], [9, 7], [37, 15]]
