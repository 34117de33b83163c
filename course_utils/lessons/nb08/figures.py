"""What pruning and fewer bits do to one network."""

import numpy as np
import pandas as pd

from course_utils.figures.base import (
    Picture,
    canvas,
    legend,
    legend_below,
    name_all,
    panels,
)
from course_utils.figures.series import lines, plain_logarithm
from course_utils.figures.words import described


def draw_sensitivity(scan: dict, change: str, title: str) -> Picture:
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


def draw_front(points: list[dict], images: int) -> Picture:
    """Accuracy over packed size and over latency, a line for each form, a marker for
    each width.

    `points`: dicts with form, width, packed_kb (after gzip), accuracy (0 to 1) and ms.
    The vertical lines reach one standard error of an accuracy on this many images to
    each side; numbers at the line of float32 are the widths.

    Example: `draw_front(records.smaller(), images=10_000)`
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
