"""Exercises 1 to 3 of notebook 01: which bits a number has, and how many it needs.

Example: `bits01.EXERCISES[2].checker(2049)` is None.
"""

from . import fields01 as fields
from . import limits01 as limits
from .engine import Exercise

EXERCISES = [
    Exercise(
        number=1,
        title="the three fields",
        task="""\
Write code that takes −4,200,000,000 apart into the three fields of float32: 1 sign bit, 8 exponent
bits, 23 fraction bits. Give each field as text of zeros and ones. Compute with Python's integers
and floats, without NumPy's `view` or `struct`.""",
        stub="""\
x = -4_200_000_000
answer = {
    "sign": ...,  # 1 bit
    "exponent": ...,  # 8 bits
    "fraction": ...,  # 23 bits
}
q[1].check(answer)""",
        solution="""\
x = -4_200_000_000
exponent = 0
while 2 ** (exponent + 1) <= abs(x):
    exponent += 1
significand = abs(x) / 2**exponent  # 1 <= significand < 2
answer = {
    "sign": "1" if x < 0 else "0",
    "exponent": format(exponent + 127, "08b"),
    "fraction": format(int((significand - 1) * 2**23), "023b"),
}
q[1].check(answer)""",
        checker=fields.check_fields,
        hints=[
            "Find the e with 2**e <= 4,200,000,000 < 2**(e + 1). The field stores e + 127.",
            "4,200,000,000 / 2**e lies between 1 and 2. The fraction is what follows the 1, in"
            " steps of 2**-23.",
            '`format(5, "08b")` gives the text "00000101".',
        ],
        wrong=[
            ({**fields.FIELDS, name: mistakes[0]}, message)
            for name, pairs in fields.NOT_THE_FIELD.items()
            for mistakes, message in pairs
        ]
        + [
            ({**fields.FIELDS, "sign": 1}, "give the bits as text"),
            ({**fields.FIELDS, "exponent": 158}, "the number 158"),
            ({**fields.FIELDS, "exponent": "0b10011110"}, 'leave out the "0b"'),
            ({**fields.FIELDS, "exponent": "10011100"}, "156 = 29 + 127"),
            ({**fields.FIELDS, "fraction": fields.FIELDS["fraction"] + "0" * 8}, "31 bits"),
            ({**fields.FIELDS, "fraction": "11110100101011011101011"}, "number 23"),
            ({**fields.FIELDS, "fraction": "-8021866"}, "each 0 or 1"),
        ],
        right="4,200,000,000 = 1.956 × 2**31, and 31 + 127 = 158. float32 holds it exactly.",
    ),
    Exercise(
        number=2,
        title="a code by hand",
        task="""\
float16 has 1 sign bit, 5 exponent bits with the bias 15, and 10 fraction bits. Put the 16 bits of
−6.25 together and read them as one integer: which code is it? Python reads hexadecimal (`0x3C00`)
and binary (`0b0011110000000000`) alike; both of these are the code of 1.0.""",
        stub="code = ...  # 0x and four hexadecimal digits\nq[2].check(code)",
        solution="""\
sign = 1
exponent = 2 + 15  # 6.25 = 1.5625 * 2**2
fraction = int(0.5625 * 1024)
code = sign << 15 | exponent << 10 | fraction
q[2].check(code)""",
        checker=fields.check_code,
        hints=[
            "6.25 is binary 110.01, which is 1.1001 × 2**2.",
            "The 1 before the point is implicit. The fraction field begins with 1001.",
            "The exponent field holds 2 + 15 = 17, binary 10001.",
        ],
        wrong=[
            *fields.NOT_THE_CODE.items(),
            ("0xC640", "without quotes"),
            (0xC641, "code of -6.25391"),
            (0x1C640, "from 0 to 65,535"),
        ],
        right="1 10001 1001000000: sign, 2 + 15, and the bits after the implicit 1.",
    ),
    Exercise(
        number=3,
        title="the first gap",
        task="""\
Which is the smallest positive whole number that float16 **cannot** hold exactly?

If you let NumPy search, compare `float(np.float16(n))` with n. In `np.float16(n) == n` it turns
both sides into float16, and every n looks as if it were held.""",
        stub="answer = ...  # a whole number\nq[3].check(answer)",
        solution="""\
import numpy as np

answer = 1
while float(np.float16(answer)) == answer:
    answer += 1
q[3].check(answer)""",
        checker=limits.check_first_gap,
        hints=[
            "The significand has 11 bits: 1 implicit and 10 stored.",
            "With 3 bits you can write 1 to 7, and 8 as 1.00 × 2**3. Which is the first that is too"
            " long?",
        ],
        wrong=[
            *limits.NOT_THE_FIRST.items(),
            (2050, "float16 holds 2,050"),
            (2051, "smaller one that it cannot"),
            (10**20, "cannot hold 1e+20"),
            (0, "positive whole number"),
            ("2049", "without quotes"),
        ],
        right="2,049 needs 12 bits. From 2,048 on the step is 2, and float16 skips 2,049.",
    ),
]
