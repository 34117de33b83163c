"""Judges of notebook 11: a block size, the scale of a block, a delayed scale, a byte
budget.
"""

import math
from typing import Any

import numpy as np

from course_utils.exercises.answers import call, describe, missing_key, number
from course_utils.exercises.judges import Choice
from course_utils.formats import blocks

# --- a block size ---------------------------------------------------------------------

GRADIENTS = """\
import numpy as np

rng = np.random.default_rng(11)
sizes = 2 ** rng.uniform(-20, 0, (256, 1))
gradients = (sizes * rng.uniform(0.5, 1, (256, 16))).ravel()
"""


# --- the scale of a block -------------------------------------------------------------

SCALE = """\
import numpy as np

def block_scale(block):
    largest = np.abs(block).max()
    if largest == 0:
        return 1.0
    return 2.0 ** (np.floor(np.log2(largest, dtype=float)) - 2)


"""
OCTAVE = "np.floor(np.log2(largest, dtype=float))"
SCALE_SLIPS = {
    "of either sign": {"np.abs(block).max()": "block.max()"},
    "are all 0": {"    if largest == 0:\n        return 1.0\n": ""},
    "no power of two": {f"2.0 ** ({OCTAVE} - 2)": "largest / 6"},
    "upside down": {f"{OCTAVE} - 2": f"2 - {OCTAVE}"},
    "E4M3's scale": {" - 2)": " - 8)"},
    "times too large": [{"np.floor": "np.ceil"}, {" - 2)": " - 1)"}, {" - 2)": ")"}],
    "times too small": {" - 2)": " - 3)"},
}
BLOCKS = tuple(
    np.array(block, "float32")
    for block in ([1.5, 0.25], [-48.0, -3.0], [3e-6, -1e-6], [0.0])
)


def scale_problem(function: object, block: np.ndarray) -> str | None:
    """What is wrong with the learner's scale of a block, or None."""
    result = call(function, block.copy(), end="`return` and the scale")
    scale = number(result)
    case = f"For {', '.join(f'{value:g}' for value in block)} you return"
    if scale is None or scale <= 0:
        why = "Values are of either sign: take their sizes."
        if not block.any():
            why = "Where values are all 0, their logarithm is infinite."
        return f"{case} {describe(result)}: return one number above 0. {why}"
    right = float(blocks.quantize(block, "mxfp4_e2m1").scales[0])
    if scale == right or not block.any():
        return None
    verdict = f"{case} {scale:.4g}, and the scale is {right:.4g}"
    if math.frexp(scale)[0] != 0.5:
        return f"{verdict}. Yours is no power of two."
    if scale == 1 / right:
        return f"{verdict}. Yours is upside down: values are divided by it."
    if scale == right / 64:
        return f"{verdict}. Yours is E4M3's scale, and MXFP4 ends at 6."
    off = f"{scale / right:g} times too large"
    if scale < right:
        off = f"{right / scale:g} times too small"
    return f"{verdict}. Yours is {off}: round the logarithm down, and subtract 2."


# --- a delayed scale ------------------------------------------------------------------

DELAYED = """\
import numpy as np

def next_scale(sizes):
    second = np.sort(sizes)[-2]
    return 448 / (2 * second)


"""
SECOND = "np.sort(sizes)[-2]"
DELAYED_SLIPS = {
    "1,000 times as large": [{SECOND: "np.max(sizes)"}, {SECOND: "np.mean(sizes)"}],
    "newest": {SECOND: "sizes[-1]"},
    "two steps in a row": [{SECOND: "np.median(sizes)"}, {SECOND: "np.min(sizes)"}],
    "1.5 times": {"2 * second": "second"},
    "too small": {"448 / (2 * second)": "2 * second / 448"},
}
SPIKES = (  # which of 16 sizes, all 0.01, are larger, and how many times
    ("ordinary", 0, 1),
    ("old", 5, 1000),
    ("newest", -1, 1000),
    ("grown", slice(-2, None), 8),
)


def delayed_problem(
    function: object, trial: tuple[str, int | slice, float]
) -> str | None:
    """What is wrong with the learner's next scale after 16 sizes, or None."""
    case, place, factor = trial
    sizes = np.full(16, 0.01)
    sizes[place] *= factor
    result = call(function, sizes, end="`return` and the scale")
    scale = number(result)
    if scale is None or scale <= 0:
        return f"You return {describe(result)}: return one number above 0."
    now = 0.08 if case == "grown" else 0.01
    top = scale * now
    if case == "grown" and top > 448:
        return "Sizes of 8 times in two steps in a row are no spike: your scale cuts the next."
    if top * 1.5 > 448:
        return f"Sizes are {now:g}. A step with 1.5 times that is cut: leave room."
    if top >= 448 / 16:
        return None
    if case == "newest":
        return "The newest size was a spike, and your scale follows it."
    if case == "old":
        return "One of 16 sizes was 1,000 times as large, and it still sets your scale."
    return (
        f"Your scale makes {top:.3g} of {now:g}: too small. E4M3 reaches 448; do you divide"
        " by a size?"
    )


# --- a byte budget --------------------------------------------------------------------

PARAMETERS = {"embedding": 32, "blocks": 96, "head": 32}  # millions
BITS = {"bfloat16": 16, "mxfp8": 8.25, "mxfp4": 4.25}
POINTS = {
    "embedding": {"bfloat16": 0.0, "mxfp8": 0.1, "mxfp4": 0.5},
    "blocks": {"bfloat16": 0.0, "mxfp8": 0.1, "mxfp4": 1.0},
    "head": {"bfloat16": 0.0, "mxfp8": 0.3, "mxfp4": 6.0},
}
BUDGET = 150  # MB
FORMAT = Choice("", {}, tuple(BITS))


def megabytes(choice: dict[str, str]) -> float:
    """What the three layers take, in MB, for a format each."""
    return sum(PARAMETERS[name] * BITS[fmt] / 8 for name, fmt in choice.items())


def points_lost(choice: dict[str, str]) -> float:
    """The points of accuracy that a choice of formats loses."""
    return sum(POINTS[name][fmt] for name, fmt in choice.items())


# loses least within the budget
BEST = {"embedding": "mxfp4", "blocks": "mxfp8", "head": "mxfp8"}


def budget_problem(answer: Any) -> str | None:
    """What is wrong with a format for each layer, or None."""
    if problem := missing_key(answer, PARAMETERS):
        return problem
    choice: dict = {}
    for name in PARAMETERS:
        choice[name] = FORMAT.read(answer[name])
        if choice[name] is None:
            return f"{name}: {FORMAT(answer[name])}"
    total = megabytes(choice)
    if total > BUDGET:
        return f"That takes {total:.0f} MB, and {BUDGET} are there."
    if choice == BEST:
        return None
    why = "There is a choice that loses less."
    if choice["head"] == "mxfp4":
        why = "The head loses most of all in four bits."
    elif choice["blocks"] == "mxfp4":
        why = "The largest layer in four bits loses more than the embedding."
    return (
        f"That takes {total:.0f} MB and loses {points_lost(choice):.1f} points. {why}"
    )
