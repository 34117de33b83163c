"""Where the bytes are."""

import numpy as np

from course_utils.figures.base import INK, Picture, canvas, legend

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
