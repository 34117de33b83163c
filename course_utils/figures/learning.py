"""What is learned and how training goes: losses, accuracy, loss scale."""

import itertools
import re

import numpy as np
import pandas as pd
from matplotlib.ticker import LogFormatter
from scipy.optimize import isotonic_regression

from course_utils.figures.base import INK, Picture, canvas, legend, panels
from course_utils.figures.looks import COLORS, SCALE, YOU, dtype_of, line_look
from course_utils.figures.scaling import power


def loss_curves(curves) -> Picture:
    """How far two runs are apart at each step, beside the loss itself; medians over the
    seeds.

    Apart are each policy and float32 with the same seed, and two seeds of float32.
    `curves`: the DataFrame of `benchmark.loss_curves`, float32 among the policies.
    """
    figure, ax = canvas(width=8.0, height=3.6)
    if curves.empty:
        return Picture(figure, "the training was interrupted before its first step.")
    loss = curves.pivot(index="step", columns=["policy", "seed"], values="loss")
    # without a seed that was interrupted
    loss = loss.loc[:, loss.notna().sum() == len(loss)]
    lines = {
        "the loss itself": (
            loss["float32"],
            {"color": INK, "linewidth": 3, "alpha": 0.6},
        )
    }
    pairs = itertools.combinations(loss["float32"], 2)
    seeds = [(loss["float32"][a] - loss["float32"][b]).abs() for a, b in pairs]
    if seeds:
        lines["two seeds, float32"] = pd.concat(seeds, axis=1), line_look("float32")
    for policy in loss.columns.unique("policy").drop("float32"):
        apart = (loss[policy] - loss["float32"]).abs()
        lines[f"{policy} and float32, same seed"] = apart, line_look(policy)
    words = []
    typical = {}
    for label, (values, look) in lines.items():
        middle = values.median(axis=1)
        typical[label] = middle.median()
        ax.plot(
            middle.rolling(10, min_periods=1).mean(), label=label, markevery=0.1, **look
        )
        words.append(
            f"{label}: {middle.head(10).mean():.2g}, then {middle.tail(10).mean():.2g}"
        )
    apart = [typical[label] for label in typical if "same seed" in label]
    if seeds and apart and max(apart):
        times = typical["two seeds, float32"] / max(apart)
        title = (
            f"Another seed moves the loss {times:.2g} times as far as another policy"
        )
    else:
        title = "How far two runs are apart, beside the loss"
    ax.set(
        xlabel="training step",
        ylabel="loss, or difference in loss\n(means of 10 steps)",
        yscale="log",
        title=title,
    )
    legend(ax, fontsize=9)
    return Picture(figure, f"in the first and the last ten steps, {'; '.join(words)}.")


def histories(
    losses: dict, title: str, ylabel: str = "training loss", xlabel: str = "epoch",
    every: int = 1, scale: str = "log", first: int = 1, shaded: tuple | None = None,
) -> Picture:  # fmt: skip
    """One panel: a loss for each epoch of several runs, each named where its line ends.

    `losses`: label to the list of losses, or to one row for each seed, drawn thin
    behind their mean; a dtype policy as label gets that dtype's color, "yours" the
    reader's, and "S = 2^9" the loss scale's. Between two losses lie
    `every` of what `xlabel` counts, and before the first `first` times that; the axis
    has this `scale`.
    `shaded` is (from, to, why).
    """
    figure, ax = canvas(width=7.5, height=3.6)
    # no dtype's colors
    others = itertools.cycle(["#E69F00", INK, "#CC79A7", "#56B4E9"])
    dashes = itertools.cycle(
        ["--", "-.", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (8, 2))]
    )
    ends, words = [], []
    for label, values in losses.items():
        pure = label in COLORS and label != "float32"
        color = COLORS[dtype_of(label)] if dtype_of(label) in COLORS else next(others)
        dash = ":" if pure else "-" if label == "float32" else next(dashes)
        color = YOU if label == "yours" else color
        color = SCALE if label.startswith("S = ") else color
        style = {"color": color, "linestyle": dash, "linewidth": 1.8}
        steps = every * (first + np.arange(np.shape(values)[-1]))
        if np.ndim(values) == 2:
            ax.plot(steps, np.transpose(values), color=color, linewidth=0.8, alpha=0.5)
            values = np.mean(values, axis=0)
        ax.plot(steps, values, **style)
        finite = [value for value in values if np.isfinite(value)]
        lost = [value for value in values[-1:] if not np.isfinite(value)]
        words.append(
            f"{label} {', then '.join(f'{value:.3g}' for value in finite[-1:] + lost)}"
        )
        name = re.sub(r"2\^(\d+)", r"$2^{\1}$", label)
        if lost:
            known = np.flatnonzero(np.isfinite(values)) + 1  # the step after each
            since = every * (first + known.max(initial=0))
            name = f"{name}: {lost[0]:g} from {xlabel} {since} on"
        ends.append((finite[-1] if finite else np.nan, name, style))
    ax.set(xlabel=xlabel, ylabel=ylabel, yscale=scale, title=title)
    if shaded:
        start, end, why = shaded
        ax.axvspan(start, end, color=INK, alpha=0.12, lw=0)
        ax.annotate(f" {why}", (start, 0.02), xycoords=("data", "axes fraction"))
        ax.texts[-1].set(color=INK, fontsize=9)
    if scale == "log":
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1.5, 0.6)))
    _name_the_ends(ax, ends)
    return Picture(figure, f"{ylabel} in the end: {', '.join(words)}.")


