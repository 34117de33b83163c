"""Notebook 02's figures: the loss scale, what it loses and where it leads."""

from functools import partial

import numpy as np
import pytest
from helpers import figures as checks

from course_utils.lessons.nb02 import figures

TRACE = [
    (1, 8.0, False, 5.0),
    (2, 4.0, True, 5.0),
    (3, 4.0, True, 6.0),
    (4, 4.0, True, 6.0),
]
TRACE = checks.rows("step scale applied ceiling", TRACE)
EXAMPLES = {
    "draw_loss_scale": partial(figures.draw_loss_scale, TRACE, {1: 3, 3: 9}),
    "draw_bathtub": partial(
        figures.draw_bathtub,
        {"early": {0: 0.001, 3: np.inf}, "run": {0: 0.5, 3: 0.005, 6: np.nan}},
        {3: "8"},
    ),
    "draw_falling_scale": partial(figures.draw_falling_scale, {"run": TRACE}),
}


def test_every_figure_has_an_example():
    assert checks.makers(figures) == {*EXAMPLES}


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_is_drawn_and_told_and_reads_on_its_card(name):
    checks.check_picture(EXAMPLES[name]())


SAID = [
    ("draw_bathtub", "to 0.005 at 2^3. early overflows from 2^3 on; run"),
    ("draw_loss_scale", "At or above the ceiling in 1 steps, 1 of these skipped."),
]


@pytest.mark.parametrize(("name", "words"), SAID)
def test_the_words_say_what_is_seen(name, words):
    assert words in EXAMPLES[name]().alt


def test_what_was_drawn_is_seen_whole():
    axes = checks.drawn(EXAMPLES["draw_loss_scale"]())
    assert axes[0].get_ylim()[1] > 512


def test_a_bathtub_goes_up_where_something_overflows():
    ax = checks.drawn(EXAMPLES["draw_bathtub"]())
    *_, measured, up, marked = ax.lines
    assert measured.get_xydata().tolist() == [[0, 0.5], [3, 0.005]]
    assert list(up.get_xdata()) == [3, 3.5] and up.get_ydata()[1] > ax.get_ylim()[1]
    assert list(marked.get_xdata()) == [3, 3]  # the scale that is tried


def test_the_drawing_is_shown_with_its_words_and_reads_on_light_and_dark(monkeypatch):
    checks.check_drawing(figures.draw_step(), monkeypatch)
