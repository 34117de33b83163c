"""What recomputation, pruning and fewer bits do to one network."""

import numpy as np
import pandas as pd

from course_utils.figures.base import (
    INK,
    Picture,
    canvas,
    legend,
    legend_below,
    name_all,
    panels,
)
from course_utils.figures.looks import bar_look
from course_utils.figures.series import lines, plain_logarithm
from course_utils.figures.words import described, or_unknown


def remat(steps: dict, counted: dict) -> Picture:
    """Peak memory and time of a step in several ways, beside the peak that was counted.

    `steps`: {(policy, way): rounds, the first one to warm up}, a round the list of
    `trainee.Step` that make one update; the mean peak and the median time are drawn.
    `counted`: {the same: MB}.
    """
    figure, (left, right) = panels(2, 10.0, 3.4)
    names, ways = [], list(dict.fromkeys(way for _, way in steps))
    for at, ((policy, way), (_, *rounds)) in enumerate(steps.items()):
        tops = [
            max(step.peak_bytes or np.nan for step in round_steps)
            for round_steps in rounds
        ]
        ms = [1e3 * sum(step.seconds for step in round_steps) for round_steps in rounds]
        names.append(policy.removeprefix("mixed_") + "\n" + way)
        look = bar_look(policy) | {"alpha": 1 - 0.3 * ways.index(way)}
        for ax, value in ((left, np.mean(tops) / 1e6), (right, np.median(ms))):
            bars = ax.bar(at, np.nan_to_num(value), 0.7, **look)
            ax.bar_label(bars, [or_unknown(value, "{:.0f}")], padding=2)
    mb = [counted[key] for key in steps]
    places = np.arange(len(steps))
    left.plot(places + 0.24, mb, "D", mec="white", color=INK, label="counted")
    for ax in (left, right):
        name_all(ax.xaxis, names)
    left.set(ylabel="MB", title="Peak of a step", ylim=(0, 1.35 * max(mb)))
    right.set(ylabel="ms", title="Time of a step")
    right.margins(y=0.15)
    legend(left)
    return described(figure)


def sensitivity(scan: dict, change: str, title: str) -> Picture:
    """Accuracy over what was done to the weights of one layer, a line for each layer.

    `scan`: {layer: {how much: accuracy, 0 to 1}}, at the same places for each layer;
    `change` says what stands on the axis, from little to much.
    """
    figure, ax = canvas(7.5)
    percent = 100 * pd.DataFrame(scan)
    places = range(len(percent))
    lines(ax, {layer: (places, percent[layer]) for layer in percent})
    name_all(ax.xaxis, percent.index, fontsize=10)
    ax.set(xlabel=change, ylabel="digits right, %", title=title)
    legend(ax)
    return described(figure)


def front(points: list[dict], images: int) -> Picture:
    """Accuracy over packed size and over latency, a line for each form, a marker for
    each width.

    `points`: dicts with form, width, packed_kb (after gzip), accuracy (0 to 1) and ms.
    The vertical lines reach one standard error of an accuracy on this many images to
    each side; numbers at the line of float32 are the widths.

    Example: `front(records.smaller(), images=10_000)`
    """
    table = pd.DataFrame(points)
    table["right"] = 100 * table["accuracy"]
    table["error"] = 100 * np.sqrt(table["accuracy"] * (1 - table["accuracy"]) / images)
    table["µs"] = 1e3 * table["ms"]
    forms = {
        form: own.sort_values("width")
        for form, own in table.groupby("form", sort=False)
    }
    figure, (size, time) = panels(2, 9.0, 4.2, sharey=True)
    for ax, column in ((size, "packed_kb"), (time, "µs")):
        lines(ax, {form: (own[column], own["right"]) for form, own in forms.items()})
        for line, own in zip(ax.lines, forms.values(), strict=True):
            ends = own["right"] - own["error"], own["right"] + own["error"]
            ax.vlines(own[column], *ends, color=line.get_color(), linewidth=1)
        for point in table[table["form"] == "float32"].to_dict("records"):
            place = {"textcoords": "offset points", "fontsize": 9}
            ax.annotate(
                point["width"], (point[column], point["right"]), (6, -12), **place
            )
        plain_logarithm(ax, "x")
    size.set(xlabel="packed file, kB", ylabel="digits right, % ± one standard error")
    size.set(title="What a byte buys")
    time.set(xlabel="one image, µs", title="What time buys")
    legend_below(figure, 4)
    return described(figure)
