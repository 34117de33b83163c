"""Notebook 10's figure: the card of what was guessed, predicted and measured."""

from functools import partial

import pytest
from helpers import figures as checks

from course_utils.lessons.nb10 import figures

CARD = dict(quantity="speedup", unit="×", guess=None, predicted=1.8, measured=1.5)
EXAMPLES = {
    "draw_report_card": partial(
        figures.draw_report_card, [CARD, {**CARD, "guess": 9, "measured": None}]
    ),
}
# Words that stand close on purpose.
MEET = ("draw_report_card",)


def test_every_figure_has_an_example():
    assert checks.makers(figures) == {*EXAMPLES}


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_is_drawn_and_told_and_reads_on_its_card(name):
    checks.check_picture(EXAMPLES[name](), name in MEET)
