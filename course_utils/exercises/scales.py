"""Judges of notebook 02: which loss scales fit, when one overflows, and the order of a step."""

import itertools
import math

import numpy as np

from .answers import describe, number
from .judges import Choice, Fields, Number


def show(value):
    """A number for reading."""
    return f"{value:,.10g}" if abs(value) < 1e10 else f"{value:.6g}"


def is_power(value):
    """Whether a number is a power of two."""
    return math.frexp(value)[0] == 0.5


# --- the scales that fit: the gradients reach from 2**-31 to 2**-9 ------------------------------


def exponent(right, wrong, explain):
    """The judge of one s; `explain(s)` ends a sentence on a whole number."""

    def otherwise(value):
        if not value.is_integer():
            return f"you gave {value!r}, and a whole number is asked for."
        if abs(value) >= 1000:
            return "you gave a number far from any exponent that fits."
        return f"s = {value:.0f} {explain(int(value))}"

    return Number(right, wrong, (), otherwise, "give the whole number s of 2**s", close=0)


def too_small(s):
    """What is wrong with a smallest s."""
    if s < 0:
        return f"divides by 2**{-s}, and the smallest gradient needs more, not less."
    if s < 6:
        return f"turns 2**-31 into 2**{s - 31}, which float16 rounds to zero."
    if s < 16:
        return f"turns 2**-31 into 2**{s - 31}, and there a number has {s - 6} bits, not 11."
    if s < 25:
        return f"makes every gradient normal, and a smaller s does so too: 2**-31 is 2**{s - 31}."
    return f"turns the largest gradient into 2**{s - 9}, beyond the range. A smaller s is enough."


def too_large(s):
    """What is wrong with a largest s."""
    if s > 25:
        return f"turns 2**-9 into 2**{s - 9}, infinity in float16. Its range ends at 65,504."
    if s < 0:
        return f"divides by 2**{-s}. The loss is multiplied by 2**s."
    if s < 17:
        return f"turns 2**-9 into 2**{s - 9}, far from the end, while 2**-31 is not normal yet."
    return f"turns 2**-9 into 2**{s - 9}, and a larger s still avoids infinity."


DIVIDES = "With a negative s you divide. The loss is multiplied by 2**s."
NOT_SMALLEST = {
    -5: "s = -5 keeps the largest gradient normal. The smallest one sets this limit.",
    6: "s = 6 turns 2**-31 into 2**-25, halfway between 0 and 2**-24. The tie goes to 0.",
    7: "s = 7 turns 2**-31 into 2**-24, which survives with one bit.",
    16: "s = 16 turns 2**-31 into 2**-15, still a subnormal. The normal numbers begin at 2**-14.",
}
NOT_LARGEST = {
    25: "s = 25 turns 2**-9 into 2**16, which float16 rounds to infinity. Its range ends at"
    " 65,504.",
    46: "s = 46 brings the smallest gradient to 2**15. The largest one sets this limit.",
}
BRACKET = Fields(
    {
        "smallest": exponent(17, NOT_SMALLEST, too_small),
        "largest": exponent(24, NOT_LARGEST, too_large),
    },
    wrong={
        (24, 17): "The two are swapped: the smallest s belongs to the smallest gradient.",
        (-17, -24): DIVIDES,
        (-24, -17): DIVIDES,
    },
    together=(
        (
            {"smallest": 128, "largest": 256},
            lambda given: (
                min(given.values()) >= 1000 or all(is_power(s) and s > 32 for s in given.values())
            ),
            "You gave scales. Give their exponents, the s of 2**s.",
        ),
        (
            {"smallest": 2**17, "largest": 24},
            lambda given: max(given.values()) >= 1000,
            "You gave a scale. Give its exponent, the s of 2**s.",
        ),
    ),
)


def finite_step(value):
    """Say what the scale is at another step."""
    if value < 1 or not value.is_integer():
        return f"You gave {show(value)}: steps are counted 1, 2, 3 and so on."
    if value > 14001:
        return f"An earlier step than {show(value)} overflows."
    k = 15 + (int(value) - 1) // 2000
    said = f"At step {show(value)} the scale is 2**{k}, and 0.031 × 2**{k} ="
    return f"{said} {0.031 * 2**k:,.1f} is finite."


