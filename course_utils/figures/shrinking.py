"""What recomputation, pruning and fewer bits do to one network."""

import numpy as np
from matplotlib.ticker import LogFormatter

from course_utils.figures.base import INK, Picture, canvas, legend, legend_below, panels
from course_utils.figures.looks import bar_look
from course_utils.figures.series import lines
from course_utils.figures.words import described

KEYS = ("file_kb", "packed_kb", "accuracy", "ms")


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


def networks(points: list[dict], error: float) -> Picture:
    """Size, accuracy and latency of networks, a row for each, the smallest packed one
    at the top.

    `points`: dicts with name, file_kb, packed_kb (after gzip), accuracy (0 to 1) and
    ms. `error`: the standard error of an accuracy, 0 to 1, drawn to both sides.

    Example: `networks(records.smaller(), error=0.002)`
    """
    points = sorted(points, key=lambda point: point["packed_kb"], reverse=True)
    rows = np.arange(len(points))
    values = {key: np.array([point[key] for point in points]) for key in KEYS}
    figure, (size, right, time) = panels(
        3, 9.0, 1.7 + 0.3 * len(points), sharey=True, width_ratios=(3, 2, 2)
    )
    size.hlines(rows, values["packed_kb"], values["file_kb"], color=INK, linewidth=1)
    size.plot(values["file_kb"], rows, "o", mfc="white", color=INK, label="the file")
    size.plot(values["packed_kb"], rows, "o", color=INK, label="packed")
    percent = 100 * values["accuracy"]
    right.hlines(rows, percent - 100 * error, percent + 100 * error, color=INK)
    right.plot(percent, rows, "s", color=INK, label="right")
    time.plot(values["ms"], rows, "D", color=INK, label="one image")
    size.set_yticks(rows, [point["name"] for point in points], fontsize=9)
    size.set(xscale="log", xlabel="kB", title="Size")
    size.xaxis.set_major_formatter("{x:g}")
    size.xaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1.5, 0.6)))
    right.set(xlabel="%, ± one standard error", title="Digits right")
    time.set(xlabel="ms", title="One image", xlim=(0, None))
    legend(size, fontsize=9)
    return described(figure)
