"""Prediction and exercises of notebook 01.

Example: `exercises.load("01")[3].check(1025)`
"""

from . import bits01 as bits
from . import conversion01 as conversion
from . import losses01 as losses
from .answers import describe
from .engine import Prediction

TITLE = "Floats, bit by bit"


def read_guess(value):
    """Keep a sum above 0 and up to a million.

    >>> read_guess(10000.0)
    (10000.0, 'You expect the sum to say 10,000. The measurement comes in section 6.')
    """
    if not 0 < value <= 1e6:
        return (
            None,
            f"You gave {describe(value)}: the sum lies above 0, and not above 1,000,000.",
        )
    return value, f"You expect the sum to say {value:,.10g}. The measurement comes in section 6."


PREDICTION = Prediction(
    task="""\
You start at 0 and add 1.0 ten thousand times. Every sum on the way is a `float16` number. What
does the sum say at the end?

Guess before you run any code: a wrong guess teaches more than none. Section 6 measures it.""",
    stub="guess = ...  # the sum at the end\nq.predict(guess)",
    solution="guess = 10_000\nq.predict(guess)",
    read=read_guess,
)

EXERCISES = [*bits.EXERCISES, *losses.EXERCISES, *conversion.EXERCISES]
