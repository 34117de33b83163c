"""What recomputation, pruning and fewer bits do to one network."""

import numpy as np
from matplotlib.ticker import LogFormatter

from course_utils.figures.base import INK, Picture, canvas, legend, legend_below, panels
from course_utils.figures.looks import bar_look
from course_utils.figures.series import OTHERS, lines
from course_utils.figures.words import described


def remat(steps: dict, counted: dict) -> Picture:
    """Peak memory and time of a step in several ways, beside the peak that was counted.

    `steps`: {(policy, way): rounds, the first one to warm up}, a round the list of
    `benchmark.Step` that make one update; the mean peak and the median time are drawn.
    `counted`: {the same: MB}.
    """
    figure, (left, right) = panels(2, 10.0, 3.4)
    names, ways = [], list(dict.fromkeys(way for _, way in steps))
    for at, ((policy, way), (_, *rounds)) in enumerate(steps.items()):
        peaks = [step.peak_bytes for taken in rounds for step in taken]
        tops = [max(step.peak_bytes or 0 for step in taken) for taken in rounds]
        peak = None if None in peaks else np.mean(tops) / 1e6
        ms = 1e3 * np.median([sum(step.seconds for step in taken) for taken in rounds])
        names.append(policy.removeprefix("mixed_") + "\n" + way)
        look = bar_look(policy) | {"alpha": 1 - 0.3 * ways.index(way)}
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


def sensitivity(scan: dict, change: str, title: str) -> Picture:
    """Accuracy over what was done to the weights of one layer, a line for each layer.

    `scan`: {layer: {how much: accuracy, 0 to 1}}, at the same places for each layer;
    `change` says what stands on the axis, from little to much.
    """
    figure, ax = canvas(width=7.5)
    amounts = [list(by_amount) for by_amount in scan.values()][0]
    places = range(len(amounts))
    percent = {
        layer: (places, [100 * share for share in by_amount.values()])
        for layer, by_amount in scan.items()
    }
    lines(ax, percent)
    ax.set_xticks(places, amounts)
    ax.set(xlabel=change, ylabel="digits right, %", title=title)
    legend(ax, fontsize=9)
    return described(figure)


def front(points: list[dict], images: int) -> Picture:
    """Accuracy over packed size and over latency, a line for each form, a marker for
    each width.

    `points`: dicts with form, width, packed_kb (after gzip), accuracy (0 to 1) and ms.
    The vertical lines reach one standard error of an accuracy on this many images to
    each side; numbers at the line of float32 are the widths.

    Example: `front(records.smaller(), images=10_000)`
    """
    figure, (size, time) = panels(2, 9.0, 4.2, sharey=True)
    forms = dict.fromkeys(point["form"] for point in points)
    for form, look in zip(forms, OTHERS, strict=False):
        own = sorted((p for p in points if p["form"] == form), key=lambda p: p["width"])
        right = np.array([point["accuracy"] for point in own])
        error = 100 * np.sqrt(right * (1 - right) / images)
        kilobytes = [point["packed_kb"] for point in own]
        microseconds = [1e3 * point["ms"] for point in own]
        for ax, values in ((size, kilobytes), (time, microseconds)):
            ax.plot(values, 100 * right, label=form, **look)
            ends = 100 * right - error, 100 * right + error
            ax.vlines(values, *ends, color=look["color"], linewidth=1)
            if form == "float32":
                for value, share, point in zip(values, right, own, strict=True):
                    at = (value, 100 * share)
                    options = {"textcoords": "offset points", "fontsize": 9}
                    ax.annotate(f"{point['width']}", at, (6, -12), **options)
    for ax in (size, time):
        ax.set(xscale="log")
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1.5, 0.6)))
    size.set(xlabel="packed file, kB", ylabel="digits right, % ± one standard error")
    size.set(title="What a byte buys")
    time.set(xlabel="one image, µs", title="What time buys")
    handles = [line for line in size.lines if line.get_label() in forms]
    legend_below(figure, columns=4, handles=handles)
    return described(figure)
