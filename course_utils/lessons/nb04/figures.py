"""Figures of notebook 04: where the bytes of a step are, and how far two runs are apart."""

import itertools

import numpy as np
import pandas as pd

from course_utils.figures.base import (
    INK,
    Picture,
    canvas,
    legend,
    legend_below,
    name_all,
    panels,
    write,
)
from course_utils.figures.looks import bar_look, filled, line_look
from course_utils.figures.series import stack
from course_utils.figures.words import described
from course_utils.profiling.ops import BACKWARD
from course_utils.profiling.recordings import PASSES

LARGE = 0.02  # of the peak: what an array has to be for its operation to be drawn


def draw_arrays_alive(lines: dict, steps: dict) -> Picture:
    """MB of arrays that are alive while each operation of a step runs, a line a policy.

    `lines`: policy to the MB in the order of the operations; the highest point of each
    is marked. `steps`: policy to these operations (`roofline.operations`). Those that
    make and free little are left out; the others spread evenly over their band, so that
    the bands of all policies coincide.
    """
    tables = {}
    for policy, mb in lines.items():
        table = pd.DataFrame({"mb": mb, "phase": _phases(steps[policy])})
        large = np.abs(np.diff(mb, prepend=0)) > LARGE * max(mb)
        tables[policy] = table[large]
    counts = [table["phase"].value_counts() for table in tables.values()]
    widths = pd.DataFrame(counts, columns=range(len(PASSES))).max().fillna(0)
    starts = np.cumsum([0, *widths])
    figure, ax = canvas(8.0, 3.4)
    words = []
    tops = {policy: max(mb) for policy, mb in lines.items()}
    for policy, table in tables.items():
        own = table.groupby("phase")["mb"]
        within = (own.cumcount() + 0.5) / own.transform("size")
        x = np.interp(table["phase"] + within, range(len(starts)), starts)
        look = line_look(policy)
        ax.step(x, table["mb"], where="mid", label=policy, **look | {"marker": ""})
        top = int(np.argmax(table["mb"]))
        at = (x[top], tops[policy])
        ax.plot(*at, look["marker"], color=look["color"], markersize=8)
        text = f"{tops[policy]:.1f} MB"
        ax.annotate(text, at, (8, 2), textcoords="offset points", fontsize=9)
        name = PASSES[table["phase"].iloc[top]]
        words.append(f"{policy} has its peak of {text} in the {name} pass")
    ax.axvspan(*starts[1:3], color=INK, alpha=0.06, linewidth=0)
    above = {"va": "top", "fontsize": 10, "transform": ax.get_xaxis_transform()}
    for name, middle in zip(PASSES, starts[:-1] + widths / 2, strict=True):
        write(ax, middle, 0.98, name, **above)
    first, *_, last = tops
    ratio = f"{tops[last] / tops[first]:.2f}"
    ax.set_title(f"At the peak of {last} {ratio} of {first}'s bytes are alive")
    ax.set(
        xlabel="operations that make or free large arrays, in their order",
        ylabel="arrays alive (MB)",
        ylim=(0, 1.25 * max(tops.values())),
        xlim=(0, starts[-1]),
        xticks=[],
    )
    legend(ax, loc="center right", fontsize=10)
    return Picture(figure, f"{ax.get_title()}: {'; '.join(words)}.")


def _phases(step):
    """The pass of each operation, as its place in PASSES."""
    is_backward = np.array([BACKWARD in op.name for op in step])
    before = ~np.logical_or.accumulate(is_backward)
    still = np.logical_or.accumulate(is_backward[::-1])[::-1]
    return np.select([before, still], [0, 1], 2)


