"""The figures of notebook 05's second half: the largest batch, and errors of an accumulator."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text
from test_figures import contrast

from course_utils import profiling
from course_utils.figures import accumulator
from course_utils.figures import memory as memory_figures
from course_utils.figures import profiling as profile_figures
from course_utils.figures.base import COLORS
from course_utils.profiling.memory import PARTS

PEAKS = pd.DataFrame(
    [("float32", 100, 41.0), ("float32", 100, 39.0), ("mixed_bfloat16", 200, 30.0)],
    columns=["policy", "batch_size", "peak_mb"],
)
LINES = {"float32": (10.0, 0.3), "mixed_bfloat16": (12.0, 0.1)}
ERRORS = pd.DataFrame(
    [
        ("one sign", 16, "narrow", "float16", "float16", 1e-3),
        ("one sign", 64, "narrow", "float16", "float16", 5e-1),
        ("one sign", 16, "wide", "float32", "float16", 2e-4),
        ("one sign", 64, "wide", "float32", "float16", 2e-4),
        ("both signs", 16, "narrow", "float16", "float16", 1e-3),
    ],
    columns=["values", "k", "rule", "accumulator", "result", "error"],
)


@pytest.fixture
def batch():
    return memory_figures.largest_batch(PEAKS, LINES, budget=50)


@pytest.fixture
def errors():
    return accumulator.accumulator_errors(ERRORS)


def test_every_peak_is_a_dot_and_the_lines_start_at_what_is_fixed(batch):
    ax = batch.figure.axes[0]
    dots = [tuple(map(tuple, c.get_offsets())) for c in ax.collections]
    assert dots == [((100, 41), (100, 39)), ((200, 30),)]
    ends = [list(line.get_ydata()) for line in ax.lines]
    assert ends[0] == pytest.approx([10, 70]) and ends[1] == pytest.approx([12, 32])
    assert ends[2] == [50, 50]  # the budget
    assert [line.get_linestyle() for line in ax.lines[:2]] == ["-", "--"]


def test_the_batch_is_told_in_words(batch):
    assert "float32: line 10 MB + 0.3 MB for each image" in batch.alt
    assert "batch 100 measured 39 to 41 MB" in batch.alt
    assert batch.alt.endswith("the budget is 50 MB.")


def test_no_peak_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match="no peak to draw"):
        memory_figures.largest_batch(PEAKS[:0], LINES, 50)


def test_a_panel_for_each_kind_of_values_and_a_line_for_each_rule(errors):
    one, both = errors.figure.axes
    assert [ax.get_title() for ax in (one, both)] == ["one sign", "both signs"]
    assert [list(line.get_ydata()) for line in one.lines] == [[1e-3, 5e-1], [2e-4, 2e-4]]
    assert [line.get_color() for line in one.lines] == [COLORS["float16"], COLORS["float32"]]
    assert (len(both.lines), one.get_xscale(), one.get_yscale()) == (1, "log", "log")
    assert [t.get_text() for t in one.get_xticklabels()] == ["16", "64"]
    assert [t.get_text() for t in one.get_legend().get_texts()] == ["narrow", "wide"]


def test_the_errors_are_told_in_words(errors):
    assert "one sign, narrow: from 0.001 at K = 16 to 0.5 at K = 64" in errors.alt
    assert errors.alt.count(";") == 2 and errors.alt.endswith(".")


def test_no_error_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match="no error to draw"):
        accumulator.accumulator_errors(ERRORS[:0])


def test_both_read_on_light_and_dark(batch, errors):
    for picture in (batch, errors):
        assert len(picture.png()) > 1000
        for text in picture.figure.findobj(Text):
            if text.get_text().strip() and text.get_visible():
                for background in ("#ffffff", "#111111"):
                    assert contrast(text.get_color(), background) > 4, text.get_text()


def test_the_memory_of_a_step_can_be_drawn_without_what_was_there_before():
    timeline = pd.DataFrame([(0.0, 30.0, "", ""), (1.0, 42.0, "a", "activations")])
    timeline.columns = ["ms", "mb", "op", "part"]
    parts = pd.Series(0.0, index=PARTS)
    parts["activations"], parts["other"] = 12.0, 30.0
    found = profiling.Memory(timeline, np.nan, 1.0, 42.0, parts, timeline[:0], "mklcpu")
    heights = {}
    for other in (True, False):
        picture = profile_figures.step_memory({"float32": found}, other=other)
        line, bars = picture.figure.axes
        heights[other] = [*line.lines[0].get_ydata(), line.lines[1].get_ydata()[0]]
        total = sum(c[0].get_height() for c in bars.containers)
        assert total == heights[other][-1]
        assert ("other" in picture.alt) == other
    assert heights == {True: [30, 42, 42], False: [0, 12, 12]}
