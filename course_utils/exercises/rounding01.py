"""How the answers to exercises 7 and 8 of notebook 01 are judged: rounding twice, and by hand."""

import contextlib
import io
import math
import operator
import statistics
import sys
import time

from .answers import call, describe, number

# --- 7: rounding twice --------------------------------------------------------------------------


def check_twice(answer):
    """Accept every float64 number that changes in bfloat16 when float32 comes in between.

    >>> check_twice(1 + 2**-8 + 2**-40), check_twice(0.25)[:29]
    (None, 'float32 holds 0.25 exactly, s')
    """
    from course_utils import formats  # late: it loads NumPy and gfloat

    x = number(answer)
    if x is None:
        return f"You gave {describe(answer)}: give one finite number without quotes."
    between = formats.encode(x, "float32")
    once = formats.encode(x, "bfloat16")
    twice = formats.encode(between.value, "bfloat16")
    if once.code != twice.code:
        return None
    # bfloat16 is the upper half of float32: the lower 16 bits say what the second rounding cuts.
    cut = between.code & 0xFFFF
    if between.kind == "infinity":
        return f"{x!r} is beyond float32 too, so both ways end in infinity."
    if between.value == x and cut == 0x8000:
        return (
            f"As a float64 number your x is {x!r}, exactly halfway between two bfloat16 numbers."
            " float32 holds it, so both ways break the same tie."
        )
    if between.value == x:
        return f"float32 holds {x!r} exactly, so the first of the two roundings changes nothing."
    if cut == 0x8000:
        return (
            f"float32 puts {x!r} exactly halfway, but the even neighbor lies on the side that x"
            " came from. Take an x on the other side of that point."
        )
    if cut == 0:
        return (
            f"float32 turns {x!r} into {between.value!r}, a bfloat16 number: nothing is left for"
            " the second rounding."
        )
    return (
        f"float32 turns {x!r} into a code that ends in 0x{cut:04X}, and bfloat16 cuts those bits."
        " Only 0x8000 is a tie, where the second rounding can go astray."
    )


# --- 8: encode by hand --------------------------------------------------------------------------

PROBES = [  # a number, its code, the rule behind it, and the reasons for certain wrong codes
    (1.0, 0x3C00, "the exponent field is 0 + 15 and the fraction 0", {
        0x4000: "yours is the code of 2.0, and `math.frexp(1.0)` gives 0.5 and the exponent 1",
        0x0000: "the exponent is stored with the bias added, 0 + 15",
        0x1FC00: "your bias 127 is that of 8 exponent bits, and float16 has 5",
        0x3F80: "yours is the code in bfloat16",
        0x3F800000: "yours is the code in float32",
        0x3FF0000000000000: "yours is the code in float64",
        1: "a code is made of the three fields",
    }),
    (-1.0, 0xBC00, "the sign is bit 15, 0x8000", {
        0x3C00: "the sign bit, 0x8000, is missing",
        -0x3C00: "the sign is bit 15, not a minus",
    }),
    (6.25, 0x4640, "6.25 is binary 1.1001 × 2**2", {
        0x4720: "the 1 of binary 1.1001 is implicit, not stored",
    }),
    (1 + 0.75 / 1024, 0x3C01, "the nearest number counts", {
        0x3C00: "you cut off where you should round",
    }),
    (1 + 0.25 / 1024, 0x3C00, "the nearest number counts", {
        0x3C01: "you round up where the lower number is nearer",
    }),
    (2049.0, 0x6800, "a tie goes to the even code", {
        0x6801: "your ties go away from zero, and IEEE 754 sends them to the even code",
    }),
    (2051.0, 0x6802, "a tie goes to the even code", {
        0x6801: "your ties go toward zero, and IEEE 754 sends them to the even code",
    }),
    (2049 + 2**-41, 0x6801, "it lies above the tie at 2049", {
        0x6800: "it lies above the tie at 2049, which a first rounding to fewer bits hides",
    }),
    (2047.9999, 0x6800, "the fraction rounds up to 1,024, which carries into the exponent", {}),
    (2**-15, 0x0200, "below 2**-14 the exponent field is 0 and there is no implicit 1", {
        0x0000: "subnormals are lost, and they go on below 2**-14 in steps of 2**-24",
    }),
    (2**-24, 0x0001, "the smallest subnormal is one step of 2**-24", {}),
    (2**-25, 0x0000, "it lies halfway between 0 and 2**-24, and 0 is even", {}),
    (1.75 * 2**-24, 0x0002, "subnormals are rounded to the nearest too", {}),
    (2**-14 - 2**-25, 0x0400, "rounded up, the largest subnormal becomes the first normal", {}),
    (65504.0, 0x7BFF, "it is the largest finite number", {0x7C00: "65504 is still finite"}),
    (65519.0, 0x7BFF, "it rounds to 65504", {
        0x7C00: "infinity begins at 65520, half a step above the largest number",
    }),
    (65520.0, 0x7C00, "it lies halfway to 65536, and the even code is that of infinity", {}),
    (1e5, 0x7C00, "beyond the range comes infinity, exponent field 31 and fraction 0", {
        0x7BFF: "you stop at the largest number, and IEEE 754 goes on to infinity",
    }),
    (-1e300, 0xFC00, "beyond the range comes infinity, with its sign", {}),
    (0.0, 0x0000, "all bits of zero are 0", {}),
    (-0.0, 0x8000, "zero has a sign too", {
        0x0000: "`-0.0 < 0` is False, so ask `math.copysign(1, x)` for the sign",
    }),
    (1e-30, 0x0000, "it rounds to zero", {}),
    (-1e-30, 0x8000, "a negative number that rounds to zero keeps its sign", {}),
    (math.inf, 0x7C00, "infinity has exponent field 31 and fraction 0", {}),
    (-math.inf, 0xFC00, "infinity has a sign too", {}),
]  # fmt: skip
PATIENCE = 0.25e-3  # seconds per number: the check then takes a minute


