"""How the answers to exercises 1 and 2 of notebook 05 are judged."""

from .answers import describe, missing_key, near, number

# --- 1: one layer under two roofs ---------------------------------------------------------------

PEAK = {"float32": 8.1, "float16": 65.0}  # TFLOP/s of a T4
TB_PER_S = 0.32
INTENSITY = {"float32": 50, "float16": 100}  # operations per byte
ALLOWED = {dtype: TB_PER_S * per_byte for dtype, per_byte in INTENSITY.items()}  # by the memory
REACHED = {dtype: min(PEAK[dtype], ALLOWED[dtype]) for dtype in PEAK}
SPEEDUP = REACHED["float16"] / REACHED["float32"]

NOT_THE_SPEEDUP = [  # (number, what to say)
    (
        PEAK["float16"] / PEAK["float32"],
        "That is the ratio of the peaks. In float16 the layer does 100 operations per byte, and it"
        " takes 203 to reach the peak.",
    ),
    (
        ALLOWED["float32"] / PEAK["float32"],
        "That leaves 50 operations per byte. In float16 the bytes are halved, so it is 100.",
    ),
    (
        2.0,
        "Half the bytes make it twice as fast where memory is the limit in both dtypes. In float32"
        " arithmetic is.",
    ),
    (
        PEAK["float16"] / ALLOWED["float32"],
        "That takes the wrong limit twice. In each dtype the lower one counts: in float32 it is"
        " 8.1, and memory allows 16.",
    ),
    (
        TB_PER_S * 25 / PEAK["float32"],
        "That halves the operations per byte. Half the bytes make it twice as many: 100.",
    ),
    (1.0, "In float32 the arithmetic is the limit, and float16 has a higher peak. So it gains."),
    (1 / SPEEDUP, "That is upside down: divide what float16 reaches by what float32 reaches."),
    (
        PEAK["float16"] / ALLOWED["float16"],
        "That is how far float16 stays below its peak. Divide 32 by what float32 reaches.",
    ),
    (REACHED["float16"], "That is what float16 reaches, in TFLOP/s. Divide by that of float32."),
    (PEAK["float32"], "That is the peak of float32. How many times as much does float16 reach?"),
    (PEAK["float16"], "That is the peak of float16. Does memory bring the numbers fast enough?"),
    (ALLOWED["float32"], "That is what memory allows in float32, in TFLOP/s. The peak is 8.1."),
    (
        PEAK["float32"] / TB_PER_S,
        "That is where the roof of float32 turns flat. The layer is to the right of it.",
    ),
    (
        PEAK["float16"] / TB_PER_S,
        "That is where the roof of float16 turns flat. The layer is to the left of it, at 100.",
    ),
    (100 * SPEEDUP, "That is a percentage. Give how many times as fast, as 2 for twice."),
    (100 * (SPEEDUP - 1), "That is the gain in percent. Give how many times as fast it is."),
    (SPEEDUP - 1, "That is the gain. Give how many times as fast it is, as 2 for twice."),
]


def check_roofline(answer):
    """Accept the speedup of the layer to within half a percent.

    >>> check_roofline(3.95), check_roofline(0.2531)[:20]
    (None, 'That is upside down:')
    """
    value = number(answer)
    if value is None:
        return f"You gave {describe(answer)}: give one number, without quotes or units."
    if near(value, SPEEDUP, 0.005):
        return None
    for wrong, message in NOT_THE_SPEEDUP:
        if near(value, wrong, 0.006):
            return message
    if near(value, SPEEDUP, 0.02):
        return f"You gave {value:.4g}. That is near: give two decimals."
    return (
        f"You gave {value:.4g}. In float32 the layer reaches 8.1 TFLOP/s; how many numbers does"
        " memory bring in float16?"
    )


# --- 2: a step that waits -----------------------------------------------------------------------

LOAD, BEFORE, AFTER = 30, 20, 10  # milliseconds
WITH, WITHOUT = "with prefetch", "without prefetch"
RIGHT = {WITH: 1.0, WITHOUT: 1.25}

NOT_WITH = [
    (2, "The step alone is twice as fast. The next batch still takes 30 ms to come."),
    (1.25, "That is the one without prefetch. With it the batch is made during the step."),
    (0, "0 % gained is a speedup of 1."),
    (3, "That is 30 over 10. Compare the time from step to step before with that after."),
    (1.5, "That is 30 over 20. Compare the time from step to step before with that after."),
    (0.5, "That is the new step over the old one. Which is longer, step or input?"),
    (30, "That is the time from step to step, in ms. It is the same before and after."),
    (100, "That is a percentage. Give how many times as fast, as 2 for twice."),
    (5 / 3, "That is what prefetch gains. Compare the two precisions, both with prefetch."),
    (4 / 3, "That is what prefetch gains. Compare the two precisions, both with prefetch."),
]
NOT_WITHOUT = [
    (2, "The step alone is twice as fast. The 30 ms for the batch come on top."),
    (1, "That is with prefetch. Without it the 30 ms come before each step."),
    (0.8, "That is upside down: divide the time before by the time after."),
    (125, "That is a percentage. Give how many times as fast, as 2 for twice."),
    (25, "That is the gain in percent. Give how many times as fast, as 2 for twice."),
    (0.25, "That is the gain. Give how many times as fast, as 2 for twice."),
    (0.2, "That is the share of the time that is saved. Divide 50 by what is left."),
    (20, "That is the percentage that is saved. Divide 50 by what is left."),
    (10, "That is what is saved, in ms. Divide the time before by the time after."),
    (50, "That is the time before, in ms. Divide it by the time after."),
    (40, "That is the time after, in ms. Divide the time before by it."),
    (5 / 3, "That is what prefetch gains in float32. Neither step has prefetch here."),
    (4 / 3, "That is what prefetch gains in 16 bits. Neither step has prefetch here."),
    (1.5, "That is 30 over 20. The batch and the step come one after the other: add them."),
    (3, "That is 30 over 10. The batch and the step come one after the other: add them."),
]


def check_input(answer):
    """Compare a dictionary with the two speedups.

    >>> check_input({"with prefetch": 1, "without prefetch": 2})[:41]
    'without prefetch: The step alone is twice'
    """
    if problem := missing_key(answer, list(RIGHT)):
        return problem
    given = {}
    for name in RIGHT:
        given[name] = number(answer[name])
        if given[name] is None:
            return f"{name}: you gave {describe(answer[name])}; give one number, as 2 for twice."
    if _all_near(given, {WITH: 1.25, WITHOUT: 1.0}):
        return "The two are swapped. With prefetch the batch is made during the step."
    if _all_near(given, {WITH: 2.0, WITHOUT: 2.0}):
        return "Twice as fast is the step alone, and each step needs a batch that takes 30 ms."
    for name, wrong in ((WITH, NOT_WITH), (WITHOUT, NOT_WITHOUT)):
        value = given[name]
        if abs(value - RIGHT[name]) <= 0.006:
            continue
        found = [message for other, message in wrong if abs(value - other) <= 0.006 * max(1, other)]
        return f"{name}: {found[0] if found else _time_between(name, value)}"
    return None


def _all_near(given, values):
    return all(abs(given[name] - value) <= 0.006 for name, value in values.items())


def _time_between(name, value):
    if abs(value - RIGHT[name]) <= 0.06:
        return f"you gave {value:.4g}. That is near: give two decimals."
    how, before = ("the longer", 30) if name == WITH else ("the sum", 50)
    return (
        f"you gave {value:.4g}, and from one batch to the next it takes {how} of step and input:"
        f" {before} ms in float32. How long does it take in 16 bits?"
    )
