"""How fast: step times, arithmetic rates, throughput, and what others published."""

import numpy as np

from course_utils.figures.base import (
    CARD,
    INK,
    Picture,
    canvas,
    legend,
    listed,
    panels,
)
from course_utils.figures.looks import COLORS, bar_look, line_look


def comparison(result, guess: float | None = None) -> Picture:
    """Three panels: step time, with the interval of its ratio to float32's, peak memory
    beside the guess, accuracy with twice the error of its distance to float32's.

    `result`: a `benchmark.Comparison`, where NaN is called unknown; `guess`: the
    predicted share of float32's peak, or None.
    """
    table = result.table
    figure, axes = panels(3, height=3.4)
    time, memory, right = axes
    fastest = table["step_ms"].idxmin() if table["step_ms"].notna().any() else None
    least = table["peak_mb"].idxmin() if table["peak_mb"].notna().any() else None
    found = [f"fastest: {fastest}"] * bool(fastest)
    found += [f"least memory: {least}"] * bool(least)
    where = f"batch {result.batch_size} on {result.device}"
    figure.suptitle(" · ".join([*found, where]), color=INK)
    baseline = table["step_ms"].get("float32", np.nan)
    ends = baseline / table[["speedup_high", "speedup_low"]]
    ends[table.index == "float32"] = np.nan  # which has no ratio to itself
    spread = ends.sub(table["step_ms"], axis=0).abs().T
    _bars(time, table["step_ms"], spread)
    _bars(memory, table["peak_mb"])
    _dots(right, 100 * table["accuracy"], 200 * table["gap_se"].fillna(0))
    names = [name.replace("mixed_", "mixed_\n") for name in table.index]
    for ax in axes:
        ax.set_xticks(range(len(table)), names, fontsize=9)
    baseline = table["peak_mb"].get("float32", np.nan)
    if guess is not None and not np.isnan(baseline):
        memory.axhline(guess * baseline, color=INK, linestyle="--")
    dashed = "" if guess is None else ", dashed: your guess"
    time.set_title("Step time (ms, 95 % interval)", fontsize=9)
    memory.set_title(f"Peak memory (MB){dashed}", fontsize=9)
    steps = table["steps"].max()
    right.set_title(
        f"Accuracy (%) after {steps} steps\n± 2 errors of the pairs", fontsize=9
    )
    words = []
    for name, row in table.iterrows():
        peak = (
            "peak unknown"
            if np.isnan(row["peak_mb"])
            else f"peak {row['peak_mb']:.0f} MB"
        )
        share = (
            ""
            if np.isnan(row["accuracy"])
            else f", {100 * row['accuracy']:.2f} % right"
        )
        words.append(f"{name} takes {row['step_ms']:.3g} ms a step, {peak}{share}")
    return Picture(figure, "; ".join(words) + ".")


def matmul(rates) -> Picture:
    """Lines: arithmetic rate over matrix size for each dtype, from
    `benchmark.matmul_rates`.
    """
    figure, ax = canvas()
    words = []
    for dtype, rows in rates.groupby("dtype", sort=False):
        ax.plot(rows["size"], rows["gflops"], label=dtype, **line_look(dtype))
        ax.fill_between(
            rows["size"], rows["q1"], rows["q3"], color=COLORS[dtype], alpha=0.2
        )
        last = rows.iloc[-1]
        words.append(
            f"{dtype} reaches {last['gflops']:.0f} GFLOP/s at size {last['size']:.0f}"
        )
    ax.set(xscale="log", ylim=(0, None), xlabel="matrix size n", ylabel="GFLOP/s")
    largest = rates[rates["size"] == rates["size"].max()].set_index("dtype")["gflops"]
    times = [
        f"{dtype} {rate / largest.get('float32', np.nan):.2g}×"
        for dtype, rate in largest.drop("float32", errors="ignore").items()
    ]
    ax.set_title(f"At n = {max(rates['size'])}, against float32: {listed(times)}")
    sizes = sorted(set(rates["size"]))
    ax.set_xticks(sizes, [str(n) for n in sizes])
    ax.minorticks_off()
    legend(ax)
    return Picture(figure, "; ".join(words) + ".")


def published(rows) -> Picture:
    """Published training speedups, a line for each model with the batch that it had.

    A dot is filled where both sides had the same batch. `rows`: those of
    data/published.json that belong side by side, of one device and one baseline.
    """
    models = {}
    for row in sorted(rows, key=lambda row: row["speedup"]):
        models.setdefault(_with_batch(row), []).append(row)
    figure, ax = canvas(width=8.0, height=1.2 + 0.27 * len(models))
    words = []
    for height, (label, own) in enumerate(models.items()):
        factors = [row["speedup"] for row in own]
        ax.plot([1, max(factors)], 2 * [height], color=COLORS["tf32"], linewidth=1)
        for row in own:
            fill = COLORS["tf32"] if row["same_batch"] else CARD
            look = {"s": 36, "color": fill, "edgecolor": COLORS["tf32"], "zorder": 3}
            ax.scatter(row["speedup"], height, **look)
        words.append(f"{label}: {' and '.join(f'{f:.2f}' for f in factors)} times")
    ax.axvline(1, color=INK, linewidth=1)
    ax.set_yticks(range(len(models)), list(models), fontsize=9)
    ax.set(xlabel="speed in mixed precision against the baseline (×)", xlim=(0, None))
    all_of_them = [row["speedup"] for row in rows]
    ax.set_title(
        f"Published by model: {min(all_of_them):.2f}× to {max(all_of_them):.2f}×"
    )
    return Picture(figure, "; ".join(words) + ".")


def _with_batch(row):
    """A model and its batch, such as "BERT, batch 4", or "batch 4 → 8" where it grew."""
    sizes = [row["baseline_batch"], row["mixed_batch"]]
    known = " → ".join(dict.fromkeys(str(size) for size in sizes if size))
    model = row["model"].partition(", batch")[0]
    return f"{model}, batch {known or 'not said'}"


def _dots(ax, values, spread):
    """One dot a policy on a zoomed axis with the spread around it; "unknown" where it
    is NaN.
    """
    for i, (name, value) in enumerate(values.items()):
        look = line_look(name)
        ax.errorbar(
            i, value, spread[name], fmt=look["marker"], color=look["color"], capsize=4
        )
        said = {"color": INK, "va": "center", "fontsize": 9}
        if np.isnan(value):  # in the middle, whatever the axis shows
            ax.text(
                i,
                0.5,
                "unknown",
                ha="center",
                transform=ax.get_xaxis_transform(),
                **said,
            )
        else:
            ax.text(i + 0.06, value, f" {value:.2f}", **said)
    ax.set_xlim(-0.5, len(values) - 0.3)
    ax.margins(y=0.3)


def _bars(ax, values, spread=None):
    """One bar a policy, in its color and hatch, labelled; "unknown" where the value is
    NaN.
    """
    bars = ax.bar(
        values.index, values.fillna(0), yerr=spread, ecolor=INK, **_looks(values.index)
    )
    shown = ["unknown" if np.isnan(v) else f"{v:.3g}" for v in values]
    ax.bar_label(bars, shown, color=INK, padding=3)
    ax.margins(y=0.18)


def _looks(names):
    looks = [bar_look(name) for name in names]
    return {key: [look[key] for look in looks] for key in ("color", "hatch")} | {
        "edgecolor": INK
    }
