"""Prediction and exercises of notebook 02.

Example: `exercises.load("02")[3].check(14001)`
"""

from . import overflow02 as overflow
from . import practice02 as practice
from .answers import describe
from .engine import Prediction

TITLE = "Why float16 loses small gradients, and how loss scaling saves them"


def read_guess(value):
    """Keep a percentage above 0 and up to 100; a number below 1 is a percentage too.

    >>> read_guess(20.0)
    (20.0, 'You expect that 20 % of them become zero. Section 2 measures it.')
    """
    if not 0 < value <= 100:
        return (
            None,
            f"You gave {describe(value)}: give a percentage above 0 and up to 100. For next to"
            " none, give 0.1.",
        )
    if value < 1:
        return value, (
            f"Read as {value:g} %. If you mean a share of {value:g}, give {100 * value:g};"
            " section 2 measures it."
        )
    return value, f"You expect that {value:g} % of them become zero. Section 2 measures it."


PREDICTION = Prediction(
    task="""\
Train a small network until it fits its data well. Late in that training, look at the gradients of
the loss with respect to its activations, the numbers that its layers put out. Float16 rounds the
smallest numbers to zero. With no loss scaling, what percentage of the nonzero gradients would it
round to zero?

Guess before you run any code: a wrong guess teaches more than none. Section 2 measures the
percentage.""",
    stub="guess = ...  # percent: 1 = one in a hundred, 100 = all\nq.predict(guess)",
    solution="guess = 10\nq.predict(guess)",
    read=read_guess,
)

EXERCISES = [*overflow.EXERCISES, *practice.EXERCISES]
