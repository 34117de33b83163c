"""What a trace tells: operations, the parts of a step, and memory over one step."""

import re

import pandas as pd
from matplotlib.patches import Patch

from course_utils.figures.base import (
    INK,
    Picture,
    canvas,
    legend_below,
    listed,
    write,
)
from course_utils.figures.looks import EDGE
from course_utils.figures.series import lines, stack
from course_utils.figures.words import described
from course_utils.profiling import QUESTIONS
from course_utils.profiling.recordings import PASSES

# The parts of the one time budget, which notebook 07 goes on with.
BUDGET = {
    "input": ("#E69F00", "//"),
    "launch": ("#999999", ".."),
    "products": ("#56B4E9", ""),
    "other": ("#F0E442", "\\\\"),
    "exchange": ("#CC79A7", "xx"),
}
SPENT = {"other": "other operations"}
UNTOLD = "not divided"
HEADING = {"ha": "left", "va": "baseline", "fontsize": 10}
# behind numbers
PLATE = {"facecolor": "white", "edgecolor": "none", "pad": 1.2, "alpha": 0.85}


def op_times(tables: dict) -> Picture:
    """Dots on a logarithmic axis: the time of each type of operation in one step.

    `tables`: {policy: DataFrame of `profiling.op_times`}, the first of which orders the
    rows and makes the title. After the eight operations with the largest share under
    any policy the others are summed up as "all others". What a policy does not run, or
    for less than 0.1 % of the longest, has no dot.

    Example: `op_times({"float32": before, "mixed_bfloat16": after})`.
    """
    sums = pd.concat(
        {
            p: t.groupby(t["op"].map(_plain), sort=False)["ms"].sum()
            for p, t in tables.items()
        },
        axis=1,
    ).fillna(0.0)
    shares = sums / sums.sum()
    longest = shares.max(axis=1).sort_values(ascending=False, kind="stable").index
    first = next(iter(sums))
    shown = sums.loc[longest[:8]].sort_values(first, ascending=False, kind="stable")
    if len(sums) > 8:
        others = sums.loc[longest[8:]].sum().rename("all others")
        shown = pd.concat([shown, others.to_frame().T])
    figure, ax = canvas(width=7.5, height=1.6 + 0.36 * len(shown))
    seen = shown.where(shown >= 1e-3 * shown.max(axis=None))
    at = range(len(seen))
    ax.hlines(at, seen.min(axis=1), seen.max(axis=1), color=INK, linewidth=1)
    series = {policy: (seen[policy], at) for policy in seen}
    lines(ax, series, linestyle="", markersize=9)
    ax.set_yticks(at, seen.index)
    ax.invert_yaxis()
    ax.set(xscale="log", xlabel="ms per step over all threads, logarithmic")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.grid(axis="x", color=INK, alpha=0.15)
    three = sums[first].nlargest(3)
    share = three.sum() / sums[first].sum()
    ax.set_title(f"{listed([*three.index])}\ntake {share:.0%} of what runs in {first}")
    legend_below(figure, 3)
    return described(figure)


def timeline(traces: dict, title: str = "What ran, where and when") -> Picture:
    """Threads over time: a lane for each thread, a bar for each operation, colored by
    its part.

    `traces`: {label: DataFrame of `profiling.spans`}, one below the other on the same
    axis.

    Example: `timeline({"float32": profiling.spans(trace)})`.
    """
    places = {}
    at = 0.0
    for label, table in traces.items():
        at += 0.8  # the label's own place
        for lane in _lanes(table):
            places[label, lane] = at
            at += 1
    end = max(table["end"].max() for table in traces.values())
    figure, ax = canvas(width=8.0, height=1.3 + 0.36 * max(places.values()))
    words = []
    for label, table in traces.items():
        top = min(at for (name, _), at in places.items() if name == label)
        write(ax, 0.006 * end, top - 0.85, label, weight="bold", **HEADING)
        for (lane, part), runs in table.groupby(["lane", "part"], sort=False):
            at = places[label, lane]
            lengths = runs["end"] - runs["start"]
            words.append(
                f"{label}, {lane}: {SPENT.get(part, part)} {lengths.sum():.3g} ms"
            )
            if part == "pass":
                for run in runs.itertuples():
                    _bracket(ax, run, at)
                continue
            color, hatch = BUDGET.get(part, ("none", ""))
            look = {"edgecolor": "#333", "linewidth": 0.2}
            size = 0.66
            if part == "step":  # a frame around what Python waits for in it
                look = {"edgecolor": INK, "linewidth": 1.0}
                size = 0.84
            bars = list(zip(runs["start"], lengths, strict=True))
            place = (at - size / 2, size)
            ax.broken_barh(bars, place, facecolor=color, hatch=hatch, **look)
        for run in table[~table["part"].isin(["step", "pass"])].itertuples():
            name = _plain(run.op)
            width = run.end - run.start
            if width > 0.0115 * len(name) * end:
                middle = run.start + width / 2
                write(ax, middle, places[label, run.lane], name, bbox=PLATE)
    ax.set_yticks(list(places.values()), [lane for _, lane in places])
    ax.set(
        xlim=(0, end), ylim=(max(places.values()) + 0.6, -0.6), xlabel="ms", title=title
    )
    parts = set().union(*(table["part"] for table in traces.values()))
    handles = [
        Patch(facecolor=color, hatch=hatch, label=SPENT.get(part, part), **EDGE)
        for part, (color, hatch) in BUDGET.items()
        if part in parts
    ]
    legend_below(figure, 4, handles)
    return Picture(figure, f"{title}. {'; '.join(words)}.")


