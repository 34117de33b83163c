"""Notebook 12's figure: how far apart, and how much worse."""

import numpy as np
import pytest
from helpers import figures as checks

from course_utils.lessons.nb12 import figures

APART = {"nothing": np.zeros((2, 3)), "data": [[1, 20, 38], [1, 22, 40]]}
APART["loss scale"] = [[2, 15, 30], [4, 17, 30]]
WORSE = {"nothing": (0.0, 0.0), "data": (0.01, 0.02), "loss scale": (0.09, 0.02)}
EXAMPLES = {"draw_lost_parts": lambda: figures.draw_lost_parts(APART, WORSE)}


def test_every_figure_has_an_example():
    assert checks.makers(figures) == {*EXAMPLES}


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_is_drawn_and_told_and_reads_on_its_card(name):
    checks.check_picture(EXAMPLES[name]())


def test_each_lost_part_stands_where_it_ends_and_as_high_as_it_is_worse():
    picture = figures.draw_lost_parts(APART, WORSE)
    left, right = checks.drawn(picture)
    ends = {line.get_label(): line.get_ydata()[-1] for line in left.get_lines()}
    assert ends == {"nothing": 0, "data": 39, "loss scale": 30}
    bars = [bar.lines[0].get_xydata()[0] for bar in right.containers]
    assert np.allclose(bars, [(0, 0), (39, 0.01), (30, 0.09)])
    (reach,) = right.containers[1].lines[2][0].get_segments()
    assert np.allclose(reach[:, 1], (-0.01, 0.03))
    assert "data (± 0.02) 0.01 at 39" in picture.alt
