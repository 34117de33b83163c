"""Single operations: their time in each dtype and with casts, and the error of long
sums.
"""

import numpy as np

from course_utils.benchmark.ratios import paired
from course_utils.figures.base import INK, Picture, canvas, legend, legend_below, panels
from course_utils.figures.looks import (
    COLORS,
    HATCHES,
    LINES,
    MARKERS,
    bar_look,
    stack,
)
from course_utils.figures.speedups import around_one

CAST_PARTS = {
    "to float32": ("#E69F00", "//", "cast to float32"),
    "compute": (COLORS["float32"], "", "compute in float32"),
    "back": ("#F0E442", "xx", "cast back"),
}


def by_dtype(times) -> Picture:
    """Bars: how many times as fast as in float32 each operation is, with the interval.

    `times`: {(operation, dtype): seconds or ms, measured in turns}, as
    `benchmark.timer.timings` gives them, float32 among the dtypes. A bar ends at the
    median of the paired ratios.

    Example: `by_dtype({("add", "float32"): [2, 2.1], ("add", "float16"): [1, 1]})`.
    """
    names = list(dict.fromkeys(name for name, _ in times))
    others = [d for d in dict.fromkeys(d for _, d in times) if d != "float32"]
    figure, ax = canvas(width=7.5, height=1.6 + 0.5 * len(names))
    height = 0.8 / len(others)
    ends, words = [], []
    faster = dict.fromkeys(others, 0)
    for row, name in enumerate(names):
        parts = []
        for number, dtype in enumerate(others):
            ratio = paired(times[name, dtype], times[name, "float32"])
            y = row + (number - (len(others) - 1) / 2) * height
            label = dtype if row == 0 else ""
            ax.barh(y, ratio.median - 1, height, left=1, label=label, **bar_look(dtype))
            ax.plot([ratio.low, ratio.high], [y, y], color=INK, linewidth=2)
            ends += [end for end in ratio if np.isfinite(end)]
            faster[dtype] += ratio.low > 1
            verdict = ratio.verdict(f"{dtype} is faster", "float32 is faster")
            parts.append(f"{dtype} {ratio.median:.2f} times as fast, {verdict}")
        words.append(f"{name}: {', '.join(parts)}")
    ax.set_yticks(range(len(names)), names)
    around_one(ax, ends)
    counts = [f"{dtype} {n} of {len(names)}" for dtype, n in faster.items()]
    ax.set_title(f"Operations faster than in float32: {', '.join(counts)}", pad=22)
    ax.set_xlabel("speed against float32, with the interval; logarithmic")
    legend_below(figure, len(others))
    return Picture(figure, "; ".join(words) + ".")


def casts(times) -> Picture:
    """Bars: an operation in float16 beside casting to float32, computing there, and
    casting back.

    `times`: a DataFrame of ms with a row per operation and the columns "direct", "to
    float32", "compute" and "back".
    """
    figure, ax = canvas(width=8.0, height=1.6 + 0.7 * len(times))
    at = np.arange(len(times))
    look = COLORS["float16"], HATCHES["float16"]
    direct = {"the operation in float16": (*look, times["direct"])}
    parts = {said: (*look, times[part]) for part, (*look, said) in CAST_PARTS.items()}
    stack(ax, at - 0.2, direct, 0.36, sideways=True)
    stack(ax, at + 0.2, parts, 0.36, sideways=True)
    ax.set_yticks(at, times.index)
    ax.invert_yaxis()
    ax.set(xlabel="ms", title="In float16, or by way of float32")
    legend_below(figure, 4)
    words = [
        f"{name}: {_ms(row['direct'])} in float16; cast {_ms(row['to float32'])}, compute "
        f"{_ms(row['compute'])}, cast back {_ms(row['back'])}"
        for name, row in times.iterrows()
    ]
    return Picture(figure, "; ".join(words) + ".")


def accumulator_errors(table) -> Picture:
    """Lines: the error of D = A·B + C against the number of products in a sum, for each
    rule.

    `table`: a DataFrame with the columns values (a panel for each), k (products in a
    sum), rule (the words beside the line), accumulator and result (their dtypes), and
    error (relative, in the norm).
    """
    kinds = list(table.groupby("values", sort=False))
    figure, axes = panels(len(kinds), sharey=True)
    words = []
    for ax, (values, rows) in zip(axes, kinds, strict=True):
        for rule, line in rows.groupby("rule", sort=False):
            accumulator = line["accumulator"].iloc[0]
            result = line["result"].iloc[0]
            color = COLORS[accumulator]
            style = LINES[result]
            look = {"color": color, "linestyle": style, "marker": MARKERS[result]}
            ax.plot(line["k"], line["error"], label=rule, markersize=5, **look)
            ends = f"{line['error'].iloc[0]:.1g} at K = {line['k'].iloc[0]:,}"
            ends += f" to {line['error'].iloc[-1]:.1g} at K = {line['k'].iloc[-1]:,}"
            words.append(f"{values}, {rule}: from {ends}")
        ax.set(xscale="log", yscale="log", xlabel="K, products in one sum")
        ax.set_xticks(
            sorted(set(rows["k"])), [f"{k:,}" for k in sorted(set(rows["k"]))]
        )
        ax.tick_params(axis="x", labelsize=9, which="minor", bottom=False)
        ax.set_title(values, fontsize=10)
    axes[0].set_ylabel("relative error of D")
    figure.suptitle(
        "The error of a sum, by its length and its accumulator", color=INK, fontsize=11
    )
    legend(axes[0], fontsize=9)
    return Picture(figure, "; ".join(words) + ".")


def _ms(ms):
    return f"{two_digits(ms)} ms"


def two_digits(ms) -> str:
    """Two digits and no power of ten: "0.94", "12", "110"."""
    return f"{ms:.0f}" if ms >= 10 else f"{ms:.2g}"