def walks(diagnoses: dict) -> Picture:
    """The tree of `profiling.diagnose`, and the way of each step through it down to its
    answer.

    `diagnoses`: {label: `profiling.Diagnosis`}.
    """
    questions = list(QUESTIONS.values())
    figure, ax = canvas(width=8.0, height=1.3 + 0.5 * (len(questions) + 1))
    words = []
    for at, (label, diagnosis) in enumerate(diagnoses.items()):
        stop = sum(not yes for *_, yes in diagnosis.walk)
        ax.plot([at, at], [-0.45, stop], color=INK, linewidth=1.5, zorder=1)
        answer = diagnosis.name
        for row, (_, number, yes) in enumerate(diagnosis.walk):
            if yes:
                answer += f"\n{number}"
            else:
                ax.plot(at, row, "o", color=INK, markersize=5)
                write(ax, at, row, f"   no, {number}", ha="left")
        color = "#56B4E9" if diagnosis.name == "done" else "#E69F00"
        plate = {"facecolor": color, "edgecolor": "#333", "boxstyle": "round,pad=0.35"}
        write(ax, at, stop, answer, bbox=plate)
        words.append(f"{label}: {diagnosis.name}. {diagnosis.sentence}")
    ax.set_yticks(range(len(questions) + 1), [*questions, "None of these"])
    ax.set_xticks(range(len(diagnoses)), list(diagnoses))
    ax.set(xlim=(-0.45, len(diagnoses) - 0.3), ylim=(len(questions) + 0.5, -0.45))
    ax.xaxis.tick_top()
    ax.set_title("Each step goes down to its first yes", pad=12)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return Picture(figure, " ".join(words))


def time_budget(rows: dict, title: str = "Where the time of a step goes") -> Picture:
    """A lying bar for each row: input, launch, products, other and exchange end to end.

    `rows`: {label: {part: ms}} with parts of `BUDGET`, and "step", the whole, where not
    every part is told yet: what is missing of it stays empty. None and NaN are not
    told. Rows whose label begins with "predicted" are pale.

    Example: `time_budget({"predicted": {"products": 9, "launch": 2}, "measured":
    {"step": 14}})`.
    """
    table = pd.DataFrame.from_dict(rows, "index", float).reindex(
        columns=["step", *BUDGET]
    )
    parts = table[list(BUDGET)].fillna(0.0)
    parts[UNTOLD] = (table["step"] - parts.sum(axis=1)).clip(lower=0).fillna(0.0)
    whole = parts.sum(axis=1)
    parts = parts.loc[:, parts.max() > 0.004 * whole.max()]
    figure, ax = canvas(width=7.5, height=1.4 + 0.42 * len(rows))
    looks = BUDGET | {UNTOLD: ("none", "")}
    bars = {part: (*looks[part], parts[part]) for part in parts}
    stack(ax, list(rows), bars, 0.62, sideways=True)
    legend_below(figure, 6)  # before a bar is pale
    for part, group in zip(parts, ax.containers, strict=True):
        for at, (label, bar) in enumerate(zip(rows, group, strict=True)):
            width = bar.get_width()
            bar.set_alpha(0.45 if label.startswith("predicted") else 1)
            if part == UNTOLD:
                look = {"edgecolor": INK, "linestyle": ":", "linewidth": 1.2}
                bar.set(visible=width > 0, **look)
            if width > 0.08 * whole.max():
                write(ax, bar.get_x() + width / 2, at, two_digits(width), bbox=PLATE)
    for at, ms in enumerate(whole):
        write(ax, ms, at, f"  {two_digits(ms)} ms", ha="left")
    ax.set_yticks(range(len(rows)), list(rows))
    ax.invert_yaxis()
    ax.margins(x=0.13)
    ax.set(xlabel="ms", title=title)
    sums = [f"{label} {two_digits(ms)} ms" for label, ms in whole.items()]
    return described(figure, f"In all: {', '.join(sums)}")


def _lanes(table):
    """The lanes of a trace from the top: the input pipeline, Python, the threads."""
    first = ("input pipeline", "Python", *PASSES)
    lanes = set(table["lane"])
    return [lane for lane in first if lane in lanes] + sorted(lanes.difference(first))


def _bracket(ax, run, at):
    """A line from a start to an end with a tick at each."""
    x = [run.start, run.start, run.end, run.end]
    ax.plot(x, [at + 0.3, at, at, at + 0.3], color=INK, linewidth=2)


def _plain(op):
    """An operation's type as TensorFlow calls it, without oneDNN's and fusion's
    additions.
    """
    return re.sub(r"^_(Mkl)?(Native)?(Fused)?|WithBias$", "", op)


def two_digits(ms) -> str:
    """Two digits and no power of ten: "0.94", "12", "110"."""
    return f"{ms:.0f}" if ms >= 10 else f"{ms:.2g}"
