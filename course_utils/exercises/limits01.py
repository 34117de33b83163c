"""How exercises 3 and 4 of notebook 01 are judged: what float16 skips, and where it ends."""

import math
import struct

from .answers import describe, number


def float16(value):
    """A finite number rounded to float16 by Python itself; too large becomes infinity.

    >>> float16(2049), float16(65520)
    (2048.0, inf)
    """
    try:
        return struct.unpack("<e", struct.pack("<e", float(value)))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


# --- 3: the first gap ---------------------------------------------------------------------------

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


# --- 4: where infinity begins -------------------------------------------------------------------

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
