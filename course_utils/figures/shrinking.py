"""What recomputation, pruning and fewer bits do to one network."""

import numpy as np

from course_utils.figures.base import INK, Picture, canvas, legend, legend_below, panels
from course_utils.figures.looks import COLORS, EDGE, HATCHES, dtype_of

LINES = (
    ("#0072B2", "o", "-"),
    ("#D55E00", "s", "--"),
    ("#E69F00", "^", "-."),
    # fmt: skip
    ("#CC79A7", "D", ":"),
    ("#56B4E9", "P", "-"),
    ("#009E73", "v", "--"),
)


def remat(steps: dict, counted: dict) -> Picture:
    """Peak memory and time of a step, kept or recomputed, beside the peak that was
    counted.

    `steps`: {(policy, whether recomputed): list of `benchmark.Step`, the first one to
    warm up}, of which the mean peak and the median time are drawn; `counted`: {the
    same: MB}.
    """
    figure, (left, right) = panels(2, height=3.2)
    words, names = [], []
    for at, ((policy, again), (_, *taken)) in enumerate(steps.items()):
        known = all(step.peak_bytes is not None for step in taken)
        peak = np.mean([step.peak_bytes for step in taken]) / 1e6 if known else None
        ms = 1e3 * np.median([step.seconds for step in taken])
        dtype = dtype_of(policy)
        kind = "remat" if again else "kept"
        names.append(policy.replace("_", "_\n") + "\n" + kind)
        look = {"color": COLORS[dtype], "hatch": HATCHES[dtype], **EDGE}
        for ax, value in ((left, peak), (right, ms)):
            bars = ax.bar(at, value or 0, 0.7, alpha=0.55 if again else 1, **look)
            ax.bar_label(
                bars, [f"{value:.0f}" if value else "unknown"], padding=2, color=INK
            )
        mb = counted[policy, again]
        label = "counted" if at == 0 else None
        left.plot(at + 0.24, mb, "D", mec="white", color=INK, label=label)
        shown = f"{peak:.0f} MB (counted {mb:.0f})" if peak else "peak unknown"
        words.append(f"{policy} {kind}: {shown}, {ms:.0f} ms")
    for ax in (left, right):
        ax.set_xticks(range(len(names)), names, fontsize=9)
    most = max(counted.values())
    left.set(ylabel="MB", title="Peak of a step", ylim=(0, 1.35 * most))
    right.set(ylabel="ms", title="Time of a step")
    right.margins(y=0.15)
    legend(left, fontsize=9)
    return Picture(figure, "; ".join(words) + ".")


def sensitivity(scan: dict) -> Picture:
    """Accuracy over the share of one layer's weights that are set to zero, a line for
    each layer.

    `scan`: {layer: {share: accuracy}}.
    """
    figure, ax = canvas(width=7.5)
    words = []
    for (layer, found), (color, marker, line) in zip(scan.items(), LINES, strict=False):
        shares = [100 * share for share in found]
        accuracies = [100 * a for a in found.values()]
        ax.plot(
            shares, accuracies, color=color, marker=marker, linestyle=line, label=layer
        )
        words.append(f"{layer}: {accuracies[0]:.3g} % with all weights, {accuracies[-1]:.3g} % at"
                     f" {shares[-1]:.3g} % zeros")  # fmt: skip
    ax.set(xlabel="weights of this layer set to zero, %", ylabel="digits right, %")
    ax.set(title="Accuracy when one layer loses weights")
    legend(ax, fontsize=9)
    return Picture(figure, "; ".join(words) + ".")


def by_width(times: dict, base: str) -> Picture:
    """How many times as fast as `base` each technique is, over the width of a layer.

    `times`: {technique: {width: ms}}.
    """
    figure, ax = canvas(width=8.0, height=3.8)
    words = []
    for (name, found), (color, marker, line) in zip(times.items(), LINES, strict=False):
        widths = list(found)
        speeds = [times[base][width] / found[width] for width in widths]
        ax.plot(widths, speeds, color=color, marker=marker, linestyle=line, label=name)
        shown = ", ".join(
            f"{s:.2g} at {w}" for w, s in zip(widths, speeds, strict=True)
        )
        words.append(f"{name}: {shown}")
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.minorticks_off()
    ax.set_xticks(widths, widths)
    ax.set(xlabel="width of the layers", ylabel=f"times as fast as {base}")
    ax.set(title="From which width does it pay?")
    legend_below(figure, columns=3)
    return Picture(figure, f"Times as fast as {base}: " + "; ".join(words) + ".")
