"""Notebook 13's figures: what bounds a step, and what is forecast of it."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import figures as checks
from matplotlib.text import Text

from course_utils import profiling, roofline
from course_utils.lessons.nb13 import figures
from course_utils.roofline.catalogue import Device

DEVICES = roofline.devices()
T4 = DEVICES["T4"]

PEAK_TFLOPS = {"float32": 8.0, "bfloat16": 65.0, "float16": 65.0}
DEVICE = SimpleNamespace(
    name="a chip",
    tflops=PEAK_TFLOPS,
    gb_per_s=300.0,
    cache_gb_per_s=900.0,
    bandwidth=3e11,
)
POINTS = [
    ("dense 1, forward", "float32", 9.0, 2.0, 4.0),
    ("Adam", "float16", 18.0, 5.0, 1.0),
]
POINTS = checks.rows("label dtype intensity tflops ms", POINTS)
EXAMPLES = {
    "draw_roofline": partial(figures.draw_roofline, DEVICE, POINTS, "Layers"),
    "draw_forecasts": partial(figures.draw_forecasts, profiling.recorded_forecasts()),
}


def test_every_figure_has_an_example():
    assert checks.makers(figures) == {*EXAMPLES}


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_is_drawn_and_told_and_reads_on_its_card(name):
    checks.check_picture(EXAMPLES[name]())


# --- the roofs


def drawn(device, points):
    """The figure, and {label: (x, y)} of its lines."""
    picture = figures.draw_roofline(device, points, "Layers")
    lines = picture.figure.axes[0].lines
    return picture, {x.get_label(): x.get_data() for x in lines if " " in x.get_label()}


def test_the_figure_shows_a_roof_for_each_dtype_and_names_the_optimizer():
    points = checks.rows(
        "label dtype intensity tflops ms",
        [("dense, forward", "float32", 9.0, 2.0, 4.0), ("adam", "float16", 1, 0.3, 1)],
    )
    picture, lines = drawn(T4, points)
    assert set(lines) == {
        "float32 8.1 TFLOP/s",
        "float16 65 TFLOP/s",
        "memory 320 GB/s",
    }
    for dtype in ("float32", "float16"):
        x, y = lines[f"{dtype} {T4.tflops[dtype]} TFLOP/s"]
        assert x[0] == pytest.approx(T4.peak(dtype) / T4.bandwidth)
        assert list(y) == [T4.tflops[dtype]] * 2
    x, y = lines["memory 320 GB/s"]
    assert np.allclose(np.array(y) / np.array(x), 0.32)
    assert "adam in float16: " in picture.alt


def test_a_measured_cache_has_a_slope_of_its_own():
    _, lines = drawn(DEVICE, POINTS)
    x, y = lines["cache 900 GB/s"]
    assert np.allclose(np.array(y) / np.array(x), 0.9) and y[-1] == 65


def test_the_names_of_dots_that_are_close_are_not_printed_over_each_other():
    rows = [
        ("conv2d 2, backward", "float32", 39.0, 0.071, 16.0),
        ("dense 1, backward", "float32", 31.0, 0.081, 6.3),
    ]
    rows = checks.rows("label dtype intensity tflops ms", rows)
    picture, _ = drawn(DEVICE, rows)
    picture.png()
    # the words alone: a line to a dot may cross them
    one, other = map(Text.get_window_extent, picture.figure.axes[0].texts)
    assert not one.overlaps(other)


def test_equal_rates_are_one_roof_and_unknown_memory_has_no_slope():
    assert "bfloat16 and float16 989 TFLOP/s" in drawn(DEVICES["H200"], POINTS)[1]
    picture, lines = drawn(Device("some CPU", {"float32": 0.4}), POINTS)
    assert not any(label.startswith("memory") for label in lines)
    assert "memory" not in picture.alt and "inf" not in picture.alt
