"""Where gradients lie, and what a format and a loss scale make of them."""

import numpy as np

from course_utils.figures.base import COLORS, INK, Picture, canvas, legend
from course_utils.gradients import limits

ZERO, SUBNORMAL, OVERFLOW = "#999999", "#F0E442", "#D55E00"  # always with a hatch and a label too
FLOOR = 1e-10  # what a logarithmic axis shows of zero


def histogram(histograms: dict, fmt: str = "float16", log2_scale: int = 0) -> Picture:
    """A panel for each histogram: how many values lie in which octave, and a format's limits.

    Args:
        histograms: label to `gradients.OctaveHistogram`; two or three.
        fmt: a name of `formats.FORMATS`.
        log2_scale: the values are multiplied by 2**log2_scale.
    """
    figure, axes = canvas(len(histograms), width=8.0, height=3.4, sharey=True, squeeze=False)
    edge, words = limits(fmt), []
    scale = f" × 2^{log2_scale}" if log2_scale else ""
    for ax, (label, values) in zip(axes[0], histograms.items(), strict=True):
        octave = values.first + log2_scale + np.arange(len(values.counts))
        held = max(1, values.counts.sum())
        gone = octave < edge["zero_octave"]
        ax.bar(octave + 0.5, 100 * values.counts / held, 0.9, color=COLORS["float32"])
        ax.bar(octave[gone] + 0.5, 100 * values.counts[gone] / held, 0.9, color=ZERO, hatch="///")
        band = {"color": SUBNORMAL, "alpha": 0.3, "lw": 0, "zorder": 0}
        ax.axvspan(edge["zero_octave"], edge["normal_octave"], **band)
        for where, said in (
            (edge["zero_octave"], "zero"),
            (edge["normal_octave"], "normal"),
            (edge["top_octave"] + 1, "overflow"),
        ):
            ax.axvline(where, color=INK, linestyle=":", linewidth=1)
            side = {"ha": "right"} if said == "zero" else {"ha": "left"}
            ax.annotate(
                f"← {said}" if said == "zero" else f"{said} →", (where, 0.99), color=INK,
                xycoords=("data", "axes fraction"), va="top", fontsize=8, rotation=90, **side,
            )  # fmt: skip
        lost = values.survival(fmt, log2_scale)
        share = 100 * lost.rounded_to_zero / held
        ax.set_title(f"{label}\n{share:.2g} % rounded to zero", color=INK, fontsize=10)
        ax.set(xlabel=f"log2 |gradient{scale}|")
        words.append(f"{label}: {share:.2g} % of the nonzero gradients become zero in {fmt}")
    low = min(h.first for h in histograms.values()) + log2_scale
    for ax in axes[0]:
        ax.set_xlim(max(low, edge["zero_octave"] - 40), edge["top_octave"] + 4)
    axes[0][0].set_ylabel("share of nonzero gradients (%)")
    return Picture(figure, "; ".join(words) + f"{f', scaled by 2^{log2_scale}' if scale else ''}.")


def lost_by_scale(histograms: dict, fmt: str = "float16", scales=range(25)) -> Picture:
    """Two panels over the loss scale: what is rounded to zero by count, and by the norm.

    Crosses show from which scale on something overflows.

    Args:
        histograms: label to `gradients.OctaveHistogram`; up to four.
        fmt: a name of `formats.FORMATS`.
        scales: exponents of the scale.
    """
    figure, axes = canvas(2, width=8.0, height=3.4, sharey=True)
    words, scales = [], list(scales)
    styles = zip(COLORS.values(), "os^v", ("-", "--", ":", "-."), strict=True)
    for (label, values), (color, marker, line) in zip(histograms.items(), styles, strict=False):
        held = max(1, values.counts.sum())
        all_scales = [values.survival(fmt, s) for s in scales]
        over = [s for s, result in zip(scales, all_scales, strict=True) if result.overflow]
        shares = (
            [result.rounded_to_zero / held for result in all_scales],
            [result.norm_lost for result in all_scales],
        )
        for ax, share in zip(axes, shares, strict=True):
            shown = np.maximum(share, FLOOR)
            style = {"color": color, "marker": marker, "markersize": 3, "linestyle": line}
            ax.plot(scales, shown, label=label, **style)
            ax.plot(over, shown[[scales.index(s) for s in over]], "x", color=color, markersize=9)
        words.append(
            f"{label}: at scale 1, {100 * shares[0][0]:.2g} % of the nonzero gradients are lost "
            f"and {shares[1][0]:.1g} of the squared norm; "
            + (f"overflow from 2^{over[0]} on" if over else "no overflow")
        )
    axes[0].set(yscale="log", ylabel="share rounded to zero")
    axes[0].set_title("by count", color=INK)
    axes[1].set_title("by ‖gradient‖²", color=INK)
    axes[1].plot([], [], "x", color=INK, label="something overflows")
    for ax in axes:
        ax.set(xlabel="log2 of the loss scale", ylim=(FLOOR / 2, 2))
    legend(axes[1], fontsize=8)
    return Picture(figure, ". ".join(words) + ".")
