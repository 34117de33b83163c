"""Judges of notebook 01: codes of numbers, and formats for tensors."""

import struct

from .judges import Choice, Fields, Number
from .lab import lab, lab_of_number

# --- a code by hand -------------------------------------------------------------------


def which_code(value):
    """Say which number has a code."""
    if not value.is_integer() or not 0 <= value <= 0xFFFF:
        return (
            f"You gave {value!r}. A code of 16 bits is a whole number from 0 to 65,535."
        )
    stands_for = struct.unpack("<e", struct.pack("<H", int(value)))[0]
    return f"0x{int(value):04X} is the float16 code of {stands_for:g}, not of -6.25."


CODE = Number(
    0xC640,
    {
        0x8A40: "There the exponent field is 2. Stored is the exponent plus 15, the bias.",
        0xC720: "There the fraction begins with the 1 of 1.1001, which is implicit.",
        0x28640: "That has 18 bits. A bias of 127 is for 8 exponent bits, and float16 has 5.",
        0x8640: "There the bias is 127, cut to 5 bits. That bias is for 8 exponent bits.",
        0x4640: "That is the code of +6.25. The sign is the first bit.",
        0xCA40: "That is the code of -12.5, with an exponent one too large. 6.25 is 1.5625 × 2**2,"
        " and `math.frexp` gives 3 because its factor lies below 1.",
        0xC0C8: "That is the code in bfloat16, with 8 exponent bits. float16 has 5.",
        0xC0C80000: "That is the code in float32, 32 bits. float16 has 16.",
        0xC019000000000000: "That is the code in float64, 64 bits. float16 has 16.",
        0x40C6: "The two bytes are in the other order, as some files store them.",
        0xC6: "That is the first byte. A float16 code has two.",
        0xB9C0: "That is the two's complement of 0x4640. IEEE 754 stores the sign as a bit of its"
        " own.",
        -0x4640: "A code has no minus in front. The sign is its first bit.",
        0xC640
        - 0x10000: "Those are the right bits, read as a signed integer. Add 65,536.",
        1100011001000000: "Those are the bits as a decimal number. Put `0b` in front.",
        -6.25: "That is the number itself. Its code is the 16 bits, read as an integer.",
    },
    otherwise=which_code,
    asked="give one number without quotes, such as 0x3C00",
    close=0,
)


def which_number(value):
    """Say which code a number has."""
    if abs(value) >= 65520:
        return f"{value:g} is too large for float16."
    code = int.from_bytes(struct.pack(">e", value), "big")
    return f"The code of {value:g} is 0x{code:04X}, not 0xB500."


NUMBER = Number(
    -0.3125,
    {
        0.3125: "That is the code 0x3500. The first bit of 0xB500 is 1, for a minus.",
        -0.0625: "There the leading 1 is missing: the significand is 1 + 256/1024.",
        -1.25: "That is sign and significand. The exponent is 13 - 15 = -2.",
        -10240: "There the exponent is 13. Take off the bias, 15.",
        -5: "There the exponent is 15 - 13. It is 13 - 15.",
        0xB500: "That is the code itself as an integer. Cut it into 1, 5 and 10 bits.",
        0xB500
        - 0x10000: "That is the code itself as an integer. Cut it into 1, 5 and 10 bits.",
        -(
            2.0**-21
        ): "bfloat16 reads the code like that, with 8 exponent bits. float16 has 5.",
    },
    otherwise=which_number,
    close=0,
)
BOTH_WAYS = Fields({"code of -6.25": CODE, "number of 0xB500": NUMBER})


def lab_of_code(answer):
    """FloatLab at the code or the number that is wrong, or None."""
    name, value = BOTH_WAYS.first_wrong(answer)
    if name == "code of -6.25":
        whole = value is not None and value.is_integer() and 0 <= value <= 0xFFFF
        return lab(f"0x{int(value):04X}") if whole else None
    return lab_of_number(value)


# --- a format for a tensor ------------------------------------------------------------

SIXTEEN = ("float16", "bfloat16", "neither")
FORMATS = Fields(
    {
        "gradients": Choice(
            "bfloat16",
            {
                "float16": "Its smallest number is 6e-8, so 1e-9 becomes 0.",
                "neither": "One of them reaches down to 9e-41, and nothing asks for many digits.",
            },
            options=SIXTEEN,
        ),
        "scores": Choice(
            "float16",
            {
                "bfloat16": "From 1 to 2 its gap is 1/128, about 0.008: 1.002 becomes 1.",
                "neither": "From 1 to 2 one of them has a gap of 1/1024, about 0.001.",
            },
            options=SIXTEEN,
        ),
        "counts": Choice(
            "neither",
            {
                "float16": "It ends at 65,504, and skips whole numbers long before.",
                "bfloat16": "It reaches far enough, but with 8 significant bits: 99,999 is lost.",
            },
            options=SIXTEEN,
        ),
    }
)
LOST = {"gradients": "1e-9", "scores": "1.002", "counts": "99999"}


def lab_of_format(answer):
    """FloatLab at the number that the wrong choice loses, or the right one keeps."""
    name, _ = FORMATS.first_wrong(answer)
    return lab(LOST[name], "float16", "bfloat16") if name else None
