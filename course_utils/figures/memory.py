"""Where the bytes are."""

import numpy as np

from course_utils.figures.base import INK, Picture, canvas, legend
from course_utils.figures.looks import line_look, stack

PARTS = {
    "weights": ("#56B4E9", ""),
    "gradients": ("#E69F00", "xx"),
    "optimizer": ("#999999", ".."),
    "weight_copies": ("#CC79A7", "||"),
    "activations": ("#F0E442", "//"),
    "activation_gradients": ("#F0E442", "xx"),
}


def memory_accounts(accounts, peaks=None) -> Picture:
    """Stacked bars of what a step needs, by batch size and policy, with measured peaks over them.

    `accounts`: {(batch_size, policy): `roofline.MemoryAccount`}; `peaks`: {the same: MB} or None.
    """
    figure, ax = canvas(width=8.0, height=3.8)
    names = [f"{policy}\nbatch {size}" for size, policy in accounts]
    parts = {}
    for part, look in PARTS.items():
        held = [getattr(account, part) / 1e6 for account in accounts.values()]
        parts[part.replace("_", " ")] = (*look, held)
    counted = stack(ax, names, parts)
    found = [(peaks or {}).get(key, np.nan) for key in accounts]
    known = {name: mb for name, mb in zip(names, found, strict=True) if not np.isnan(mb)}
    if known:
        style = {"marker": "D", "color": INK, "zorder": 3}
        ax.scatter(known.keys(), known.values(), label="measured peak", **style)
    words = []
    for name, mb in zip(names, counted, strict=True):
        measured = f", measured {known[name]:.0f} MB" if name in known else ""
        words.append(f"{' '.join(name.split())}: counted {mb:.0f} MB{measured}")
    ax.tick_params(axis="x", labelsize=8)
    ax.set(ylabel="MB", title="What a training step needs: weights stay, activations shrink")
    legend(ax, fontsize=8)
    return Picture(figure, "; ".join(words) + ".")


def largest_batch(peaks, lines: dict, budget: float) -> Picture:
    """Measured peaks by batch size, the line through each policy's, and the budget they cross.

    `peaks`: a DataFrame with policy, batch_size and peak_mb, a row for each measured step; `lines`:
    {policy: (fixed MB, MB for each sample)}; `budget`: MB.

    Example: `largest_batch(peaks, {"float32": (20, 0.3)}, budget=150)`.
    """
    figure, ax = canvas(width=7.5, height=3.6)
    words, ends = [], np.array([0, peaks["batch_size"].max()])
    for policy, rows in peaks.groupby("policy", sort=False):
        look, (fixed, each) = line_look(policy), lines[policy]
        ax.plot(ends, fixed + each * ends, **{**look, "marker": ""})
        look.pop("linestyle")
        ax.scatter(rows["batch_size"], rows["peak_mb"], s=28, alpha=0.7, label=policy, **look)
        words.append(f"{policy}: line {fixed:.3g} MB + {each:.2g} MB for each image")
        for size, found in rows.groupby("batch_size")["peak_mb"]:
            words.append(f"batch {size} measured {found.min():.0f} to {found.max():.0f} MB")
    ax.axhline(budget, color=INK, linewidth=1.2)
    place = {"xytext": (3, 3), "textcoords": "offset points", "color": INK}
    ax.annotate(f"budget {budget:.0f} MB", (0, budget), **place)
    title = "The largest batch is where the line meets the budget"
    ax.set(xlabel="batch size", ylabel="peak of a step, MB", ylim=(0, None), title=title)
    legend(ax, fontsize=9, loc="lower right")
    return Picture(figure, "; ".join(words) + f"; the budget is {budget:.0f} MB.")
