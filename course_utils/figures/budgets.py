"""The parts of a step, end to end."""

import pandas as pd

from course_utils.figures.base import (
    INK,
    Picture,
    canvas,
    legend_below,
    name_all,
    write,
)
from course_utils.figures.looks import filled
from course_utils.figures.series import stack
from course_utils.figures.words import described

# The parts of the one time budget, which notebook 07 goes on with.
BUDGET = {
    "input": filled("#E69F00", "//"),
    "launch": filled("#999999", ".."),
    "products": filled("#56B4E9"),
    "other": filled("#F0E442", "\\\\"),
    "exchange": filled("#CC79A7", "xx"),
}
NOT_DIVIDED = "not divided"
# behind numbers
PLATE = {"facecolor": "white", "edgecolor": "none", "pad": 1.2, "alpha": 0.85}


def time_budget(rows: dict, title: str = "Where the time of a step goes") -> Picture:
    """A lying bar for each row: input, launch, products, other and exchange end to end.

    `rows`: {label: {part: ms}} with parts of `BUDGET`, and "step", the whole, where not
    every part is known yet: what is missing of it stays empty. None and NaN are
    unknown. Rows whose label begins with "predicted" are pale.

    Example: `time_budget({"predicted": {"products": 9, "launch": 2}, "measured":
    {"step": 14}})`.
    """
    columns = ["step", *BUDGET]
    table = pd.DataFrame.from_dict(rows, "index", float).reindex(columns=columns)
    parts = table.drop(columns="step").fillna(0.0)
    rest = table["step"] - parts.sum(axis=1)
    parts[NOT_DIVIDED] = rest.where(rest > 0)
    whole = parts.sum(axis=1)
    parts = parts.loc[:, parts.max() > 0.004 * whole.max()]
    figure, ax = canvas(7.5, 1.4 + 0.42 * len(rows))
    outline = {"facecolor": "none", "edgecolor": INK, "linestyle": ":"}
    looks = BUDGET | {NOT_DIVIDED: outline | {"linewidth": 1.2}}
    at = range(len(rows))
    stack(ax, at, {part: (looks[part], parts[part]) for part in parts}, 0.62, True)
    legend_below(figure, len(looks))  # before a bar is pale
    for part, group in zip(parts, ax.containers, strict=True):
        long = parts[part] > 0.08 * whole.max()
        numbers = parts[part].map(two_digits).where(long, "")
        ax.bar_label(group, numbers, label_type="center", fontsize=9, bbox=PLATE)
        for bar, label in zip(group, rows, strict=True):
            if label.startswith("predicted"):
                bar.set_alpha(0.45)
    for y, ms in enumerate(whole):
        write(ax, ms, y, f"  {two_digits(ms)} ms", ha="left")
    name_all(ax.yaxis, list(rows), fontsize=10)
    ax.invert_yaxis()
    ax.margins(x=0.13)
    ax.set(xlabel="ms", title=title)
    sums = [f"{label} {two_digits(ms)} ms" for label, ms in whole.items()]
    return described(figure, f"In all: {', '.join(sums)}")


def two_digits(ms: float) -> str:
    """Two digits and no power of ten: "0.94", "12", "110"."""
    return f"{ms:.0f}" if ms >= 10 else f"{ms:.2g}"
