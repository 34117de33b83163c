"""Judges of notebook 11: a block size, the scale of a block, a delayed scale."""

import math
from functools import partial
from typing import Any

import numpy as np

from course_utils.exercises.answers import call, describe, missing_key, number
from course_utils.exercises.functions import Function
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


answer = {"scale": block_scale, "rounds": "down"}
"""
OCTAVE = "np.floor(np.log2(largest, dtype=float))"
SMALLEST = {f"{OCTAVE} - 2": "np.ceil(np.log2(largest / 6, dtype=float))"}
SCALE_SLIPS = {
    "of either sign": {"np.abs(block).max()": "block.max()"},
    "are all 0": {"    if largest == 0:\n        return 1.0\n": ""},
    "no power of two": {f"2.0 ** ({OCTAVE} - 2)": "largest / 6"},
    "upside down": {f"{OCTAVE} - 2": f"2 - {OCTAVE}"},
    "E4M3's scale": {" - 2)": " - 8)"},
    "times too large": [{"np.floor": "np.ceil"}, {" - 2)": " - 1)"}, {" - 2)": ")"}],
    "times too small": {" - 2)": " - 3)"},
    "the other way": [SMALLEST, {'"down"': '"up"'}],
}
BLOCKS = tuple(
    np.array(block, "float32")
    for block in ([1.5, 0.25], [-33.0, -3.0], [3e-6, -1e-6], [0.0])
)
ROUNDS = Choice("", {}, ("down", "up"))


def rounding_problem(answer: Any) -> str | None:
    """What is wrong with the learner's scale of a block and its rule, or None."""
    if problem := missing_key(answer, ("scale", "rounds")):
        return problem
    rule = ROUNDS.read(answer["rounds"])
    if rule is None:
        return f"rounds: {ROUNDS(answer['rounds'])}"
    return Function(partial(scale_problem, rule), BLOCKS)(answer["scale"])


def scale_problem(rule: str, function: object, block: np.ndarray) -> str | None:
    """What is wrong with a scale of a block by the rule "down" or "up", or None."""
    result = call(function, block.copy(), end="`return` and the scale")
    scale = number(result)
    case = f"For {', '.join(f'{value:g}' for value in block)} you return"
    if scale is None or scale <= 0:
        why = "Values are of either sign: take their sizes."
        if not block.any():
            why = "Where values are all 0, their logarithm is infinite."
        return f"{case} {describe(result)}: return one number above 0. {why}"
    up = rule == "up"
    right, other = (
        blocks.quantize(block, "mxfp4_e2m1", up=way).scales.item()
        for way in (up, not up)
    )
    if scale == right or not block.any():
        return None
    if scale == other:
        return f"{case} {scale:.4g}: that is rounded the other way, and you say {rule}."
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
    return f"{verdict}. Yours is {off}: down, 4 goes into the largest size; up, 6."


# --- a delayed scale ------------------------------------------------------------------

DELAYED = """\
import numpy as np

def next_scale(sizes):
    second = np.sort(sizes)[-2]
    return 448 / (2 * second)


"""
SECOND = "np.sort(sizes)[-2]"
DELAYED_SLIPS = {
    "1,000 times as large": [{SECOND: "np.max(sizes)"}, {SECOND: "sizes[-2]"}],
    "newest": {SECOND: "sizes[-1]"},
    "two steps in a row": [{SECOND: "np.median(sizes)"}, {SECOND: "8 * min(sizes)"}],
    "1.5 times": {"2 * second": "second"},
    "too small": {"448 / (2 * second)": "2 * second / 448"},
}
SPIKES = (  # which of 16 sizes, all 0.01, are larger, and how many times
    ("ordinary", 0, 1),
    ("old", 14, 1000),
    ("newest", -1, 1000),
    ("grown", slice(-2, None), 20),
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
    now = 0.2 if case == "grown" else 0.01
    top = scale * now
    if case == "grown" and top > 448:
        return "Sizes of 20 times in two steps in a row are no spike: your scale cuts the next."
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
