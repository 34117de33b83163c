"""What a trace tells: operations, what ran where and when, and its diagnosis."""

import re

import pandas as pd
from matplotlib.patches import Patch

from course_utils.figures.base import (
    INK,
    Picture,
    canvas,
    legend_below,
    listed,
    name_all,
    write,
)
from course_utils.figures.budgets import BUDGET, PLATE
from course_utils.figures.looks import filled
from course_utils.figures.series import lines
from course_utils.figures.words import described
from course_utils.profiling.recordings import PASSES

LABELS = {"other": "other operations"}
PARTS = {
    "input": "waiting for a batch",
    "launch": "no operation runs",
    "compute": "products",
    "memory": "other operations",
}
HEADING = {"ha": "left", "va": "baseline", "fontsize": 10}


def draw_op_times(tables: dict) -> Picture:
    """Dots on a logarithmic axis: the time of each type of operation in one step.

    `tables`: {policy: DataFrame of `profiling.op_times`}, the first of which orders the
    rows and makes the title. After the eight operations with the largest share under
    any policy the others are summed up as "all others". What a policy does not run, or
    for less than 0.1 % of the longest, has no dot.

    Example: `draw_op_times({"float32": before, "mixed_bfloat16": after})`.
    """
    by_type = {
        policy: table.groupby(table["op"].map(_plain), sort=False)["ms"].sum()
        for policy, table in tables.items()
    }
    sums = pd.concat(by_type, axis=1).fillna(0.0)
    longest = (sums / sums.sum()).max(axis=1).nlargest(8).index
    first = next(iter(sums))
    rows = sums.loc[longest].sort_values(first, ascending=False, kind="stable")
    if len(sums) > len(longest):
        rows.loc["all others"] = sums.drop(longest).sum()
    figure, ax = canvas(7.5, 1.6 + 0.36 * len(rows))
    visible = rows.where(rows >= 1e-3 * rows.max(axis=None))
    at = range(len(visible))
    ax.hlines(at, visible.min(axis=1), visible.max(axis=1), color=INK, linewidth=1)
    dots = {policy: (visible[policy], at) for policy in visible}
    lines(ax, dots, linestyle="", markersize=9)
    name_all(ax.yaxis, visible.index, fontsize=10)
    ax.invert_yaxis()
    ax.set(xscale="log", xlabel="ms per step over all threads, logarithmic")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.grid(axis="x", color=INK, alpha=0.15)
    three = sums[first].nlargest(3)
    share = three.sum() / sums[first].sum()
    ax.set_title(f"{listed([*three.index])}\ntake {share:.0%} of what runs in {first}")
    legend_below(figure, 3)
    return described(figure)


def draw_timeline(traces: dict, title: str = "What ran, where and when") -> Picture:
    """Threads over time: a lane for each thread, a bar for each operation, colored by
    its part.

    `traces`: {label: DataFrame of `profiling.spans`}, one below the other on the same
    axis.

    Example: `draw_timeline({"float32": profiling.spans(trace)})`.
    """
    places: dict = {}
    heads = {}
    at = 0.0
    for label, table in traces.items():
        heads[label] = at - 0.05
        at += 0.8  # the label's own place
        for lane in _lanes(table):
            places[label, lane] = at
            at += 1
    low = max(places.values())
    end = max(table["end"].max() for table in traces.values())
    figure, ax = canvas(8.0, 1.3 + 0.36 * low)
    words = []
    parts = set()
    for label, table in traces.items():
        write(ax, 0.006 * end, heads[label], label, weight="bold", **HEADING)
        for (lane, part), runs in table.groupby(["lane", "part"], sort=False):
            at = places[label, lane]
            lengths = runs["end"] - runs["start"]
            name = LABELS.get(part, part)
            words.append(f"{label}, {lane}: {name} {lengths.sum():.3g} ms")
            parts.add(part)
            if part == "pass":  # a line with a tick at each end
                for x in runs[["start", "end"]].to_numpy().repeat(2, axis=1):
                    y = [at + 0.3, at, at, at + 0.3]
                    ax.plot(x, y, color=INK, linewidth=2)
                continue
            look = BUDGET.get(part, filled("none")) | {"linewidth": 0.2}
            size = 0.66
            if part == "step":  # a frame around what Python waits for in it
                look |= {"edgecolor": INK, "linewidth": 1.0}
                size = 0.84
            ax.barh(at, lengths, size, runs["start"], **look)
        for run in table[~table["part"].isin(["step", "pass"])].itertuples():
            name = _plain(run.op)
            if run.end - run.start > 0.0115 * len(name) * end:
                middle = (run.start + run.end) / 2
                write(ax, middle, places[label, run.lane], name, bbox=PLATE)
    ax.set_yticks([*places.values()], [lane for _, lane in places])
    ax.set(xlim=(0, end), ylim=(low + 0.6, -0.6), xlabel="ms", title=title)
    handles = [
        Patch(label=LABELS.get(part, part), **look)
        for part, look in BUDGET.items()
        if part in parts
    ]
    legend_below(figure, 4, handles)
    return Picture(figure, f"{title}. {'; '.join(words)}.")


def draw_limits(diagnoses: dict) -> Picture:
    """What the four parts of each step take, and which limits it: a column for each
    step.

    `diagnoses`: {label: `profiling.Diagnosis`}. Beside the share of the step in 16
    bits stands how many times as fast as in float32 the part runs; the limit has a
    plate.
    """
    parts = [f"{name}: {what}" for name, what in PARTS.items()]
    figure, ax = canvas(8.0, 1.2 + 0.5 * len(parts))
    words = []
    for at, (label, diagnosis) in enumerate(diagnoses.items()):
        for row, (name, share) in enumerate(diagnosis.shares.items()):
            text = f"{share:.0%}"
            if name in diagnosis.gains:
                text += f"\n{diagnosis.gains[name]:.2g}× as fast"
            plate = {"facecolor": "#E69F00", "edgecolor": "#333", "boxstyle": "round"}
            is_limit = name == diagnosis.name
            write(ax, at, row, text, bbox=plate if is_limit else PLATE)
        words.append(f"{label}: {diagnosis.name}. {diagnosis.sentence}")
    name_all(ax.yaxis, parts, fontsize=10)
    name_all(ax.xaxis, list(diagnoses), fontsize=10)
    ax.set(xlim=(-0.5, len(diagnoses) - 0.5), ylim=(len(parts) - 0.5, -0.5))
    ax.xaxis.tick_top()
    ax.set_title("The longest part of each step, in 16 bits, has a plate", pad=12)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return Picture(figure, " ".join(words))


def _lanes(table):
    """The lanes of a trace from the top: the input pipeline, Python, the threads."""
    first = ("input pipeline", "Python", *PASSES)
    lanes = set(table["lane"])
    return [lane for lane in first if lane in lanes] + sorted(lanes.difference(first))


def _plain(op):
    """An operation's type as TensorFlow calls it, without oneDNN's and fusion's
    additions.
    """
    return re.sub(r"^_(Mkl)?(Native)?(Fused)?|WithBias$", "", op)