FIRST_OVERFLOW = Number(
    14001,
    {
        12001: "There the scale becomes 2**21, and 0.031 × 2**21 = 65,011.7 is still finite.",
        14000: "Step 14,000 is the last with the scale 2**21. The doubled scale counts from the"
        " next step on.",
        14002: "The overflow comes one step earlier. It halves the scale, so that step 14,002 is at"
        " 2**21 again.",
        16001: "Step 14,001 overflows already and halves the scale, so step 16,001 is at 2**21"
        " again.",
        16002: "That is the second overflow, 2,000 finite steps after the first.",
        16000: "By then one step has overflowed. How many doublings does the first one take?",
        (14008, 14007): "You count 2,001 steps for each doubling. The 2,000th finite step doubles"
        " the scale.",
        7: "That is the number of doublings. Each takes 2,000 steps.",
        8: "That is how many scales there are from 2**15 to 2**22. Give the step.",
        6: "After 6 doublings the scale is 2**21, and nothing overflows. Besides, give the step.",
        22: "That is the exponent of the scale that overflows. Give the step.",
        2**22: "That is the scale that overflows. Give the step.",
        (44001, 44000): "That is for a scale that begins at 2**0. Keras begins at 2**15.",
    },
    otherwise=finite_step,
    asked="give the number of one step, without quotes",
    close=0,
)


ARRAY = """\
import numpy as np

rng = np.random.default_rng(2)
array = rng.choice([-1, 1], 100_000) * 2 ** rng.normal(-30, 2, 100_000)
array = array.astype(np.float32)
"""


def layer_gradients():
    """The array of the task: float32 (100000,), log-normal around 2**-30, of either sign."""
    names = {}
    exec(ARRAY, names)
    return names["array"]


def check_scale(answer):
    """Accept every s that keeps the array of the task finite and its sum of squares whole."""
    s = number(answer)
    if s is None:
        return f"You gave {describe(answer)}: give the s of 2**s as one number."
    if not s.is_integer():
        return f"You gave {show(s)}: a whole number is asked for, the s of 2**s."
    instead = ""
    if is_power(s):
        instead = f" If {show(s)} is the scale, give its exponent, {math.frexp(s)[1] - 1}."
    if s >= 128:
        return f"You gave {show(s)}, and float32 has no 2**{show(s)}.{instead}"
    if s < -100:
        return f"You gave {show(s)}: a negative s divides, and here every gradient becomes 0."
    array = layer_gradients().astype(np.float64)  # the product with a power of two is exact
    with np.errstate(over="ignore"):
        cast = (array * 2.0**s).astype(np.float16)
    if overflow := int(np.isinf(cast).sum()):
        verb = "overflow" if overflow > 1 else "overflows"
        said = f"s = {s:.0f}: {overflow:,} of 100,000 gradients {verb} in float16"
        return f"{said}.{instead}" if instead else f"{said}: too large a scale."
    zero = cast == 0
    zeros, lost = zero.sum(), np.sum(array[zero] ** 2) / np.sum(array**2)
    if lost >= 1e-3:
        sign = " A negative s divides." if s < 0 else ""
        return (
            f"s = {s:.0f}: float16 rounds {zeros / 1000:.2f} % of the gradients to zero, and with"
            f" them {100 * lost:.3g} % of the sum of squares; 0.1 % is too much.{sign}"
        )
    return None


# --- the order of a step ------------------------------------------------------------------------

STEP = ("forward", "scale", "backward", "unscale", "clip", "update")
LATE = {  # one line of a step that stands behind another, and what is said of it
    ("forward", "scale"): "There is no loss to multiply before the forward pass has put one out.",
    ("scale", "backward"): "The small gradients are lost in the backward pass, so the loss is"
    " multiplied by S before it.",
    ("unscale", "update"): "That updates with the scaled gradient, as some articles do: the step is"
    " S times too long.",
    ("unscale", "clip"): "That clips the scaled gradient: S times too long, it is cut to a length"
    " far too small.",
    ("clip", "update"): "Clipping after the update changes nothing any more.",
    ("backward", "unscale"): "The backward pass makes the gradients: it comes before.",
}


def late(one, other):
    """An order in which one line stands behind another, the condition that it does, a message."""
    order = [line for line in STEP if line != one]
    order.insert(order.index(other) + 1, one)
    return order, lambda given: given.index(one) > given.index(other), LATE[one, other]


ORDER = Choice(
    STEP,
    rules=tuple(late(*lines) for lines in LATE),
    options=tuple(itertools.permutations(STEP)),
    asked=f"give a list with the six names {', '.join(STEP)}, each once",
)
