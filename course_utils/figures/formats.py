"""Number formats: which numbers exist, how far apart they are, and what gets lost."""

import math

import numpy as np

from course_utils import formats
from course_utils.figures.base import COLORS, INK, LINES, MARKERS, Picture, canvas, legend

WINDOW = 1 / 16  # the share of each power of two that `binades` looks at
ROWS = (16, 15, 10, 1, 0, -1, -10, -14, -15, -16, -17, -18, -20, -22, -24, -25)


def binades(names=("float32", "bfloat16", "float16"), exponents=ROWS) -> Picture:
    """One row per power of two: the numbers that each format has in the row's first sixteenth.

    Args:
        names: formats of `COLORS`, one panel each.
        exponents: a row for each k, which shows the numbers from 2^k to 2^k · 17/16; 0 is one.
    """
    figure, axes = canvas(len(names), width=8.0, height=5.2, sharey=True, squeeze=False)
    words = []
    for ax, name in zip(axes[0], names, strict=True):
        counts = []
        for row, exponent in enumerate(exponents):
            found = _first_numbers(name, exponent)
            counts.append(len(found))
            if len(found) > 500:
                ax.barh(row, WINDOW, 0.7, left=1, color=COLORS[name])
            else:
                ax.vlines(found, row - 0.35, row + 0.35, color=COLORS[name], linewidth=1.2)
        ax.set(xlim=(1 - 0.003, 1 + WINDOW), ylim=(len(exponents) - 0.4, -0.6))
        ax.set_xticks([1, 1 + WINDOW / 2], ["$2^k$", "$2^k(1+1/32)$"])
        ax.set_title(name, color=INK)
        ends = [k for k, count in zip(exponents, counts, strict=True) if count == 0]
        has = f"the same {counts[exponents.index(0)]:,} numbers in every row"
        if ends:
            full = [k for k, n in zip(exponents, counts, strict=True) if n == max(counts)]
            has = f"{max(counts):,} numbers in the rows from 2^{min(full)} to 2^{max(full)}, fewer"
            has += f" below, none at {' and '.join(f'2^{k}' for k in ends)}"
        words.append(f"{name}: {has}")
    axes[0][0].set_ylabel("number (selected powers of two)")
    axes[0][0].set_yticks(range(len(exponents)), [f"$2^{{{k}}}$" for k in exponents])
    figure.suptitle("The first sixteenth of a power of two: which numbers exist?", color=INK)
    text = "the first sixteenth of selected powers of two, a row each. "
    return Picture(figure, text + "; ".join(words) + ".")


def _first_numbers(name, exponent):
    """The numbers of a format from 2^exponent on, divided by it, within the window."""
    facts = formats.facts(name)
    step = max(facts["epsilon"], facts["smallest_subnormal"] / 2.0**exponent)
    found = np.arange(0, WINDOW, step) + 1 if step <= 1 else np.array([])
    return found[found * 2.0**exponent <= facts["largest"]]


SPACING = {
    "float32": (COLORS["float32"], "-"),
    "tf32": (COLORS["tf32"], "-."),
    "bfloat16": (COLORS["bfloat16"], "--"),
    "float16": (COLORS["float16"], ":"),
    "float8_e4m3fn": ("#CC79A7", "-"),
    "float8_e5m2": ("#CC79A7", "--"),
    "float4_e2m1fn": (INK, "-."),
}


def spacing(names=tuple(SPACING)) -> Picture:
    """The gap to the next number, relative to the number, over all magnitudes; both axes log.

    Args:
        names: formats, one line each, from the smallest subnormal to the largest number.
    """
    figure, ax = canvas(width=8.0, height=4.2)
    words = []
    for name in names:
        facts, (color, line) = formats.facts(name), SPACING[name]
        first = round(math.log2(facts["smallest_subnormal"]))
        last = math.floor(math.log2(facts["largest"]))
        powers = np.arange(first, last + 1)
        relative = np.maximum(powers * 0.0 + facts["epsilon"], 2.0 ** (first - powers))
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
    ax.set_title("More exponent bits: longer. More fraction bits: finer.", color=INK)
    legend(ax, fontsize=8, ncols=2)
    text = "relative gap against size; flat over the normal numbers, rising to 1 on the left. "
    return Picture(figure, text + "; ".join(words) + ".")


def rounding_errors(values, errors, unit) -> Picture:
    """Signed errors of ways to round, in units of the format's gap, over a few gaps.

    Args:
        values: increasing numbers, shape (n,).
        errors: {"what it is called": rounded minus exact, shape (n,)}.
        unit: the gap that the errors are divided by.
    """
    figure, ax = canvas(width=7.0, height=3.0)
    words = []
    styles = zip(("-", "--"), ("#56B4E9", "#E69F00"), strict=True)
    for (name, error), (line, color) in zip(errors.items(), styles, strict=True):
        share = np.asarray(error) / unit
        ax.plot(values, share, line, color=color, label=name, linewidth=2)
        words.append(f"{name} from {share.min():.2f} to {share.max():.2f} gaps")
    ax.axhline(0, color=INK, linewidth=0.8)
    ax.set(xlabel="number", ylabel="error (gaps)", ylim=(-1.45, 0.7))
    ax.set_title("Rounding errs to both sides, dropping bits to one", color=INK)
    legend(ax, loc="lower center", ncols=2)
    return Picture(figure, "the error zigzags: " + ", ".join(words) + ".")


def lost_updates(shares) -> Picture:
    """How many weights ignore an update, by how much smaller it is than the weight.

    Args:
        shares: {format: {ratio: share from 0 to 1}}.
    """
    figure, ax = canvas(width=7.0, height=3.2)
    words = []
    for name, by_ratio in shares.items():
        ratios, share = list(by_ratio), list(by_ratio.values())
        style = {"color": COLORS[name], "linestyle": LINES[name], "marker": MARKERS[name]}
        ax.plot(ratios, share, label=name, **style)
        told = ", ".join(f"{s:.1%} at {r}" for r, s in by_ratio.items() if 0 < s)
        words.append(f"{name}: {told or 'none'}")
    ax.set_xscale("log", base=2)
    ax.set(xlabel="weight / update", ylabel="share of weights unchanged", ylim=(-0.05, 1.05))
    ax.set_title("Updates do not vanish at one ratio: they fade out", color=INK)
    legend(ax)
    return Picture(figure, "share of the weights from 1 to 2 unchanged. " + "; ".join(words) + ".")


def long_sum(sums, guess=None) -> Picture:
    """Running sums of ones in several formats, and what the learner expected at the end.

    Args:
        sums: {format: array of shape (n,), the sum after each addition}.
        guess: the predicted end in float16, or None.
    """
    figure, ax = canvas(width=7.0, height=3.2)
    words = []
    for name, running in sums.items():
        count = np.arange(1, len(running) + 1)
        style = {"color": COLORS[name], "linestyle": LINES[name], "linewidth": 2}
        every = {"marker": MARKERS[name], "markevery": max(1, len(running) // 8)}
        ax.plot(count, running, label=name, **style, **every)
        words.append(f"{name} ends at {float(running[-1]):,.0f}")
    if guess is not None:
        ax.scatter([len(running)], [guess], marker="D", color=INK, zorder=3, label="your guess")
        words.append(f"you guessed {guess:,.0f}")
    ax.set(xlabel="additions of 1", ylabel="sum")
    ax.set_title("A 16-bit sum stops where one is half a gap", color=INK)
    legend(ax)
    return Picture(figure, "sums against additions: " + ", ".join(words) + ".")
