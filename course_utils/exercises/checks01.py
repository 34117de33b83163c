"""How the answers to exercises 1 to 6 of notebook 01 are judged."""

import math
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


def float16(value):
    """A finite number rounded to float16 by Python itself; too large becomes infinity.

    >>> float16(2049), float16(65520)
    (2048.0, inf)
    """
    try:
        return struct.unpack("<e", struct.pack("<e", float(value)))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


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


# --- 3 and 4: where float16 gives out -----------------------------------------------------------

NOT_THE_FIRST = {
    1024: "float16 holds 1,024, a power of two: its fraction is 0.",
    1025: "float16 holds 1,025. To the 10 stored fraction bits comes the implicit 1.",
    2048: "2,048 is 2**11, and float16 holds every power of two up to 2**15.",
    4097: "That is for 11 stored fraction bits. float16 stores 10, and one more is implicit.",
    257: "That is the answer for bfloat16, which has 7 fraction bits.",
    16777217: "That is the answer for float32, which has 23 fraction bits.",
    65504: "float16 holds 65,504, its largest number. It skips many whole numbers below that.",
    65505: "That is where the range ends. Precision gives out earlier.",
    65520: "From there on float16 has infinity, but it skips whole numbers before that.",
    65536: "2**16 is beyond the range. Some smaller whole numbers fall into gaps.",
    32768: "float16 holds 32,768. It is int16 that cannot.",
}


def check_first_gap(answer):
    """Expect 2049, the first positive integer that float16 cannot hold.

    >>> check_first_gap(65505)
    'That is where the range ends. Precision gives out earlier.'
    """
    value, problem = _whole(answer)
    if problem:
        return problem
    if value == 2049:
        return None
    if message := NOT_THE_FIRST.get(value):
        return message
    if float16(value) == value:
        return f"float16 holds {value:,} exactly."
    return f"float16 cannot hold {_show(value)}, and there is a smaller one that it cannot hold."


NOT_THE_LIMIT = {
    65504: "65,504 is the largest finite number, so float16 holds it.",
    65505: "float16 rounds 65,505 to 65,504: the step is 32 there, and the nearest number counts.",
    65512: "65,512 is a quarter of a step above 65,504. The step is 32 there.",
    65519: "65,519 is still nearer to 65,504 than to 65,536.",
    65521: "65,521 becomes infinity, but so does the tie before it: it goes to the even neighbor.",
    65535: "65,535 is the end of uint16. float16 gives out a little earlier.",
    65536: "65,536 is one full step above the largest number. Rounding takes half a step.",
    65552: "Half a step counts from 65,504 on, not from 65,536.",
    2049: "float16 rounds 2,049 to 2,048. That is about precision, this about the range.",
}


def check_limit(answer):
    """Expect 65520, the smallest whole number that float16 rounds to infinity.

    >>> check_limit(65519)
    '65,519 is still nearer to 65,504 than to 65,536.'
    """
    value, problem = _whole(answer)
    if problem:
        return problem
    if value == 65520:
        return None
    if message := NOT_THE_LIMIT.get(value):
        return message
    if value < 65520:
        return f"float16 rounds {value:,} to {float16(value):,.0f}, a finite number."
    return f"{_show(value)} becomes infinity, but it is not the smallest that does."


def _whole(answer):
    value = number(answer)
    if value is None:
        return None, f"You gave {describe(answer)}: give one whole number, without quotes."
    if value <= 0 or not value.is_integer():
        return None, f"You gave {value!r}: a positive whole number is asked for."
    return int(value), None


def _show(value):
    return f"{value:,}" if value < 10**12 else f"{value:.6g}"


# --- 5: updates that vanish ---------------------------------------------------------------------

