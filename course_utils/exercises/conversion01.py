"""Exercises 7 and 8 of notebook 01: turning a float64 number into 16 bits.

Example: `conversion01.EXERCISES[0].checker(1 + 2**-8 + 2**-40)` is None.
"""

import math

from . import rounding01 as rounding
from .engine import Exercise

EXERCISES = [
    Exercise(
        number=7,
        title="going further: rounding twice",
        task="""\
Some libraries turn float64 into bfloat16 by way of float32, and so round twice. Find **one**
float64 number that becomes another bfloat16 number that way than when it is rounded once. Any such
number counts.""",
        stub="x = ...  # one float64 number\nq[7].check(x)",
        solution="""\
x = 1 + 2**-8 + 2**-40  # above the tie, by less than float32 can see
q[7].check(x)""",
        checker=rounding.check_twice,
        hints=[
            "Twice goes wrong where the first rounding makes a tie out of what was none.",
            "From 1 to 2 the step of bfloat16 is 2**-7, so 1 + 2**-8 is halfway. float32's step is"
            " 2**-23.",
            "Move away from that point by less than half a step of float32, away from 1.",
        ],
        wrong=[
            (1 + 2**-8, "float32 holds it, so both ways break the same tie"),
            (1 + 2**-8 + 2**-20, "float32 holds 1.00390720"),
            (1 + 2**-8 - 2**-40, "other side of that point"),
            (1 + 2**-40, "nothing is left for the second rounding"),
            (0.1, "ends in 0xCCCD"),
            (1e-40, "ends in 0x16C2"),
            (3.4e38, "float32 turns 3.4e+38"),
            (1e300, "end in infinity"),
            ("1 + 2**-8", "without quotes"),
            (math.nan, "one finite number"),
        ],
        right="float32 made a tie out of it, and the tie rule sent it to the farther neighbor.",
    ),
    Exercise(
        number=8,
        title="going further: encode float16 by hand",
        task="""\
Write `encode_float16(x)`: it takes a Python float and returns the float16 code, an int. Round to
nearest, ties to even. `math.frexp` or comparisons find the exponent; leave NumPy and `struct` out.
Think of subnormals, overflow to infinity, −0.0 and NaN (any NaN code is fine). Halving or doubling
never brings 0 or infinity between 1 and 2, so treat them first.

The check tries every float16 number, every tie and the float64 numbers next to it: 253,952 in all.
It takes a second or two.""",
        stub="""\
import math


def encode_float16(x):
    ...  # a Python float -> an int from 0 to 0xFFFF


q[8].check(encode_float16)""",
        solution="""\
import math


def encode_float16(x):
    if math.isnan(x):
        return 0x7E00
    sign = 0x8000 if math.copysign(1, x) < 0 else 0
    if abs(x) >= 65520:
        return sign | 0x7C00
    exponent = math.frexp(max(abs(x), 2**-14))[1] - 1  # subnormals share -14
    steps = round(abs(x) / 2.0 ** (exponent - 10))  # round() sends ties to even
    return sign | (exponent + 14) * 1024 + steps  # 1024 steps are the implicit 1


q[8].check(encode_float16)""",
        checker=rounding.check_encoder,
        hints=[
            "Count in steps: |x| / 2**(exponent - 10) lies between 1,024 and 2,048. Python's"
            " `round` sends ties to even.",
            "Add the steps to the exponent field, instead of joining bits with `|`. Then a carry"
            " and the subnormals come out right.",
            "`math.frexp(x)` gives m and e with x = m × 2**e and 0.5 <= m < 1. Below 2**-14 the"
            " exponent stays at -14.",
        ],
        wrong=[
            (rounding.slip(to_integer=math.floor), "cut off"),
            (rounding.slip(to_integer=math.ceil), "lower number is nearer"),
            (rounding.slip(to_integer=lambda v: math.floor(v + 0.5)), "away from zero"),
            (rounding.slip(to_integer=lambda v: math.ceil(v - 0.5)), "toward zero"),
            (
                rounding.slip(to_integer=lambda v: round(round(v, 6))),
                "first rounding to fewer bits",
            ),
            (rounding.slip(to_integer=lambda v: min(round(v), 2047)), "carries into the exponent"),
            (lambda x: rounding.slip()(x) if abs(x) >= 2**-14 else 0, "subnormals are lost"),
            (lambda x: rounding.slip()(x) if abs(x) >= 2**-20 else 0, "one step of 2**-24"),
            (rounding.slip(bias=127), "8 exponent bits"),
            (rounding.slip(bias=16), "`math.frexp(1.0)`"),
            (rounding.slip(bias=0), "the bias added, 0 + 15"),
            (rounding.slip(limit=65504), "65504 is still finite"),
            (rounding.slip(limit=65505), "infinity begins at 65520"),
            (rounding.slip(limit=math.inf), "exponent field 31 and fraction 0"),
            (
                lambda x: min(rounding.slip()(x), 0x7BFF) if x > 0 else rounding.slip()(x),
                "halfway to 65536",
            ),
            (lambda x: rounding.slip()(x) if x < 65521 else 0x7BFF, "stop at the largest number"),
            (rounding.slip(sign_of=lambda x: 1), "the sign bit, 0x8000, is missing"),
            (rounding.slip(sign_of=lambda x: x), "`-0.0 < 0` is False"),
            (lambda x: rounding.slip()(x) if x == x else 0x7C00, "which is infinity"),
            (lambda x: rounding.slip()(x) if x == x else 0, "NaN has exponent field 31"),
            (lambda x: (int(x), rounding.slip()(x))[1], "cannot convert float infinity"),
            (lambda x: rounding.slip()(x) + (x == 1000.5), "For 1000.5 your function gives 0x63D2"),
            (lambda x: hex(rounding.slip()(x)), "the text '0x3c00'"),
            (lambda x: float(rounding.slip()(x)), "the number 15360"),
            (lambda x: print(end=""), "returns None for 1.0"),
            (None, "the function itself"),
        ],
        right="All 253,952 numbers get the right code: all of float16's, every tie, its neighbors.",
    ),
]
