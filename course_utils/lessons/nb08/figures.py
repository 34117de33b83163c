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
from course_utils.figures.looks import YOU, filled
from course_utils.figures.series import beside, lines, plain_logarithm, stack
from course_utils.figures.words import described, number

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


def draw_grid(weights: np.ndarray, few: dict[int, np.ndarray]) -> Picture:
    """Weights of one output, and below them the values that fewer bits leave them.

    `weights`: any shape; `few`: {bits: the same weights rounded with one scale}. One of
    them, some 0.3 of the largest, is followed down; beside each row stands how many
    became 0.

    Example: `draw_grid(column, {bits: rounded(column, bits) for bits in (4, 2)})`
    """
    weights = np.ravel(weights)
    largest = abs(weights).max()
    one = abs(weights - 0.3 * largest).argmin()
    figure, ax = canvas(8.0, 3.8)
    counts, edges = np.histogram(weights, 80, (-largest, largest))
    ax.stairs(0.4 - 1.3 * counts / counts.max(), edges, baseline=0.4, fill=True, color=YOU)
    kept = {"float32": weights} | {f"{bits} bits": some for bits, some in few.items()}
    for row, bits in enumerate(few, 1):
        most = 2 ** (bits - 1) - 1
        grid = largest * np.arange(-most, most + 1) / most
        ax.vlines(grid, row - 0.25, row + 0.25, color=INK, linewidth=1)
        beside(ax, row, f"{np.mean(few[bits] == 0):.0%} are 0")
    followed = [np.ravel(some)[one] for some in kept.values()]
    ax.plot(followed, range(len(kept)), "o-", color="#D55E00", label="one weight")
    name_all(ax.yaxis, kept, fontsize=10)
    ax.invert_yaxis()
    ax.set(xlabel="value of a weight", title="The same weights on coarser grids")
    legend(ax, loc="upper left")
    zeros = [f"{name} {np.mean(some == 0):.0%}" for name, some in kept.items()]
    return described(figure, f"Weights that are 0: {', '.join(zeros)}")


def draw_parts(parts: dict) -> Picture:
    """What each packed file consists of, in kB end to end.

    `parts`: {form: {"fixed part", "places", "values"}}.

    Example: `draw_parts({"int8": {"fixed part": 3, "places": 5, "values": 8}})`
    """
    figure, ax = canvas(7.5, 1.5 + 0.5 * len(parts))
    table = pd.DataFrame(parts).T[list(PARTS)]
    bars = {part: (PARTS[part], table[part]) for part in table}
    whole = stack(ax, range(len(table)), bars, 0.6, sideways=True)
    for row, kb in enumerate(np.ravel(whole)):
        beside(ax, row, f"{number(kb)} kB")
    name_all(ax.yaxis, table.index, fontsize=10)
    ax.invert_yaxis()
    ax.set(xlabel="kB", title="What a packed file of the pruned network is made of")
    legend_below(figure, len(PARTS))
    return described(figure)
