"""Notebook 07's drawing."""

from pathlib import Path

from course_utils.figures.base import Drawing


def draw_strategies() -> Drawing:
    """The strategies in one picture: who holds the weights, what is cut, what crosses
    between.
    """
    return Drawing.read(Path(__file__).with_name("strategies.svg"))
