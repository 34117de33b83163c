"""Notebook 07's drawing of the strategies."""

from helpers import figures as checks

from course_utils.lessons.nb07 import figures


def test_the_drawing_is_shown_with_its_words_and_reads_on_light_and_dark(monkeypatch):
    checks.check_drawing(figures.draw_strategies(), monkeypatch)
