"""What recomputation, pruning and fewer bits do to one network."""

import numpy as np

from course_utils.figures.base import INK, Picture, canvas, legend, legend_below, panels
from course_utils.figures.looks import bar_look
from course_utils.figures.series import lines
from course_utils.figures.words import described


def remat(steps: dict, counted: dict) -> Picture:
    """Peak memory and time of a step, kept or recomputed, beside the peak that was
    counted.

    `steps`: {(policy, whether recomputed): list of `benchmark.Step`, the first one to
    warm up}, of which the mean peak and the median time are drawn; `counted`: {the
    same: MB}.
    """
    figure, (left, right) = panels(2, height=3.2)
    names = []
    for at, ((policy, again), (_, *taken)) in enumerate(steps.items()):
        known = all(step.peak_bytes is not None for step in taken)
        peak = np.mean([step.peak_bytes for step in taken]) / 1e6 if known else None
        ms = 1e3 * np.median([step.seconds for step in taken])
        kind = "remat" if again else "kept"
        names.append(policy.replace("_", "_\n") + "\n" + kind)
        look = bar_look(policy) | {"alpha": 0.55 if again else 1}
        for ax, value in ((left, peak), (right, ms)):
            bars = ax.bar(at, value or 0, 0.7, **look)
            ax.bar_label(bars, [f"{value:.0f}" if value else "unknown"], padding=2)
    mb = [counted[key] for key in steps]
    left.plot(
        np.arange(len(steps)) + 0.24, mb, "D", mec="white", color=INK, label="counted"
    )
    for ax in (left, right):
        ax.set_xticks(range(len(names)), names, fontsize=9)
    left.set(ylabel="MB", title="Peak of a step", ylim=(0, 1.35 * max(mb)))
    right.set(ylabel="ms", title="Time of a step")
    right.margins(y=0.15)
    legend(left, fontsize=9)
    return described(figure)


def sensitivity(scan: dict) -> Picture:
    """Accuracy over the share of one layer's weights that are set to zero, a line for
    each layer.

    `scan`: {layer: {share: accuracy}}.
    """
    figure, ax = canvas(width=7.5)
    percent = {
        layer: (100 * np.array(list(by_share)), 100 * np.array(list(by_share.values())))
        for layer, by_share in scan.items()
    }
    lines(ax, percent)
    ax.set(xlabel="weights of this layer set to zero, %", ylabel="digits right, %")
    ax.set(title="Accuracy when one layer loses weights")
    legend(ax, fontsize=9)
    return described(figure)


def by_width(times: dict, base: str) -> Picture:
    """How many times as fast as `base` each technique is, over the width of a layer.

    `times`: {technique: {width: ms}}.
    """
    figure, ax = canvas(width=8.0, height=3.8)
    widths = list(times[base])
    speeds = {
        name: (widths, [times[base][width] / ms[width] for width in widths])
        for name, ms in times.items()
    }
    lines(ax, speeds)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.minorticks_off()
    ax.set_xticks(widths, widths)
    ax.set(xlabel="width of the layers", ylabel=f"times as fast as {base}")
    ax.set(title="From which width does it pay?")
    legend_below(figure, columns=3)
    return described(figure)
