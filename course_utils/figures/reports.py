"""What a lab report and a class board draw. Every text may be anybody's: none is read as math."""

import itertools

import matplotlib
import numpy as np

from course_utils.figures.base import Picture, canvas, legend
from course_utils.figures.looks import COLORS, dtype_of, line_look

LINES = [("#0072B2", "-"), ("#D55E00", "--"), ("#009E73", ":"), ("#CC79A7", "-.")]


def short(text: str, length: int = 40) -> str:
    """A text on one line of so many characters at most.

    >>> short("a device with a name", 10)
    'a device …'
    """
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


@matplotlib.rc_context({"text.parse_math": False})
def curve(lines, title: str) -> Picture:
    """Lines {name: values} over their number; a value that is None is a gap."""
    figure, ax = canvas(4.2, 2.6)
    looks, words = itertools.cycle(LINES), []
    for name, values in lines.items():
        color, style = next(looks)
        look = {"color": color, "linestyle": style}
        if dtype_of(name) in COLORS:
            look = line_look(name) | {"marker": ""}
        known = np.array(values, float)  # None is NaN
        ax.plot(range(1, len(known) + 1), known, label=short(name, 30), **look)
        said = known[np.isfinite(known)]
        ends = f"from {said[0]:.3g} to {said[-1]:.3g}" if len(said) else "no number"
        gaps = f", {len(known) - len(said)} not finite" if len(said) < len(known) else ""
        words.append(f"{short(name)} {ends} in {len(known)} points{gaps}")
    ax.set_title(short(title), fontsize=10)
    if words:
        legend(ax, fontsize=8)
    return Picture(figure, f"{short(title, 80)}: {'; '.join(words) or 'nothing is drawn'}.")
