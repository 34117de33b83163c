"""The judge of an `encode_float16` that a learner writes, in notebook 01."""

import itertools
import math
import operator
import statistics
import struct
import sys
import time

from .answers import call, describe
from .functions import Function, edited, said_of, slipped

CODE = """\
import math


def encode_float16(x):
    if math.isnan(x):
        return 0x7E00
    sign = 0x8000 if math.copysign(1, x) < 0 else 0
    if abs(x) >= 65520:
        return sign | 0x7C00
    exponent = math.frexp(max(abs(x), 2**-14))[1] - 1  # subnormals share -14
    steps = round(abs(x) / 2.0 ** (exponent - 10))  # round() sends ties to even
    return sign | (exponent + 14) * 1024 + steps  # 1024 steps are the implicit 1"""
CASES = [  # numbers, and the rule behind each one's code
    (1.0, "the exponent field is 0 + 15 and the fraction 0"),
    (-1.0, "the sign is bit 15, 0x8000"),
    (6.25, "6.25 is binary 1.1001 × 2**2"),
    (1 + 0.75 / 1024, "the nearest number counts"),
    (1 + 0.25 / 1024, "the nearest number counts"),
    (2049.0, "a tie goes to the even code"),
    (2051.0, "a tie goes to the even code"),
    (2049 + 2**-41, "it lies above the tie at 2049"),
    (2047.9999, "the fraction rounds up to 1,024, which carries into the exponent"),
    (2**-15, "below 2**-14 the exponent field is 0 and there is no implicit 1"),
    (2**-24, "the smallest subnormal is one step of 2**-24"),
    (2**-25, "it lies halfway between 0 and 2**-24, and 0 is even"),
    (1.75 * 2**-24, "subnormals are rounded to the nearest too"),
    (2**-14 - 2**-25, "rounded up, the largest subnormal becomes the first normal"),
    (65504.0, "it is the largest finite number"),
    (65519.0, "it rounds to 65504"),
    (65520.0, "it lies halfway to 65536, and the even code is that of infinity"),
    (1e5, "beyond the range comes infinity, exponent field 31 and fraction 0"),
    (-1e300, "beyond the range comes infinity, with its sign"),
    (0.0, "all bits of zero are 0"),
    (-0.0, "zero has a sign too"),
    (1e-30, "it rounds to zero"),
    (-1e-30, "a negative number that rounds to zero keeps its sign"),
    (math.inf, "infinity has exponent field 31 and fraction 0"),
    (-math.inf, "infinity has a sign too"),
]
NAME, ROUND, SIGN = "encode_float16", "round(", "    sign = "
BIAS, LIMIT = "exponent + 14", ">= 65520"


def early(condition, code):
    """The edits after which some numbers have another code."""
    return {SIGN: f"    if {condition}:\n        return {code}\n{SIGN}"}


REASONS = {  # why a code is wrong, and the edits after which it is the first wrong one
    "yours is the code of 2.0, and `math.frexp(1.0)` gives 0.5 and the exponent 1": {
        BIAS: "exponent + 15"
    },
    "the exponent is stored with the bias added, 0 + 15": {BIAS: "exponent - 1"},
    "your bias 127 is that of 8 exponent bits, and float16 has 5": {BIAS: "exponent + 126"},
    "yours is the code in bfloat16": early("x == 1", 0x3F80),
    "yours is the code in float32": early("x == 1", 0x3F800000),
    "yours is the code in float64": early("x == 1", 0x3FF0000000000000),
    "a code is made of the three fields": early("x == 1", 1),
    "the sign bit, 0x8000, is missing": {"0x8000": "0"},
    "the sign is bit 15, not a minus": early("x < 0", f"-{NAME}(-x)"),
    "the 1 of binary 1.1001 is implicit, not stored": early("x == 6.25", 0x4720),
    "you cut off where you should round": {ROUND: "math.floor("},
    "you round up where the lower number is nearer": {ROUND: "math.ceil("},
    "your ties go away from zero, and IEEE 754 sends them to the even code": {
        ROUND: "math.floor(0.5 + "
    },
    "your ties go toward zero, and IEEE 754 sends them to the even code": {
        ROUND: "math.ceil(-0.5 + "
    },
    "it lies above the tie at 2049, which a first rounding to fewer bits hides": early(
        "x == 2049 + 2**-41", 0x6800
    ),
    "subnormals are lost, and they go on below 2**-14 in steps of 2**-24": early(
        "abs(x) < 2**-14", 0
    ),
    "65504 is still finite": {LIMIT: ">= 65504"},
    "infinity begins at 65520, half a step above the largest number": {LIMIT: ">= 65505"},
    "you stop at the largest number, and IEEE 754 goes on to infinity": early("x > 65520", 0x7BFF),
    "`-0.0 < 0` is False, so ask `math.copysign(1, x)` for the sign": {"math.copysign(1, x)": "x"},
}
OTHERS = {  # a part of what is said, and the edits after which it is
    "carries into the exponent": {ROUND: "min(2047, round(", "10))": "10)))"},
    "one step of 2**-24": early("abs(x) < 2**-20", 0),
    "exponent field 31 and fraction 0": {LIMIT: "== math.inf"},
    "halfway to 65536": early("x == 65520", 0x7BFF),
    "which is infinity": {"0x7E00": "0x7C00"},
    "NaN has exponent field 31": {"0x7E00": "0"},
    "cannot convert float infinity": early("int(x) is None", 0),
    "For 1000.5 your function gives 0x63D2": early("x == 1000.5", 0x63D2),
    "the text '0x3c00'": early("True", "'0x3c00'"),
    "the number 15360": early("True", "15360.0"),
    "returns None for 1.0": early("True", None),
}
right = edited(CODE, NAME)
WRONG = slipped(CODE, NAME, REASONS)
PATIENCE = 0.25e-3  # seconds per number: the check then takes a minute


