"""In which octaves gradients lie, and what float16 makes of them."""

from itertools import pairwise

import numpy as np

from course_utils.figures.base import INK, Picture, panels, write
from course_utils.figures.words import described
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
