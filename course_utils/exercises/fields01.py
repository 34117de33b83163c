"""How exercises 1 and 2 of notebook 01 are judged: the bit fields of a number, and its code."""

import struct

from .answers import describe, missing_key, number

# --- 1: the fields of a number ------------------------------------------------------------------

FIELDS = {"sign": "1", "exponent": "10011110", "fraction": "11110100101011011101010"}
NOT_THE_FIELD = {  # answers that share a mistake, and what to say
    "sign": [
        (["0"], "The number is negative, and a sign bit of 0 means plus."),
        (["-", "−", "+"], "The sign is stored as a bit too: 0 means plus, 1 means minus."),
    ],
    "exponent": [
        (["00011111", "11111", "011111"], "That is 31 as it is. Stored is 31 + bias."),
        (
            ["10011111"],
            "That is 159 = 32 + 127, one too large. 2**31 <= 4,200,000,000 < 2**32, so the exponent"
            " is 31, and `math.frexp` and `bit_length` give one more.",
        ),
        (["10011101"], "That is 157, one too small. The bias of 8 exponent bits is 127."),
        (["00101110", "101110"], "That is 31 + 15. 15 is the bias of float16, with 5 bits."),
        (["10000011110"], "That is 31 + 1023, the exponent field of float64. Its bias is another."),
        (["01111001"], "The bits are in reverse order: the largest weight comes first."),
        (["01100000"], "That is -31 + 127. The minus of the number has its own bit."),
        (
            ["00001001", "10001000"],
            "That is the exponent of a power of ten. The fields count powers of two.",
        ),
    ],
    "fraction": [
        (
            ["11111010010101101110101"],
            "Those are the first 23 bits of 1.f with its leading 1. That 1 is not stored, so the"
            " fraction begins one bit later.",
        ),
        (["1111010010101101110101"], "The last zero is missing: fill up to 23 bits on the right."),
        (["01010111011010100101111"], "The bits are in reverse order: 1/2 comes first."),
        (
            ["00001011010100100010110", "00001011010100100010101"],
            "Those bits are inverted, as in two's complement. IEEE 754 stores sign and magnitude,"
            " so the fraction is that of +4,200,000,000.",
        ),
        (
            ["00110011001100110011001", "00110011001100110011010"],
            "That is the fraction of 4.2, or of 1.2. Divide by a power of two instead of ten.",
        ),
    ],
}


def check_fields(answer):
    """Compare a dictionary of bit strings with the float32 fields of -4,200,000,000.

    >>> check_fields({**FIELDS, "exponent": "00011111"})
    'exponent: That is 31 as it is. Stored is 31 + bias.'
    """
    if problem := missing_key(answer, list(FIELDS)):
        return problem
    for name, right in FIELDS.items():
        bits = answer[name]
        if not isinstance(bits, str):
            return f'{name}: you gave {describe(bits)}; give the bits as text, such as "0101".'
        bits = bits.replace(" ", "").replace("_", "")
        if bits == right:
            continue
        for mistakes, message in NOT_THE_FIELD[name]:
            if bits in mistakes:
                return f"{name}: {message}"
        return _other_bits(name, bits, right)
    return None


def _other_bits(name, bits, right):
    wanted, given = f"{len(right)} bit{'s' * (len(right) > 1)}", f"{name}: you gave"
    if bits[:2] in ("0b", "0B"):
        return f'{given} {describe(bits)}; leave out the "0b", as `format(n, "b")` does.'
    if name == "fraction" and "." in bits:
        return f"{name}: leave out the point and the digit before it, which are not stored."
    if name == "fraction" and bits[:1] == "1" and bits[1:24] == right:
        return f"{name}: the leading 1 is implicit, so leave it out and keep the 23 bits after it."
    if not bits or set(bits) - {"0", "1"}:
        return f"{given} {describe(bits)}; give {wanted}, each 0 or 1."
    if len(bits) != len(right):
        hint = "; cut off at the right" if bits.startswith(right) else ""
        return f"{given} {len(bits)} bits. The field has {wanted}{hint}."
    if name == "exponent":
        return f"{given} {int(bits, 2)} = {int(bits, 2) - 127} + 127, and 2**31 <= 4.2e9 < 2**32."
    first = next(i for i, (a, b) in enumerate(zip(bits, right, strict=True), 1) if a != b)
    return f"{name}: the first wrong bit is number {first}, which stands for 2**-{first}."


# --- 2: the code of a number --------------------------------------------------------------------

CODE = 0xC640
NOT_THE_CODE = {
    0x8A40: "There the exponent field is 2. Stored is the exponent plus 15, the bias.",
    0xC720: "There the fraction begins with the 1 of 1.1001, which is implicit.",
    0x28640: "That has 18 bits. A bias of 127 is for 8 exponent bits, and float16 has 5.",
    0x8640: "There the bias is 127, cut to 5 bits. That bias is for 8 exponent bits.",
    0x4640: "That is the code of +6.25. The sign is the first bit.",
    0xCA40: (
        "That is the code of -12.5, with an exponent one too large. 6.25 is 1.5625 × 2**2, and"
        " `math.frexp` gives 3 because its factor lies below 1."
    ),
    0xC0C8: "That is the code in bfloat16, with 8 exponent bits. float16 has 5.",
    0xC0C80000: "That is the code in float32, 32 bits. float16 has 16.",
    0xC019000000000000: "That is the code in float64, 64 bits. float16 has 16.",
    0x40C6: "The two bytes are in the other order, as some files store them.",
    0xC6: "That is the first byte. A float16 code has two.",
    0xB9C0: "That is the two's complement of 0x4640. IEEE 754 stores the sign as a bit of its own.",
    -0x4640: "A code has no minus in front. The sign is its first bit.",
    CODE - 0x10000: "Those are the right bits, read as a signed integer. Add 65,536.",
    1100011001000000: "Those are the bits as a decimal number. Put `0b` in front.",
    -6.25: "That is the number itself. Its code is the 16 bits, read as an integer.",
}


def check_code(answer):
    """Expect the float16 code of -6.25.

    >>> check_code(0x4640)
    'That is the code of +6.25. The sign is the first bit.'
    """
    value = number(answer)
    if value is None:
        return f"You gave {describe(answer)}: give one number without quotes, such as 0x3C00."
    if value == CODE:
        return None
    for mistake, message in NOT_THE_CODE.items():
        if value == mistake:
            return message
    if not value.is_integer() or not 0 <= value <= 0xFFFF:
        return f"You gave {value!r}. A code of 16 bits is a whole number from 0 to 65,535."
    stands_for = struct.unpack("<e", struct.pack("<H", int(value)))[0]
    return f"0x{int(value):04X} is the float16 code of {stands_for:g}, not of -6.25."
