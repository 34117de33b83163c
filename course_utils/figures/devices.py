"""Lanes: what each of several replicas does in each step, and what they send."""

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from course_utils.figures.base import (
    INK,
    Picture,
    legend_below,
    listed,
    name_all,
    panels,
    write,
)
from course_utils.figures.words import number, power

RING = {"markerfacecolor": "none", "markeredgewidth": 2}
SIGNS: dict = {  # of a step: a marker and what the legend calls it
    "taken": {"marker": "o", "color": "#0072B2", "label": "taken"},
    "skipped": {"marker": "o", "color": "#E69F00", "label": "skipped", **RING},
    "lost": {"marker": "X", "color": "#D55E00", "label": "weights not finite"},
    "overflow": {"marker": "*", "color": INK, "label": "gradient overflows here"},
}
EXCHANGE = {"facecolor": "#CC79A7", "edgecolor": INK, "linewidth": 0.7}
INFINITE = EXCHANGE | {"facecolor": SIGNS["lost"]["color"], "hatch": "---"}
# of an all-reduce: where it stands before a step, width, what the legend calls it
SUMS = {
    "flag": (-0.36, 0.05, "all-reduce: one flag", EXCHANGE),
    "gradients": (-0.2, 0.17, "all-reduce: gradients", EXCHANGE | {"hatch": "xx"}),
    "infinity": (-0.2, 0.17, "all-reduce: infinity in it", INFINITE),
}


def lanes(runs: dict, title: str, who: str = "replica") -> Picture:
    """A panel for each run: a lane for each replica, its steps, and every all-reduce
    between them.

    An all-reduce is a bar across all lanes: a thin one adds up flags, a thick one
    gradients, in another color if one of them is infinite. A replica that waits in one
    alone has a bar with a broken edge in its own lane, and words after it. A filled dot
    is a step that was taken, a ring one that was skipped, a cross one after which the
    weights are not finite; a star: this replica's gradient overflowed. The loss scale
    stands above a lane's first step, and wherever it changes.

    `runs`: name to a list of notes of `distributed.drill.steps`, for up to three
    names. A note may have "sums", the all-reduces that the replica took part in. `who`
    has a lane: a "replica", or a "worker". Raises a ValueError for a run without steps.

    Example:
        >>> note = {"step": 0, "replica": 0, "overflow": True, "taken": False, "finite": True}
        >>> lanes({"mine": [{**note, "scale": 4.0}]}, "One step").alt
        'mine: replica 0 overflows in step 0, is skipped; in the end the weights are finite.'
    """
    for name, rows in runs.items():
        if not rows:
            raise ValueError(f"The run {name!r} has no steps: give at least one.")
    tables = {name: pd.DataFrame(rows) for name, rows in runs.items()}
    every = pd.concat(tables.values())
    count = 1 + every["replica"].max()
    steps = sorted(set(every["step"]))
    figure, axes = panels(len(runs), height=1.6 + 0.75 * count, sharey=True)
    figure.suptitle(title, fontsize=11)
    words = []
    kinds = {}
    signs = set()
    for ax, (name, table) in zip(axes, tables.items(), strict=True):
        last = table.groupby("replica")["step"].max()
        ends = [last.get(lane, -1) for lane in range(count)]  # -1: it finished none
        kinds |= _all_reduces(ax, table, ends, steps)
        signs |= _steps(ax, table, ends, steps)
        ax.set_title(name, fontsize=10)
        words.append(f"{name}: {_summary(table, ends, steps[-1], who)}.")
    name_all(axes[0].yaxis, [f"{who} {i}" for i in range(count)], fontsize=10)
    marks = [
        Line2D([], [], linestyle="", **sign)
        for name, sign in SIGNS.items()
        if name in signs
    ]
    bars = [Patch(label=label, **look) for label, look in kinds.items()]
    legend_below(figure, 4, [*marks, *bars])
    return Picture(figure, " ".join(words))


def _common_sums(rows, ends):
    """The all-reduces of a step to which all have come.

    That of the gradients is called "infinity" if one of them is infinite.
    """
    if "sums" not in rows or rows["replica"].nunique() < len(ends):
        return set()
    common = set.intersection(*map(set, rows["sums"]))
    if "gradients" in common and rows["overflow"].any():
        common = common - {"gradients"} | {"infinity"}
    return common


def _all_reduces(ax, table, ends, steps):
    """Draws the bars; {label: look} of those that there are."""
    looks = {}
    for step, rows in table.groupby("step"):
        common = _common_sums(rows, ends)
        for kind, (at, width, label, look) in SUMS.items():
            if kind in common:
                looks[label] = look
                ax.bar(step + at, len(ends) - 0.44, width, -0.28, zorder=1, **look)
    at, width, _, look = SUMS["gradients"]
    alone = look | {"facecolor": "none", "linestyle": "--"}
    for lane, end in enumerate(ends):
        if end < steps[-1]:
            looks["waits in it alone"] = alone
            ax.bar(end + 1 + at, 0.56, width, lane - 0.28, zorder=1, **alone)
    return looks


def _steps(ax, table, ends, steps):
    """Draws the lanes and what became of each step; the signs that there are."""
    first = steps[0] - 0.7
    last = steps[-1] + 0.7
    for lane, end in enumerate(ends):
        full = last
        if end < steps[-1]:
            full = end + 0.6
            write(ax, full + 0.4, lane, "waits for ever", ha="left")
        ax.hlines(lane, first, full, color=INK, linewidth=0.8, alpha=0.5, zorder=0)
        own = table[table["replica"] == lane].sort_values("step")
        for row in own[own["scale"] != own["scale"].shift()].itertuples():
            write(ax, row.step + 0.27, lane + 0.3, power(number(row.scale, 0)))
    became = np.select([~table["finite"], table["taken"]], ["lost", "taken"], "skipped")
    signs = set()
    for name, sign in SIGNS.items():
        if name == "overflow":
            rows = table[table["overflow"]]
            height = rows["replica"] - 0.27  # above the lane
        else:
            rows = table[became == name]
            height = rows["replica"]
        if len(rows):
            signs.add(name)
            at = rows["step"] + 0.12, height
            size = 7 if sign["marker"] == "o" else 8
            ax.plot(*at, linestyle="", markersize=size, **sign)
    ax.set(
        xlim=(first, last), ylim=(len(ends) - 0.4, -0.6), xticks=steps, xlabel="step"
    )
    return signs


def _summary(table, ends, last, who):
    sentence = ", ".join(
        f"{who} {row.replica} overflows in step {row.step}, "
        + ("takes the step" if row.taken else "is skipped")
        for row in table[table["overflow"]].itertuples()
    )
    through = [
        f"infinity goes through the all-reduce of step {step}"
        for step, rows in table.groupby("step")
        if "infinity" in _common_sums(rows, ends)
    ]
    stops = [
        f"{who} {lane} waits in the all-reduce of step {end + 1} for good"
        for lane, end in enumerate(ends)
        if end < last
    ]
    final = table[table["step"] == table["replica"].map(dict(enumerate(ends)))]
    broken = sorted(final["replica"][~final["finite"]])
    end = "in the end the weights are finite"
    if broken:
        whose = listed([f"{who} {lane}" for lane in broken])
        end = f"in the end the weights of {whose} are not finite"
    return "; ".join([sentence or "nothing overflows", *through, *stops, end])
