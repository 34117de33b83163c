"""Number formats: which numbers exist, how far apart they are, and what gets lost."""

import itertools
import math

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle

from course_utils import formats
from course_utils.figures.base import INK, Picture, canvas, listed, panels, write
from course_utils.figures.looks import COLORS
from course_utils.figures.series import lines
from course_utils.figures.words import described, power
from course_utils.formats import numerals
from course_utils.gradients import limits, splits

FIELDS = {  # the colors of the explorers; what is written on a 1
    "sign": ("#D55E00", "#000"),
    "exponent": ("#F0E442", "#000"),
    "implicit": (INK, INK),
    "fraction": ("#0072B2", "white"),
}


def draw_bit_strips(
    numbers: str | float | list | np.ndarray, names: list[str], title: str | None = None
) -> Picture:
    """The bits of numbers in formats, a strip each, aligned where the fraction begins.

    `numbers`, as `formats.encode` takes them, is one for several formats, or several
    for one. The dashed box is the digit before the point, which is not stored. Without
    a `title` the figure says which formats hold the number.
    """
    entries = np.ravel(numbers).tolist()
    rows = [(number, name) for number in entries for name in names]
    facts = [formats.facts(name) for name in names]
    exponent = max(each["exponent_bits"] for each in facts)
    fraction = max(each["fraction_bits"] for each in facts)
    few = len(rows) < 5
    words = []
    begin = -2 - exponent
    left = begin - 6
    right = fraction + (8 if few else 12)
    height = 0.7 + (0.5 if few else 0.33) * len(rows)
    figure, ax = canvas(min(8.0, 0.2 * (right - left)), height)
    for y, (number, name) in enumerate(rows):
        code = formats.encode(number, name)
        leading = {"normal": "1", "infinity": " ", "nan": " "}.get(code.kind, "0")
        _bits(ax, -2 - len(code.exponent + code.sign), y, code.sign, "sign")
        _bits(ax, -2 - len(code.exponent), y, code.exponent, "exponent")
        _bits(ax, -1.5, y, leading, "implicit")
        _bits(ax, 0, y, code.fraction, "fraction")
        label = name if len(rows) == len(names) else f"{number:.4g}"
        value = _exactly(code.value) if few else f"{code.value:.4g} {code.kind}"
        ax.text(begin - 1.4, y, label, ha="right", va="center")
        ax.text(len(code.fraction) + 0.4, y, value, va="center")
        words.append(f"{label}: {code.bits}, {value}")
    middles = (begin - 0.5, -2 - exponent / 2, -1, fraction / 2)
    for field, x in zip(FIELDS, middles, strict=True):
        write(ax, x, -0.55, field, va="bottom")
    title = title or _which_are_exact(entries[0], names)
    ax.set(xlim=(left, right), ylim=(len(rows) - 0.5, -1.1), title=title)
    ax.set_axis_off()
    return described(figure, f"Sign, exponent, fraction and value. {'; '.join(words)}")


def _bits(ax, start, y, bits, field):
    """A box for each bit: full where it is a 1, dashed where it is not stored."""
    hue, on_hue = FIELDS[field]
    for x, bit in enumerate(bits):
        look: dict = {"fc": to_rgba(hue, 0.15), "ec": INK, "lw": 1}
        text: dict = {"color": INK}
        if field == "implicit":
            look |= {"fc": "none", "ls": "--"}
        elif bit == "1":
            look["fc"] = hue
            text = {"color": on_hue, "bbox": {"fc": hue, "lw": 0, "pad": 1}}
        ax.add_patch(Rectangle((start + x, y - 0.4), 1, 0.8, **look))
        write(ax, start + x + 0.5, y, bit, **text)


def _exactly(value: float) -> str:
    """A value in up to twelve digits, after ≈ where it has more."""
    digits = f"{value:.12g}"
    if math.isnan(value) or float(digits) == value:
        return digits
    return f"≈ {digits}"


