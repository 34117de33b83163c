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
    labels = [f"{n}   {v:.2f}×" for n, v in zip(names, values, strict=True)]
    ax.set_yticks(range(len(names)), labels)
    ax.axvline(1, color=INK, linewidth=1)
    words = "; ".join(
        f"{n} {v:.2f} times as fast as float32" for n, v in zip(names, values, strict=True)
    )
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
    largest = max([*values, guess or 0, 1])
    ax.set(
        xlabel="speed of a training step against float32 (higher is faster)",
        xlim=(0, largest * 1.2),
    )
    title = f"How fast is a step? Batch {comparison.batch_size} on {comparison.device}"
    figure.suptitle(title, color=INK)
    return Picture(figure, words + ".")


def comparison(result) -> Picture:
    """Three panels of bars: step time with quartiles, peak memory, accuracy.

    Args:
        result: a `benchmark.Comparison`; columns that are all NaN are said to be unknown.
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
    axes[1].set(title="Peak memory (MB)")
    share, error = 100 * table["accuracy"].to_numpy(), 100 * table["accuracy_se"].to_numpy()
    _bars(axes[2], names, share, [f"{v:.1f}" for v in share], np.stack([error, error]))
    axes[2].set(title=f"Accuracy (%) after {table['steps'].max()} steps")
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
    legend(axes[0])
    return Picture(figure, "; ".join(words) + ".")


def published(rows, own: dict[str, float] | None = None) -> Picture:
    """Dots: published training speedups, filled where the batch size was the same on both sides.

    Args:
        rows: the "rows" of data/published.json.
        own: {label: speedup} to show beside them, such as the learner's own.
    """
    own = own or {}
    families = sorted({_family(row) for row in rows})
    figure, ax = canvas(width=8.0, height=1.6 + 0.45 * (len(families) + len(own)))
    words = []
    for height, family in enumerate(families):
        mine = sorted((row for row in rows if _family(row) == family), key=lambda r: r["speedup"])
        for i, row in enumerate(mine):
            fill = COLORS["float16"] if row["same_batch"] else "none"
            y = height + 0.12 * (i % 3 - 1)  # side by side where dots would cover each other
            ax.scatter(row["speedup"], y, s=36, color=fill, edgecolor=COLORS["float16"])
        words.append(f"{family} {mine[0]['speedup']:.2f} to {mine[-1]['speedup']:.2f} times")
    for height, (label, speedup) in enumerate(own.items(), start=len(families)):
        ax.scatter(speedup, height, s=60, marker="D", color=COLORS["bfloat16"])
        words.append(f"{label} {speedup:.2f} times")
    ax.axvline(1, color=INK, linewidth=1)
    ax.set_yticks(range(len(families) + len(own)), [*families, *own], fontsize=8)
    ax.invert_yaxis()
    ax.set(xlabel="speed in mixed precision against the baseline (×)", xlim=(0, None))
    ax.set_title("One dot, one model · filled: same batch size on both sides", color=INK)
    return Picture(figure, "; ".join(words) + ".")


def _family(row):
    """The device and baseline of a published row, such as "V100, float32 → mixed"."""
    return f"{row['device'].split()[0]}, {row['baseline']} → mixed"


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
        ax.set_xticks(
            range(len(names)), [n.replace("mixed_", "mixed_\n") for n in names], fontsize=8
        )
        ax.margins(y=0.18)
