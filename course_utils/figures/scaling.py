"""Where gradients lie, and what float16 and a loss scale make of them."""

import numpy as np

from course_utils.figures.base import (
    INK,
    Drawing,
    Picture,
    canvas,
    legend_below,
    panels,
)
from course_utils.figures.looks import COLORS
from course_utils.gradients import limits

ZERO, SUBNORMAL = "#999999", "#F0E442"  # always with a hatch or a label too
AGES = ("#56B4E9", "#E69F00", "#CC79A7", INK)  # no dtype's colors
EDGE = limits("float16")


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
    words = []
    low = min(h.first for h in histograms.values())
    for ax, (label, values) in zip(axes, histograms.items(), strict=True):
        octave = values.first + np.arange(len(values.counts))
        held = max(1, values.counts.sum())
        share = 100 * values.counts / held
        gone = octave < EDGE["zero_octave"]
        ax.bar(octave + 0.5, share, 0.9, color=COLORS["float32"])
        ax.bar(octave[gone] + 0.5, share[gone], 0.9, color=ZERO, hatch="///")
        ax.set_xlim(max(low, EDGE["zero_octave"] - 35), EDGE["top_octave"] + 8)
        _bands(ax)
        percent = 100 * values.survival("float16").rounded_to_zero / held
        ax.set_title(f"{label}\n{percent:.2g} % rounded to zero", fontsize=10)
        ax.set(xlabel="log2 |gradient|", xticks=range(-60, 1, 20))
        words.append(
            f"{label}: {percent:.2g} % of the nonzero gradients become zero in float16"
        )
    axes[0].set_ylim(top=1.4 * axes[0].get_ylim()[1])  # room for the bands' names
    axes[0].set_ylabel("share of nonzero gradients (%)")
    return Picture(figure, "; ".join(words) + ".")


def _bands(ax):
    """What becomes of a value in which octave: borders and names, and the subnormals
    shaded.
    """
    borders = [EDGE["zero_octave"], EDGE["normal_octave"], EDGE["top_octave"] + 1]
    ax.axvspan(*borders[:2], color=SUBNORMAL, alpha=0.18, lw=0, zorder=0)
    for border in borders:
        ax.axvline(border, color=INK, linestyle=":", linewidth=1)
    ends = [borders[0] - 10, *borders, borders[-1] + 8]
    names = ("zero", "subnormal", "normal", "overflow")
    for name, start, end in zip(names, ends[:-1], ends[1:], strict=True):
        look = {
            "ha": "center",
            "va": "top",
            "fontsize": 9,
            "rotation": 90,
            "color": INK,
        }
        ax.annotate(
            name, ((start + end) / 2, 0.98), xycoords=("data", "axes fraction"), **look
        )


def bathtub(histograms: dict, scales, measured: dict | None = None) -> Picture:
    """The relative error of float16 over the loss scale: underflow, floor and overflow.

    `histograms`: label to `gradients.OctaveHistogram`, up to four; `scales`: exponents
    of 2. `measured`: label to {exponent: relative error}, shown as dots. Where a value
    overflows the error is infinite, and the line goes up.
    """
    figure, ax = canvas(width=7.0, height=4.0)
    words, top = [], 3.0
    styles = zip(AGES, "os^v", ("-", "--", ":", "-."), strict=True)
    for (label, values), (color, marker, line) in zip(
        histograms.items(), styles, strict=False
    ):
        errors = np.array([values.relative_error("float16", int(s)) for s in scales])
        style = {"color": color, "marker": marker, "markersize": 3, "linestyle": line}
        ax.plot(scales, np.minimum(errors, 2 * top), label=label, **style)
        words.append(f"{label}: {_told(scales, errors)}")
    for label, errors in (measured or {}).items():
        shown = [(s, error) for s, error in errors.items() if np.isfinite(error)]
        ax.scatter(*zip(*shown, strict=True), color="#009E73", zorder=3, label=label)
        words.append(f"{label}: {_told(list(errors), np.array(list(errors.values())))}")
    ax.axvline(15, color=INK, linestyle=":", linewidth=1, label="Keras's first scale")
    ax.set(yscale="log", ylim=(1e-4, top), xlabel="log2 of the loss scale")
    ax.set(ylabel="relative error of the gradient", title="Error at each loss scale")
    legend_below(figure, columns=3)
    return Picture(figure, ". ".join(words) + ".")


def _told(scales, errors):
    """The errors of a bathtub in words."""
    over = [
        s for s, error in zip(scales, errors, strict=True) if not np.isfinite(error)
    ]
    ends = f"overflow from 2^{over[0]} on" if over else "no overflow"
    lowest = np.min(errors, where=np.isfinite(errors), initial=np.inf)
    return f"{errors[0]:.2g} at 2^{scales[0]}, at best {lowest:.2g}, {ends}"
