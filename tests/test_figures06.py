"""The figure of notebook 06: steps beside the right one."""

import io

import numpy as np
import pytest
from matplotlib.text import Text
from PIL import Image
from test_figures import contrast

from course_utils import figures

RIGHT = (0.8, 0.6)  # of length 1
STEPS = {
    "right": RIGHT,
    "half as far": (0.4, 0.3),
    "scaling forgotten": (0.8 / 32768, 0.6 / 32768),
    "skipped": (0.0, 0.0),
    "three times as far": (2.4, 1.8),
    "unchecked": (np.inf, -np.inf),
}


@pytest.fixture
def picture():
    return figures.updates(STEPS, RIGHT, "Six steps")


def arrows(ax):
    """Where the arrows of a panel end: the right one first."""
    return [tuple(map(float, text.xy)) for text in ax.texts]


def points(ax):
    """The marker of each point in a panel, and whether it is filled."""
    return [(p.get_marker(), p.get_markerfacecolor() != "none") for p in ax.lines]


def test_each_panel_shows_the_right_step_and_the_loops_own(picture):
    panels = dict(zip(STEPS, picture.figure.axes, strict=True))
    for ax in panels.values():
        assert arrows(ax)[0] == pytest.approx(RIGHT)
    assert arrows(panels["right"])[1] == pytest.approx(RIGHT)
    assert arrows(panels["half as far"])[1] == pytest.approx((0.4, 0.3))
    assert points(panels["right"]) == points(panels["half as far"]) == []


def test_steps_too_short_to_see_are_points_and_no_step_is_a_ring(picture):
    panels = dict(zip(STEPS, picture.figure.axes, strict=True))
    for label, point in (("scaling forgotten", ("o", True)), ("skipped", ("o", False)),
                         ("unchecked", ("X", True))):  # fmt: skip
        assert len(arrows(panels[label])) == 1 and points(panels[label]) == [point]


def test_a_long_step_ends_at_the_border_in_its_own_direction(picture):
    ax = picture.figure.axes[list(STEPS).index("three times as far")]
    x, y = arrows(ax)[1]
    assert max(x, y) == pytest.approx(ax.get_xlim()[1]) and y / x == pytest.approx(0.75)


def test_lengths_are_told_in_words(picture):
    below = [ax.get_xlabel() for ax in picture.figure.axes]
    assert below == [
        "as long", "0.5 × as long", "1/32,768 as long", "no step", "3 × as long", "not finite",
    ]  # fmt: skip
    assert "scaling forgotten: 1/32,768 as long as the right step; skipped: no step" in picture.alt
    assert picture.alt.endswith("unchecked: not finite.") and "nan" not in picture.alt


def test_lengths_are_those_beside_the_right_step():
    """Whatever unit the steps come in."""
    tiny = {label: 1e-9 * np.array(step) for label, step in STEPS.items()}
    picture = figures.updates(tiny, 1e-9 * np.array(RIGHT), "Tiny")
    assert picture.alt == figures.updates(STEPS, RIGHT, "Six steps").alt


@pytest.mark.parametrize("right", [(0, 0), (np.nan, 1), (np.inf, 0)])
def test_without_a_right_step_there_is_nothing_to_compare_with(right):
    with pytest.raises(ValueError, match="give one that is finite and not zero"):
        figures.updates(STEPS, right, "None")


def test_it_is_drawn_and_reads_on_light_and_dark(picture):
    image = Image.open(io.BytesIO(picture.png())).convert("RGBA")
    assert image.getpixel((0, 0))[3] == 0 and 700 < image.width < 1800
    for text in picture.figure.findobj(Text):
        if text.get_text().strip():
            for background in ("#ffffff", "#111111"):
                assert contrast(text.get_color(), background) > 4, text.get_text()
