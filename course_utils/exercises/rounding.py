"""Judges of notebook 01: what rounding to 16 bits does to numbers, sums and updates."""

import struct

from .answers import describe, number
from .judges import Fields, Number
from .lab import lab, lab_of_number

# --- the first gap, and where infinity begins ---------------------------------------------------


def whole(right, wrong, otherwise):
    """The judge of a positive whole number; `otherwise(number, what float16 makes of it)`."""

    def explain(value):
        if value <= 0 or not value.is_integer():
            return f"You gave {value!r}: a positive whole number is asked for."
        rounded = struct.unpack("<e", struct.pack("<e", value))[0] if value < 65520 else None
        return otherwise(f"{value:,.0f}" if value < 1e12 else f"{value:.6g}", rounded)

    asked = "give one whole number, without quotes"
    return Number(right, wrong, otherwise=explain, asked=asked, close=0)


FIRST_GAP = whole(
    2049,
    {
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
    },
    lambda shown, rounded: (
        f"float16 holds {shown} exactly."
        if rounded and shown == f"{rounded:,.0f}"
        else f"float16 cannot hold {shown}, and there is a smaller one that it cannot hold."
    ),
)
LIMIT = whole(
    65520,
    {
        65504: "65,504 is the largest finite number, so float16 holds it.",
        65505: "float16 rounds 65,505 to 65,504: the step is 32 there, and the nearest number"
        " counts.",
        65512: "65,512 is a quarter of a step above 65,504. The step is 32 there.",
        65519: "65,519 is still nearer to 65,504 than to 65,536.",
        65521: "65,521 becomes infinity, but so does the tie before it: it goes to the even"
        " neighbor.",
        65535: "65,535 is the end of uint16. float16 gives out a little earlier.",
        65536: "65,536 is one full step above the largest number. Rounding takes half a step.",
        65552: "Half a step counts from 65,504 on, not from 65,536.",
        2049: "float16 rounds 2,049 to 2,048. That is about precision, this about the range.",
    },
    lambda shown, rounded: (
        f"float16 rounds {shown} to {rounded:,.0f}, a finite number."
        if rounded
        else f"{shown} becomes infinity, but it is not the smallest that does."
    ),
)

# --- updates that vanish, and where a sum stalls ------------------------------------------------


def share(right, wrong):
    """The judge of one share; 0.001 is as good as 1/1024, and 513/1024 counts as one half."""

    def explain(value):
        if not 0 <= value <= 1:
            return f"you gave {value:g}, and a share lies between 0 and 1."
        side = "small" if value < right else "large"
        return f"{value:g} is too {side}. Half a step of float16 is 2**-11 there."

    return Number(
        right,
        wrong,
        otherwise=explain,
        asked="give a share, such as 0.25",
        close=0.002,
        accept=lambda value: abs(value - right) < 3e-5,
    )


PERCENTAGES = "Those are percentages. Give shares between 0 and 1."
NOT_ALL = {
    0: "With ratio 4096 every w gets less than half a step added.",
    1 / 1024: "With 4096 the addend is half as large: does any w still move?",
}
SHARES = Fields(
    {2048: share(1 / 1024, {}), 4096: share(1, NOT_ALL)},
    wrong={
        (1, 1): "With ratio 2048 nearly every w gets more than half a step added, and moves. Which"
        " w gets exactly half?",
        (0, 1): "With ratio 2048 one w gets exactly half a step. That tie goes to the even"
        " neighbor.",
        (0.5, 1): "About one half is right for a ratio of 3072. With 2048, w / ratio is half a"
        " step or more.",
        (1023 / 1024, 0): "Those are the shares that change. Give those that stay.",
        (1, 1 / 1024): "The two are swapped: the larger ratio adds less.",
        (1, 1024): "Those are counts. Divide by the 1,024 numbers.",
        (0, 0): "In float64 and float32 no w stays. Turn w into float16 before you divide and add.",
    },
    together=(({2048: 0.1, 4096: 100}, lambda given: given[4096] == 100, PERCENTAGES),),
)


def lab_of_share(answer):
    """FloatLab at a sum that moves its weight, or does not, against the share given."""
    ratio, value = SHARES.first_wrong(answer)
    if value is None:
        return None
    w = 1 if value < SHARES.right[ratio] < 1 else 1.5
    return lab(repr(w + w / ratio))


def stalled(right, wrong):
    """The judge of the last sum in one format."""

    def explain(value):
        if abs(value - right) == 0.25:
            return f"you gave {value:g}, one addition beside the end."
        side = "further" if value < right else "less far"
        return f"you gave {value:g}, and the sum gets {side}. Where is 0.25 half a step?"

    return Number(right, wrong, otherwise=explain, asked="give one finite number", close=0)


NOT_IN_BFLOAT16 = {
    512: "bfloat16 has 7 fraction bits and stops earlier.",
    2500: "bfloat16 has the larger range, but not the finer steps.",
}
SUMS = Fields(
    {"float16": stalled(512, {}), "bfloat16": stalled(64, NOT_IN_BFLOAT16)},
    wrong={
        (2048, 256): "Those are the sums of 1.0, or how many additions count. The addend here is"
        " 0.25.",
        (2500, 2500): "That is the exact sum. Round to the format after each addition.",
        (2500, 2496): "You round once, at the end. A running sum is rounded at each step.",
        (1024, 128): "The sums stop earlier. Where 0.25 is half a step, it is a tie, and the even"
        " sum stays.",
        (64, 512): "The two are swapped: bfloat16 has fewer fraction bits.",
        (256, 32): "There the step is 0.25, so the next sum is exact. Go on until 0.25 is lost.",
        (65504, 256): "65,504 is where the range ends. No sum of ten thousand 0.25 gets that far.",
    },
)


def lab_of_sum(answer):
    """FloatLab at the sum after the one given, where that is not the last."""
    name, value = SUMS.first_wrong(answer)
    stops = value is None or not 0 <= value < SUMS.right[name]
    return None if stops else lab_of_number(value + 0.25, name)


# --- rounding twice -----------------------------------------------------------------------------


def check_twice(answer):
    """Accept every float64 number that changes in bfloat16 when float32 comes in between."""
    from course_utils import formats  # late: it loads NumPy and gfloat

    x = number(answer)
    if x is None:
        return f"You gave {describe(answer)}: give one finite number without quotes."
    between = formats.encode(x, "float32")
    once = formats.encode(x, "bfloat16")
    twice = formats.encode(between.value, "bfloat16")
    if once.code != twice.code:
        return None
    # bfloat16 is the upper half of float32: the lower 16 bits say what the second rounding cuts.
    cut = between.code & 0xFFFF
    if between.kind == "infinity":
        return f"{x!r} is beyond float32 too, so both ways end in infinity."
    if between.value == x and cut == 0x8000:
        start = (
            f"As a float64 number your x is {x!r}, exactly halfway between two bfloat16 numbers."
        )
        return f"{start} float32 holds it, so both ways break the same tie."
    if between.value == x:
        return f"float32 holds {x!r} exactly, so the first of the two roundings changes nothing."
    if cut == 0x8000:
        start = f"float32 puts {x!r} exactly halfway, but the even neighbor lies on the side that x"
        return f"{start} came from. Take an x on the other side of that point."
    if cut == 0:
        start = f"float32 turns {x!r} into {between.value!r}, a bfloat16 number"
        return f"{start}: nothing is left for the second rounding."
    start = (
        f"float32 turns {x!r} into a code that ends in 0x{cut:04X}, and bfloat16 cuts those bits."
    )
    return f"{start} Only 0x8000 is a tie, where the second rounding can go astray."
