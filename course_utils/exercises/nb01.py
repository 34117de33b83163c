"""Prediction and exercises of notebook 01."""

from . import encoder, rounding
from .answers import describe
from .engine import Exercise, Prediction
from .functions import stub

TITLE = "Floats, bit by bit"


def read_guess(value):
    """Keep a sum above 0 and up to a million."""
    if not 0 < value <= 1e6:
        return None, f"You gave {describe(value)}: the sum lies above 0, and not above 1,000,000."
    return value, f"You expect the sum to say {value:,.10g}. The measurement comes in section 6."


PREDICTION = Prediction(
    task="""\
You start at 0 and add 1.0 ten thousand times. Every sum on the way is a `float16` number. What
does the sum say at the end?

Guess before you run any code: a wrong guess teaches more than none. Section 6 measures it.""",
    comment="the sum at the end",
    example="10_000",
    read=read_guess,
)

EXERCISES = [
    Exercise(
        id=2,
        title="a code by hand",
        minutes=4,
        task="""\
float16 has 1 sign bit, 5 exponent bits with the bias 15, and 10 fraction bits. Put the 16 bits of
−6.25 together and read them as one integer: which code is it? Python reads hexadecimal (`0x3C00`)
and binary (`0b0011110000000000`) alike; both of these are the code of 1.0.""",
        stub="code = ...  # 0x and four hexadecimal digits",
        solution="""\
sign = 1
exponent = 2 + 15  # 6.25 = 1.5625 * 2**2
fraction = int(0.5625 * 1024)
code = sign << 15 | exponent << 10 | fraction""",
        name="code",
        answer=rounding.CODE,
        hints=[
            "6.25 is binary 110.01, which is 1.1001 × 2**2.",
            "The 1 before the point is implicit. The fraction field begins with 1001.",
            "The exponent field holds 2 + 15 = 17, binary 10001.",
        ],
        wrong=[(0xC641, "code of -6.25391"), (0x1C640, "from 0 to 65,535")],
        right="1 10001 1001000000: sign, 2 + 15, and the bits after the implicit 1.",
    ),
    Exercise(
        id=3,
        title="the first gap",
        minutes=3,
        task="""\
Which is the smallest positive whole number that float16 **cannot** hold exactly?

If you let NumPy search, compare `float(np.float16(n))` with n. In `np.float16(n) == n` it turns
both sides into float16, and every n looks as if it were held.""",
        stub="answer = ...  # a whole number",
        solution="""\
import numpy as np

answer = 1
while float(np.float16(answer)) == answer:
    answer += 1""",
        answer=rounding.FIRST_GAP,
        hints=[
            "The significand has 11 bits: 1 implicit and 10 stored.",
            "With 3 bits you can write 1 to 7, and 8 as 1.00 × 2**3. Which is the first that is too"
            " long?",
        ],
        wrong=[
            (2050, "float16 holds 2,050"),
            (2051, "smaller one that it cannot"),
            (10**20, "cannot hold 1e+20"),
            (0, "positive whole number"),
        ],
        right="2,049 needs 12 bits. From 2,048 on the step is 2, and float16 skips 2,049.",
    ),
    Exercise(
        id=4,
        title="where infinity begins",
        minutes=3,
        task="""\
float16 rounds to nearest, and a tie goes to the even neighbor. Which is the smallest positive whole
number that float16 turns into infinity?""",
        stub="answer = ...  # a whole number",
        solution="""\
largest = (2 - 2**-10) * 2**15
step = 2**-10 * 2**15
answer = largest + step / 2  # a tie: the largest number has an odd code""",
        answer=rounding.LIMIT,
        hints=[
            "The largest finite number is 65,504. How large is the step right below it?",
            "If the exponent went on, 65,536 would follow. What happens halfway?",
            "The fraction of 65,504 is all ones, so its last bit is odd.",
        ],
        wrong=[(65518, "to 65,504, a finite number"), (65530, "not the smallest")],
        right="65,520 is the tie between 65,504 and 65,536. The even neighbor is beyond the range.",
    ),
    Exercise(
        id=5,
        title="updates that vanish",
        minutes=5,
        task="""\
Take all 1,024 float16 numbers w with 1 <= w < 2. A training step adds w / ratio to each of them,
and all of it happens in float16. For what share of them is w + w / ratio == w, so that the update
is lost? Once for the ratio 2048, once for 4096. Dividing by a power of two is exact here, so only
the sum is rounded.""",
        stub="""\
answer = {2048: ..., 4096: ...}  # shares between 0 and 1""",
        solution="""\
import numpy as np

w = (1 + np.arange(1024) / 1024).astype(np.float16)


def share(ratio):
    return np.mean(w + w / np.float16(ratio) == w)


answer = {2048: share(2048), 4096: share(4096)}""",
        answer=rounding.SHARES,
        hints=[
            "From 1 to 2 the step of float16 is 2**-10. A sum goes back to w if less than half a"
            " step is added.",
            "w / 2048 reaches from 2**-11 to almost 2**-10, and half a step is 2**-11.",
            "`(1 + np.arange(1024) / 1024).astype(np.float16)` holds all of them: try it.",
        ],
        wrong=[
            ({2048: 1 / 1024, 4096: 0.75}, "4096: 0.75 is too small"),
            ({2048: 2 / 1024, 4096: 1}, "2048: 0.00195312 is too large"),
            ({2048: -1, 4096: 1}, "between 0 and 1"),
        ],
        right="From ratio 4096 on no update arrives; at 2048 only w = 1 stays, by the tie rule.",
    ),
    Exercise(
        id=6,
        title="where a sum stalls",
        minutes=4,
        task="""\
Start at 0 and add 0.25 ten thousand times. After each addition the sum is rounded to the format
(to nearest, a tie goes to even). What does the sum say at the end in float16, and what in
bfloat16?""",
        stub="""\
answer = {"float16": ..., "bfloat16": ...}""",
        solution="""\
def last_sum(fraction_bits):
    total = 0.25
    while 0.25 > 2.0**-fraction_bits * total / 2:  # more than half a step
        total *= 2  # the sum gets to the next power of two
    return total


answer = {"float16": last_sum(10), "bfloat16": last_sum(7)}""",
        answer=rounding.SUMS,
        hints=[
            "From 2**e on the step of float16 is 2**(e - 10), and that of bfloat16 2**(e - 7).",
            "The sum stays where 0.25 is half a step: a tie, and a power of two is even.",
        ],
        wrong=[
            ({"float16": 511.75, "bfloat16": 64}, "float16: you gave 511.75"),
            ({"float16": 512, "bfloat16": 65}, "gets less far"),
        ],
        right="At 512 and at 64 the step is 0.5. Adding half of it is a tie, and the sum stays.",
    ),
    Exercise(
        id=7,
        title="going further: rounding twice",
        minutes=5,
        task="""\
Some libraries turn float64 into bfloat16 by way of float32, and so round twice. Find **one**
float64 number that becomes another bfloat16 number that way than when it is rounded once. Any such
number counts.""",
        stub="x = ...  # one float64 number",
        solution="""\
x = 1 + 2**-8 + 2**-40  # above the tie, by less than float32 can see""",
        name="x",
        answer=rounding.check_twice,
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
        ],
        right="float32 made a tie out of it, and the tie rule sent it to the farther neighbor.",
    ),
    Exercise(
        id=8,
        title="going further: encode float16 by hand",
        minutes=12,
        task="""\
Write `encode_float16(x)`: it takes a Python float and returns the float16 code, an int. Round to
nearest, ties to even. `math.frexp` or comparisons find the exponent; leave NumPy and `struct` out.
Think of subnormals, overflow to infinity, −0.0 and NaN (any NaN code is fine). Halving or doubling
never brings 0 or infinity between 1 and 2, so treat them first.

The check tries every float16 number, every tie and the float64 numbers next to it: 253,952 in all.
It takes a second or two.""",
        stub=stub(encoder.CODE, "a Python float -> an int from 0 to 0xFFFF"),
        solution=encoder.CODE,
        name="encode_float16",
        answer=encoder.judge,
        slips=encoder.REASONS | encoder.OTHERS,
        hints=[
            "Count in steps: |x| / 2**(exponent - 10) lies between 1,024 and 2,048. Python's"
            " `round` sends ties to even.",
            "Add the steps to the exponent field, instead of joining bits with `|`. Then a carry"
            " and the subnormals come out right.",
            "`math.frexp(x)` gives m and e with x = m × 2**e and 0.5 <= m < 1. Below 2**-14 the"
            " exponent stays at -14.",
        ],
        right="All 253,952 numbers get the right code: all of float16's, every tie, its neighbors.",
    ),
]
