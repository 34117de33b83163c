"""Plans for a training: the memory of each over its time, and an order to keep."""

import itertools

import pandas as pd

from course_utils.figures.base import INK, Picture, canvas, write
from course_utils.figures.looks import COLORS
from course_utils.figures.series import plain_logarithm
from course_utils.figures.words import described

LOOKS = {32: (COLORS["float32"], "o"), 16: (COLORS["bfloat16"], "s")}


def trade_off(table: pd.DataFrame, order: dict | None = None) -> Picture:
    """The memory of each plan over its time, and the limits.

    `table`: a row for each plan, with bits (32 is a circle, 16 a square), MB and times.
    `order`: the limits of MB and times; what keeps both lies in the shaded corner.
    """
    figure, ax = canvas(8.0, 4.2)
    rows = table.sort_values("MB")[["bits", "times", "MB"]].itertuples()
    # those of nearly the same memory have their names above and below
    for side, (name, bits, times, mb) in zip(itertools.cycle((0.93, 1.07)), rows):
        color, marker = LOOKS[bits]
        ax.plot(times, mb, marker, color=color, markersize=9, label=name)
        write(ax, times, mb * side, f"   {name}", ha="left")
    plain_logarithm(ax, "y")
    ax.margins(x=0.3, y=0.12)
    title = "Memory and time of each plan"
    if order:
        corner = [ax.get_xlim()[0], order["times"]]
        bottom = 0.7 * min(order["MB"], *table["MB"])
        ax.set(xlim=corner[0], ylim=bottom)
        ax.fill_between(corner, order["MB"], bottom, color=INK, alpha=0.15)
        title = f"At most {order['MB']} MB and {order['times']} times as long"
    ax.set(title=title, xlabel="times as long as float32", ylabel="MB, counted")
    return described(figure)
