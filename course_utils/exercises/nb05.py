"""Prediction and exercises of notebook 05.

Example: `exercises.load("05")[1].check(3.95)`
"""

from . import memory05 as memory
from . import time05 as time
from .answers import describe
from .engine import Prediction

TITLE = "Find out where time and memory go"


def read_guess(value):
    """Keep a percentage above 0 and up to 100; a number up to 1 is a percentage too.

    >>> read_guess(50.0)
    (50.0, 'You expect that they take 50 % of that time. Section 2 measures it.')
    """
    if not 0 < value <= 100:
        return (
            None,
            f"You gave {describe(value)}: give a percentage above 0 and up to 100, such as 50 for"
            " one half.",
        )
    if value <= 1:
        return value, (
            f"Read as {value:g} %. If you mean a share of {value:g}, give {100 * value:g};"
            " section 2 measures it."
        )
    return value, f"You expect that they take {value:g} % of that time. Section 2 measures it."


PREDICTION = Prediction(
    task="""\
A profiler records one training step of the CNN in `float32`: which operation ran, and for how long.
Some of them are convolutions and matrix products, forward and backward. These are the ones that
16-bit units make faster. The others add, pool, compare, copy, or update the weights.

Take the time in which operations run. How many percent of it go to convolutions and matrix
products? Guess before you run any code; section 2 measures it.""",
    stub="guess = ...  # percent of the operations' time, 100 = all\nq.predict(guess)",
    solution="guess = 50\nq.predict(guess)",
    read=read_guess,
)

EXERCISES = [*time.EXERCISES, *memory.EXERCISES]
