"""What a lab report and a class board draw. Every text of a board may be
anybody's: none is read as math.
"""

import matplotlib
import numpy as np
import pandas as pd

from course_utils.errors import shorten
from course_utils.figures.base import (
    INK,
    Picture,
    canvas,
    legend,
    legend_below,
    name_all,
)
from course_utils.figures.looks import COLORS, dtype_of, filled, line_look
from course_utils.figures.series import around_one, lines
from course_utils.figures.words import described

COLUMNS = (
    ("guess", "guessed", filled("#E69F00", "//")),
    ("measured", "measured", {"color": "#0072B2", "histtype": "step", "linewidth": 2}),
)
anybodys = matplotlib.rc_context({"text.parse_math": False})


@anybodys
def curve(curves: dict, title: str) -> Picture:
    """Lines {name: values} over their number; what is no number is a gap."""
    figure, ax = canvas(4.2, 2.6)
    courses = {}
    for name, values in curves.items():
        numbers = [v if isinstance(v, float) else np.nan for v in values]
        courses[name] = range(1, len(values) + 1), numbers
    lines(ax, courses, marker="")
    for line in ax.lines:
        line.set_label(shorten(line.get_label(), 30))
    ax.set_title(shorten(title, 40), fontsize=10)
    if curves:
        legend(ax)
    return described(figure)


@anybodys
def speed_by_device(table: pd.DataFrame) -> Picture:
    """A mark for each report's speedup in a row for its device, the fastest device
    first.

    `table`: columns device, policy (its look) and speedup, NaN where it was not
    measured.
    """
    table = table[table["speedup"].between(1e-3, 1e3)]
    devices = table.groupby("device")["speedup"].agg(["median", "size"])
    devices = devices.sort_values("median", ascending=False)
    figure, ax = canvas(8.0, 1.4 + 0.2 * len(devices))  # 40 devices fit on a screen
    is_policy = table["policy"].map(dtype_of).isin(COLORS)
    for policy, rows in table.groupby(table["policy"].where(is_policy, "other")):
        look = {"color": INK, "marker": "D"} if policy == "other" else line_look(policy)
        look |= {"linestyle": "", "alpha": 0.7, "label": policy}
        ax.plot(rows["speedup"], devices.index.get_indexer(rows["device"]), **look)
    around_one(ax, table["speedup"])
    names = []
    for device, median, size in devices.itertuples():
        reports = "report" if size == 1 else "reports"
        name = shorten(device, 46, end=20)
        names.append(f"{name}: {median:.2f}×, {size} {reports}")
    name_all(ax.yaxis, names)
    ax.set_ylim(len(names) - 0.5, -0.7)
    ax.set_xlabel("speed of a training step against float32")
    if is_policy.any():
        legend_below(figure, 3, fontsize=10)
    return described(figure)


@anybodys
def guesses(table: pd.DataFrame, quantity: str, unit: str) -> Picture:
    """Two histograms over the same bins: the columns guess and measured of a table.

    What lies far from all others stands in the first or the last bin.
    """
    values = table[["guess", "measured"]].to_numpy(float)
    values = values[~np.isnan(values)]
    log = values.min() > 0 and values.max() > 20 * values.min()
    scaled = np.log(values) if log else values
    middle = np.median(scaled)
    reach = 20 * np.median(np.abs(scaled - middle)) or abs(middle) or 1.0
    low, high = np.clip([scaled.min(), scaled.max()], middle - reach, middle + reach)
    aside = reach / 20 if low == high else 0
    edges = np.linspace(low - aside, high + aside, 13)
    edges = np.exp(edges) if log else edges
    figure, ax = canvas(4.2, 2.6)
    words = [f"{shorten(quantity, 40)} in {shorten(unit, 40)}"]
    for column, label, look in COLUMNS:
        answers = table[column].dropna()
        ax.hist(answers.clip(edges[0], edges[-1]), edges, label=label, **look)
        median = "none"
        if len(answers):
            median = f"median {answers.median():.3g} of {len(answers)}"
        words.append(f"{label}: {median}")
    far = ((values < edges[0]) | (values > edges[-1])).sum()
    ax.set_ylabel("reports")
    ax.set_title(shorten(quantity, 40), fontsize=10)
    ax.yaxis.get_major_locator().set_params(integer=True)
    if log:  # no powers of ten in a class's numbers
        ax.set_xscale("log")
        ax.set_xticks(edges[::3], [f"{edge:.2g}" for edge in edges[::3]])
        ax.minorticks_off()
    beyond = f" ({far} beyond the edge)" if far else ""
    ax.set_xlabel(shorten(unit, 40) + beyond)
    legend(ax)
    return Picture(figure, "; ".join(words) + ".")
