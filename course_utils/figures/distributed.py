"""Training on many devices: what each replica does in a step, and how a step's time grows."""

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from course_utils.figures.base import (
    INK,
    Drawing,
    Picture,
    canvas,
    legend,
    legend_below,
    listed,
    panels,
)

SCALE = 0.38  # how far above the next lane the loss scales stand
RING = {"markerfacecolor": "none", "markeredgewidth": 2}
SIGNS = {  # of a step: a marker and what the legend calls it
    "taken": {"marker": "o", "color": "#0072B2", "label": "taken"},
    "skipped": {"marker": "o", "color": "#E69F00", "label": "skipped", **RING},
    "lost": {"marker": "X", "color": "#D55E00", "label": "weights not finite"},
    "overflow": {"marker": "*", "color": INK, "label": "gradient overflows here"},
}
# Of links: none looks like a dtype that a model trains in.
LOOKS = (
    (INK, "v", "-"),
    ("#E69F00", "P", "--"),
    ("#56B4E9", "X", (0, (1, 1))),
    ("#CC79A7", "D", "-."),
)


def strategies() -> Drawing:
    """The strategies in one picture: who holds the weights, what is cut, what crosses between."""
    return Drawing.stored("strategies")


def replica_timelines(runs: dict, title: str) -> Picture:
    """A panel for each run, in it a lane for each replica: what became of every step.

    A filled dot is a step that was taken, a ring one that was skipped, a cross one after which the
    weights are not finite. A star above it: this replica's gradient overflowed in that step. The
    loss scale after each step stands below, as a power of two. All panels show the same steps:
    where a replica ends earlier, its lane goes on in dots.

    `runs`: name to a list of dicts, one for each replica and step, with "step", "replica",
    "overflow", "taken", "finite" (the weights after the step) and "scale" (after it). Raises a
    ValueError for a run without steps.

    Example:
        >>> row = {"step": 0, "replica": 0, "overflow": True, "taken": False, "finite": True}
        >>> replica_timelines({"mine": [{**row, "scale": 4.0}]}, "One step").alt
        'mine: replica 0 overflows in step 0, is skipped; in the end the weights are finite.'
    """
    for name, rows in runs.items():
        if not rows:
            raise ValueError(f"The run {name!r} has no steps: give at least one.")
    tables = {name: pd.DataFrame(rows) for name, rows in runs.items()}
    lanes = 1 + max(table["replica"].max() for table in tables.values())
    steps = sorted(set().union(*(table["step"] for table in tables.values())))
    figure, axes = panels(len(runs), height=1.5 + 0.55 * lanes, sharey=True)
    figure.suptitle(title, color=INK, fontsize=11)
    words, signs = [], [Line2D([], [], linestyle="", **sign) for sign in SIGNS.values()]
    for ax, (name, table) in zip(axes, tables.items(), strict=True):
        last = table.groupby("replica")["step"].max()
        ends = [last.get(lane, -1) for lane in range(lanes)]  # -1: it finished none
        _lanes(ax, table, ends, steps)
        ax.set_title(name, fontsize=10)
        words.append(f"{name}: {_told(table, ends, steps[-1])}.")
        if min(ends) < steps[-1] and len(signs) == len(SIGNS):
            dots = {"color": INK, "linewidth": 2, "linestyle": ":"}
            signs.append(Line2D([], [], label="no further step", **dots))
    names = [*(f"replica {i}" for i in range(lanes)), "loss scale\nafter the step"]
    axes[0].set_yticks([*range(lanes), lanes - SCALE], names, color=INK)
    axes[0].get_yticklabels()[-1].set_fontsize(8)
    legend_below(figure, 5, fontsize=8, handles=signs)
    return Picture(figure, " ".join(words))


def _lanes(ax, table, ends, steps):
    lanes, first, last = len(ends), steps[0] - 0.6, steps[-1] + 0.6
    for lane, end in enumerate(ends):
        early = end < steps[-1]
        full = max(first, end + 0.25) if early else last
        ax.hlines(lane, first, full, color=INK, linewidth=0.8, alpha=0.5, zorder=0)
        if early:
            ax.hlines(lane, full, last, color=INK, linewidth=2, linestyle=":", zorder=0)
    became = np.select([~table["finite"], table["taken"]], ["lost", "taken"], "skipped")
    for name, sign in SIGNS.items():
        over = name == "overflow"
        found = table[table["overflow"]] if over else table[became == name]
        size = 8 if sign["marker"] == "o" else 9
        at = found["step"], found["replica"] - 0.32 * over
        ax.plot(*at, linestyle="", markersize=size, **sign)
    for row in table[table["replica"] == 0].itertuples():
        said = _power(row.scale)
        ax.text(row.step, lanes - SCALE, said, ha="center", va="center", color=INK, fontsize=9)
    ax.set(xlim=(first, last), ylim=(lanes - 0.08, -0.6), xticks=steps, xlabel="step")


def _power(scale):
    fraction, exponent = np.frexp(scale)
    return f"$2^{{{exponent - 1}}}$" if fraction == 0.5 else f"{scale:g}"


def _told(table, ends, last):
    told = ", ".join(
        f"replica {row.replica} overflows in step {row.step}, "
        + ("takes the step" if row.taken else "is skipped")
        for row in table[table["overflow"]].itertuples()
    )
    stops = [
        f"replica {lane} ends " + (f"after step {end}" if end >= 0 else "before its first step")
        for lane, end in enumerate(ends)
        if end < last
    ]
    final = table[table["step"] == table["replica"].map(dict(enumerate(ends)))]
    lost = sorted(final["replica"][~final["finite"]])
    end = "in the end the weights are finite"
    if lost:
        whose = f"replica{'s' * (len(lost) > 1)} {listed(list(map(str, lost)))}"
        end = f"in the end the weights of {whose} are not finite"
    return "; ".join([told or "nothing overflows", *stops, end])


def efficiency(devices, shares: dict, title: str) -> Picture:
    """Lines: which share of N times one device's speed N devices reach, for up to four links.

    `shares`: label of a link to one share, 0 to 1, for each of the rising numbers of `devices`.

    Example:
        >>> efficiency([1, 2, 4], {"fast": [1, 0.9, 0.8]}, "Shares").alt
        'fast: 90 % at 2, 80 % at 4 devices.'
    """
    figure, ax = canvas(height=3.2)
    for (label, values), (color, marker, line) in zip(shares.items(), LOOKS, strict=False):
        look = {"marker": marker, "markersize": 5, "color": color, "linestyle": line}
        ax.plot(devices, 100 * np.array(values), label=label, **look)
    ax.set_xscale("log", base=2)
    ax.set_xticks(devices, [f"{n:,}" for n in devices])
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set(xlabel="devices", ylabel="% of N times one device's speed", ylim=(0, 105), title=title)
    legend(ax, fontsize=9)
    chosen = sorted({1, len(devices) // 2, len(devices) - 1} & set(range(len(devices))))
    words = []
    for label, values in shares.items():
        told = ", ".join(f"{100 * values[i]:.0f} % at {devices[i]:,}" for i in chosen)
        words.append(f"{label}: {told} devices.")
    return Picture(figure, " ".join(words))
