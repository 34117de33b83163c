"""How the answers to exercises 1, 2, 3 and 6 of notebook 02 are judged."""

import math

import numpy as np

from .answers import describe, missing_key, number

# --- 1: the scales that fit a histogram ---------------------------------------------------------

SMALLEST_GRADIENT, LARGEST_GRADIENT = -31, -9  # exponents of two
BRACKET = {"smallest": 17, "largest": 24}


def check_bracket(answer):
    """Compare a dictionary smallest/largest with the exponents 17 and 24.

    >>> check_bracket({"smallest": 7, "largest": 24})
    'largest is right. smallest: s = 7 turns 2**-31 into 2**-24, which survives with one bit.'
    """
    if problem := missing_key(answer, list(BRACKET)):
        return problem
    given = {name: number(answer[name]) for name in BRACKET}
    for name, value in given.items():
        if value is None:
            return f"{name}: you gave {describe(answer[name])}; give the whole number s of 2**s."
    if given == BRACKET:
        return None
    low, high = given.values()
    if (low, high) == (BRACKET["largest"], BRACKET["smallest"]):
        return "The two are swapped: the smallest s belongs to the smallest gradient."
    if min(low, high) >= 1000 or all(_is_power(s) and s > 32 for s in (low, high)):
        return "You gave scales. Give their exponents, the s of 2**s."
    if max(low, high) >= 1000:
        return "You gave a scale. Give its exponent, the s of 2**s."
    if (low, high) in ((-17, -24), (-24, -17)):
        return "With a negative s you divide. The loss is multiplied by 2**s."
    if low == BRACKET["smallest"]:
        return f"smallest is right. largest: {_bracket_problem(high, _wrong_largest)}"
    right = "largest is right. " * (high == BRACKET["largest"])
    return f"{right}smallest: {_bracket_problem(low, _wrong_smallest)}"


def _bracket_problem(s, explain):
    if not s.is_integer():
        return f"you gave {s!r}, and a whole number is asked for."
    s = int(s)
    small, large = SMALLEST_GRADIENT + s, LARGEST_GRADIENT + s
    if abs(s) >= 1000:
        return "you gave a number far from any exponent that fits."
    return f"s = {s} {explain(s, small, large)}"


def _wrong_smallest(s, small, large):
    if s == -5:
        return "keeps the largest gradient normal. The smallest one sets this limit."
    if s < 0:
        return f"divides by 2**{-s}, and the smallest gradient needs more, not less."
    if s < 6:
        return f"turns 2**-31 into 2**{small}, which float16 rounds to zero."
    if s == 6:
        return "turns 2**-31 into 2**-25, halfway between 0 and 2**-24. The tie goes to 0."
    if s == 7:
        return "turns 2**-31 into 2**-24, which survives with one bit."
    if s == 16:
        return "turns 2**-31 into 2**-15, still a subnormal. The normal numbers begin at 2**-14."
    if s < 16:
        return f"turns 2**-31 into 2**{small}, and there a number has {small + 25} bits, not 11."
    if large < 16:
        return f"makes every gradient normal, and a smaller s does so too: 2**-31 is 2**{small}."
    return f"turns the largest gradient into 2**{large}, beyond the range. A smaller s is enough."


def _wrong_largest(s, small, large):
    if s == 25:
        return "turns 2**-9 into 2**16, which float16 rounds to infinity. Its range ends at 65,504."
    if s == 46:
        return "brings the smallest gradient to 2**15. The largest one sets this limit."
    if s > 25:
        return f"turns 2**-9 into 2**{large}, infinity in float16. Its range ends at 65,504."
    if s < 0:
        return f"divides by 2**{-s}. The loss is multiplied by 2**s."
    if s < 17:
        return f"turns 2**-9 into 2**{large}, far from the end, while 2**-31 is not normal yet."
    return f"turns 2**-9 into 2**{large}, and a larger s still avoids infinity."


# --- 2: six steps of a dynamic scale ------------------------------------------------------------

RUN = {"scale": 8192, "applied": 4}
NOT_THE_SCALE = {
    16384: "That is one doubling too many, or one halving too few: is there a row of three finite"
    " steps without a break?",
    32768: "It takes three finite steps in a row to double it: write the counter down after each"
    " step.",
    65536: "Each step that is not finite halves the scale and sets the counter to 0: count again.",
    131072: "It does not double at each finite step: that takes three in a row.",
    4096: "That is three halvings. In how many of the steps is `finite` False?",
    2048: "That is four halvings. Each step where `finite` is False halves the scale once.",
    0.25: "That is the factor; give the scale.",
}
NOT_THE_APPLIED = {
    6: "A step that is not finite changes no weight: it is skipped.",
    2: "That is how many are skipped.",
    3: "That is how many it takes to double the scale. Count the finite steps.",
    5: "Two of the six are skipped, the first one too.",
    0: "A finite step is applied, whether the scale changes or not.",
}


def check_run(answer):
    """Compare a dictionary scale/applied with 8192 and 4.

    >>> check_run({"scale": 8192, "applied": 6})[:40]
    'The scale is right. applied: A step that'
    """
    if problem := missing_key(answer, list(RUN)):
        return problem
    given = {name: number(answer[name]) for name in RUN}
    for name, value in given.items():
        if value is None:
            return f"{name}: you gave {describe(answer[name])}; give one number."
    scale, applied = given.values()
    if scale != RUN["scale"]:
        if message := NOT_THE_SCALE.get(scale):
            return f"scale: {message}"
        if not _is_power(scale) and scale.is_integer() and 0 < scale <= 30:
            n = int(scale)
            return f"scale: {n} reads like an exponent: give the scale itself, such as 2**{n}."
        if not _is_power(scale):
            return f"scale: you gave {_show(scale)}, and 2**15 only halves or doubles."
        return f"scale: you gave {_show(scale)}. Write the scale and the counter down at each step."
    if applied != RUN["applied"]:
        message = NOT_THE_APPLIED.get(applied, f"You gave {_show(applied)} of six steps.")
        return f"The scale is right. applied: {message}"
    return None


