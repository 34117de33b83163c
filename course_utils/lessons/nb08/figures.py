"""What pruning and fewer bits do to one network."""

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
from course_utils.figures.looks import COLORS, filled
from course_utils.figures.series import beside, lines, plain_logarithm, stack
from course_utils.figures.words import described

# What a packed file is made of.
PARTS = {
    "fixed part": filled("#999999", ".."),
    "places": filled("#E69F00", "//"),
    "values": filled("#56B4E9"),
}


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
    table = pd.DataFrame(points).sort_values("width", kind="stable")
    table["right"] = 100 * table["accuracy"]
    table["error"] = 100 * np.sqrt(table["accuracy"] * (1 - table["accuracy"]) / images)
    table["µs"] = 1e3 * table["ms"]
    forms = dict(iter(table.groupby("form", sort=False)))
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


def draw_grid(weights: np.ndarray, few: dict[int, np.ndarray]) -> Picture:
    """Weights of one output, and below them the values that fewer bits leave them.

    `weights`: any shape; `few`: {bits: the same weights rounded with one scale}. One of
    them, some 0.3 of the largest, is followed down; beside each row stands how many
    became 0.

    Example: `draw_grid(column, {bits: rounded(column, bits) for bits in (4, 2)})`
    """
    largest = abs(weights).max()
    one = abs(weights - 0.3 * largest).argmin()
    figure, ax = canvas(8.0)
    counts, edges = np.histogram(weights, 80)
    ax.stairs(-counts / counts.max(), edges, fill=True, color=COLORS["float32"])
    for row, (bits, some) in enumerate(few.items(), 1):
        grid = np.linspace(-largest, largest, 2**bits - 1)
        ax.vlines(grid, row - 0.25, row + 0.25, INK, linewidth=1)
        beside(ax, row, f"{np.mean(some == 0):.0%} are 0")
    one_each = [some.flat[one] for some in (weights, *few.values())]
    ax.plot(one_each, range(len(one_each)), "o-", color="#E69F00", label="one weight")
    name_all(ax.yaxis, ["float32", *(f"{bits} bits" for bits in few)])
    ax.invert_yaxis()
    ax.set(xlabel="value of a weight", title="The same weights on coarser grids")
    legend_below(figure, 1)
    return described(figure)


def draw_parts(parts: dict) -> Picture:
    """What each packed file consists of, in kB end to end.

    `parts`: {form: {"fixed part", "places", "values"}}.

    Example: `draw_parts({"int8": {"fixed part": 3, "places": 5, "values": 8}})`
    """
    figure, ax = canvas()
    bars = {part: (PARTS[part], kb) for part, kb in pd.DataFrame(parts).iterrows()}
    stack(ax, range(len(parts)), bars, sideways=True)
    name_all(ax.yaxis, parts)
    ax.invert_yaxis()
    ax.set(xlabel="kB", title="What a packed file of the pruned network is made of")
    legend_below(figure, 3)
    return described(figure)
