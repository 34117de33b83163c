"""Judges of notebook 02: a scale for an array of gradients, and three wrong steps."""

import functools
import math

import numpy as np

from course_utils.exercises.functions import edited
from course_utils.exercises.judges import Fields, Number

# --- a scale for an array -------------------------------------------------------------

ARRAY = """\
import numpy as np

rng = np.random.default_rng(2)
array = rng.choice([-1, 1], 100_000) * 2 ** rng.normal(-30, 2, 100_000)
array = array.astype(np.float32)
"""
LARGEST_ERROR = 0.001  # relative
ROOM = 3  # powers of two that stay free


@functools.cache
def layer_gradients() -> np.ndarray:
    """The array of the task: float64 (100000,), log-normal around 2**-30, of either
    sign.
    """
    # its product with a power of two is exact
    return edited(ARRAY, "array").astype(np.float64)


def error(s: float) -> float:
    """The relative error of the array in float16 with the scale 2**s; infinite with
    overflow.
    """
    array = layer_gradients()
    with np.errstate(over="ignore"):
        cast = (array * 2.0**s).astype(np.float16).astype(np.float64)
    if np.isinf(cast).any():
        return math.inf
    return float(np.linalg.norm(cast / 2.0**s - array) / np.linalg.norm(array))


def exponent_problem(s: float) -> str | None:
    """What is wrong with a number that may be the scale in place of its exponent, or
    None.
    """
    if s > 64 and math.frexp(s)[0] == 0.5:
        return f"{s:,.0f} is a scale: give its exponent, {math.frexp(s)[1] - 1}."
    if s.is_integer() and abs(s) < 128:
        return None
    return f"You gave {s:.6g}: give a whole number s, the exponent of 2**s."


def scale_problem(s: float) -> str | None:
    """What is wrong with a scale, or None."""
    if problem := exponent_problem(s):
        return problem
    if (size := error(s)) == math.inf:
        return f"With s = {s:.0f} the largest gradient is infinity in float16."
    if size < LARGEST_ERROR:
        if error(s + ROOM) < math.inf:
            return None
        return f"With s = {s:.0f} the error is {size:.2%}, but eight times the largest overflows."
    text = f"With s = {s:.0f} the relative error is {size:.2%}, and below 0.1 % is asked for."
    return f"{text} A negative s divides." if s < 0 else text


def overflow_problem(s: float) -> str:
    """What is wrong with a first power of two that overflows."""
    if problem := exponent_problem(s):
        return problem
    if error(s) < math.inf:
        largest = 2.0**s * np.abs(layer_gradients()).max()
        return f"With s = {s:.0f} the largest gradient becomes {largest:,.5g}, finite in float16."
    return f"s = {s:.0f} overflows, and so does a smaller s."


WRONG_SCALES = (0, 11, 34, 37, -15, 2**15, 15.5, 1000)
WRONG_OVERFLOWS = (36, 38, 16, 2**37, 36.5)
WHOLE = "give one whole number, the s of 2**s"
SCALE_AND_OVERFLOW = Fields(
    {
        "s": Number(33, {WRONG_SCALES: scale_problem}, scale_problem, WHOLE),
        "overflow": Number(
            37, {WRONG_OVERFLOWS: overflow_problem}, overflow_problem, WHOLE, close=0
        ),
    }
)


# --- three wrong steps ----------------------------------------------------------------

S = 1024.0
SMALL = 1 / 512
FACTOR = "give one number: 1 where the step is right, 2 where it is twice too long"
WRONG_STEPS = Fields(
    {
        "clipped": Number(
            SMALL,
            {
                1: "S times 0.5 is longer than the limit, so this step does clip.",
                1 / S: "That is the length after dividing: what would 0.5 have been?",
                0.1 / S: "That is how far the weights move: divide by 0.05.",
                512: "It is too short, not too long: give 1 over it.",
                2: "The limit applies to S times the gradient, not to the gradient.",
            },
            otherwise="You gave {value:.6g}. How long is the gradient after clipping?",
            asked=FACTOR,
        ),
        "kept": Number(
            S,
            {
                1: "Nothing divides by S here: the gradient stays S times too long.",
                1 / S: "It is too long, not too short.",
                S**2: "S comes in once, and leaves never.",
                51.2: "That is how far the weights move: divide by 0.05.",
                512: "That is the gradient's length: divide by the right one, 0.5.",
            },
            otherwise="You gave {value:.6g}. What does plain SGD do with a factor?",
            asked=FACTOR,
        ),
        "adam": Number(
            1,
            {
                S: "Adam divides the gradient by its own size, which is S times too large.",
                1 / S: "Adam divides by the gradient's size, and not by S.",
                32: "The root is taken of the mean square: it is S times too large.",
                S**2: "The square is below a root.",
                0: "The weight moves: the gradient is not zero.",
            },
            otherwise="You gave {value:.6g}. What is a gradient over its own size?",
            asked=FACTOR,
        ),
    }
)
