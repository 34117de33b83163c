"""What a lab report and a class board draw. Every text may be anybody's: none is read
as math.
"""

import itertools

import matplotlib
import numpy as np
from matplotlib.ticker import NullLocator

from course_utils.figures.base import INK, Picture, canvas, legend
from course_utils.figures.looks import COLORS, EDGE, dtype_of, line_look
from course_utils.figures.speedups import around_one

LINES = [("#0072B2", "-"), ("#D55E00", "--"), ("#009E73", ":"), ("#CC79A7", "-.")]
SHOWN = (
    ("guess", "guessed", {"color": "#E69F00", "hatch": "//", **EDGE}),
    ("measured", "measured", {"color": "#0072B2", "histtype": "step", "linewidth": 2}),
)
anybodys = matplotlib.rc_context({"text.parse_math": False})


def short(text: str, length: int = 40, end: int = 0) -> str:
    """A text on one line of so many characters at most, so many of them from its end.

    >>> short("a device with a name", 10), short("a device with a name", 10, end=4)
    ('a device …', 'a dev…name')
    """
    line = " ".join(text.split())
    if len(line) <= length:
        return line
    return f"{line[: length - 1 - end]}…{line[len(line) - end :]}"


@anybodys
def curve(lines: dict, title: str) -> Picture:
    """Lines {name: values} over their number; what is no number is a gap."""
    figure, ax = canvas(4.2, 2.6)
    looks = itertools.cycle(LINES)
    words = []
    for name, values in lines.items():
        look = dict(zip(("color", "linestyle"), next(looks), strict=True))
        if dtype_of(name) in COLORS:
            look = line_look(name) | {"marker": ""}
        values = [v if isinstance(v, float) else np.nan for v in values]
        ax.plot(range(1, len(values) + 1), values, label=short(name, 30), **look)
        known = [v for v in values if v == v]
        said = f"from {known[0]:.3g} to {known[-1]:.3g}" if known else "no number"
        gaps = f", {len(values) - len(known)} not finite" * (len(known) < len(values))
        words.append(f"{short(name)} {said} in {len(values)} points{gaps}")
    ax.set_title(short(title), fontsize=10)
    if words:
        legend(ax, fontsize=9)
    return Picture(figure, f"{short(title, 80)}: {'; '.join(words) or 'nothing'}.")


@anybodys
def speed_by_device(table) -> Picture:
    """A mark for each report's speedup in a row for its device, the fastest device
    first.

    `table`: columns device, policy (its look) and speedup, NaN where it was not
    measured.
    """
    table = table[table["speedup"].between(1e-3, 1e3)]
    middle = table.groupby("device")["speedup"].median().sort_values(ascending=False)
    figure, ax = canvas(8.0, 1.4 + 0.2 * len(middle))  # 40 devices fit on a screen
    marks, words = {}, []
    for y, (device, median) in enumerate(middle.items()):
        rows = table[table["device"] == device]
        for policy, speedup in zip(rows["policy"], rows["speedup"], strict=True):
            known = dtype_of(policy) in COLORS
            look = line_look(policy) if known else {"color": INK, "marker": "D"}
            (mark,) = ax.plot(speedup, y, **look | {"linestyle": "", "alpha": 0.7})
            marks.setdefault(policy if known else "other", mark)
        count = f"{len(rows)} report{'s' * (len(rows) > 1)}"
        words.append(f"{short(device, 46, end=20)}: {median:.2f}×, {count}")
    around_one(ax, table["speedup"])
    ax.set_yticks(range(len(words)), words, fontsize=9)
    ax.set_ylim(len(middle) - 0.5, -0.7)
    ax.set_xlabel("speed of a training step against float32")
    if marks.keys() - {"other"}:
        legend(
            figure,
            handles=marks.values(),
            labels=marks,
            loc="outside lower center",
            ncols=3,
        )
    return Picture(figure, f"median speed by device: {'; '.join(words) or 'none'}.")


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
    aside = (low == high) * reach / 20
    edges = np.linspace(low - aside, high + aside, 13)
    edges = np.exp(edges) if log else edges
    figure, ax = canvas(4.2, 2.6)
    words = []
    for column, label, look in SHOWN:
        known = table[column].dropna()
        ax.hist(known.clip(edges[0], edges[-1]), edges, label=label, **look)
        said = f"median {known.median():.3g} of {len(known)}" if len(known) else "none"
        words.append(f"{label}: {said}")
    far = ((values < edges[0]) | (values > edges[-1])).sum()
    ax.set(xscale="log" if log else "linear", ylabel="reports", title=short(quantity))
    ax.yaxis.get_major_locator().set_params(integer=True)
    if log:  # no powers of ten in a class's numbers
        ax.set_xticks(edges[::3], [f"{edge:.2g}" for edge in edges[::3]], minor=False)
        ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel(short(unit) + f" ({far} beyond the edge)" * bool(far))
    ax.title.set_size(10)
    legend(ax, fontsize=9)
    return Picture(figure, f"{short(quantity)} in {short(unit)}, {'; '.join(words)}.")
