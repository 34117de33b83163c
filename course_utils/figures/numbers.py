"""Number formats: which numbers exist, how far apart they are, and what gets lost."""

import itertools
import math

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle

from course_utils import formats
from course_utils.figures.base import INK, Picture, canvas, listed, panels
from course_utils.figures.looks import COLORS, line_look
from course_utils.figures.words import described, power
from course_utils.formats import numerals
from course_utils.gradients import splits

FIELDS = {  # the colors of the explorers; what is written on a 1
    "sign": ("#D55E00", "#000"),
    "exponent": ("#F0E442", "#000"),
    "implicit": ("none", INK),
    "fraction": ("#0072B2", "white"),
}


def bit_strips(numbers, names, title=None) -> Picture:
    """The bits of numbers in formats, a strip each, aligned where the fraction begins.

    `numbers`, as `formats.encode` takes them, is one for several formats, or several
    for one. The dashed box is the digit before the point, which is not stored. Without
    a `title` the figure says which formats hold the number.
    """
    numbers = np.atleast_1d(numbers).tolist()
    rows = [(number, name) for number in numbers for name in names]
    most = {
        field: max(formats.facts(name)[f"{field}_bits"] for name in names)
        for field in ("exponent", "fraction")
    }
    few = len(rows) < 5
    words = []
    begin = -2 - most["exponent"]
    left = begin - 6
    right = most["fraction"] + (8 if few else 12)
    height = 0.7 + (0.5 if few else 0.33) * len(rows)
    figure, ax = canvas(min(8.0, 0.2 * (right - left)), height)
    for y, (number, name) in enumerate(rows):
        stored = formats.encode(number, name)
        leading = {"normal": "1", "infinity": " ", "nan": " "}.get(stored.kind, "0")
        fields = (stored.sign, stored.exponent, leading, stored.fraction)
        x = -2.0 - len(stored.exponent + stored.sign)
        for field, bits in zip(FIELDS, fields, strict=True):
            x += 0.5 * (field in ("implicit", "fraction"))
            for bit in bits:
                _bit(ax, x, y, bit, field)
                x += 1
        label = name if len(rows) == len(names) else f"{number:.4g}"
        value = _exactly(stored.value) if few else f"{stored.value:.4g} {stored.kind}"
        ax.text(begin - 1.4, y, label, ha="right", va="center")
        ax.text(x + 0.4, y, value, va="center")
        words.append(f"{label}: {stored.bits}, {value}")
    middles = (begin - 0.5, -2 - most["exponent"] / 2, -1, most["fraction"] / 2)
    for field, x in zip(FIELDS, middles, strict=True):
        ax.text(x, -0.55, field, ha="center", va="bottom", fontsize=9)
    title = title or _held(numbers[0], names)
    ax.set(xlim=(left, right), ylim=(len(rows) - 0.5, -1.1), title=title)
    ax.set_axis_off()
    return described(figure, f"Sign, exponent, fraction and value. {'; '.join(words)}")


def _bit(ax, x, y, bit, field):
    """A box with a bit: full where it is a 1, dashed where it is not stored."""
    hue, on_hue = FIELDS[field]
    stored = field != "implicit"
    full = stored and bit == "1"
    color = hue if full or not stored else to_rgba(hue, 0.15)
    look = {"fc": color, "ec": INK, "ls": "-" if stored else "--", "lw": 1}
    ax.add_patch(Rectangle((x, y - 0.4), 1, 0.8, **look))
    behind = {"fc": hue, "lw": 0, "pad": 1} if full else None
    style = {"ha": "center", "va": "center", "fontsize": 9}
    ax.text(x + 0.5, y, bit, color=on_hue if full else INK, bbox=behind, **style)


def _exactly(value: float) -> str:
    """A value in up to twelve digits, after ≈ where it has more."""
    digits = f"{value:.12g}"
    return digits if float(digits) == value or value != value else f"≈ {digits}"


def _held(number, names) -> str:
    """Which of the formats hold a number exactly."""
    value = numerals.exact(number)
    exact = [name for name in names if formats.encode(number, name).value == value]
    if not exact:
        return f"{number} is rounded in {listed(names)}"
    return f"{number} is exact in {listed(exact)}"