RATIOS = (2048, 4096)
SHARES = {2048: 1 / 1024, 4096: 1}
NOT_THE_SHARES = [
    (
        {2048: 1, 4096: 1},
        "With ratio 2048 nearly every w gets more than half a step added, and moves. Which w gets"
        " exactly half?",
    ),
    (
        {2048: 0, 4096: 1},
        "With ratio 2048 one w gets exactly half a step. That tie goes to the even neighbor.",
    ),
    (
        {2048: 0.5, 4096: 1},
        "About one half is right for a ratio of 3072. With 2048, w / ratio is half a step or more.",
    ),
    ({2048: 1023 / 1024, 4096: 0}, "Those are the shares that change. Give those that stay."),
    ({2048: 1, 4096: 1 / 1024}, "The two are swapped: the larger ratio adds less."),
    ({2048: 1, 4096: 1024}, "Those are counts. Divide by the 1,024 numbers."),
    (
        {2048: 0, 4096: 0},
        "In float64 and float32 no w stays. Turn w into float16 before you divide and add.",
    ),
    (
        {2048: 1 / 1024, 4096: 0},
        "Ratio 2048 is right. With ratio 4096 every w gets less than half a step added.",
    ),
    (
        {2048: 1 / 1024, 4096: 1 / 1024},
        "Ratio 2048 is right. With 4096 the addend is half as large: does any w still move?",
    ),
]


def check_shares(answer):
    """Compare a dictionary ratio -> share with 1/1024 and 1.

    >>> check_shares({2048: 1, 4096: 1024})
    'Those are counts. Divide by the 1,024 numbers.'
    """
    if problem := missing_key(answer, list(RATIOS)):
        return problem
    given = {ratio: number(answer[ratio]) for ratio in RATIOS}
    for ratio, value in given.items():
        if value is None:
            return f"Ratio {ratio}: you gave {describe(answer[ratio])}; give a share, such as 0.25."

    if all(abs(given[ratio] - share) < 3e-5 for ratio, share in SHARES.items()):  # 0.001 too
        return None
    if given[4096] == 100:
        return "Those are percentages. Give shares between 0 and 1."
    for shares, message in NOT_THE_SHARES:
        if all(abs(given[r] - s) <= max(3e-5, 0.002 * min(s, 1)) for r, s in shares.items()):
            return message  # 513/1024 counts as one half
    wrong = next((r for r in RATIOS if abs(given[r] - SHARES[r]) > 3e-5), 4096)
    if not 0 <= given[wrong] <= 1:
        return f"Ratio {wrong}: you gave {given[wrong]:g}, and a share lies between 0 and 1."
    side = "small" if given[wrong] < SHARES[wrong] else "large"
    return f"Ratio {wrong}: {given[wrong]:g} is too {side}. Half a step of float16 is 2**-11 there."


# --- 6: where a sum stalls ----------------------------------------------------------------------

SUMS = {"float16": 512, "bfloat16": 64}
NOT_THE_SUMS = [
    (
        (2048, 256),
        "Those are the sums of 1.0, or how many additions count. The addend here is 0.25.",
    ),
    ((2500, 2500), "That is the exact sum. Round to the format after each addition."),
    ((2500, 2496), "You round once, at the end. A running sum is rounded at each step."),
    (
        (1024, 128),
        "The sums stop earlier. Where 0.25 is half a step, it is a tie, and the even sum stays.",
    ),
    ((64, 512), "The two are swapped: bfloat16 has fewer fraction bits."),
    ((256, 32), "There the step is 0.25, so the next sum is exact. Go on until 0.25 is lost."),
    ((512, 512), "float16 is right. bfloat16 has 7 fraction bits and stops earlier."),
    ((512, 2500), "float16 is right. bfloat16 has the larger range, but not the finer steps."),
    ((65504, 256), "65,504 is where the range ends. No sum of ten thousand 0.25 gets that far."),
]


def check_sums(answer):
    """Compare a dictionary format -> sum with 512 and 64.

    >>> check_sums({"float16": 2500, "bfloat16": 2500})[:27]
    'That is the exact sum. Roun'
    """
    if problem := missing_key(answer, list(SUMS)):
        return problem
    given = {}
    for name in SUMS:
        given[name] = number(answer[name])
        if given[name] is None:
            return f"{name}: you gave {describe(answer[name])}; give one finite number."
    if given == SUMS:
        return None
    for sums, message in NOT_THE_SUMS:
        if tuple(given.values()) == sums:
            return message
    name = next(name for name in SUMS if given[name] != SUMS[name])
    right = "".join(f"{other} is right. " for other in SUMS if given[other] == SUMS[other])
    if abs(given[name] - SUMS[name]) == 0.25:
        return f"{right}{name}: you gave {given[name]:g}, one addition beside the end."
    side = "further" if given[name] < SUMS[name] else "less far"
    return (
        f"{right}{name}: you gave {given[name]:g}, and the sum gets {side}. "
        "Where is 0.25 half a step?"
    )
