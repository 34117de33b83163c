"""Training on many devices: what each replica does in a step, and how a step's time grows."""

import numpy as np
from matplotlib.ticker import NullFormatter

from course_utils.figures.base import INK, Picture, canvas, legend

TAKEN, SKIPPED, LOST = "#0072B2", "#E69F00", "#D55E00"
LOOKS = ("#0072B2", "o", "-"), ("#D55E00", "s", "--"), ("#009E73", "^", ":"), ("#CC79A7", "D", "-.")


def replica_timelines(runs: dict, title: str) -> Picture:
    """A panel for each run, in it a lane for each replica: what became of every step.

    A filled dot is a step that was taken, a ring one that was skipped, a cross one after which
    the weights are not finite. A star above it: this replica's gradient overflowed in that step.
    The loss scale after each step stands below, as a power of two.

    Args:
        runs: name to a list of dicts, one for each replica and step, with "step", "replica",
            "overflow", "taken", "finite" (the weights after the step) and "scale" (after it).
        title: what is shown.

    Raises:
        ValueError: a run without steps.

    Example:
        >>> row = {"step": 0, "replica": 0, "overflow": True, "taken": False, "finite": True}
        >>> replica_timelines({"mine": [{**row, "scale": 4.0}]}, "One step").alt
        'mine: replica 0 overflows in step 0, is skipped; in the end the weights are finite.'
    """
    for name, rows in runs.items():
        if not rows:
            raise ValueError(f"The run {name!r} has no steps: give at least one.")
    lanes = max(row["replica"] for rows in runs.values() for row in rows) + 1
    figure, axes = canvas(
        len(runs), width=8.0, height=1.5 + 0.55 * lanes, squeeze=False, sharey=True
    )
    for ax, (name, rows) in zip(axes[0], runs.items(), strict=True):
        _lanes(ax, rows, lanes)
        ax.set_title(name, color=INK, fontsize=10)
    axes[0][0].set_yticks(range(lanes), [f"replica {i}" for i in range(lanes)], color=INK)
    figure.suptitle(title, color=INK, fontsize=11)
    handles = _signs(axes[0][0])
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False,
                  labelcolor=INK, fontsize=8)  # fmt: skip
    return Picture(figure, " ".join(_told(name, rows) for name, rows in runs.items()))


def _lanes(ax, rows, lanes):
    steps = sorted({row["step"] for row in rows})
    for lane in range(lanes):
        ax.axhline(lane, color=INK, linewidth=0.8, alpha=0.5, zorder=0)
    for row in rows:
        at = row["step"], row["replica"]
        if not row["finite"]:
            ax.plot(*at, "X", color=LOST, markersize=9)
        elif row["taken"]:
            ax.plot(*at, "o", color=TAKEN, markersize=8)
        else:
            style = {"markerfacecolor": "none", "markeredgewidth": 2, "markersize": 8}
            ax.plot(*at, "o", color=SKIPPED, **style)
        if row["overflow"]:
            ax.plot(at[0], at[1] - 0.32, "*", color=INK, markersize=9)
    scales = {row["step"]: row["scale"] for row in rows if row["replica"] == 0}
    for step, scale in scales.items():
        ax.text(step, lanes - 0.42, _power(scale), ha="center", va="center", color=INK, fontsize=8)
    ax.set(xlim=(steps[0] - 0.6, steps[-1] + 0.6), ylim=(lanes - 0.2, -0.6), xticks=steps)
    ax.set_xlabel("step; above it the loss scale after it")


def _signs(ax):
    """Empty lines that stand in the legend."""
    ring = {"markerfacecolor": "none", "markeredgewidth": 2}
    kinds = (("o", TAKEN, "taken", {}), ("o", SKIPPED, "skipped", ring),
             ("X", LOST, "weights not finite", {}),
             ("*", INK, "gradient overflows here", {}))  # fmt: skip
    return [
        ax.plot([], [], marker, color=color, label=label, linestyle="", **style)[0]
        for marker, color, label, style in kinds
    ]


def _power(scale):
    fraction, exponent = np.frexp(scale)
    return f"$2^{{{exponent - 1}}}$" if fraction == 0.5 else f"{scale:g}"


def _told(name, rows):
    parts = []
    for row in rows:
        if row["overflow"]:
            then = "takes the step" if row["taken"] else "is skipped"
            parts.append(f"replica {row['replica']} overflows in step {row['step']}, {then}")
    last = max(row["step"] for row in rows)
    lost = sorted(row["replica"] for row in rows if row["step"] == last and not row["finite"])
    end = "the weights are finite"
    if lost:
        end = f"the weights of replica {' and '.join(map(str, lost))} are not finite"
    return f"{name}: {', '.join(parts) or 'nothing overflows'}; in the end {end}."


def efficiency(devices, shares: dict, title: str) -> Picture:
    """Lines: which share of N times one device's speed N devices reach, for several links.

    Args:
        devices: numbers of devices, rising.
        shares: label of a link to one share, 0 to 1, for each number of devices; up to four.
        title: what is shown.

    Raises:
        ValueError: more links than looks.

    Example:
        >>> efficiency([1, 2, 4], {"fast": [1, 0.9, 0.8]}, "Shares").alt
        'fast: 90 % at 2, 80 % at 4 devices.'
    """
    if len(shares) > len(LOOKS):
        raise ValueError(f"{len(shares)} links are too many: give up to {len(LOOKS)}.")
    figure, ax = canvas(height=3.2)
    for (label, values), (color, marker, line) in zip(shares.items(), LOOKS, strict=False):
        ax.plot(devices, 100 * np.array(values), marker=marker, color=color, linestyle=line,
                label=label, markersize=5)  # fmt: skip
    ax.set_xscale("log", base=2)
    ax.set_xticks(devices, [f"{n:,}" for n in devices])
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set(xlabel="devices", ylabel="% of N times one device's speed", ylim=(0, 105), title=title)
    ax.title.set_color(INK)
    legend(ax, fontsize=8)
    chosen = sorted({1, len(devices) - 1} & set(range(len(devices))))
    words = [
        f"{label}: " + ", ".join(f"{values[i]:.0%} at {devices[i]:,}".replace("%", " %")
                                 for i in chosen) + " devices."
        for label, values in shares.items()
    ]  # fmt: skip
    return Picture(figure, " ".join(words))
