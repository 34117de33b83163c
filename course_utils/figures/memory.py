"""Where the bytes are."""

import numpy as np

from course_utils.figures.base import (
    COLORS,
    INK,
    LINES,
    MARKERS,
    Picture,
    canvas,
    dtype_of,
    legend,
)

PARTS = {
    "weights": ("#56B4E9", ""),
    "gradients": ("#E69F00", "xx"),
    "optimizer": ("#999999", ".."),
    "weight_copies": ("#CC79A7", "||"),
    "activations": ("#F0E442", "//"),
}


def memory_accounts(accounts, peaks=None) -> Picture:
    """Stacked bars of what a step keeps, by batch size and policy, with measured peaks over them.

    Args:
        accounts: {(batch_size, policy): `memory.MemoryAccount`}.
        peaks: {(batch_size, policy): measured peak in MB}, or None.
    """
    figure, ax = canvas(width=8.0, height=3.8)
    names = [f"{policy}\nbatch {size}" for size, policy in accounts]
    bottom = np.zeros(len(names))
    for part, (color, hatch) in PARTS.items():
        values = np.array([getattr(account, part) / 1e6 for account in accounts.values()])
        style = {"color": color, "hatch": hatch, "edgecolor": "#333", "linewidth": 0.5}
        ax.bar(names, values, bottom=bottom, label=part.replace("_", " "), **style)
        bottom += values
    known = {
        name: peaks[key]
        for name, key in zip(names, accounts, strict=True)
        if peaks and not np.isnan(peaks.get(key, np.nan))
    }
    if known:
        style = {"marker": "D", "color": INK, "zorder": 3}
        ax.scatter(known.keys(), known.values(), label="measured peak", **style)
    words = []
    for name, counted in zip(names, bottom, strict=True):
        measured = f", measured {known[name]:.0f} MB" if name in known else ""
        words.append(f"{' '.join(name.split())}: counted {counted:.0f} MB{measured}")
    ax.tick_params(axis="x", labelsize=8)
    ax.set(ylabel="MB")
    ax.set_title("What a training step keeps: weights stay, activations shrink", color=INK)
    legend(ax, fontsize=8)
    return Picture(figure, "; ".join(words) + ".")


def largest_batch(peaks, lines: dict, budget: float) -> Picture:
    """Measured peaks by batch size, the line through each policy's, and the budget they cross.

    Args:
        peaks: a DataFrame with policy, batch_size and peak_mb; a row for each measured step.
        lines: {policy: (fixed MB, MB for each sample)}.
        budget: MB.

    Raises:
        ValueError: there is no peak.

    Example:
        figures.memory.largest_batch(peaks, {"float32": (20, 0.3)}, budget=150)
    """
    if not len(peaks):
        raise ValueError("There is no peak to draw: this device's allocator tells of none.")
    figure, ax = canvas(width=7.5, height=3.6)
    words = []
    sizes = peaks["batch_size"]
    for policy, rows in peaks.groupby("policy", sort=False):
        dtype, (fixed, each) = dtype_of(policy), lines[policy]
        dots = {"color": COLORS[dtype], "marker": MARKERS[dtype], "alpha": 0.7, "label": policy}
        ax.scatter(rows["batch_size"], rows["peak_mb"], s=28, **dots)
        ends = np.array([0, sizes.max()])
        ax.plot(ends, fixed + each * ends, color=COLORS[dtype], linestyle=LINES[dtype])
        words.append(f"{policy}: line {fixed:.3g} MB + {each:.2g} MB for each image")
        for size, found in rows.groupby("batch_size")["peak_mb"]:
            words.append(f"batch {size} measured {found.min():.0f} to {found.max():.0f} MB")
    ax.axhline(budget, color=INK, linewidth=1.2)
    ax.annotate(
        f"budget {budget:.0f} MB", (0, budget), (3, 3), textcoords="offset points", color=INK
    )
    ax.set(xlabel="batch size", ylabel="peak of a step, MB")
    ax.set_ylim(0)
    ax.set_title("The largest batch is where the line meets the budget", color=INK)
    legend(ax, fontsize=9, loc="lower right")
    return Picture(figure, "; ".join(words) + f"; the budget is {budget:.0f} MB.")
