"""Wrong answers to the exercises of notebook 05 that people give, and a part of what each is told.

Example: `exercises.load("05")[1].check(wrong05.ROOFLINE[0][0])` holds `wrong05.ROOFLINE[0][1]`.
"""

import math
import statistics

from .batch05 import MIB, NOT_THE_BATCH
from .checks05 import NOT_THE_SPEEDUP, NOT_WITH, NOT_WITHOUT, WITH, WITHOUT
from .checks05 import RIGHT as INPUT_RIGHT
from .limits05 import LARGEST, RIGHT, SMALLEST, SPEEDUPS
from .steptime05 import NOT_THE_STEP, durations

# --- 1, 2 and 5: numbers and names --------------------------------------------------------------

ROOFLINE = [
    *NOT_THE_SPEEDUP,
    (4, "give two decimals"),
    (3, "You gave 3. In float32"),
    (-3.95, "You gave -3.95"),
    ("3.95", "the text '3.95'"),
    ("3.95x", "the text '3.95x'"),
    ([3.95], "a list of 1 items"),
    (math.nan, "the number nan"),
    (None, "You gave None"),
]

INPUT = [
    # Asked of one key, the other being right; what has a message for both is below.
    *(({**INPUT_RIGHT, WITH: value}, f"{WITH}: {text}") for value, text in NOT_WITH
      if value not in (5 / 3,)),
    *(({**INPUT_RIGHT, WITHOUT: value}, f"{WITHOUT}: {text}") for value, text in NOT_WITHOUT),
    ({WITH: 1.25, WITHOUT: 1.0}, "The two are swapped"),
    ({WITH: 2, WITHOUT: 2}, "Twice as fast is the step alone"),
    ({WITH: 1.0, WITHOUT: 1.1}, "without prefetch: you gave 1.1, and"),
    ({WITH: 1.0, WITHOUT: 1.3}, "That is near: give two decimals"),
    ({WITH: 0.7, WITHOUT: 1.25}, "with prefetch: you gave 0.7, and"),
    ({WITH: "1.0", WITHOUT: 1.25}, "the text '1.0'"),
    ({WITH: 1.0, WITHOUT: "25 %"}, "the text '25 %'"),
    ({WITH: math.nan, WITHOUT: 1.25}, "the number nan"),
    ({WITH: 1.0}, "'without prefetch' is missing"),
    ({WITH: 1.0, WITHOUT: ...}, "still `...`"),
    ([1.0, 1.25], "a list of 2 items"),
    (1.25, "the number 1.25"),
]  # fmt: skip

LIMITS = [
    ({**RIGHT, "A": "arithmetic"}, "A: products and convolutions take 7.5 of 145.8 ms"),
    ({**RIGHT, "A": "overhead"}, "A: nothing runs in 5.5 of 145.8 ms"),
    ({**RIGHT, "B": "memory"}, "B: the other operations take 1.1 of 5.8 ms"),
    ({**RIGHT, "B": "arithmetic"}, "B: products and convolutions take 0.7 of 5.8 ms"),
    ({**RIGHT, "C": "memory"}, "C: the other operations take 6.8 of 42.8 ms"),
    ({**RIGHT, "D": "arithmetic"}, "D: products and convolutions take 81.3 of 252.8 ms"),
    ({**RIGHT, "B": "input"}, "B: it waits for input in 0 of 5.8 ms"),
    ({**RIGHT, **dict.fromkeys("ABCD", "memory")}, '"memory" four times'),
    ({**RIGHT, "C": "compute"}, "the text 'compute'; choose one of"),
    ({**RIGHT, "D": ["input"]}, "D: you gave a list of 1 items"),
    ({**RIGHT, LARGEST: 4}, "what products gain"),
    ({**RIGHT, LARGEST: 1.98}, "that is the speedup of A, and another step gains more"),
    ({**RIGHT, LARGEST: 2.41}, "leaves the other operations as they were"),
    ({**RIGHT, LARGEST: 1.9}, "halves the products"),
    ({**RIGHT, LARGEST: 3.38}, "a quarter of the other operations"),
    ({**RIGHT, LARGEST: 3.3}, "shortens the time in which nothing runs"),
    ({**RIGHT, LARGEST: 0.34}, "largest speedup: that is upside down"),
    ({**RIGHT, LARGEST: 298}, "largest speedup: that is a percentage"),
    ({**RIGHT, LARGEST: 14.35}, "the milliseconds of C after"),
    ({**RIGHT, LARGEST: 5.5}, "you gave 5.5. Add up what is left of C's parts"),
    ({**RIGHT, SMALLEST: 1}, "none stays as it was"),
    ({**RIGHT, SMALLEST: SPEEDUPS["D"]}, "the speedup of D, and another step gains less"),
    ({**RIGHT, SMALLEST: 1.1}, "smallest speedup: that leaves the other operations"),
    ({**RIGHT, SMALLEST: 22.8}, "smallest speedup: that is the gain in percent"),
    ({**RIGHT, SMALLEST: 8.0}, "leaves out the time in which nothing runs"),
    ({**RIGHT, SMALLEST: "1.2x"}, "the text '1.2x'"),
    ({**RIGHT, LARGEST: 1.23, SMALLEST: 2.98}, "swapped"),
    ({key: RIGHT[key] for key in "ABCD"}, "'largest speedup' is missing"),
    (["memory", "overhead", "arithmetic", "input", 3.0, 1.2], "a list of 6 items"),
    ("memory", "the text 'memory'"),
]

# --- 3 and 4: functions of numbers --------------------------------------------------------------


def _rounded(times):
    return round(statistics.median(durations(times)[1:]))


STEP_MS = [
    *NOT_THE_STEP,
    (_rounded, "right up to rounding"),
    (lambda times: 70, "Your function gives 70 for steps of "),
    (lambda times: statistics.median(durations(times)) / 1000, "in seconds, and not yet"),
    (lambda times: durations(times)[1:], "a list of 6 items"),
    (lambda times: f"{_rounded(times)} ms", "the text '70 ms'"),
    (lambda times: print(end=""), "returns None"),
    (lambda times: math.nan, "the number nan"),
    (lambda times: statistics.median(times - times[0]), "raises TypeError"),
    (lambda before, after: after - before, "missing 1 required positional argument"),
    (70, "the function itself"),
    ([71, 70, 69, 140, 70, 70], "a list of 6 items: give the function itself"),
]


def _room(budget_mib, fixed):
    return budget_mib * MIB - fixed


def _strictly(budget_mib, fixed, per_image):
    return max(0, (_room(budget_mib, fixed) - 1) // per_image)


BATCHES = [
    *NOT_THE_BATCH,
    (lambda b, f, p: _room(b, f) // p, "a batch is never negative"),
    (lambda b, f, p: max(1, _room(b, f) // p), "The fixed bytes alone do not fit"),
    (_strictly, "used to the last byte"),
    (
        lambda b, f, p: max(1, _room(b, f) // p) if f < b * MIB else 0,
        "Not one image fits",
    ),
    (lambda f, p, b: max(0, (b * MIB - f) // p), "in this order"),
    (lambda b, f, p: 256, "your function gives 256;"),
    (lambda b, f, p: f"{_room(b, f) // p} images", "images'"),
    (lambda b, f, p: [_room(b, f) // p], "a list of 1 items: one whole number"),
    (lambda b, f, p: print(end=""), "returns None"),
    (lambda b, f: b * MIB - f, "raises TypeError"),
    (lambda b, f, p: b // (f - f), "raises ZeroDivisionError"),
    (381, "the function itself"),
]
