"""How fast: step times, arithmetic rates and throughput."""

from typing import Any

import numpy as np

from course_utils.figures.base import INK, Picture, name_all, panels, write
from course_utils.figures.looks import bar_looks, line_look
from course_utils.figures.words import described, or_unknown


def comparison(result: Any, guess: float | None = None) -> Picture:
    """Three panels: step time, with the interval of its ratio to float32's, peak memory
    beside the guess, accuracy with twice the error of its distance to float32's.

    `result`: a `benchmark.Comparison`, whose room lies above this one and cannot be
    imported; NaN is called unknown. `guess`: the predicted share of float32's peak, or
    None.
    """
    table = result.table
    figure, axes = panels(3, height=3.4)
    time, memory, right = axes
    best = {"fastest": table["step_ms"], "least memory": table["peak_mb"]}
    heading = [
        f"{praise}: {values.idxmin()}"
        for praise, values in best.items()
        if values.notna().any()
    ]
    where = f"batch {result.batch_size} on {result.device}"
    figure.suptitle(" · ".join([*heading, where]))
    baseline = table.reindex(["float32"]).iloc[0]
    ends = baseline["step_ms"] / table[["speedup_high", "speedup_low"]]
    ends[table.index == "float32"] = np.nan  # which has no ratio to itself
    spread = ends.sub(table["step_ms"], axis=0).abs().T
    _bars(time, table["step_ms"], spread)
    _bars(memory, table["peak_mb"])
    _dots(right, 100 * table["accuracy"], 200 * table["gap_se"].fillna(0))
    names = [name.replace("mixed_", "mixed_\n") for name in table.index]
    dashes = ""
    if guess is not None:
        dashes = ", dashed: your guess"
        memory.axhline(guess * baseline["peak_mb"], color=INK, linestyle="--")
    steps = table["steps"].max()
    titles = (
        "Step time (ms, 95 % interval)",
        f"Peak memory (MB){dashes}",
        f"Accuracy (%) after {steps} steps\n± 2 errors of the pairs",
    )
    for ax, title in zip(axes, titles, strict=True):
        ax.set_title(title, fontsize=9)
        name_all(ax.xaxis, names)
    return described(figure)


def _dots(ax, values, spread):
    """One dot a policy on a zoomed axis with the spread around it; "unknown" where it
    is NaN.
    """
    for i, (name, value) in enumerate(values.items()):
        look = line_look(name) | {"linestyle": ""}
        ax.errorbar(i, value, spread[name], capsize=4, **look)
        if np.isnan(value):  # in the middle, whatever the axis shows
            write(ax, i, 0.5, "unknown", transform=ax.get_xaxis_transform())
        else:
            write(ax, i + 0.06, value, f" {value:.2f}", ha="left")
    ax.set_xlim(-0.5, len(values) - 0.3)
    ax.margins(y=0.3)


def _bars(ax, values, spread=None):
    """One bar a policy, in its color and hatch, labelled; "unknown" where the value is
    NaN.
    """
    look = bar_looks(values.index)
    bars = ax.bar(values.index, values.fillna(0), yerr=spread, ecolor=INK, **look)
    ax.bar_label(bars, [or_unknown(v, "{:.3g}") for v in values], padding=3)
    ax.margins(y=0.18)
