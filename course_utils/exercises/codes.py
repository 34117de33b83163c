"""Judges of notebook 01: the bits of numbers, and formats for tensors."""

from typing import TYPE_CHECKING

from course_utils import formats

from .answers import number
from .judges import Fields, Number, choices

if TYPE_CHECKING:
    from course_utils.explorers import FloatLab


def lab(entry, *names) -> "FloatLab":
    """FloatLab at a number or code, in these formats or in float16."""
    from course_utils.explorers import FloatLab  # late: it loads gfloat

    return FloatLab(entry, names or ["float16"])


def lab_of_number(answer, *names) -> "FloatLab | None":
    """FloatLab at the answer, or None where that is no finite number."""
    value = number(answer)
    return None if value is None else lab(repr(value).removesuffix(".0"), *names)


# --- bits by hand -------------------------------------------------------------------


def which_number(value) -> str:
    """Say which number has these bits."""
    if value not in range(2**16):
        return f"You gave {value!r}. Give 16 bits, such as 0b0_01111_0000000000."
    number = formats.decode(int(value), "float16")
    return f"{number.bits} is {number.value:g} in float16, not -6.25."


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


def lab_of_bits(answer) -> "FloatLab | None":
    """FloatLab at the wrong bits, or None where they are not 16."""
    return lab(f"0x{int(answer):04X}") if number(answer) in range(2**16) else None


# --- a format for a tensor ------------------------------------------------------------

SIXTEEN = ("float16", "bfloat16", "neither")
FORMATS = Fields(
    choices(
        SIXTEEN,
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
LOST = {"gradients": "1e-9", "scores": "1.002", "counts": "99999"}


def lab_of_format(answer) -> "FloatLab":
    """FloatLab at the number that the first wrong choice loses, or the right one keeps."""
    name = next(name for name, judge in FORMATS.judges.items() if judge(answer[name]))
    return lab(LOST[name], "float16", "bfloat16")
