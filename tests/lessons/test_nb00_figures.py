"""Notebook 00's figure."""

from functools import partial
from types import SimpleNamespace

import pytest
from helpers import figures as checks

from course_utils.lessons.nb00 import figures

EXAMPLES = {"draw_policies": partial(figures.draw_policies, checks.COMPARISON, 1.5)}


def test_every_figure_has_an_example():
    assert checks.makers(figures) == {*EXAMPLES}


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_is_drawn_and_told_and_reads_on_its_card(name):
    checks.check_picture(EXAMPLES[name]())


WORDS = [
    "mixed_bfloat16, 10 ms a step: 2.00×, (1.80 to 2.20); mixed_float16",
    "float32, last quarter: 2.500 from 8 at 1 to 2 at 7",
]


@pytest.mark.parametrize("words", WORDS)
def test_the_words_say_what_is_seen(words):
    assert words in EXAMPLES["draw_policies"]().alt


SHOWN = [  # of the left axes
    # Half as fast is as far from 1 as twice as fast.
    (lambda ax: ax.get_xscale(), "log"),
    (checks.ends, [[1.0, 2.0, 0.25]]),
    (lambda ax: list(ax.lines[-1].get_xdata()), [1.5, 1.5]),
]


@pytest.mark.parametrize(("look", "wanted"), SHOWN)
def test_it_shows_the_values(look, wanted):
    assert look(checks.drawn(EXAMPLES["draw_policies"]())[0]) == wanted


VERDICTS = {
    "float32": "mixed_bfloat16 is slower than float32: 2.00×",
    "the same within 2 %": "mixed_bfloat16 and float32: the same within 2 %",
    "cannot tell": "mixed_bfloat16: 2.00×, and this run cannot tell more",
}


def test_a_title_says_no_more_than_the_interval_does():
    told = SimpleNamespace(**vars(checks.COMPARISON))
    for verdict, title in VERDICTS.items():
        told.table = checks.COMPARED.assign(verdict=verdict)
        figure = figures.draw_policies(told, 3).figure
        assert figure.get_suptitle() == f"You guessed 3×\n{title}"
    told.table = checks.COMPARED.drop(columns="verdict") * float("nan")
    told.steps = checks.TAKEN[:0]
    assert figures.draw_policies(told).figure.get_suptitle() == "Not measured"
