"""Notebook 04's figures: the memory of a step, and how the losses fall."""

from functools import partial
from types import SimpleNamespace

import pytest
from helpers import figures as checks

from course_utils.lessons.nb04 import figures
from course_utils.profiling.peaks import PEAKS

LOSSES = [
    (p, s, n, 1 / (n + 1 + s))
    for p in checks.POLICIES
    for s in (0, 1)
    for n in range(5)
]
PEAK_ROWS = [
    (p, b, 9, b, 5, b + 4, b + 6) for b in (64, 256) for p in checks.POLICIES[:2]
]
EXAMPLES = {
    "draw_loss_curves": partial(
        figures.draw_loss_curves, checks.rows("policy seed step loss", LOSSES)
    ),
    "draw_arrays_alive": partial(
        figures.draw_arrays_alive,
        {p: [1.0, 5.0, 2.0] for p in checks.POLICIES[:2]},
        {
            p: [SimpleNamespace(name=f"{of}op") for of in ("", "gradient_tape/", "")]
            for p in checks.POLICIES[:2]
        },
    ),
    "draw_peak_parts": partial(
        figures.draw_peak_parts, checks.rows(" ".join(PEAKS), PEAK_ROWS)
    ),
}
WHOLE = checks.rows("policy seed step loss", LOSSES)
INTERRUPTED = {
    "before the first step": WHOLE[:0],
    "in the second seed": WHOLE[(WHOLE["seed"] == 0) | (WHOLE["step"] < 2)],
}
# Words that stand close on purpose.
MEET = ("draw_arrays_alive",)


def test_every_figure_has_an_example():
    assert checks.makers(figures) == {*EXAMPLES}


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_is_drawn_and_told_and_reads_on_its_card(name):
    checks.check_picture(EXAMPLES[name](), name in MEET)


@pytest.mark.parametrize(("apart", "times"), [(0.02, "2"), (2.81, "280")])
def test_the_title_says_how_many_times_as_far_in_plain_digits(apart, times):
    losses = [
        (policy, seed, step, 3 + seed * apart + shift)
        for policy, shift in (("float32", 0), ("mixed_float16", 0.01))
        for seed in (0, 1)
        for step in range(3)
    ]
    curves = checks.rows("policy seed step loss", losses)
    words = figures.draw_loss_curves(curves).alt
    assert f"Another seed moves the loss {times} times as far" in words


@pytest.mark.parametrize("when", INTERRUPTED)
def test_interrupted_curves_can_be_drawn(when):
    picture = figures.draw_loss_curves(INTERRUPTED[when])
    assert picture.png() and picture.alt.endswith(".")