def _which_are_exact(number, names) -> str:
    """Which of the formats hold a number exactly."""
    value = numerals.exact(number)
    exact = [name for name in names if formats.encode(number, name).value == value]
    if not exact:
        return f"{number} is rounded in {listed(names)}"
    return f"{number} is exact in {listed(exact)}"


TENSORS = ("#56B4E9", "#E69F00", "#8a8a8a", INK)
FLOAT16 = {  # its bands, in powers of two, and how dark they are
    "float16:\nsubnormal": (-24, -14, 0.10),
    "float16: normal": (-14, 16, 0.22),
}
VIEW = (-70, 20)  # powers of two


def draw_spacing(names: list[str], tensors: dict[str, dict]) -> Picture:
    """The gap to the next number, relative to the number, and where tensors lie; around
    the window of float16, whose normal and subnormal numbers are shaded.

    `names`: formats, one line each, at powers of two. `tensors`: names to
    `splits.survey`; their values by size stand below, each row as high as its fullest
    octave, a stroke where they end, and the share of the nonzero ones that become 0.
    """
    low, high = VIEW
    count = len(tensors)
    grid = {"height_ratios": [2.6, *[0.5] * count], "hspace": 0}
    figure, (top, *below) = panels(
        1, 8.0, 2.9 + 0.55 * count, 1 + count, sharex=True, gridspec_kw=grid
    )
    for label, (left, right, alpha) in FLOAT16.items():
        for ax in (top, *below):
            ax.axvspan(left, right, color=COLORS["float16"], alpha=alpha, linewidth=0)
        write(top, (left + right) / 2, 1.6, label, va="baseline")
    words = []
    curves = {}
    ticks = {0: "1"}
    for name in names:
        edge = limits(name)
        first = edge["zero_octave"] + 1
        last = edge["top_octave"]
        best = -formats.facts(name)["fraction_bits"]
        powers = np.arange(max(low, first), min(high, last) + 1)
        relative = np.maximum(best, first - powers)
        curves[name] = powers, relative
        top.text(powers[relative == best][0] + 1, best + 0.7, name)
        ticks[best] = power(f"2^{best}")
        words.append(f"{name} from 2^{first} to 2^{last}, at best 2^{best}")
    lines(top, curves, linewidth=2.6, marker="")
    zero = {}
    for ax, color, (name, survey) in zip(
        below, itertools.cycle(TENSORS), tensors.items(), strict=False
    ):
        counts = np.array(survey["counts"])
        edges = survey["first"] + np.arange(len(counts) + 1)
        ax.stairs(counts / counts.max(), edges, fill=True, color=color)
        ax.vlines(edges[-1], 0, 0.5, color=INK, linewidth=1.5)  # the largest numbers
        at_float16 = survey["kept"][0][splits.EXPONENT_BITS.index(5)]
        zero[name] = at_float16[1] / counts.sum()
        share = f"{100 * zero[name]:.0f} % become 0"
        label = f"{name}: {share}" if zero[name] >= 0.005 else name
        ax.text(low + 1, 0.55, label, fontsize=9)
        ax.set(yticks=[], ylim=(0, 1.15))
        words.append(f"of nonzero {name} {share} in float16")
    worst = max(zero, key=lambda name: round(zero[name], 2))
    top.set_title(
        f"Too small for float16: {100 * zero[worst]:.0f} % of nonzero {worst}"
    )
    top.set_yticks([*ticks], [*ticks.values()])
    top.set(ylim=(min(ticks) - 1.5, 5.7), xlim=VIEW)
    top.set_ylabel("gap / number,\nat powers of two")
    tens = range(low, high + 1, 10)
    ax.set_xticks(tens, [power(f"2^{ten}") for ten in tens])
    ax.set_xlabel("size of the number")
    return Picture(figure, "relative gap against size: " + "; ".join(words) + ".")
