"""Judges of notebook 01: bits, the first gap, the first infinity, formats for tensors."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from course_utils import formats
from course_utils.exercises.answers import number
from course_utils.exercises.judges import Fields, Number, choices

if TYPE_CHECKING:
    from course_utils.explorers import FloatLab


def lab(entry: str, *names: str) -> "FloatLab":
    """FloatLab at a number or code, in these formats or in float16."""
    from course_utils.explorers import FloatLab  # late: it loads gfloat

    return FloatLab(entry, names or ["float16"])


def lab_of_number(answer: object, *names: str) -> "FloatLab | None":
    """FloatLab at the answer, or None where that is no finite number."""
    value = number(answer)
    return None if value is None else lab(repr(value).removesuffix(".0"), *names)


# --- bits by hand -------------------------------------------------------------------


def which_number(value: float) -> str:
    """Say which number has these bits."""
    if value not in range(2**16):
        return f"You gave {value!r}. Give 16 bits, such as 0b0_01111_0000000000."
    code = formats.decode(int(value), "float16")
    return f"{code.bits} is {code.value:g} in float16, not -6.25."


CODE = Number(
    0xC640,
    {
        0x8A40: "There the exponent field is 2. Stored is the exponent plus 15, the bias.",
        0xC720: "There the fraction begins with the 1 of 1.1001, which is implicit.",
        0x28640: "That has 18 bits. A bias of 127 is for 8 exponent bits, and float16 has 5.",
        0x8640: "There the bias is 127, cut to 5 bits. That bias is for 8 exponent bits.",
        0x4640: "Those are the bits of +6.25. The sign is the first bit.",
        0xCA40: "Those are the bits of -12.5, with an exponent one too large. 6.25 is"
        " 1.5625 × 2**2, and `math.frexp` gives 3 because its factor lies below 1.",
        0xC0C8: "Those are the bits in bfloat16, with 8 exponent bits. float16 has 5.",
        0xC0C80000: "Those are the bits in float32, 32 of them. float16 has 16.",
        0xC019000000000000: "Those are the bits in float64, 64 of them. float16 has 16.",
        0xB9C0: "That is the two's complement of +6.25. IEEE 754 stores the sign as a bit"
        " of its own.",
        -0x4640: "No minus stands in front of the bits. The sign is the first of them.",
        0xC640
        - 0x10000: "Those are the right bits, read as a signed integer. Add 65,536.",
        1100011001000000: "Those are the digits as a decimal number. Put `0b` in front.",
        -6.25: "That is the number itself. Give its 16 bits, after `0b`.",
    },
    otherwise=which_number,
    asked="give 16 bits without quotes, such as 0b0_01111_0000000000",
    close=0,
)


def lab_of_bits(answer: object) -> "FloatLab | None":
    """FloatLab at the wrong bits, or None where they are not 16."""
    code = number(answer)
    if code is not None and code in range(2**16):
        return lab(f"0x{int(code):04X}")
    return None


# --- the first gap, and where infinity begins ----------------------------------------


def whole(right: int, wrong: dict, otherwise: Callable[[float, str], str]) -> Number:
    """The judge of a positive whole number; `otherwise(number, the number as it is
    shown)`.
    """

    def explain(value):
        if value <= 0 or not value.is_integer():
            return f"You gave {value!r}: a positive whole number is asked for."
        return otherwise(value, f"{value:,.0f}" if value < 1e12 else f"{value:.6g}")

    asked = "give one whole number, without quotes"
    return Number(right, wrong, otherwise=explain, asked=asked, close=0)


def first_gap(value: float, text: str) -> str:
    """Whether float32 holds a number too large to be the answer, or too small."""
    if formats.encode(value, "float32").value != value:
        return f"float32 cannot hold {text}, and there is a smaller one that it cannot hold."
    return f"float32 holds {text} exactly."


def first_infinity(value: float, text: str) -> str:
    """What float16 makes of a number that is not the first to become infinity."""
    if value >= LIMIT.right:
        return f"{text} becomes infinity, but it is not the smallest that does."
    rounded = formats.encode(value, "float16").value
    return f"float16 rounds {text} to {rounded:,.0f}, a finite number."


FIRST_GAP = whole(
    16777217,
    {
        8388608: "float32 holds 2**23, a power of two: its fraction is 0.",
        8388609: "float32 holds 2**23 + 1. To the 23 stored bits comes the implicit 1.",
        16777215: "That is 24 ones, and float32 has 24 bits: 23 stored and the implicit one.",
        16777216: "That is 2**24: a power of two needs one bit, and its fraction is 0.",
        33554433: "That is for 24 stored fraction bits. float32 stores 23, one is implicit.",
        257: "That is the answer for bfloat16, which has 7 fraction bits.",
        2049: "That is the answer for float16, which has 10 fraction bits.",
        2147483648: "There a 32-bit integer ends. float32 spends 8 bits on the exponent.",
        9007199254740992: "2**53 + 1 is the answer for float64, which has 52 fraction bits.",
    },
    first_gap,
)
LIMIT = whole(
    65520,
    {
        65504: "65,504 is the largest finite number, so float16 holds it.",
        65505: "float16 rounds 65,505 to 65,504: the gap is 32 there, and the nearest number"
        " counts.",
        65512: "65,512 is a quarter of a gap above 65,504. The gap is 32 there.",
        65519: "65,519 is still nearer to 65,504 than to 65,536.",
        65521: "65,521 becomes infinity, but so does the tie before it: it goes to the even"
        " neighbor.",
        65535: "65,535 is the end of uint16. float16 gives out a little earlier.",
        65536: "65,536 is a whole gap above the largest number. Rounding takes half a gap.",
        65552: "Half a gap counts from 65,504 on, not from 65,536.",
        2049: "float16 rounds 2,049 to 2,048. That is about precision, this about the range.",
    },
    first_infinity,
)

# --- a format for a tensor ------------------------------------------------------------

CHOICES = ("float16", "bfloat16", "neither")
FITTING_FORMATS = Fields(
    choices(
        CHOICES,
        {
            "gradients": {
                "float16": "Its smallest number is 6e-8, so 1e-9 becomes 0 without a scale.",
                "neither": "One of them reaches down to 9e-41, and nothing asks for many digits.",
            },
            "scores": {
                "bfloat16": "From 1 to 2 its gap is 1/128, about 0.008: 1.002 becomes 1.",
                "neither": "From 1 to 2 one of them has a gap of 1/1024, about 0.001.",
            },
            "counts": {
                "float16": "It ends at 65,504, and skips whole numbers long before.",
                "bfloat16": "It reaches far enough, but with 8 significant bits: 99,999 is lost.",
            },
        },
    )
)
LOST_NUMBERS = {"gradients": "1e-9", "scores": "1.002", "counts": "99999"}


def lab_of_format(answer: dict) -> "FloatLab":
    """FloatLab at the number that the first wrong choice loses, or the right one keeps."""
    name = next(
        name for name, judge in FITTING_FORMATS.judges.items() if judge(answer[name])
    )
    return lab(LOST_NUMBERS[name], "float16", "bfloat16")
