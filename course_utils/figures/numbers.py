"""Number formats: which numbers exist, how far apart they are, and what gets lost."""

import math

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle

from course_utils import formats
from course_utils.figures.base import INK, Picture, canvas, legend, listed
from course_utils.figures.looks import COLORS, LINES, line_look

FIELDS = {  # the colors of the explorers; what is written on a 1
    "sign": ("#D55E00", "black"),
    "exponent": ("#F0E442", "black"),
    "implicit": ("none", INK),
    "fraction": ("#0072B2", "white"),
}


def bit_strips(numbers, names, title=None) -> Picture:
    """The bits of numbers in formats, a strip each, aligned where the fraction begins.

    `numbers`, as `formats.encode` takes them, is one for several formats, or several
    for one. The dashed box is the digit before the point, which is not stored.
    """
    numbers, facts = (
        np.atleast_1d(numbers).tolist(),
        [formats.facts(name) for name in names],
    )
    rows = [(number, name) for number in numbers for name in names]
    most = [
        max(row[f"{field}_bits"] for row in facts) for field in ("exponent", "fraction")
    ]
    few = len(rows) < 5
    words = []
    left = -8 - most[0]
    right = most[1] + (8 if few else 12)
    height = 0.7 + (0.5 if few else 0.33) * len(rows)
    figure, ax = canvas(min(8.0, 0.2 * (right - left)), height)
    for y, (number, name) in enumerate(rows):
        stored = formats.encode(number, name)
        leading = "1" if stored.kind == "normal" else "0"
        x = -2.0 - len(stored.exponent + stored.sign)
        for field, bits in zip(
            FIELDS,
            (stored.sign, stored.exponent, leading, stored.fraction),
            strict=True,
        ):
            hidden, (hue, on_hue) = field == "implicit", FIELDS[field]
            x += 0.5 * (hidden or field == "fraction")
            for bit in bits:
                full = hidden or bit == "1"
                color, ink = (hue, on_hue) if full else (to_rgba(hue, 0.15), INK)
                line = "--" if hidden else "-"
                ax.add_patch(
                    Rectangle((x, y - 0.4), 1, 0.8, fc=color, ec=INK, ls=line, lw=1)
                )
                behind = {"fc": hue, "lw": 0, "pad": 1} if full and not hidden else None
                style = {"ha": "center", "va": "center", "fontsize": 9}
                ax.text(x + 0.5, y, bit, color=ink, bbox=behind, **style)
                x += 1
        label = name if len(rows) == len(names) else f"{number:.4g}"
        told = f"{stored.value:.10g}" if few else f"{stored.value:.4g} {stored.kind}"
        ax.text(-3.4 - most[0], y, label, ha="right", va="center", color=INK)
        ax.text(x + 0.4, y, told, va="center", color=INK)
        words.append(f"{label}: {stored.bits}, {told}")
    middles = (-2.5 - most[0], -2 - most[0] / 2, -1, most[1] / 2)
    for field, x in zip(FIELDS, middles, strict=True):
        ax.text(x, -0.55, field, ha="center", va="bottom", color=INK, fontsize=9)
    title = title or f"{numbers[0]} in {listed(names)}"
    ax.set(xlim=(left, right), ylim=(len(rows) - 0.5, -1.1), title=title)
    ax.set_axis_off()
    return Picture(
        figure, "sign, exponent, fraction and value. " + "; ".join(words) + "."
    )


