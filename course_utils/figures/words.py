"""What a figure shows, in words that are read from its axes: for a screen reader, a
search or a terminal.
"""

import re
from operator import itemgetter

import numpy as np
from matplotlib.ticker import FuncFormatter

from course_utils.figures.base import Figure, Picture


def described(figure: Figure, more: str = "") -> Picture:
    """A figure with its words: titles, axes, and what every named line and bar shows.

    A line is told by its ends and by what lies above or below them. Where an axis has
    names, bars, dots and numbers are told name by name. `more` comes last: what no
    title, line or bar says.

    Example:
        >>> from course_utils.figures.base import canvas
        >>> figure, ax = canvas()
        >>> _ = ax.plot([1, 2, 3], [8, 2, 4], label="float16")
        >>> _ = ax.set(title="A loss", xlabel="epoch", ylabel="loss")
        >>> described(figure).alt
        'A loss (loss over epoch): float16 from 8 at 1 to 4 at 3, lowest 2 at 2.'
    """
    parts = [figure.get_suptitle(), *map(_panel, figure.axes), more]
    text = plain(". ".join(part.rstrip(".") for part in parts if part))
    return Picture(figure, f"{text}.")


def plain(text: str) -> str:
    """A figure's text on one line, with powers of two as one types them. A new line is
    a comma, unless a blank begins it.

    Example:
        >>> plain("mixed_\\nfloat16\\nfrom $2^{15}$ on")
        'mixed_float16, from 2^15 on'
        >>> plain("other\\n operations")
        'other operations'
    """
    one_line = re.sub("(?<![_:])\n(?! )", ", ", text).replace("_\n", "_")
    one_line = re.sub(r"\n *", " ", one_line)
    return re.sub(r"\$2\^\{(-?\d+)\}\$", r"2^\1", one_line)


def power(text: str) -> str:
    """A text with its powers of two as a figure writes them.

    Example:
        >>> power("from 2^15 on")
        'from $2^{15}$ on'
    """
    return re.sub(r"2\^(-?\d+)", r"$2^{\1}$", text)


def number(value: float, least: int = 10) -> str:
    """A number in three digits; a power of two from 2^`least` on as that power.

    Example:
        >>> number(0.12345), number(2.0**15), number(8, least=0)
        ('0.123', '2^15', '2^3')
    """
    fraction, exponent = np.frexp(value)
    if fraction == 0.5 and exponent > least:
        return f"2^{exponent - 1}"
    return f"{value:.3g}"


def or_unknown(value: float, form: str) -> str:
    """A number in a form of `str.format`, unknown where it is NaN.

    Example:
        >>> or_unknown(2.345, "{:.3g} ms"), or_unknown(float("nan"), "{:.3g} ms")
        ('2.35 ms', 'unknown')
    """
    return "unknown" if np.isnan(value) else form.format(value)


def _panel(ax):
    title = "".join(ax.get_title(loc=side) for side in ("left", "center"))
    if not ax.axison:
        return title
    axes = " over ".join(filter(None, (ax.get_ylabel(), ax.get_xlabel())))
    head = f"{title} ({axes})" if title and axes else title or axes
    series = _named(ax, ax.yaxis, 1) or _named(ax, ax.xaxis, 0) or _lines(ax)
    return ": ".join(filter(None, (head, "; ".join(series))))


def _named(ax, axis, along):
    """What stands at each name of an axis, which is number `along` of (x, y)."""
    form = axis.get_major_formatter()
    # what is written below lines are numbers, not names
    if not isinstance(form, FuncFormatter) or not (along or ax.containers):
        return []
    places = np.array(axis.get_majorticklocs())
    cells: list = [[] for _ in places]

    def tell(place, words):
        cells[np.abs(places - place).argmin()].append(words)

    bars = list(filter(_is_named, ax.containers))
    for group in bars:
        for bar, value in zip(group, group.datavalues, strict=True):
            if np.isfinite(value) and value != 0:
                tell(bar.get_center()[along], f"{group.get_label()} {number(value)}")
    for line in filter(_is_named, ax.lines):
        for point in line.get_xydata()[np.isfinite(line.get_xydata()).all(axis=1)]:
            tell(point[along], f"{line.get_label()} {number(point[1 - along])}")
    for text in [] if bars else ax.texts:  # the numbers beside the bars
        if getattr(text, "xycoords", "data") == "data":
            at = getattr(text, "xy", text.get_position())
            tell(at[along], text.get_text().strip())
    names = form.format_ticks(list(places))
    return [
        ": ".join(filter(None, (name, ", ".join(cell))))
        for name, cell in zip(names, cells, strict=True)
    ]


def _lines(ax):
    """The course of each named line."""
    form = ax.xaxis.get_major_formatter()

    def at(x):
        named = isinstance(form, FuncFormatter) and form(x, None)
        return named or number(x)

    return [
        f"{line.get_label()} {_course(line, at)}"
        for line in filter(_is_named, ax.lines)
    ]


def _is_named(artist):
    """Whether somebody gave it a label: matplotlib's own begin with "_"."""
    return artist.get_label() and not artist.get_label().startswith("_")


def _course(line, at):
    """A line by its first and last number, and by what lies above or below both."""
    places = line.get_xydata()
    places = places[np.isfinite(places[:, 0])]
    finite = np.isfinite(places[:, 1])
    points = [(y, f"{number(y)} at {at(x)}") for x, y in places[finite]]
    if not points:
        return "has no number"
    first = points[0]
    last = points[-1]
    low = min(points, key=itemgetter(0))
    high = max(points, key=itemgetter(0))
    words = [f"from {first[1]} to {last[1]}" if len(points) > 1 else first[1]]
    if len(points) > 1 and low[0] == high[0]:
        words = [f"stays {number(first[0])}"]
    for name, extreme in (("lowest", low), ("highest", high)):
        if extreme[0] not in (first[0], last[0]):
            words.append(f"{name} {extreme[1]}")
    if not finite.all():
        words.append(f"no number in {(~finite).sum()} of {len(finite)} points")
    return ", ".join(words)
