"""How fast: step times, arithmetic rates, throughput, and what others published."""

import numpy as np

from course_utils.figures.base import (
    COLORS,
    HATCHES,
    INK,
    LINES,
    MARKERS,
    Picture,
    canvas,
    dtype_of,
    legend,
)


def speedups(comparison, guess: float | None = None) -> Picture:
    """Bars: step time against float32 for each policy, beside the learner's guess.

    Args:
        comparison: a `benchmark.Comparison`.
        guess: the speedup the learner predicted for the fastest 16-bit policy, or None.
    """
    table = comparison.table
    figure, ax = canvas(height=2.9)
    names = list(table.index)
    values = table["speedup"].to_numpy()
    _bars(ax, names, values, [""] * len(names), horizontal=True)
    shown = ["unknown" if np.isnan(v) else f"{v:.2f}×" for v in values]
    ax.set_yticks(range(len(names)), [f"{n}   {v}" for n, v in zip(names, shown, strict=True)])
    ax.axvline(1, color=INK, linewidth=1)
    words = "speed against float32: "
    words += "; ".join(f"{n} {v}" for n, v in zip(names, shown, strict=True))
    if guess is not None:
        ax.axvline(guess, color=INK, linestyle="--")
        ax.text(
            guess,
            1.0,
            f"your guess {guess:g}×",
            color=INK,
            ha="center",
            va="bottom",
            transform=ax.get_xaxis_transform(),
        )
        words += f"; you guessed {guess:g}"
    largest = np.nanmax([*values, guess or 0, 1])
    ax.set(
        xlabel="speed of a training step against float32 (higher is faster)",
        xlim=(0, largest * 1.2),
    )
    title = f"How fast is a step? Batch {comparison.batch_size} on {comparison.device}"
    figure.suptitle(title, color=INK)
    return Picture(figure, words + ".")


def comparison(result, guess: float | None = None) -> Picture:
    """Three panels: step time with quartiles, peak memory beside the guess, accuracy.

    Args:
        result: a `benchmark.Comparison`; a value that is NaN is called unknown.
        guess: the share of float32's peak that the learner predicted, or None.
    """
    table = result.table
    names = list(table.index)
    figure, axes = canvas(3, width=8.0, height=3.4)
    title = f"One model, three policies: batch {result.batch_size} on {result.device}"
    figure.suptitle(title, color=INK)
    ms = table["step_ms"].to_numpy()
    spread = np.abs(table[["step_ms_q1", "step_ms_q3"]].to_numpy().T - ms)
    _bars(axes[0], names, ms, [f"{v:.3g}" for v in ms], spread)
    axes[0].set(title="Step time (ms, quartiles)")
    peak = table["peak_mb"].to_numpy()
    _bars(axes[1], names, peak, [f"{v:.3g}" for v in peak])
    told = "" if guess is None else ", dashed: your guess"
    axes[1].set(title=f"Peak memory (MB){told}")
    baseline = table["peak_mb"].get("float32", np.nan)
    if guess is not None and not np.isnan(baseline):
        axes[1].axhline(guess * baseline, color=INK, linestyle="--")
    share, error = 100 * table["accuracy"].to_numpy(), 100 * table["accuracy_se"].to_numpy()
    _dots(axes[2], names, share, 2 * error)
    axes[2].set(title=f"Accuracy (%, ±2 std. errors), {table['steps'].max()} steps")
    for ax in axes:
        ax.title.set_fontsize(9)
    parts = []
    for name, row in table.iterrows():
        memory = "peak unknown" if np.isnan(row["peak_mb"]) else f"peak {row['peak_mb']:.0f} MB"
        right = "" if np.isnan(row["accuracy"]) else f", {100 * row['accuracy']:.1f} % right"
        parts.append(f"{name} takes {row['step_ms']:.3g} ms a step, {memory}{right}")
    return Picture(figure, "; ".join(parts) + ".")


def matmul(rates) -> Picture:
    """Lines: arithmetic rate over matrix size, one line per dtype.

    Args:
        rates: the DataFrame of `sweeps.matmul_rates`.
    """
    figure, ax = canvas()
    words = []
    for dtype, rows in rates.groupby("dtype", sort=False):
        ax.plot(
            rows["size"],
            rows["gflops"],
            label=dtype,
            color=COLORS[dtype],
            marker=MARKERS[dtype],
            linestyle=LINES[dtype],
        )
        ax.fill_between(rows["size"], rows["q1"], rows["q3"], color=COLORS[dtype], alpha=0.2)
        last = rows.iloc[-1]
        words.append(f"{dtype} reaches {last['gflops']:.0f} GFLOP/s at size {last['size']:.0f}")
    ax.set(xscale="log", yscale="log", xlabel="matrix size n", ylabel="GFLOP/s")
    ax.set_xticks(sorted(rates["size"].unique()), [str(n) for n in sorted(rates["size"].unique())])
    ax.minorticks_off()
    ax.set_title("Multiplying two n × n matrices", color=INK)
    legend(ax)
    return Picture(figure, "; ".join(words) + ".")


