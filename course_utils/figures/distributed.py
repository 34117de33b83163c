"""Training on many devices: what each replica does in a step, and how a step's time grows."""

import numpy as np
from matplotlib.ticker import NullFormatter

from course_utils.figures.base import INK, Picture, canvas, legend
from course_utils.figures.strategies import strategies

__all__ = ["efficiency", "replica_timelines", "strategies"]

SCALE = 0.38  # how far above the next lane the loss scales stand
TAKEN, SKIPPED, LOST = "#0072B2", "#E69F00", "#D55E00"
# Of links: none looks like a dtype that a model trains in.
LOOKS = (
    (INK, "v", "-"),
    ("#E69F00", "P", "--"),
    ("#56B4E9", "X", (0, (1, 1))),
    ("#CC79A7", "D", "-."),
)


def replica_timelines(runs: dict, title: str) -> Picture:
    """A panel for each run, in it a lane for each replica: what became of every step.

    A filled dot is a step that was taken, a ring one that was skipped, a cross one after which
    the weights are not finite. A star above it: this replica's gradient overflowed in that step.
    The loss scale after each step stands below, as a power of two. All panels show the same
    steps: where a replica ends earlier, its lane goes on in dots.

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
    every = [row for rows in runs.values() for row in rows]
    lanes = max(row["replica"] for row in every) + 1
    steps = sorted({row["step"] for row in every})
    figure, axes = canvas(
        len(runs), width=8.0, height=1.5 + 0.55 * lanes, squeeze=False, sharey=True
    )
    for ax, (name, rows) in zip(axes[0], runs.items(), strict=True):
        _lanes(ax, rows, lanes, steps)
        ax.set_title(name, color=INK, fontsize=10)
    names = [*(f"replica {i}" for i in range(lanes)), "loss scale\nafter the step"]
    axes[0][0].set_yticks([*range(lanes), lanes - SCALE], names, color=INK)
    axes[0][0].get_yticklabels()[-1].set_fontsize(8)
    figure.suptitle(title, color=INK, fontsize=11)
    ends = any(end < steps[-1] for rows in runs.values() for end in _ends(rows, lanes))
    figure.legend(handles=_signs(axes[0][0], ends), loc="outside lower center", ncols=5,
                  frameon=False, labelcolor=INK, fontsize=8)  # fmt: skip
    words = [_told(name, rows, _ends(rows, lanes), steps[-1]) for name, rows in runs.items()]
    return Picture(figure, " ".join(words))


def _ends(rows, lanes):
    """The last step of each replica; -1 for one that finished none."""
    return [
        max((row["step"] for row in rows if row["replica"] == lane), default=-1)
        for lane in range(lanes)
    ]


def _lanes(ax, rows, lanes, steps):
    first, last = steps[0] - 0.6, steps[-1] + 0.6
    for lane, end in enumerate(_ends(rows, lanes)):
        early = end < steps[-1]
        full = max(first, end + 0.25) if early else last
        ax.hlines(lane, first, full, color=INK, linewidth=0.8, alpha=0.5, zorder=0)
        if early:
            ax.hlines(lane, full, last, color=INK, linewidth=2, linestyle=":", zorder=0)
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
        ax.text(step, lanes - SCALE, _power(scale), ha="center", va="center", color=INK, fontsize=9)
    ax.set(xlim=(first, last), ylim=(lanes - 0.08, -0.6), xticks=steps, xlabel="step")


def _signs(ax, ends):
    """Empty lines that stand in the legend."""
    ring = {"markerfacecolor": "none", "markeredgewidth": 2}
    kinds = (("o", TAKEN, "taken", {}), ("o", SKIPPED, "skipped", ring),
             ("X", LOST, "weights not finite", {}),
             ("*", INK, "gradient overflows here", {}))  # fmt: skip
    signs = [
        ax.plot([], [], marker, color=color, label=label, linestyle="", **style)[0]
        for marker, color, label, style in kinds
    ]
    dots = {"color": INK, "linewidth": 2, "linestyle": ":", "label": "no further step"}
    return [*signs, *(ax.plot([], [], **dots) if ends else [])]


def _power(scale):
    fraction, exponent = np.frexp(scale)
    return f"$2^{{{exponent - 1}}}$" if fraction == 0.5 else f"{scale:g}"


def _told(name, rows, ends, last):
    parts = []
    for row in rows:
        if row["overflow"]:
            then = "takes the step" if row["taken"] else "is skipped"
            parts.append(f"replica {row['replica']} overflows in step {row['step']}, {then}")
    early = [(replica, end) for replica, end in enumerate(ends) if end < last]
    stops = [f"replica {replica} ends {_after(end)}" for replica, end in early]
    lost = sorted(r["replica"] for r in rows if r["step"] == ends[r["replica"]] and not r["finite"])
    end = "in the end the weights are finite"
    if lost:
        whose = "replica" if len(lost) == 1 else "replicas"
        end = f"in the end the weights of {whose} {_and(lost)} are not finite"
    told = [", ".join(parts) or "nothing overflows", *stops, end]
    return f"{name}: {'; '.join(told)}."


def _after(step):
    return f"after step {step}" if step >= 0 else "before its first step"


def _and(numbers):
    *first, last = map(str, numbers)
    return f"{', '.join(first)} and {last}" if first else last


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
    legend(ax, fontsize=9)
    chosen = sorted({1, len(devices) // 2, len(devices) - 1} & set(range(len(devices))))
    words = [
        f"{label}: " + ", ".join(f"{values[i]:.0%} at {devices[i]:,}".replace("%", " %")
                                 for i in chosen) + " devices."
        for label, values in shares.items()
    ]  # fmt: skip
    return Picture(figure, " ".join(words))
