"""What is learned from epoch to epoch: losses, accuracy."""

import itertools

import numpy as np

from course_utils.figures.base import INK, Picture, canvas
from course_utils.figures.looks import COLORS, SCALE, YOU, dtype_of
from course_utils.figures.series import OTHERS, name_the_ends, plain_logarithm
from course_utils.figures.words import described, power


def histories(
    losses: dict, title: str, ylabel: str = "training loss", xlabel: str = "epoch",
    every: int = 1, scale: str = "log", first: int = 1, shaded: tuple | None = None,
) -> Picture:  # fmt: skip
    """One panel: a loss for each epoch of several runs, each named where its line ends.

    `losses`: label to the list of losses, or to one row for each seed, drawn thin
    behind their mean; a dtype policy as label gets that dtype's color, "yours" the
    reader's, and "S = 2^9" the loss scale's. Between two losses lie
    `every` of what `xlabel` counts, and before the first `first` times that; the axis
    has this `scale`.
    `shaded` is (from, to, why).
    """
    figure, ax = canvas(7.5, 3.6)
    others = itertools.cycle(look["color"] for look in OTHERS)
    dashes = itertools.cycle(
        ["--", "-.", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (8, 2))]
    )
    colors = COLORS | {"yours": YOU, "S": SCALE}
    ends = []
    for label, values in losses.items():
        name = dtype_of(label).split(" = ")[0]  # "S" of "S = 2^9"
        color = colors.get(name) or next(others)
        dash = ":" if label in COLORS else next(dashes)
        dash = "-" if label == "float32" else dash
        style = {"color": color, "linestyle": dash, "linewidth": 1.8}
        steps = every * (first + np.arange(np.shape(values)[-1]))
        if np.ndim(values) == 2:
            ax.plot(steps, np.transpose(values), color=color, linewidth=0.8, alpha=0.5)
            values = np.mean(values, axis=0)
        # a logarithmic axis has no place for a zero
        there = np.isfinite(values) & ((scale != "log") | (np.asarray(values) > 0))
        ax.plot(steps, np.where(there, values, np.nan), label=label, **style)
        numbers = np.flatnonzero(there)
        last = numbers.max(initial=-1)
        name = power(label)
        if last + 1 < len(steps):
            since = every * (first + 1 + last)
            name = f"{name}: {values[-1]:g} from {xlabel} {since} on"
        ends.append((values[last] if len(numbers) else np.nan, name, style))
    ax.set(xlabel=xlabel, ylabel=ylabel, yscale=scale, title=title)
    if shaded:
        start, end, why = shaded
        ax.axvspan(start, end, color=INK, alpha=0.12, lw=0)
        foot = ("data", "axes fraction")
        ax.annotate(f" {why}", (start, 0.02), xycoords=foot, fontsize=9)
    if scale == "log":
        plain_logarithm(ax, "y")
    name_the_ends(ax, ends)
    return described(figure)
