"""Judges of notebook 01: the first gap, and where infinity begins."""

from course_utils import formats

from .judges import Number


def whole(right, wrong, otherwise) -> Number:
    """The judge of a positive whole number; `otherwise(number, the number as it is
    shown)`.
    """

    def explain(value):
        if value <= 0 or not value.is_integer():
            return f"You gave {value!r}: a positive whole number is asked for."
        return otherwise(value, f"{value:,.0f}" if value < 1e12 else f"{value:.6g}")

    asked = "give one whole number, without quotes"
    return Number(right, wrong, otherwise=explain, asked=asked, close=0)


def first_gap(value, shown) -> str:
    """Whether float32 holds a number too large to be the answer, or too small."""
    if formats.encode(value, "float32").value != value:
        return f"float32 cannot hold {shown}, and there is a smaller one that it cannot hold."
    return f"float32 holds {shown} exactly."


def first_infinity(value, shown) -> str:
    """What float16 makes of a number that is not the first to become infinity."""
    if value >= LIMIT.right:
        return f"{shown} becomes infinity, but it is not the smallest that does."
    rounded = formats.encode(value, "float16").value
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
