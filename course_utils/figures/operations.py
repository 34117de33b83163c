"""Single operations: their time in each dtype and with casts, and the error of long
sums.
"""

import numpy as np

from course_utils.benchmark.ratios import paired
from course_utils.figures.base import Picture, canvas, legend, legend_below, panels
from course_utils.figures.looks import COLORS, HATCHES, bar_look, line_look
from course_utils.figures.series import around_one, speeds, stack
from course_utils.figures.words import described

CAST_PARTS = {
    "to float32": ("cast to float32", "#E69F00", "//"),
    "compute": ("compute in float32", COLORS["float32"], ""),
    "back": ("cast back", "#F0E442", "xx"),
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
    ratios = {}
    verdicts = []
    for number, dtype in enumerate(others):
        at = np.arange(len(names)) + (number - (len(others) - 1) / 2) * height
        own = [paired(times[name, dtype], times[name, "float32"]) for name in names]
        speeds(ax, at, own, height, label=dtype, **bar_look(dtype))
        ratios[dtype] = own
        for name, ratio in zip(names, own, strict=True):
            verdict = ratio.verdict(f"{dtype} is faster", "float32 is faster")
            verdicts.append(f"{name} in {dtype}: {verdict}")
    ax.set_yticks(range(len(names)), names)
    around_one(ax, list(ratios.values()))
    counts = [
        f"{dtype} {sum(ratio.low > 1 for ratio in own)} of {len(names)}"
        for dtype, own in ratios.items()
    ]
    ax.set_title(f"Operations faster than in float32: {', '.join(counts)}", pad=22)
    ax.set_xlabel("speed against float32, with the interval; logarithmic")
    legend_below(figure, len(others))
    return described(figure, "; ".join(verdicts))


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
    parts = {label: (*look, times[part]) for part, (label, *look) in CAST_PARTS.items()}
    stack(ax, at - 0.2, direct, 0.36, sideways=True)
    stack(ax, at + 0.2, parts, 0.36, sideways=True)
    ax.set_yticks(at, times.index)
    ax.invert_yaxis()
    ax.set(xlabel="ms", title="In float16, or by way of float32")
    legend_below(figure, 4)
    return described(figure)


def accumulator_errors(table) -> Picture:
    """Lines: the error of D = A·B + C against the number of products in a sum, for each
    rule.

    `table`: a DataFrame with the columns values (a panel for each), k (products in a
    sum), rule (the words beside the line), accumulator and result (their dtypes), and
    error (relative, in the norm).
    """
    kinds = list(table.groupby("values", sort=False))
    figure, axes = panels(len(kinds), sharey=True)
    for ax, (values, rows) in zip(axes, kinds, strict=True):
        for rule, line in rows.groupby("rule", sort=False):
            look = line_look(line["result"].iloc[0])
            look["color"] = COLORS[line["accumulator"].iloc[0]]
            ax.plot(line["k"], line["error"], label=rule, markersize=5, **look)
        lengths = sorted(set(rows["k"]))
        ax.set(xscale="log", yscale="log", xlabel="K, products in one sum")
        ax.set_xticks(lengths, [f"{k:,}" for k in lengths])
        ax.tick_params(axis="x", labelsize=9, which="minor", bottom=False)
        ax.set_title(values, fontsize=10)
    axes[0].set_ylabel("relative error of D")
    figure.suptitle(
        "The error of a sum, by its length and its accumulator", fontsize=11
    )
    legend(axes[0], fontsize=9)
    return described(figure)