def draw_peak_parts(measured: pd.DataFrame) -> Picture:
    """The counted and the measured peak of a step: a panel for each batch, two policies
    in each.

    `measured`: the DataFrame of `profiling.peaks`. A bar stacks the medians of the
    variables, the arrays and the working space. Beside it are the medians of what the
    step asked for and of what the allocator gave, each with its range over the builds.
    """
    batches = measured.groupby("batch", sort=False)
    figure, axes = panels(len(batches), 8.4, 3.9)
    within = []
    for ax, (batch, here) in zip(axes, batches, strict=True):
        names = []
        for place, (policy, own) in enumerate(here.groupby("policy", sort=False)):
            names.append(policy.replace("mixed_", "mixed_\n"))
            middle = own.median(numeric_only=True)
            arrays = middle["counted"] - middle["variables"]
            working = np.nan_to_num(middle["working"])
            parts = {
                "variables": (filled("#999999"), middle["variables"]),
                f"arrays alive, {policy}": (bar_look(policy), arrays),
                "working space": (filled("#F0E442", "xx"), working),
            }
            top = stack(ax, place - 0.12, parts, 0.5)
            for shift, column, label, marker in (
                (0.26, "asked", "asked for, measured", "D"),
                (0.42, "given", "given by the allocator", "^"),
            ):
                low, high = own[column].min(), own[column].max()
                ax.plot(2 * [place + shift], [low, high], color=INK, linewidth=1.5)
                ax.plot(place + shift, middle[column], marker, color=INK, label=label)
            if own["asked"].notna().all():
                within.append(own["asked"].min() <= top <= own["given"].max())
        name_all(ax.xaxis, names)
        ax.set(xlim=(-0.5, len(names) - 0.4), ylim=(0, None))
        ax.set_title(f"batch {batch}", fontsize=10)
        ax.margins(y=0.1)
    axes[0].set_ylabel("peak of a step (MB)")
    title = "Counted: this device's allocator does not tell what it gave"
    if within:
        cases = f"{sum(within)} of {len(within)} cases"
        title = f"Count and working space are within the measured spread in {cases}"
    figure.suptitle(title)
    legend_below(figure, 3)
    return described(figure)


def draw_loss_curves(curves: pd.DataFrame) -> Picture:
    """How far two runs are apart at each step, beside the loss itself; medians over the
    seeds.

    Apart are each policy and float32 with the same seed, and two seeds of float32.
    `curves`: the DataFrame of `benchmark.loss_curves`, float32 among the policies.
    """
    figure, ax = canvas(8.0, 3.6)
    if curves.empty:
        return Picture(figure, "the training was interrupted before its first step.")
    loss = curves.pivot(index="step", columns=["policy", "seed"], values="loss")
    loss = loss.dropna(axis=1)  # without a seed that was interrupted
    float32 = loss["float32"]
    gray = {"color": INK, "linewidth": 3, "alpha": 0.6}
    series = [("the loss itself", float32, gray)]
    pairs = [float32[a] - float32[b] for a, b in itertools.combinations(float32, 2)]
    if pairs:
        apart = pd.concat(pairs, axis=1).abs()
        series.append(("two seeds, float32", apart, line_look("float32")))
    for policy in loss.columns.unique("policy").drop("float32"):
        apart = (loss[policy] - float32).abs()
        series.append((f"{policy} and float32, same seed", apart, line_look(policy)))
    typical = {}
    for label, values, look in series:
        middle = values.median(axis=1)
        typical[label] = middle.median()
        smooth = middle.rolling(10, min_periods=1).mean()
        ax.plot(smooth, label=label, markevery=0.1, **look)
    most = max((typical[label] for label in typical if "same seed" in label), default=0)
    title = "How far two runs are apart, beside the loss"
    if pairs and most:
        ratio = float(f"{typical['two seeds, float32'] / most:.2g}")
        times = f"{ratio:,g} times as far"
        title = f"Another seed moves the loss {times} as another policy"
    ylabel = "loss, or difference in loss\n(means of 10 steps)"
    ax.set(xlabel="training step", ylabel=ylabel, yscale="log", title=title)
    legend(ax)
    return described(figure)
