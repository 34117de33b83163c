"""Where gradients lie, and what float16 and a loss scale make of them."""

from itertools import pairwise

import numpy as np
import pandas as pd

from course_utils.figures.base import (
    INK,
    Drawing,
    Picture,
    canvas,
    legend,
    panels,
    write,
)
from course_utils.figures.looks import COLORS, SCALE
from course_utils.figures.words import described, power
from course_utils.gradients import limits

# As in ScaleScope: the result of rounding; zeros are hatched, and all have a label.
CLASSES = {
    "zero": "#999999",
    "subnormal": "#E69F00",
    "normal": "#0072B2",
    "overflow": "#D55E00",
}
EDGE = limits("float16")
BORDERS = [EDGE["zero_octave"], EDGE["normal_octave"], EDGE["top_octave"] + 1]


def step() -> Drawing:
    """One step of mixed precision training: what is float16, and where the loss scale
    is.
    """
    return Drawing.stored("step")


def histogram(histograms: dict) -> Picture:
    """A panel for each histogram: how many values lie in which octave, and float16's
    limits.

    `histograms`: label to `gradients.OctaveHistogram`, two or three.
    """
    figure, axes = panels(len(histograms), sharey=True)
    low = min(h.first for h in histograms.values())
    for ax, (label, values) in zip(axes, histograms.items(), strict=True):
        octave = values.first + np.arange(len(values.counts))
        count = max(1, values.counts.sum())
        share = 100 * values.counts / count
        kind = np.searchsorted(BORDERS, octave, side="right")
        for number, (name, color) in enumerate(CLASSES.items()):
            its = kind == number
            hatch = "///" if name == "zero" else ""
            ax.bar(octave[its] + 0.5, share[its], 0.9, color=color, hatch=hatch)
        ax.set_xlim(max(low, EDGE["zero_octave"] - 35), EDGE["top_octave"] + 8)
        _bands(ax)
        percent = 100 * values.survival("float16").rounded_to_zero / count
        ax.set_title(f"{label}\n{percent:.2g} % rounded to zero", fontsize=10)
        ax.set(xlabel="log2 |gradient|", xticks=range(-60, 1, 20))
    axes[0].set_ylim(top=1.4 * axes[0].get_ylim()[1])  # room for the bands' names
    axes[0].set_ylabel("share of nonzero gradients (%)")
    return described(figure)


def _bands(ax):
    """What becomes of a value in which octave: borders and names, shaded."""
    ends = [BORDERS[0] - 60, *BORDERS, BORDERS[-1] + 60]
    bands = zip(CLASSES.items(), pairwise(ends), strict=True)
    for (name, color), (start, end) in bands:
        alpha = 0.3 if name == "overflow" else 0.12  # it is no kind of subnormal
        ax.axvspan(start, end, color=color, alpha=alpha, lw=0, zorder=0)
        left, right = np.clip([start, end], *ax.get_xlim())
        middle = (max(left, right - 12) + right) / 2
        above = {"va": "top", "rotation": 90, "transform": ax.get_xaxis_transform()}
        write(ax, middle, 0.98, name, **above)
    for border in BORDERS:
        ax.axvline(border, color=INK, linestyle=":", linewidth=1)


def bathtub(measured: dict, tried: dict | None = None) -> Picture:
    """The relative error of float16's gradient over the loss scale: wall, floor, cliff.

    `measured`: label to {exponent of 2: relative error}, of one network or several; an
    error that is not finite is an overflow. The title is about the last one, and its
    overflow is hatched. `tried`: exponents of scales that are marked, each with a name.
    """
    figure, ax = canvas(7.5, 3.9)
    top = 3.0
    words = []
    look = {"color": INK, "marker": "v", "linewidth": 1, "linestyle": "--"}
    for label, by_scale in measured.items():
        if label == list(measured)[-1]:
            look = {"color": COLORS["float16"], "marker": "o", "linewidth": 1.8}
        errors = pd.Series(by_scale)
        line = errors[np.isfinite(errors)]
        cliff = errors.index.difference(line.index).min()  # NaN without an overflow
        ax.plot(line, label=label, markersize=4, **look)
        if len(line) < len(errors):  # it goes up where the next scale overflows
            last = line.index[-1]
            up = {last: line[last], last + 0.5: 2 * top}
            ax.plot([*up], [*up.values()], **look | {"marker": ""})
            words.append(f"{label} overflows from 2^{cliff} on")
    left, right = errors.index.min(), errors.index.max()
    if len(line) < len(errors):
        color = CLASSES["overflow"]
        ax.axvspan(cliff - 0.5, right + 1, color=color, alpha=0.14, lw=0)
        write(ax, right + 0.8, 0.3, power(f"overflow\nfrom 2^{cliff}"), ha="right")
    for s, name in (tried or {}).items():
        words.append(f"{name} is marked at 2^{s}")
        ax.axvline(s, color=SCALE, linewidth=1.6, zorder=0)
        # beyond the cliff, the line goes up at the left
        side, offset = ("left", 0.3) if s > cliff else ("right", -0.3)
        write(ax, s + offset, 0.012, name, rotation=90, va="bottom", ha=side)
    ax.set(yscale="log", ylim=(1e-4, top), xlim=(left - 2.5, right + 1))
    ax.set(xlabel="loss scale S", ylabel="relative error of the gradient")
    ax.set_xticks(range(10 * (left // 10), right + 1, 10))
    ax.xaxis.set_major_formatter(lambda s, _: power(f"2^{s:g}"))
    floor = line.index[line < 0.01]
    title = label
    if len(floor):
        title += f": wrong by less than 1 % from 2^{floor[0]} to 2^{floor[-1]}"
    ax.set_title(power(title))
    legend(ax, loc="center", bbox_to_anchor=(0.76, 0.62))
    return described(figure, "; ".join(words))
