"""Number formats: which numbers exist, how far apart they are, and what gets lost."""

import math

import numpy as np

from course_utils import formats
from course_utils.figures.base import INK, Drawing, Picture, canvas, legend
from course_utils.figures.looks import COLORS, LINES, line_look


def binades() -> Drawing:
    """One row per power of two: the numbers that float32, bfloat16, float16 have in its first 16th.

    A stroke is a number, a full bar more of them than can be told apart.
    """
    return Drawing.stored("binades")


SPACING = {name: (COLORS[name], line) for name, line in LINES.items()} | {
    "float8_e4m3fn": ("#CC79A7", "-"),
    "float8_e5m2": ("#CC79A7", "--"),
    "float4_e2m1fn": (INK, "-."),
}


def spacing(names=tuple(SPACING)) -> Picture:
    """The gap to the next number, relative to the number, over all magnitudes; both axes log.

    `names`: formats, one line each, from the smallest subnormal to the largest number.
    """
    figure, ax = canvas(width=8.0, height=4.2)
    words = []
    for name in names:
        facts, (color, line) = formats.facts(name), SPACING[name]
        first = round(math.log2(facts["smallest_subnormal"]))
        last = math.floor(math.log2(facts["largest"]))
        powers = np.arange(first, last + 1)
        relative = np.maximum(facts["epsilon"], 2.0 ** (first - powers))
        width = 3.2 if line == ":" else 2.2
        ax.plot(2.0**powers, relative, color=color, linestyle=line, label=name, linewidth=width)
        words.append(
            f"{name} from {facts['smallest_subnormal']:.2g} to {facts['largest']:.3g}, at best "
            f"{facts['epsilon']:.2g}"
        )
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    ax.set_xticks([2.0**k for k in range(-150, 151, 25)])
    ax.set(xlabel="size of the number (powers of two)", ylabel="gap / number, at powers of two")
    ax.set_title("More exponent bits: longer. More fraction bits: finer.")
    legend(ax, fontsize=8, ncols=2)
    text = "relative gap against size; flat over the normal numbers, rising to 1 on the left. "
    return Picture(figure, text + "; ".join(words) + ".")


def rounding_errors(values, errors, unit) -> Picture:
    """Signed errors of ways to round {name: rounded minus exact} at `values`, all of shape (n,).

    They are shown in units of `unit`, the format's gap there.
    """
    figure, ax = canvas(width=7.0, height=3.0)
    words, styles = [], (("-", "#56B4E9"), ("--", "#E69F00"))
    for (name, error), (line, color) in zip(errors.items(), styles, strict=True):
        share = np.asarray(error) / unit
        ax.plot(values, share, line, color=color, label=name, linewidth=2)
        words.append(f"{name} from {share.min():.2f} to {share.max():.2f} gaps")
    ax.axhline(0, color=INK, linewidth=0.8)
    title = "Rounding errs to both sides, dropping bits to one"
    ax.set(xlabel="number", ylabel="error (gaps)", ylim=(-1.45, 0.7), title=title)
    legend(ax, loc="lower center", ncols=2)
    return Picture(figure, "the error zigzags: " + ", ".join(words) + ".")


def lost_updates(shares) -> Picture:
    """How many weights ignore an update: {format: {weight / update: share from 0 to 1}}."""
    figure, ax = canvas(width=7.0, height=3.2)
    words = []
    for name, by_ratio in shares.items():
        ratios, share = list(by_ratio), list(by_ratio.values())
        ax.plot(ratios, share, label=name, **line_look(name))
        told = ", ".join(f"{s:.1%} at {r}" for r, s in by_ratio.items() if 0 < s)
        words.append(f"{name}: {told or 'none'}")
    ax.set_xscale("log", base=2)
    ax.set(xlabel="weight / update", ylabel="share of weights unchanged", ylim=(-0.05, 1.05))
    ax.set_title("Updates do not vanish at one ratio: they fade out")
    legend(ax)
    return Picture(figure, "share of the weights from 1 to 2 unchanged. " + "; ".join(words) + ".")


def long_sum(sums, guess=None) -> Picture:
    """Running sums of ones {format: sums after each addition, (n,)}, and the guess in float16."""
    figure, ax = canvas(width=7.0, height=3.2)
    words = []
    for name, running in sums.items():
        count, every = np.arange(1, len(running) + 1), max(1, len(running) // 8)
        ax.plot(count, running, label=name, linewidth=2, markevery=every, **line_look(name))
        words.append(f"{name} ends at {float(running[-1]):,.0f}")
    if guess is not None:
        ax.scatter([len(running)], [guess], marker="D", color=INK, zorder=3, label="your guess")
        words.append(f"you guessed {guess:,.0f}")
    ax.set(
        xlabel="additions of 1", ylabel="sum", title="A 16-bit sum stops where one is half a gap"
    )
    legend(ax)
    return Picture(figure, "sums against additions: " + ", ".join(words) + ".")