def trials():
    """All numbers of float16, all ties and the float64 numbers next to them, with their codes."""
    sizes = [*struct.unpack("<31744e", struct.pack("<31744H", *range(0x7C00))), 2.0**16]
    for code, (size, above) in enumerate(itertools.pairwise(sizes)):  # infinity counts as 2**16
        tie = (size + above) / 2
        places = (size, math.nextafter(tie, 0), tie, math.nextafter(tie, math.inf))
        for x, rounded in zip(places, (code, code, code + code % 2, code + 1), strict=True):
            yield x, rounded
            yield -x, rounded | 0x8000


def on_cases(function):
    """What is wrong with the codes of telling numbers and of NaN, or None."""
    seconds = []
    for n, (x, rule) in enumerate(CASES):
        start = time.perf_counter()
        code, problem = code_of(function, x)
        seconds.append(time.perf_counter() - start)
        if problem:
            return problem
        if code != right(x):
            reason = said_of(function, WRONG, code_of, [x for x, _ in CASES[: n + 1]])
            return f"{_gives(x, code)}: {reason or rule}."
    for x in (math.nan, -math.nan):
        code, problem = code_of(function, x)
        if problem:
            return problem
        said = f"For NaN your function gives {_show(code)}"
        if code in (0x7C00, 0xFC00):
            return f"{said}, which is infinity. NaN's fraction is not 0."
        if code not in range(0x10000) or not code & 0x3FF or code & 0x7C00 != 0x7C00:
            return f"{said}. NaN has exponent field 31."
    if statistics.median(seconds) > PATIENCE:
        return (
            "Your function is right so far, but slow: the check tries 250,000 numbers and would"
            " take minutes. Compute the exponent instead of searching."
        )
    return None


def on_all(function):
    """What is wrong with the code of any of the `trials()` or of float64's extremes, or None."""
    top = sys.float_info.max
    extremes = [(x, right(x)) for x in (5e-324, -5e-324, 65536.0, top, -top)]
    for x, rounded in itertools.chain(extremes, trials()):
        code, problem = code_of(function, x)
        if problem or code != rounded:
            return problem or f"{_gives(x, code)}."
    return None


def code_of(function, x):
    """`(the int that a function gives for x, None)`, or `(None, what is wrong)`."""
    try:
        result, problem = call(function, x)
    except KeyboardInterrupt:
        return None, f"You stopped it while your function worked on {x!r}: does its loop end there?"
    if problem:
        return None, f"{problem} (for {x!r})"
    try:
        if type(result).__name__ in ("bool", "bool_"):  # NumPy's too
            raise TypeError
        return operator.index(result), None
    except Exception:  # no integer, or an object whose own methods raise
        needed = "end each way with `return`" if result is None else "an int is needed, the code"
        return None, f"Your function returns {describe(result)} for {x!r}: {needed}."


def _gives(x, code):
    return f"For {x!r} your function gives {_show(code)}, and 0x{right(x):04X} is right"


def _show(code):
    return f"{'-' * (code < 0)}0x{abs(code):04X}" if abs(code) < 2**64 else describe(code)


judge = Function(lambda function, part: part(function), (on_cases, on_all))
