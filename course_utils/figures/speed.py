"""How fast: step times, arithmetic rates, throughput, and what others published."""

from collections.abc import Sequence

import numpy as np

from course_utils.figures.base import (
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
    beside the guess, accuracy.

    `result`: a `benchmark.Comparison`, where NaN is called unknown; `guess`: the
    predicted share of float32's peak, or None.
    """
    table = result.table
    figure, axes = panels(3, height=3.4)
    time, memory, right = axes
    title = f"One model, three policies: batch {result.batch_size} on {result.device}"
    figure.suptitle(title, color=INK)
    baseline = table["step_ms"].get("float32", np.nan)
    ends = baseline / table[["speedup_high", "speedup_low"]]
    ends[table.index == "float32"] = np.nan  # which has no ratio to itself
    spread = ends.sub(table["step_ms"], axis=0).abs().T
    _bars(time, table["step_ms"], spread)
    _bars(memory, table["peak_mb"])
    _dots(right, 100 * table["accuracy"], 200 * table["accuracy_se"])
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
    right.set_title(f"Accuracy (%, ±2 std. errors), {steps} steps", fontsize=9)
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
            else f", {100 * row['accuracy']:.1f} % right"
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


def batch_sweep(sweep) -> Picture:
    """Samples per second over the batch size, from `benchmark.batch_sweep`."""
    figure, ax = canvas()
    ax.set(
        title="Images per second as the batch grows",
        xlabel="batch size",
        ylabel="images/s",
    )
    words = []
    for policy, rows in sweep.groupby("policy", sort=False):
        ax.plot(
            rows["batch_size"], rows["samples_per_s"], label=policy, **line_look(policy)
        )
        last = rows.iloc[-1]
        words.append(
            f"{policy} {last['samples_per_s']:,.0f} images/s at batch {last['batch_size']}"
        )
    ax.set_ylim(0, None)
    if words:
        legend(ax)
    return Picture(figure, f"{'; '.join(words) or 'No batch size was measured'}.")


def published(rows, own: Sequence[tuple] = ()) -> Picture:
    """Published training speedups, a dot for each row, and one's own beside them.

    A dot is filled where the batch size was the same on both sides. `rows`: the "rows"
    of data/published.json; `own`: (label, policy, list of speedups) for each line of
    measurements to add.
    """
    families = sorted({_family(row) for row in rows})
    labels = [*families, *(label for label, _, _ in own)]
    figure, ax = canvas(width=8.0, height=1.4 + 0.42 * len(labels))
    words = []
    for height, family in enumerate(families):
        mine = sorted(
            (row for row in rows if _family(row) == family), key=lambda r: r["speedup"]
        )
        for i, row in enumerate(mine):
            fill = COLORS["tf32"] if row["same_batch"] else "none"
            # side by side where dots would cover each other
            y = height + 0.12 * (i % 3 - 1)
            ax.scatter(row["speedup"], y, s=36, color=fill, edgecolor=COLORS["tf32"])
        words.append(
            f"{family} {mine[0]['speedup']:.2f} to {mine[-1]['speedup']:.2f} times"
        )
    for height, (label, policy, speedups) in enumerate(own, start=len(families)):
        look = line_look(policy)
        style = {"color": look["color"], "marker": look["marker"], "s": 50}
        ax.scatter(speedups, [height] * len(speedups), **style)
        words.append(f"{label} {' and '.join(f'{s:.2f}' for s in speedups)} times")
    ax.axvline(1, color=INK, linewidth=1)
    ax.set_yticks(range(len(labels)), labels, fontsize=9)
    ax.invert_yaxis()
    ax.set(xlabel="speed in mixed precision against the baseline (×)", xlim=(0, None))
    ax.set_title("Circles: published, filled if both had the same batch size")
    return Picture(figure, "; ".join(" ".join(w.split()) for w in words) + ".")


def _family(row):
    """The device and baseline of a published row, such as "1 × V100, float32 → mixed"."""
    count = 8 if "8 GPUs" in row["device"] else 1
    return f"{count} × {row['device'].split()[0]}, {row['baseline']} → mixed"


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
            ax.text(i + 0.06, value, f" {value:.1f}", **said)
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
