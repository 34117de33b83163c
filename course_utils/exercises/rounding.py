"""Judges of notebook 01: what rounding to 16 bits does to numbers, sums and updates."""

import math
import struct

from .judges import Fields, Number
from .lab import lab, lab_of_number

# --- the first gap, and where infinity begins -----------------------------------------


def whole(right, wrong, otherwise):
    """The judge of a positive whole number; `otherwise(number, the number as it is
    shown)`.
    """

    def explain(value):
        if value <= 0 or not value.is_integer():
            return f"You gave {value!r}: a positive whole number is asked for."
        return otherwise(value, f"{value:,.0f}" if value < 1e12 else f"{value:.6g}")

    asked = "give one whole number, without quotes"
    return Number(right, wrong, otherwise=explain, asked=asked, close=0)


def first_gap(value, shown):
    """Whether float32 holds a number too large to be the answer, or too small."""
    if value >= 2**128 or value % 2 ** max(0, math.frexp(value)[1] - 24):
        return f"float32 cannot hold {shown}, and there is a smaller one that it cannot hold."
    return f"float32 holds {shown} exactly."


def first_infinity(value, shown):
    """What float16 makes of a number that is not the first to become infinity."""
    if value >= LIMIT.right:
        return f"{shown} becomes infinity, but it is not the smallest that does."
    rounded = struct.unpack("<e", struct.pack("<e", value))[0]
    return f"float16 rounds {shown} to {rounded:,.0f}, a finite number."


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
        4294967296: "That is 2**32, a power of two. And 8 of the 32 bits are the exponent.",
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

# --- updates that vanish, and where a sum stalls --------------------------------------


def share(right):
    """The judge of one share, to 0.1."""

    def explain(value):
        if not 0 <= value <= 1:
            return f"you gave {value:g}, and a share lies between 0 and 1."
        side = "small" if value < right else "large"
        return f"{value:g} is too {side}. Half a gap of float16 is 2**-11 there."

    return Number(
        right,
        otherwise=explain,
        asked="give a share, such as 0.25",
        close=0.002,
        accept=lambda value: 0 <= value <= 1 and abs(value - right) <= 0.1,
    )


SHARES = Fields(
    {2048: share(0), 3072: share(0.5), 4096: share(1)},
    wrong={
        (
            1,
            1,
            1,
        ): "With ratio 2048 nearly every w gets more than half a gap added, and moves.",
        (
            0,
            0,
            1,
        ): "With ratio 3072 a w near 1 gets less than half a gap added. Which w gets half?",
        (
            0,
            1,
            1,
        ): "With ratio 3072 a w near 2 gets more than half a gap added. Which w gets half?",
        (
            0,
            0,
            0,
        ): "Half a gap is 2**-11, and w / 4096 lies below it for every w below 2.",
        (1, 0.5, 0): "Those are the shares that change. Give those that stay.",
        (0, 512, 1024): "Those are counts. Divide by the 1,024 numbers.",
        (0, 50, 100): "Those are percentages. Give shares between 0 and 1.",
    },
)


def lab_of_share(answer):
    """FloatLab at a sum that moves its weight, or does not, against the share given."""
    ratio, value = SHARES.first_wrong(answer)
    w = 1.25 if value < SHARES.right[ratio] else 1.75
    return lab(repr(w + w / ratio))


def stalled(right, wrong):
    """The judge of the last sum in one format."""

    def explain(value):
        side = "further" if value < right else "less far"
        return f"you gave {value:g}, and the sum gets {side}. Where is 3 less than half a gap?"

    return Number(
        right, wrong, otherwise=explain, asked="give one finite number", close=0
    )


NOT_IN_BFLOAT16 = {
    8192: "bfloat16 has 7 fraction bits and stops earlier.",
    30000: "bfloat16 has the larger range, but not the finer gaps.",
}
NOT_IN_FLOAT32 = {
    16777216: "There the gap becomes 2. 3 is more than half of it.",
}
SUMS = Fields(
    {
        "float16": stalled(8192, {}),
        "bfloat16": stalled(1024, NOT_IN_BFLOAT16),
        "float32": stalled(2**26, NOT_IN_FLOAT32),
    },
    wrong={
        (2048, 256, 2**24): "Those are the sums of 1.0. The addend here is 3.",
        (6144, 768, 3 * 2**24): "Those are three times the sums of 1.0. The gap there"
        " is 4, and 3 is more than half.",
        (4096, 512, 2**25): "There the gap becomes 4. 3 is more than half of it, so the"
        " sum goes on by 4.",
        (16384, 2048, 2**27): "The sums stop earlier. From which gap on is 3 less than"
        " half of it?",
        (
            8192,
            1024,
            30000,
        ): "That is what ten thousand additions give. float32 goes on.",
        (1024, 8192, 2**26): "float16 and bfloat16 are swapped: bfloat16 has fewer"
        " fraction bits.",
    },
)


def lab_of_sum(answer):
    """FloatLab at the sum after the one given, where that is not the last."""
    name, value = SUMS.first_wrong(answer)
    return lab_of_number(value + 3, name) if 0 <= value < SUMS.right[name] else None
