"""Notebook 09's figure: the patients of the clinic."""

from functools import partial

import numpy as np
import pytest
from helpers import figures as checks
from test_elimination import invented

from course_utils.lessons.nb09 import figures

CLINIC = invented(5, 5, 2, 2)  # some of the causes cannot be told apart
EXAMPLES = {"draw_gallery": partial(figures.draw_gallery, CLINIC)}
NAN = float("nan")


def test_every_figure_has_an_example():
    assert checks.makers(figures) == {*EXAMPLES}


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_is_drawn_and_told_and_reads_on_its_card(name):
    checks.check_picture(EXAMPLES[name]())


def test_the_gallery_has_a_bar_where_a_loss_is_lost():
    axes = checks.drawn(EXAMPLES["draw_gallery"]())
    bars = [line.get_ydata() for ax in axes[:2] for line in ax.lines[2:]]
    assert np.array_equal(bars, [[NAN, NAN, NAN], [NAN, 2, 2]], equal_nan=True)
    assert axes[0].lines[0].get_linewidth() < axes[0].lines[1].get_linewidth()