def loss_scale(table=None, drawn: dict | None = None, cliff=None) -> Picture:
    """The scales in a `training.LossScaleRecorder`'s table; a cross at each skipped
    step.

    If the table has a column `ceiling`, it lies over them: from there on a scale
    overflows. A second panel enlarges the last quarter. So does what was `drawn` before
    lie over them, {step: log2 of the scale}; without a table it is shown alone. `cliff`
    is the exponent from which on the bathtub overflows.
    """
    enlarged = table is not None and "ceiling" in table
    options = {"gridspec_kw": {"width_ratios": [5, 3]}} if enlarged else {}
    figure, axes = panels(1 + enlarged, 7.5, 3.6, **options)
    words = []
    for ax in axes:
        ax.set_yscale("log", base=2)
        ax.set_xlabel("step")
        if table is not None:
            trace(ax, table)
        if cliff is not None:
            look = {"color": COLORS["float16"], "linestyle": "--", "linewidth": 1.4}
            ax.axhline(2.0**cliff, label=f"the bathtub's cliff, {power(cliff)}", **look)
    if table is not None:
        skipped = (~table["applied"]).sum()
        axes[0].set_title(f"{skipped} of {len(table)} steps were skipped")
        ends = f"{_power(table['scale'].min())} and {_power(table['scale'].max())}"
        words.append(
            f"the loss scale moves between {ends} in {len(table)} steps; {skipped} of them were"
            " skipped"
        )
    if enlarged:
        over = table["scale"] >= table["ceiling"]
        end = table.tail(max(2, len(table) // 4))
        both = end[["scale", "ceiling"]]
        axes[1].set(
            xlim=(end["step"].min() - 1, end["step"].max() + 2),
            title="the end, enlarged",
        )
        axes[1].set_ylim(both.min().min() / 1.2, 1.4 * both.max().max())
        skipped = (over & ~table["applied"]).sum()
        first, last = np.log2(table["ceiling"].iloc[[0, -1]])
        words.append(
            f"at or above the ceiling in {over.sum()} steps, {skipped} of these skipped;"
            f" the ceiling goes from 2^{first:.1f} to 2^{last:.1f}"
        )
    words += [] if cliff is None else [f"the bathtub's cliff is at 2^{cliff}"]
    if drawn:
        look = {"color": YOU, "linestyle": "--", "marker": "D", "markersize": 5}
        scales = [2.0**value for value in drawn.values()]
        axes[0].plot(list(drawn), scales, label="your curve", mec=INK, **look)
        axes[0].set_ylim(top=max(axes[0].get_ylim()[1], 2 * max(scales)))
        told = ", ".join(f"2^{value} at step {step}" for step, value in drawn.items())
        words.append(f"your curve: {told}")
    if table is None and drawn:
        axes[0].set(
            xlim=(0, 1.05 * max(drawn)),
            ylim=(0.5, 2.0**61),
            yticks=[2.0**s for s in range(0, 61, 10)],
            title="Draw the loss scale",
        )
    axes[0].set_ylabel("loss scale")
    legend(axes[0], fontsize=9)
    return Picture(figure, "; ".join(words) + ".")


def trace(ax, table):
    """The scale of each step, a cross where it was skipped, and the ceiling if it is
    known.
    """
    skipped = table[~table["applied"]]
    look = {"where": "mid", "color": SCALE, "linewidth": 1.8, "label": "loss scale S"}
    ax.step(table["step"], table["scale"], **look)
    cross = {"color": INK, "markersize": 6, "label": "step skipped"}
    ax.plot(skipped["step"], skipped["scale"], "x", zorder=3, **cross)
    if "ceiling" in table:
        ax.plot(
            table["step"], table["ceiling"], color=INK, linewidth=0.8, label="ceiling"
        )
        ax.set_ylim(top=4 * table["ceiling"].max())
        ax.fill_between(
            table["step"], table["ceiling"], 2.0**99, color=INK, alpha=0.25, lw=0
        )
        look = {"va": "top", "fontsize": 9, "color": INK}
        ax.annotate(" overflow", (0, 0.98), xycoords="axes fraction", **look)


def _power(scale):
    """A power of two in words, or another number."""
    exponent = np.log2(scale)
    return f"2^{exponent:.0f}" if exponent == np.rint(exponent) else f"{scale:.4g}"


def _name_the_ends(ax, ends):
    """Labels right of the axes at the heights of the lines' ends, apart where these are
    close.

    A line joins each label to its height. What lies outside the axis, such as 0 on a
    logarithmic one, is named at its edge, and what has no number at its foot, with a
    cross and no line.
    """
    ax.set_ylim(ax.get_ylim())
    above = ax.transData + ax.transAxes.inverted()
    heights = np.array([above.transform((1, value))[1] for value, _, _ in ends])
    heights = np.clip(np.nan_to_num(heights), 0, 1)
    order = np.argsort(heights, kind="stable")
    gap = min(0.075, 1 / len(ends))
    room = gap * np.arange(len(ends))
    # The least moved heights that rise by the gap at least, all of them within the
    # axis.
    places = isotonic_regression(heights[order] - room).x.clip(0, 1 - room[-1]) + room
    for index, place in zip(order, places, strict=True):
        value, label, style = ends[index]
        look = {"transform": ax.transAxes, "clip_on": False, **style}
        if np.isnan(value):  # no line to join
            ax.plot(1.05, place, marker="x", **look)
        else:
            ax.plot([1.0, 1.06], [heights[index], place], **look)
        ax.text(
            1.07,
            place,
            label,
            color=INK,
            va="center",
            fontsize=9,
            transform=ax.transAxes,
        )
