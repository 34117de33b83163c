"""Where a sum is kept, told by what comes out: float32, or 16 bits."""

from collections.abc import Callable
from typing import NamedTuple

import ml_dtypes  # noqa: F401  (teaches NumPy the name "bfloat16")
import numpy as np

TERMS = 4096
UNIT = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
# up to which whole numbers are exact, so that a sum of ones stops there
STOPS = {"float16": 2048, "bfloat16": 256}
WIDE = "float32"
CUT = "float32, then cut off"
SERIAL = "16 bits, one after another"
PARTS = "16 bits, in parts"
NONE = "no kernel"
PLACES = 16  # of the one between a large number and its opposite
DRAWS = 6  # of random terms


class Sound(NamedTuple):
    """What an operation's answers tell of its accumulator."""

    verdict: str  # one of WIDE, CUT, SERIAL, PARTS, NONE
    # What it makes of 4,096 ones, as a part of what is right; NaN without a kernel.
    ones: float
    # the largest relative error of positive random terms, in units u of the format
    error: float


def listen(
    operation: Callable[[np.ndarray], float],
    dtype: str,
    right: Callable[[np.ndarray], float] = np.sum,
) -> Sound:
    """Hear in which dtype an operation adds up 4,096 terms of "float16" or "bfloat16".

    `operation` gets an array of that dtype and returns a number that `right` says what
    it ought to be of: their sum, or `np.mean`. Three questions:

    - 4,096 ones. Added one after another they stop at 2,048 in float16 and at 256 in
      bfloat16, where one more is rounded away.
    - A large number, somewhere a one, and the opposite of the large number. Only an
      accumulator with more bits gives the one back.
    - Positive random terms. A float32 sum is rounded once, by at most one unit u.

        >>> listen(lambda terms: terms.astype("float32").sum(), "bfloat16").verdict
        'float32'
        >>> listen(lambda terms: np.add.accumulate(terms)[-1], "bfloat16").verdict
        '16 bits, one after another'
    """
    source = np.random.default_rng(0)
    count = _ask(operation, np.ones(TERMS), dtype) / right(np.ones(TERMS))
    sees_the_one = [
        abs(_ask(operation, terms, dtype) / right(terms) - 1) < 0.01
        for terms in _hidden_ones(source, dtype)
    ]
    draws = source.uniform(0.5, 1.5, (DRAWS, TERMS)).astype(dtype)
    answers = np.array([_ask(operation, terms, dtype) for terms in draws])
    exact = np.array([right(terms.astype("float64")) for terms in draws])
    errors = (answers / exact - 1) / UNIT[dtype]
    verdict = _verdict(all(sees_the_one), errors)
    if not all(sees_the_one) and (
        abs(count * TERMS / STOPS[dtype] - 1) < 0.01 or _is_a_loop(answers, draws)
    ):
        verdict = SERIAL
    return Sound(verdict, count, np.abs(errors).max())


def _ask(operation, terms, dtype):
    return float(operation(np.asarray(terms).astype(dtype)))


def _hidden_ones(source, dtype):
    """Rows of a large number, zeros, one 1, zeros, and the large number's opposite."""
    places = [1, 2, 3, 9, 40, TERMS // 2 - 1, TERMS // 2, TERMS - 3, TERMS - 2]
    others = source.integers(1, TERMS - 1, PLACES - len(places))
    for place in [*places, *others]:
        terms = np.zeros(TERMS)
        terms[0], terms[place], terms[-1] = 2 * STOPS[dtype], 1, -2 * STOPS[dtype]
        yield terms


def _is_a_loop(answers, draws):
    """Whether they are what a loop of 16-bit additions gives, or its mean; a count that
    is kept in 16 bits stops, too.
    """
    dtype = str(draws.dtype)
    sums = np.add.accumulate(draws, axis=1)[:, -1].astype("float64")
    return any(
        np.array_equal((sums / count).astype(dtype), answers.astype(dtype))
        for count in (1, TERMS, STOPS[dtype])
    )


def _verdict(is_exact, errors):
    if (
        is_exact and np.abs(errors).max() <= 1.02
    ):  # half a unit, at the most a whole one
        return WIDE
    if is_exact and errors.max() < 0.05 and errors.min() > -2.05:
        return CUT
    return PARTS