def number_line(exponent_bits: int, fraction_bits: int) -> Picture:
    """All numbers from 0 up of a small float, to scale; below, those near zero
    enlarged.

    Its bias and the codes set aside are those of IEEE 754.
    """
    steps = 2**fraction_bits
    first = 2 - 2 ** (exponent_bits - 1)  # least normal exponent
    lows = [0.0, *(2.0**e for e in range(first, -first + 2))]
    gaps = [2.0**first / steps, *(low / steps for low in lows[1:])]
    end = 2 * lows[-1]
    near = 4 * lows[1]
    figure, ax = canvas(width=8.0, height=3.0)
    for y, stretch in ((1.6, 1.0), (0.0, end / near)):
        for row, (low, gap) in enumerate(zip(lows, gaps, strict=True)):
            high = (low + gap * steps) * stretch
            if high > end:
                break
            shade = (INK, "#8a8a8a")[row % 2]  # another one for each power of two
            values = (low + gap * np.arange(steps)) * stretch
            ax.vlines(values, y, y + 0.6, color=shade, linewidth=2)
            width = high - low * stretch
            if width > end / 20:
                label = f"gap {gap:g}" + ("\nsubnormal" if row == 0 else "")
                ax.text(high - width / 2, y + 0.66, label, ha="center", fontsize=9)
            if width > end / 40:
                ax.text(high, y - 0.05, f"{high / stretch:g}", ha="center", va="top")
        ax.text(0, y - 0.05, "0", ha="center", va="top")
    ax.fill([0, near, end, 0], [1.3, 1.3, 0.95, 0.95], color=INK, alpha=0.1, lw=0)
    ax.text(end, 1.75, "∞", ha="center", fontsize=16)
    largest = lows[-1] * (2 - 1 / steps)
    bits = f"{exponent_bits} exponent bits, {fraction_bits} fraction bits"
    title = f"{bits}: the gap doubles, but not near 0"
    ax.set(xlim=(-end / 40, end * 1.02), ylim=(-0.35, 2.75), title=title)
    ax.set_axis_off()
    each = ", ".join(
        f"{gap:g} from {low:g}" for low, gap in zip(lows, gaps, strict=True)
    )
    return described(figure, f"Numbers from 0 to {largest:g}; the gap is {each}")


TENSORS = ("#56B4E9", "#E69F00", "#8a8a8a", INK)
WINDOW = 5  # exponent bits: the split whose range is shaded is float16
VIEW = (-70, 20)  # powers of two


def spacing(names, tensors) -> Picture:
    """The gap to the next number, relative to the number, and where tensors lie; around
    the window of float16, whose normal and subnormal numbers are shaded.

    `names`: formats, one line each, at powers of two. `tensors`: names to
    `splits.survey`; their values by size stand below, each row as high as its fullest
    octave, a stroke where they end, and the share of the nonzero ones that become 0.
    """
    low, high = VIEW
    count = len(tensors)
    grid = {"height_ratios": [2.6, *[0.5] * count], "hspace": 0}
    figure, axes = panels(
        1, 8.0, 2.9 + 0.55 * count, 1 + count, sharex=True, gridspec_kw=grid
    )
    top = axes[0]
    end = splits.limits(WINDOW)
    bands = {
        "float16:\nsubnormal": (end["zero_octave"] + 1, end["normal_octave"], 0.10),
        "float16: normal": (end["normal_octave"], end["top_octave"] + 1, 0.22),
    }
    for label, (left, right, alpha) in bands.items():
        for ax in axes:
            ax.axvspan(left, right, color=COLORS["float16"], alpha=alpha, linewidth=0)
        top.text((left + right) / 2, 1.6, label, ha="center", fontsize=9)
    words = []
    ticks = {0: "1"}
    for name in names:
        facts = formats.facts(name)
        first, best, last = (
            math.floor(math.log2(facts[key]))
            for key in ("smallest_subnormal", "epsilon", "largest")
        )
        powers = np.arange(max(low, first), min(high, last) + 1)
        relative = np.maximum(best, first - powers)
        look = line_look(name) | {"marker": ""}
        top.plot(powers, relative, label=name, linewidth=2.6, **look)
        top.text(powers[relative == best][0] + 1, best + 0.7, name)
        ticks[best] = power(f"2^{best}")
        words.append(f"{name} from 2^{first} to 2^{last}, at best 2^{best}")
    zero = {}
    rows = zip(axes[1:], tensors.items(), itertools.cycle(TENSORS), strict=False)
    for ax, (name, survey), color in rows:
        counts = np.array(survey["counts"])
        edges = survey["first"] + np.arange(len(counts) + 1)
        ax.stairs(counts / counts.max(), edges, fill=True, color=color)
        ax.vlines(edges[-1], 0, 0.5, color=INK, linewidth=1.5)  # the largest numbers
        lost = survey["kept"][0][splits.EXPONENT_BITS.index(WINDOW)][1] / counts.sum()
        zero[name] = f"{100 * lost:.0f} %"
        label = f"{name}: {zero[name]} become 0" if lost >= 0.005 else name
        ax.text(low + 1, 0.55, label, fontsize=9)
        ax.set(yticks=[], ylim=(0, 1.15))
        words.append(f"of {name} {zero[name]} become 0 in float16")
    worst = max(zero, key=lambda name: float(zero[name][:-1]))
    top.set_title(f"Too small for float16: {zero[worst]} of {worst}")
    top.set_yticks(list(ticks), list(ticks.values()))
    top.set(ylim=(min(ticks) - 1.5, 5.7), xlim=VIEW)
    top.set_ylabel("gap / number,\nat powers of two")
    tens = range(low, high + 1, 10)
    axes[-1].set_xticks(tens, [power(f"2^{ten}") for ten in tens])
    axes[-1].set_xlabel("size of the number")
    return Picture(figure, "relative gap against size: " + "; ".join(words) + ".")
