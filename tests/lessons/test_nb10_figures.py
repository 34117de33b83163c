"""Notebook 10's figure: plans, and the corner that keeps an order."""

from functools import partial

import pandas as pd
import pytest
from helpers import figures as checks

from course_utils.lessons.nb10 import figures

PLANS = pd.DataFrame(
    {"bits": [32, 16, 32, 16], "MB": [47, 35, 13, 9.8], "times": [1, 0.95, 1.5, 1.3]},
    ["float32", "mixed_bfloat16", "float32, 4 × 64", "mixed_bfloat16, 4 × 64"],
)
ORDER = {"MB": 14.0, "times": 1.4}
EXAMPLES = {"draw_plans": partial(figures.draw_plans, PLANS, ORDER)}


def test_every_figure_has_an_example():
    assert checks.makers(figures) == {*EXAMPLES}


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_is_drawn_and_told_and_reads_on_its_card(name):
    checks.check_picture(EXAMPLES[name]())


def test_what_lies_in_the_corner_keeps_the_order():
    ax = checks.drawn(figures.draw_plans(PLANS, ORDER))
    (corner,) = ax.collections
    (area,) = corner.get_paths()
    inside = {
        line.get_label() for line in ax.lines if area.contains_point(*line.get_xydata())
    }
    assert inside == {"mixed_bfloat16, 4 × 64"}


def test_a_limit_below_all_plans_shades_what_lies_below_it():
    ax = checks.drawn(figures.draw_plans(PLANS, {"MB": 7.8, "times": 1.4}))
    (corner,) = ax.collections
    (area,) = corner.get_paths()
    heights = area.vertices[:, 1]
    assert heights.max() == 7.8 and heights.min() == ax.get_ylim()[0] < 7
