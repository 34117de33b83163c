"""Where gradients lie, and what float16 and a loss scale make of them."""

import numpy as np

from course_utils.figures.base import INK, Picture, legend, panels
from course_utils.figures.looks import COLORS
from course_utils.gradients import limits

ZERO, SUBNORMAL = "#999999", "#F0E442"  # always with a hatch or a label too
AGES = ("#56B4E9", "#E69F00", "#CC79A7", INK)  # no dtype's colors
FLOOR = 1e-10  # where the logarithmic axis ends
EDGE = limits("float16")


def histogram(histograms: dict) -> Picture:
    """A panel for each histogram: how many values lie in which octave, and float16's limits.

    `histograms`: label to `gradients.OctaveHistogram`, two or three.
    """
    figure, axes = panels(len(histograms), sharey=True)
    words, low = [], min(h.first for h in histograms.values())
    for ax, (label, values) in zip(axes, histograms.items(), strict=True):
        octave = values.first + np.arange(len(values.counts))
        held = max(1, values.counts.sum())
        share = 100 * values.counts / held
        gone = octave < EDGE["zero_octave"]
        ax.bar(octave + 0.5, share, 0.9, color=COLORS["float32"])
        ax.bar(octave[gone] + 0.5, share[gone], 0.9, color=ZERO, hatch="///")
        ax.set_xlim(max(low, EDGE["zero_octave"] - 60), EDGE["top_octave"] + 8)
        _bands(ax)
        percent = 100 * values.survival("float16").rounded_to_zero / held
        ax.set_title(f"{label}\n{percent:.2g} % rounded to zero", fontsize=10)
        ax.set(xlabel="log2 |gradient|")
        words.append(f"{label}: {percent:.2g} % of the nonzero gradients become zero in float16")
    axes[0].set_ylim(top=1.4 * axes[0].get_ylim()[1])  # room for the bands' names
    axes[0].set_ylabel("share of nonzero gradients (%)")
    return Picture(figure, "; ".join(words) + ".")


def _bands(ax):
    """What becomes of a value in which octave: borders and names, and the subnormals shaded."""
    borders = [EDGE["zero_octave"], EDGE["normal_octave"], EDGE["top_octave"] + 1]
    ax.axvspan(*borders[:2], color=SUBNORMAL, alpha=0.3, lw=0, zorder=0)
    for border in borders:
        ax.axvline(border, color=INK, linestyle=":", linewidth=1)
    ends = [borders[0] - 10, *borders, borders[-1] + 8]
    names = ("zero", "subnormal", "normal", "overflow")
    for name, start, end in zip(names, ends[:-1], ends[1:], strict=True):
        look = {"ha": "center", "va": "top", "fontsize": 8, "rotation": 90, "color": INK}
        ax.annotate(name, ((start + end) / 2, 0.98), xycoords=("data", "axes fraction"), **look)


def lost_by_scale(histograms: dict, scales) -> Picture:
    """Two panels over the loss scale: what float16 rounds to zero by count, and by the norm.

    A line ends where nothing is lost; a cross shows from which scale on something overflows.
    `histograms`: label to `gradients.OctaveHistogram`, up to four; `scales`: exponents of 2.
    """
    figure, axes = panels(2, sharey=True)
    words, scales = [], np.array(scales)
    styles = zip(AGES, "os^v", ("-", "--", ":", "-."), strict=True)
    for (label, values), (color, marker, line) in zip(histograms.items(), styles, strict=False):
        results = [values.survival("float16", int(s)) for s in scales]
        held = max(1, values.counts.sum())
        over = [s for s, result in zip(scales, results, strict=True) if result.overflow][:1]
        counts = np.array([result.rounded_to_zero / held for result in results])
        norms = np.array([result.norm_lost for result in results])
        style = {"color": color, "marker": marker, "markersize": 3, "linestyle": line}
        for ax, share in zip(axes, (counts, norms), strict=True):
            shown = share > FLOOR
            ax.plot(scales[shown], share[shown], label=label, **style)
            ax.plot(over, [FLOOR] * len(over), "x", color=color, markersize=9)
        words.append(
            f"{label}: at scale 1, {100 * counts[0]:.2g} % of the nonzero gradients are lost "
            f"and {norms[0]:.1g} of the squared norm; "
            + (f"overflow from 2^{over[0]} on" if over else "no overflow")
        )
    axes[0].set(yscale="log", ylabel="share rounded to zero", title="by count")
    axes[1].set_title("by ‖gradient‖²")
    axes[1].plot([], [], "x", color=INK, label="first overflow")
    for ax in axes:
        ax.set(xlabel="log2 of the loss scale", ylim=(FLOOR / 2, 2))
    legend(axes[1], fontsize=8)
    return Picture(figure, ". ".join(words) + ".")