def _is_power(value):
    return value > 0 and math.frexp(value)[0] == 0.5


def _show(value):
    return f"{value:,.10g}" if abs(value) < 1e10 else f"{value:.6g}"


# --- 3: the first overflow ----------------------------------------------------------------------

LARGEST, GROWTH, START = 0.031, 2000, 15
FIRST_OVERFLOW = 14001
NOT_THE_STEP = {
    12001: "There the scale becomes 2**21, and 0.031 × 2**21 = 65,011.7 is still finite.",
    14000: "Step 14,000 is the last with the scale 2**21. The doubled scale counts from the next"
    " step on.",
    14002: "The overflow comes one step earlier. At step 14,002 the scale is halved again.",
    16001: "Step 14,001 overflows already and halves the scale, so step 16,001 is at 2**21 again.",
    16002: "That is the second overflow, 2,000 finite steps after the first.",
    16000: "By then one step has overflowed. How many doublings does the first one take?",
    14008: "You count 2,001 steps for each doubling. The 2,000th finite step doubles the scale.",
    14007: "You count 2,001 steps for each doubling. The 2,000th finite step doubles the scale.",
    7: "That is the number of doublings. Each takes 2,000 steps.",
    8: "That is how many scales there are from 2**15 to 2**22. Give the step.",
    6: "After 6 doublings the scale is 2**21, and nothing overflows. Besides, give the step.",
    22: "That is the exponent of the scale that overflows. Give the step.",
    2**22: "That is the scale that overflows. Give the step.",
    44001: "That is for a scale that begins at 2**0. Keras begins at 2**15.",
    44000: "That is for a scale that begins at 2**0. Keras begins at 2**15.",
}


def check_first_overflow(answer):
    """Expect 14001, the first step with the scale 2**22.

    >>> check_first_overflow(12001)
    'There the scale becomes 2**21, and 0.031 × 2**21 = 65,011.7 is still finite.'
    """
    value = number(answer)
    if value is None:
        return f"You gave {describe(answer)}: give the number of one step, without quotes."
    if value == FIRST_OVERFLOW:
        return None
    if message := NOT_THE_STEP.get(value):
        return message
    if value < 1 or not value.is_integer():
        return f"You gave {_show(value)}: steps are counted 1, 2, 3 and so on."
    if value > FIRST_OVERFLOW:
        return f"An earlier step than {_show(value)} overflows."
    exponent = START + (int(value) - 1) // GROWTH
    product = LARGEST * 2**exponent
    return (
        f"At step {_show(value)} the scale is 2**{exponent}, and 0.031 × 2**{exponent} ="
        f" {product:,.1f} is finite."
    )


# --- 6: a scale for an array --------------------------------------------------------------------

LOST = 1e-3  # this share of the sum of squares may be lost


def layer_gradients():
    """The array of the task: float32 (100000,), log-normal around 2**-30, of either sign.

    >>> layer_gradients().dtype
    dtype('float32')
    """
    rng = np.random.default_rng(2)
    array = rng.choice([-1, 1], 100_000) * 2 ** rng.normal(-30, 2, 100_000)
    return array.astype(np.float32)


def cast_with_scale(values, s):
    """Counts of infinities and zeros of float16(values * 2**s), and the share of squares lost.

    >>> cast_with_scale(np.array([1.0, 2.0**-25]), 0)[:2], cast_with_scale(np.array([1.0]), 16)[0]
    ((0, 1), 1)
    """
    values = values.astype(np.float64)  # the product with a power of two is exact
    with np.errstate(over="ignore"):
        cast = (values * 2.0**s).astype(np.float16)
    zero, squares = cast == 0, values**2
    return int(np.isinf(cast).sum()), int(zero.sum()), float(squares[zero].sum() / squares.sum())


def check_scale(answer):
    """Accept every s that keeps the array of the task finite and its sum of squares whole.

    >>> check_scale(15)
    >>> check_scale(0)[:51]
    's = 0: float16 rounds 99.41 % of the gradients to z'
    """
    s = number(answer)
    if s is None:
        return f"You gave {describe(answer)}: give the s of 2**s as one number."
    if not s.is_integer():
        return f"You gave {_show(s)}: a whole number is asked for, the s of 2**s."
    instead = ""
    if _is_power(s):
        instead = f" If {_show(s)} is the scale, give its exponent, {math.frexp(s)[1] - 1}."
    if s >= 128:
        return f"You gave {_show(s)}, and float32 has no 2**{_show(s)}.{instead}"
    if s < -100:
        return f"You gave {_show(s)}: a negative s divides, and here every gradient becomes 0."
    s = int(s)
    overflow, zeros, lost = cast_with_scale(layer_gradients(), s)
    if overflow:
        verb = "overflow" if overflow > 1 else "overflows"
        said = f"s = {s}: {overflow:,} of 100,000 gradients {verb} in float16"
        return f"{said}.{instead}" if instead else f"{said}: too large a scale."
    if lost >= LOST:
        sign = " A negative s divides." if s < 0 else ""
        return (
            f"s = {s}: float16 rounds {zeros / 1000:.2f} % of the gradients to zero, and with them"
            f" {100 * lost:.3g} % of the sum of squares; 0.1 % is too much.{sign}"
        )
    return None
