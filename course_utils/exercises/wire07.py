"""How exercise 5 of notebook 07 is judged: gradients that travel in 16 bits."""

import math

from .answers import describe, missing_key

SCALE = 2**15
INF = math.inf
RIGHT = {
    "float16": (2 * 3276 / SCALE, INF, 0.0),
    "bfloat16": (2 * 3280 / SCALE, 3.0, 2 * 225 * 2.0**-36 / SCALE),
}
EXACT = (0.2, 3.0, 2e-13)
NAMES = ("first", "second", "third")
ROWS = [  # (dtype, three numbers, what to say)
    (
        "float16",
        (RIGHT["float16"][0], 3.0, 0.0),
        "that comes out if each is divided by the scale before the cast. Here the scaled ones"
        " travel: 49,152 fits, and twice that?",
    ),
    ("float16", RIGHT["bfloat16"], "these are the numbers of `bfloat16`."),
    ("bfloat16", RIGHT["float16"], "these are the numbers of `float16`."),
    *(
        (
            dtype,
            tuple(value / 2 for value in RIGHT[dtype]),
            "that is what one replica sends, divided by the scale. Add up both.",
        )
        for dtype in RIGHT
    ),
    *(
        (
            dtype,
            tuple(value * SCALE for value in RIGHT[dtype]),
            "that is the sum before it is divided by the scale.",
        )
        for dtype in RIGHT
    ),
    *(
        (dtype, EXACT, "those are the exact sums. What is left of them in 16 bits?")
        for dtype in RIGHT
    ),
]
PLACES = {  # (dtype, place): [(number, what to say)]
    ("float16", 0): [
        (0.2, "3,276.8 is between two numbers of float16, 3,276 and 3,278: give five digits."),
        (INF, "3,276.8 and twice that are below 65,504."),
    ],
    ("float16", 1): [
        (3.0, "49,152 fits, and the sum of two is 98,304. The largest float16 is 65,504."),
        (2 * 65504 / SCALE, "the largest float16 is not kept: beyond it comes infinity."),
        (65504 / SCALE, "the sum does not stop at the largest float16. It becomes infinity."),
        (math.nan, "NaN comes of infinity minus infinity. Here two positive numbers are added."),
        (0.0, "it is too large for float16, not too small."),
    ],
    ("float16", 2): [
        (2e-13, "scaled it is 3.3e-9, and below 3e-8 float16 rounds to 0."),
        (2 * 2.0**-24 / SCALE, "scaled it is 3.3e-9, less than half of float16's smallest, 6e-8."),
        (INF, "it is too small for float16, not too large."),
    ],
    ("bfloat16", 0): [
        (0.2, "3,276.8 is between two numbers of bfloat16, 3,264 and 3,280: give five digits."),
        (2 * 3264 / SCALE, "3,276.8 is nearer to 3,280 than to 3,264."),
        (RIGHT["float16"][0], "that is with float16. bfloat16 has fewer digits."),
        (INF, "bfloat16 overflows where float32 does, at 3e38."),
    ],
    ("bfloat16", 1): [
        (INF, "bfloat16 has the exponents of float32: 98,304 is far below its largest, 3e38."),
        (math.nan, "bfloat16 holds 98,304, so nothing overflows."),
    ],
    ("bfloat16", 2): [
        (0.0, "bfloat16 has the exponents of float32, so 3.3e-9 is not too small."),
        (2e-13, "3.2768e-9 is not a number of bfloat16: give five digits."),
    ],
}


def _reads(answer):
    """The answer as three floats, inf and NaN among them, or None."""
    try:
        if isinstance(answer, (str, bytes, dict, set)) or len(answer) != 3:
            return None
        if any(isinstance(item, (str, bytes, bool)) for item in answer):
            return None
        return tuple(float(item) for item in answer)
    except Exception:  # not numbers, or an object whose own methods raise
        return None


def near(one, other):
    """Whether two numbers agree to five digits, or are both infinity, or both NaN.

    >>> near(0.19995, 0.199951171875), near(0.2, 0.199951171875), near(1e-20, 0.0)
    (True, False, True)
    """
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    if math.isinf(one) or math.isinf(other):
        return one == other
    return abs(one - other) <= 5e-5 * abs(other) + 1e-18


def check_wire(answer):
    """Compare two lists of three numbers with `RIGHT`.

    >>> check_wire(RIGHT), check_wire({**RIGHT, "bfloat16": (0.2002, 0, 0)})[:30]
    (None, 'bfloat16, second number: you g')
    """
    if problem := missing_key(answer, list(RIGHT)):
        return problem
    given = {}
    for dtype in RIGHT:
        given[dtype] = _reads(answer[dtype])
        if given[dtype] is None:
            said = f"{dtype}: you gave {describe(answer[dtype])}"
            return f'{said}; give a list of three numbers, infinity as `float("inf")`.'
    if all(_equal(given[dtype], EXACT) for dtype in RIGHT):
        return "Those are the exact sums, twice. Cast 0.1 × 32,768 to each dtype: what is left?"
    if _equal(given["float16"], RIGHT["bfloat16"]) and _equal(given["bfloat16"], RIGHT["float16"]):
        return "The two dtypes are swapped. Which of them has the exponents of `float32`?"
    for dtype, right in RIGHT.items():
        if _equal(given[dtype], right):
            continue
        for other, row, message in ROWS:
            if other == dtype and _equal(given[dtype], row):
                return f"{dtype}: {message}"
        return _place(dtype, given[dtype], right)
    return None


def _equal(one, other):
    return all(map(near, one, other))


def _place(dtype, given, right):
    place = next(n for n, pair in enumerate(zip(given, right, strict=True)) if not near(*pair))
    for value, message in PLACES[dtype, place]:
        if near(given[place], value):
            return f"{dtype}, {NAMES[place]} number: {message}"
    if 0 < abs(given[place] - right[place]) < 0.001 * abs(right[place]) < math.inf:
        return f"{dtype}, {NAMES[place]} number: {given[place]:g} is near: give five digits."
    return (
        f"{dtype}, {NAMES[place]} number: you gave {given[place]:.6g}. Multiply by the scale, cast,"
        " add, divide: in this order."
    )