def number_line(exponent_bits: int, fraction_bits: int) -> Picture:
    """All numbers from 0 up of a small float, to scale; below, those near zero
    enlarged.

    Its bias and the codes set aside are those of IEEE 754.
    """
    # first: least normal exponent
    steps = 2**fraction_bits
    first = 2 - 2 ** (exponent_bits - 1)
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
            color = "#CC79A7" if row == 0 else ("#56B4E9", "#E69F00")[row % 2]
            values = (low + gap * np.arange(steps)) * stretch
            ax.vlines(values, y, y + 0.6, color=color, linewidth=2)
            if high - low * stretch > end / 12:
                told = f"gap {gap:g}" + ("\nsubnormal" if row == 0 else "")
                x = (low * stretch + high) / 2
                ax.text(x, y + 0.66, told, ha="center", color=INK, fontsize=9)
            if high - low * stretch > end / 40:
                ax.text(
                    high,
                    y - 0.05,
                    f"{high / stretch:g}",
                    ha="center",
                    va="top",
                    color=INK,
                )
        ax.text(0, y - 0.05, "0", ha="center", va="top", color=INK)
    ax.plot(
        [0, 0, near, end], [1.3, 0.95, 1.3, 0.95], color=INK, linestyle=":", linewidth=1
    )
    ax.text(end, 1.75, "∞", ha="center", color=INK, fontsize=16)
    largest = lows[-1] * (2 - 1 / steps)
    bits = f"{exponent_bits} exponent bits, {fraction_bits} fraction bits"
    title = f"{bits}: the gap doubles, but not near 0"
    ax.set(xlim=(-end / 40, end * 1.02), ylim=(-0.35, 2.75), title=title)
    ax.set_axis_off()
    told = ", ".join(
        f"{gap:g} from {low:g}" for low, gap in zip(lows, gaps, strict=True)
    )
    return Picture(figure, f"numbers from 0 to {largest:g}; the gap is {told}.")


SPACING = {name: (COLORS[name], line) for name, line in LINES.items()} | {
    "float8_e4m3fn": ("#CC79A7", "-"),
    "float8_e5m2": ("#CC79A7", "--"),
    "float4_e2m1fn": (INK, "-."),
}


TENSORS = ("#56B4E9", "#E69F00", "#CC79A7", INK)  # as BitSplit has them
CENTRAL = 0.98  # this share of a tensor's values lies in its band


def spacing(names=tuple(SPACING), tensors=None) -> Picture:
    """The gap to the next number, relative to the number, over all magnitudes; both
    axes log.

    `names`: formats, one line each, from the smallest subnormal to the largest number.
    `tensors`: names to `splits.survey`, a band each, where 98 % of the values lie that
    are not zero.
    """
    figure, ax = canvas(width=8.0, height=4.8 if tensors else 4.2)
    words = []
    for name in names:
        facts, (color, line) = formats.facts(name), SPACING[name]
        first = round(math.log2(facts["smallest_subnormal"]))
        last = math.floor(math.log2(facts["largest"]))
        powers = np.arange(first, last + 1)
        relative = np.maximum(facts["epsilon"], 2.0 ** (first - powers))
        width = 3.2 if line == ":" else 2.2
        ax.plot(
            2.0**powers,
            relative,
            color=color,
            linestyle=line,
            label=name,
            linewidth=width,
        )
        words.append(
            f"{name} from {facts['smallest_subnormal']:.2g} to {facts['largest']:.3g}, at best "
            f"{facts['epsilon']:.2g}"
        )
    lowest = min(formats.facts(name)["epsilon"] for name in names)
    for row, (name, found) in enumerate((tensors or {}).items()):
        reached = np.cumsum(found["counts"]) / sum(found["counts"])
        ends = np.searchsorted(reached, [(1 - CENTRAL) / 2, (1 + CENTRAL) / 2]) + [0, 1]
        low, high = 2.0 ** (found["first"] + ends)
        y = lowest / 8 / 5**row
        ax.plot(
            [low, high],
            [y, y],
            color=TENSORS[row % 4],
            linewidth=7,
            solid_capstyle="butt",
        )
        ax.text(high * 4, y, name, va="center", color=INK, fontsize=9)
        words.append(f"{name} mostly from {low:.2g} to {high:.2g}")
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    ax.set_xticks([2.0**k for k in range(-150, 151, 25)])
    ax.set_yticks([2.0**k for k in range(-24, 1, 4)])  # the bands below have no height
    ax.set(
        xlabel="size of the number (powers of two)",
        ylabel="gap / number, at powers of two",
    )
    ax.set_title("More exponent bits: longer. More fraction bits: finer.")
    legend(ax, fontsize=9, ncols=2)
    text = "relative gap against size; flat over the normal numbers, rising to 1 on the left. "
    return Picture(figure, text + "; ".join(words) + ".")