def batch_sweep(sweep) -> Picture:
    """Two panels over the batch size: samples per second and peak memory, per policy.

    Args:
        sweep: the DataFrame of `sweeps.batch_sweep`.
    """
    figure, axes = canvas(2, width=8.0, height=3.6)
    figure.suptitle("Speed and memory of a step as the batch grows", color=INK)
    words = []
    for policy, rows in sweep.groupby("policy", sort=False):
        dtype = dtype_of(policy)
        style = {"color": COLORS[dtype], "marker": MARKERS[dtype], "linestyle": LINES[dtype]}
        axes[0].plot(rows["batch_size"], rows["samples_per_s"], label=policy, **style)
        axes[1].plot(rows["batch_size"], rows["peak_mb"], label=policy, **style)
        last = rows.iloc[-1]
        peak = "" if np.isnan(last["peak_mb"]) else f" and {last['peak_mb']:.0f} MB"
        rate = f"{last['samples_per_s']:,.0f} images/s"
        words.append(f"{policy} reaches {rate}{peak} at batch {last['batch_size']}")
    for ax, label in zip(axes, ("images per second", "peak memory (MB)"), strict=True):
        ax.set(xscale="log", xlabel="batch size", ylabel=label, ylim=(0, None))
        sizes = sorted(sweep["batch_size"].unique())
        ax.set_xticks(sizes, [str(n) for n in sizes])
        ax.minorticks_off()
    if sweep["peak_mb"].isna().all():
        middle = {"ha": "center", "color": INK, "transform": axes[1].transAxes}
        axes[1].text(0.5, 0.5, "this device's allocator\ndoes not count", **middle)
    legend(axes[0])
    return Picture(figure, "; ".join(words) + ".")


def published(rows, own: list[tuple] = ()) -> Picture:
    """Published training speedups, a dot for each row, and one's own beside them.

    A dot is filled where the batch size was the same on both sides.

    Args:
        rows: the "rows" of data/published.json.
        own: (label, policy, list of speedups) for each line of measurements to add.
    """
    families = sorted({_family(row) for row in rows})
    labels = [*families, *(label for label, _, _ in own)]
    figure, ax = canvas(width=8.0, height=1.4 + 0.42 * len(labels))
    words = []
    for height, family in enumerate(families):
        mine = sorted((row for row in rows if _family(row) == family), key=lambda r: r["speedup"])
        for i, row in enumerate(mine):
            fill = COLORS["tf32"] if row["same_batch"] else "none"
            y = height + 0.12 * (i % 3 - 1)  # side by side where dots would cover each other
            ax.scatter(row["speedup"], y, s=36, color=fill, edgecolor=COLORS["tf32"])
        words.append(f"{family} {mine[0]['speedup']:.2f} to {mine[-1]['speedup']:.2f} times")
    for height, (label, policy, speedups) in enumerate(own, start=len(families)):
        style = {"color": COLORS[dtype_of(policy)], "marker": MARKERS[dtype_of(policy)], "s": 50}
        ax.scatter(speedups, [height] * len(speedups), **style)
        words.append(f"{label} {' and '.join(f'{s:.2f}' for s in speedups)} times")
    ax.axvline(1, color=INK, linewidth=1)
    ax.set_yticks(range(len(labels)), labels, fontsize=8)
    ax.invert_yaxis()
    ax.set(xlabel="speed in mixed precision against the baseline (×)", xlim=(0, None))
    ax.set_title("Circles: published, filled if both had the same batch size", color=INK)
    return Picture(figure, "; ".join(" ".join(w.split()) for w in words) + ".")


def _family(row):
    """The device and baseline of a published row, such as "1 × V100, float32 → mixed"."""
    count = 8 if "8 GPUs" in row["device"] else 1
    return f"{count} × {row['device'].split()[0]}, {row['baseline']} → mixed"


def _dots(ax, names, values, spread):
    """One dot a policy on a zoomed axis with the spread around it; nothing where it is NaN."""
    for i, (name, value, reach) in enumerate(zip(names, values, spread, strict=True)):
        style = {"color": COLORS[dtype_of(name)], "fmt": MARKERS[dtype_of(name)], "capsize": 4}
        ax.errorbar(i, value, yerr=reach, **style)
        label = "unknown" if np.isnan(value) else f" {value:.1f}"
        height = 0.5 if np.isnan(value) else value
        ax.text(i + 0.06, height, label, color=INK, va="center", fontsize=9)
    ax.set_xlim(-0.5, len(names) - 0.3)
    ax.margins(y=0.3)
    _policy_ticks(ax, names)


def _policy_ticks(ax, names):
    ax.set_xticks(range(len(names)), [n.replace("mixed_", "mixed_\n") for n in names], fontsize=8)


def _bars(ax, names, values, labels, spread=None, horizontal=False):
    """One bar a policy, in its color and hatch, labelled; "unknown" where the value is NaN."""
    dtypes = [dtype_of(name) for name in names]
    known = np.nan_to_num(values)
    style = {
        "color": [COLORS[d] for d in dtypes],
        "hatch": [HATCHES[d] for d in dtypes],
        "edgecolor": INK,
        ("xerr" if horizontal else "yerr"): spread,
        "ecolor": INK,
    }
    bars = (ax.barh if horizontal else ax.bar)(names, known, **style)
    shown = ["unknown" if np.isnan(v) else label for v, label in zip(values, labels, strict=True)]
    ax.bar_label(bars, shown, color=INK, padding=3)
    if horizontal:
        ax.invert_yaxis()
    else:
        _policy_ticks(ax, names)
        ax.margins(y=0.18)
