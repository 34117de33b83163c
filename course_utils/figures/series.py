"""Lines and bars over anything, each drawn in one place."""

import itertools
from typing import Any

import numpy as np
from matplotlib.ticker import LogFormatter
from numpy.typing import ArrayLike

from course_utils.figures.base import INK, Axes
from course_utils.figures.looks import COLORS, dtype_of, line_look

OTHERS: tuple = (  # by turns, and what a label names no dtype in has these colors too
    {"color": "#E69F00", "marker": "o", "linestyle": "-"},
    {"color": INK, "marker": "s", "linestyle": "--"},
    {"color": "#CC79A7", "marker": "^", "linestyle": "-."},
    {"color": "#56B4E9", "marker": "D", "linestyle": ":"},
    {"color": "#8C510A", "marker": "P", "linestyle": (0, (5, 1))},
    {"color": "#888", "marker": "v", "linestyle": (0, (3, 1, 1, 1))},
)


def lines(ax: Axes, series: dict, **options: Any) -> None:
    """A line for each {label: (places, values)}, both of shape (n,).

    A dtype or a policy looks like it. Anything else looks by turns like one of `OTHERS`,
    in the color of a dtype that it names. `options` are those of `ax.plot`.

    Example: `lines(ax, {"float16": ([1, 2], [0.5, 0.4])}, linewidth=2)`.
    """
    turns = itertools.cycle(OTHERS)
    for (label, (places, values)), other in zip(series.items(), turns, strict=False):
        is_dtype = label.removeprefix("mixed_") in COLORS
        other = other | {"color": COLORS.get(dtype_of(label), other["color"])}
        look = line_look(label) if is_dtype else other
        ax.plot(places, values, label=label, **look | options)


def stack(
    ax: Axes, at: ArrayLike, parts: dict, width: float = 0.8, sideways: bool = False
) -> np.ndarray | float:
    """Bars {label: (look, values)} on top of each other or end to end; their sums."""
    start: float | np.ndarray = 0.0
    for label, (look, values) in parts.items():
        if sideways:
            ax.barh(at, values, width, start, label=label, **look)
        else:
            ax.bar(at, values, width, start, label=label, **look)
        start = start + np.asarray(values)
    return start


class _Plain(LogFormatter):
    """As many numbers as matplotlib chooses, "0.5" and not "5e-01"."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return super().__call__(x, pos) and f"{x:g}"


def plain_logarithm(ax: Axes, side: str) -> None:
    """The axis "x" or "y" logarithmic, its numbers without powers of ten."""
    ax.set(**{f"{side}scale": "log"})
    axis = getattr(ax, f"{side}axis")
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(_Plain(minor_thresholds=(1.5, 0.6)))


def around_one(ax: Axes, ratios: ArrayLike) -> None:
    """A logarithmic axis of speeds: an octave to each side of 1, or as far as they
    reach.

    `ratios`: floats of any shape, of which NaN are left out. Rows go from the top down.
    """
    ratios = np.ravel(np.asarray(ratios, float))
    octaves = np.log2([0.5, 2.0, *ratios[np.isfinite(ratios)]])
    low = octaves.min() - 0.4
    high = octaves.max() + 0.4
    apart = int(np.searchsorted([5, 10], high - low)) + 1
    powers = [p for p in range(-64, 64) if p % apart == 0 and low < p < high]
    names = [f"{2**p}×" if p >= 0 else f"1/{2**-p}×" for p in powers]
    ax.set(xscale="log", xlim=(2.0**low, 2.0**high))
    ax.set_xticks([2.0**p for p in powers], names)
    ax.minorticks_off()
    ax.invert_yaxis()
    ax.axvline(1, color=INK, linewidth=1.5)
    ax.axvspan(2.0**low, 1, color=INK, alpha=0.07, linewidth=0)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    above: dict = {"xycoords": ax.get_xaxis_transform(), "textcoords": "offset points"}
    for side, offset, words in (("right", -8, "← slower"), ("left", 8, "faster →")):
        ax.annotate(words, (1, 1), (offset, 4), ha=side, va="bottom", **above)


def beside(ax: Axes, y: float, words: str) -> None:
    """Words right of the axes, in the row of y."""
    ax.text(1.02, y, words, transform=ax.get_yaxis_transform(), va="center")


def name_the_ends(ax: Axes, ends: list[tuple[float, str, dict]]) -> None:
    """Labels right of the axes at the heights of the lines' ends, apart where these are
    close.

    `ends`: (height, label, look of the line) of each line. A line joins each label to
    its height. What lies outside the axis, such as 0 on a logarithmic one, is named at
    its edge, and what has no number at its foot, with a cross and no line.
    """
    from scipy.optimize import isotonic_regression  # late: nothing else needs SciPy

    ax.set_ylim(ax.get_ylim())
    above = ax.transData + ax.transAxes.inverted()
    heights = np.array([above.transform((1, value))[1] for value, _, _ in ends])
    heights = np.clip(np.nan_to_num(heights), 0, 1)
    order = np.argsort(heights, kind="stable")
    gap = min(0.075, 1 / len(ends))
    room = gap * np.arange(len(ends))
    # The least moved heights that rise by the gap at least, all of them within the
    # axis.
    places = isotonic_regression(heights[order] - room).x.clip(0, 1 - room[-1]) + room
    for index, place in zip(order, places, strict=True):
        value, label, style = ends[index]
        look = {"transform": ax.transAxes, "clip_on": False, **style}
        if np.isnan(value):  # no line to join
            ax.plot(1.05, place, marker="x", **look)
        else:
            ax.plot([1.0, 1.06], [heights[index], place], **look)
        ax.text(1.07, place, label, va="center", fontsize=9, transform=ax.transAxes)