def trials():
    """All numbers of float16, all ties and the float64 numbers next to them, with their codes.

    >>> len(list(trials())), next(trials())
    (253952, (0.0, 0))
    """

    def size(code):  # 0x7C00 is infinity; rounding treats it as 2**16
        field, fraction = divmod(code, 1024)
        return math.ldexp(1024 + fraction, field - 25) if field else fraction * 2.0**-24

    for code in range(0x7C00):
        tie = (size(code) + size(code + 1)) / 2
        for x, right in (
            (size(code), code),
            (math.nextafter(tie, 0), code),
            (tie, code + code % 2),
            (math.nextafter(tie, math.inf), code + 1),
        ):
            yield x, right
            yield -x, right | 0x8000


def slip(to_integer=round, bias=15, limit=65520, sign_of=lambda x: math.copysign(1, x)):
    """A right `encode_float16`, or one with the slip that an argument makes.

    >>> hex(slip()(1.0)), hex(slip(bias=16)(1.0))
    ('0x3c00', '0x4000')
    """

    def encode_float16(x):
        sign = 0x8000 if sign_of(x) < 0 else 0
        if math.isnan(x):
            return 0x7E00
        if abs(x) >= limit:
            return sign | 0x7C00
        exponent = math.frexp(max(abs(x), 2**-14))[1] - 1
        steps = to_integer(abs(x) / 2.0 ** (exponent - 10))
        return sign | max(0, (exponent + bias - 1) * 1024 + steps)

    return encode_float16


def check_encoder(function):
    """Try the learner's `encode_float16` on telling numbers, then on all of `trials()`.

    >>> check_encoder(lambda x: 0x4640)[:32]
    'For 1.0 your function gives 0x46'
    """
    if not callable(function):
        return f"You gave {describe(function)}: give the function itself, without parentheses."
    seconds = []
    for x, right, rule, reasons in PROBES:
        start = time.perf_counter()
        code, problem = _code(function, x)
        seconds.append(time.perf_counter() - start)
        if problem:
            return problem
        if code != right:
            return f"{_gives(x, code, right)}: {reasons.get(code, rule)}."
    for x in (math.nan, -math.nan):
        code, problem = _code(function, x)
        if problem:
            return problem
        if code in (0x7C00, 0xFC00):
            return (
                f"For NaN your function gives {_hex(code)}, which is infinity. "
                "NaN's fraction is not 0."
            )
        if code not in range(0x10000) or not code & 0x3FF or code & 0x7C00 != 0x7C00:
            return f"For NaN your function gives {_hex(code)}. NaN has exponent field 31."
    if statistics.median(seconds) > PATIENCE:
        return (
            "Your function is right so far, but slow: the check tries 250,000 numbers and would"
            " take minutes. Compute the exponent instead of searching."
        )
    # A `print` in the function would fill the notebook with 250,000 lines.
    with contextlib.redirect_stdout(io.StringIO()):
        return _sweep(function)


def _sweep(function):
    top = sys.float_info.max
    extremes = [(5e-324, 0), (-5e-324, 0x8000), (65536.0, 0x7C00), (top, 0x7C00), (-top, 0xFC00)]
    for pairs in (extremes, trials()):
        for x, right in pairs:
            code, problem = _code(function, x)
            if problem:
                return problem
            if code != right:
                return f"{_gives(x, code, right)}."
    return None


def _code(function, x):
    try:
        result, problem = call(function, x)
    except KeyboardInterrupt:
        return None, f"You stopped it while your function worked on {x!r}: does its loop end there?"
    if type(result) is int:
        return result, None
    if problem:
        return None, f"{problem} (for {x!r})"
    if result is None:
        return None, f"Your function returns None for {x!r}: end each way with `return`."
    try:
        if type(result).__name__ in ("bool", "bool_"):  # NumPy's too
            raise TypeError
        return operator.index(result), None
    except Exception:  # no integer, or an object whose own methods raise
        given = describe(result)
        return None, f"Your function returns {given} for {x!r}: an int is needed, the code."


def _gives(x, code, right):
    return f"For {x!r} your function gives {_hex(code)}, and 0x{right:04X} is right"


def _hex(code):
    if 0 <= code < 2**64:
        return f"0x{code:04X}"
    return f"-0x{-code:04X}" if -(2**64) < code < 0 else describe(code)