def rounding_errors(values, errors, unit) -> Picture:
    """Signed errors of ways to round {name: rounded minus exact} at `values`, all of
    shape (n,).

    They are shown in units of `unit`, the format's gap there. Where the first errs by
    half a gap, on ties, there are dots.
    """
    figure, ax = canvas(width=7.0, height=3.0)
    words, styles = [], (("-", "#56B4E9"), ("--", "#E69F00"))
    for (name, error), (line, color) in zip(errors.items(), styles, strict=True):
        share = np.asarray(error) / unit
        ax.plot(values, share, line, color=color, label=name, linewidth=2)
        words.append(f"{name} from {share.min():.2f} to {share.max():.2f} gaps")
    first = np.asarray(next(iter(errors.values()))) / unit
    tie = abs(first) == 0.5
    ax.plot(np.asarray(values)[tie], first[tie], "o", color=INK, label="ties")
    words.append(
        f"ties at {', '.join(f'{share:+g}' for share in first[tie]) or 'no number'}"
    )
    ax.axhline(0, color=INK, linewidth=0.8)
    title = "The error of each way to round"
    ax.set(xlabel="number", ylabel="error (gaps)", ylim=(-1.45, 0.7), title=title)
    legend(ax, loc="lower center", ncols=3)
    return Picture(figure, "the error zigzags: " + ", ".join(words) + ".")


def lost_updates(shares) -> Picture:
    """How many weights ignore an update: {format: {weight / update: share from 0 to
    1}}.
    """
    figure, ax = canvas(width=7.0, height=3.2)
    words = []
    for name, by_ratio in shares.items():
        ratios = list(by_ratio)
        share = list(by_ratio.values())
        ax.plot(ratios, share, label=name, markevery=2, **line_look(name))
        half = min(ratios, key=lambda ratio: abs(by_ratio[ratio] - 0.5))
        ax.text(half * 1.06, 0.47, f"half at {half:g}", color=INK)
        told = [f"{s:.1%} at {r:g}" for r, s in by_ratio.items() if 0 < s]
        words.append(f"{name}: {' to '.join(told[:1] + told[-1:]) or 'none'}")
    ax.set_xscale("log", base=2)
    powers = sorted({2 ** round(math.log2(ratio)) for ratio in ratios})
    ax.set_xticks(powers, [f"{power:g}" for power in powers])
    ax.set(
        xlabel="weight / update",
        ylabel="share of weights unchanged",
        ylim=(-0.05, 1.05),
    )
    ax.set_title("Weights that an update leaves unchanged")
    legend(ax)
    return Picture(
        figure, "share of the weights from 1 to 2 unchanged. " + "; ".join(words) + "."
    )


def long_sum(sums, guess=None) -> Picture:
    """Running sums of ones {format: sums after each addition, (n,)}, and the guess in
    float16.
    """
    figure, ax = canvas(width=7.0, height=3.2)
    words = []
    for name, running in sums.items():
        count = np.arange(1, len(running) + 1)
        every = max(1, len(running) // 8)
        ax.plot(
            count, running, label=name, linewidth=2, markevery=every, **line_look(name)
        )
        end = f"{float(running[-1]):,.0f}"
        ax.annotate(
            end,
            (count[-1], running[-1]),
            (6, 0),
            textcoords="offset points",
            va="center",
        )
        ax.texts[-1].set_color(INK)
        words.append(f"{name} ends at {end}")
    if guess is not None:
        ax.scatter(
            [len(running)], [guess], marker="D", color=INK, zorder=3, label="your guess"
        )
        words.append(f"you guessed {guess:,.0f}")
    ax.set(xlabel="additions of 1", ylabel="sum", title="Adding 1 again and again")
    legend(ax)
    return Picture(figure, "sums against additions: " + ", ".join(words) + ".")
