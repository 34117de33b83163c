"""What a report card, a lab report and a class board draw. Every text of a board may be
anybody's: none is read as math.
"""

import matplotlib
import numpy as np

from course_utils.figures.base import (
    INK,
    Picture,
    canvas,
    legend,
    legend_below,
    name_all,
    short,
    write,
)
from course_utils.figures.looks import COLORS, dtype_of, filled, line_look
from course_utils.figures.series import around_one, lines
from course_utils.figures.words import described
from course_utils.hardware import counted

DRAWN = (
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
        line.set_label(short(line.get_label(), 30))
    ax.set_title(short(title), fontsize=10)
    if curves:
        legend(ax)
    return described(figure)


@anybodys
def speed_by_device(table) -> Picture:
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
    names = [
        f"{short(device, 46, end=20)}: {median:.2f}×, {counted(size, 'report')}"
        for device, median, size in devices.itertuples()
    ]
    name_all(ax.yaxis, names)
    ax.set_ylim(len(names) - 0.5, -0.7)
    ax.set_xlabel("speed of a training step against float32")
    if is_policy.any():
        legend_below(figure, 3, fontsize=10)
    return described(figure)


@anybodys
def guesses(table, quantity: str, unit: str) -> Picture:
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
    words = [f"{short(quantity)} in {short(unit)}"]
    for column, label, look in DRAWN:
        answers = table[column].dropna()
        ax.hist(answers.clip(edges[0], edges[-1]), edges, label=label, **look)
        median = "none"
        if len(answers):
            median = f"median {answers.median():.3g} of {len(answers)}"
        words.append(f"{label}: {median}")
    far = ((values < edges[0]) | (values > edges[-1])).sum()
    ax.set_ylabel("reports")
    ax.set_title(short(quantity), fontsize=10)
    ax.yaxis.get_major_locator().set_params(integer=True)
    if log:  # no powers of ten in a class's numbers
        ax.set_xscale("log")
        ax.set_xticks(edges[::3], [f"{edge:.2g}" for edge in edges[::3]])
        ax.minorticks_off()
    beyond = f" ({far} beyond the edge)" if far else ""
    ax.set_xlabel(short(unit) + beyond)
    legend(ax)
    return Picture(figure, "; ".join(words) + ".")


LOOKS = {
    "guess": ("#E69F00", "D", "your guess"),
    "predicted": ("#0072B2", "o", "predicted"),
}
PLACES = {"guess": 1.04, "predicted": 1.19, "measured": 1.38}  # of the numbers, in axes
# times too much or too little; what is farther out stands at the edge, as an arrow
FARTHEST = 4


def report_card(card: list[dict]) -> Picture:
    """A line for each quantity: how far what was guessed and predicted lies from the
    measured.

    `card`: dicts with quantity, unit, guess, predicted and measured, each a number or
    None. On the logarithmic axis 1 is what was measured; without it a line has its
    numbers alone.
    """
    figure, ax = canvas(8.0, 1.5 + 0.46 * len(card))
    ax.set_xscale("log", base=2)
    ax.axvline(1, color=INK, linewidth=1.5)
    beside = {"transform": ax.get_yaxis_transform(), "ha": "left", "fontsize": 10}
    words = []
    for y, row in enumerate(card):
        numbers = {
            key: f"{row[key]:.3g} {row['unit']}"
            for key in PLACES
            if row[key] is not None
        }
        numbers.setdefault("measured", "unknown")
        for key, text in numbers.items():
            write(ax, PLACES[key], y, text, **beside)
        summary = ", ".join(f"{key} {text}" for key, text in numbers.items())
        words.append(f"{row['quantity']}: {summary}")
        for key, (color, marker, label) in LOOKS.items():
            if row[key] and row["measured"]:
                times = row[key] / row["measured"]
                at = min(max(times, 1 / FARTHEST), FARTHEST)
                shape = marker
                if at != times:
                    shape = ">" if times > 1 else "<"
                ax.plot([1, at], [y, y], color=color, linewidth=2, alpha=0.6)
                look = {"color": color, "markersize": 9, "markeredgecolor": INK}
                ax.plot(at, y, shape, label=label, **look)
    for key, place in PLACES.items():
        ax.text(place, 1.02, key, transform=ax.transAxes, fontweight="bold")
    ticks = [1 / FARTHEST, 0.5, 1, 2, FARTHEST]
    ax.set_xticks(ticks, ["¼", "½", "measured", "2 ×", "4 ×"])
    ax.minorticks_off()
    name_all(ax.yaxis, [row["quantity"] for row in card], fontsize=10)
    ax.set(xlim=(0.92 / FARTHEST, 1.09 * FARTHEST), ylim=(len(card) - 0.4, -0.6))
    ax.set_title("How far from what was measured", loc="left")
    ax.grid(axis="x", color=INK, alpha=0.25)
    legend_below(figure, len(LOOKS))
    return Picture(figure, "; ".join(words) + ".")
