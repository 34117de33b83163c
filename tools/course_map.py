"""The map of the course on the site's first page: a path, and electives that leave it.

It is an SVG without a picture's file, so that its letters and lines have the page's
colors, its titles are links, and keys reach them. Titles are the notebooks' first lines,
minutes the clock's, and an elective needs the notebooks that its *What you'll need* names.
"""

import re
import textwrap
from html import escape

from tools import clock
from tools.canonical_form import COURSE, read

WIDTH = 340  # of the drawing, in its own units: nearly a phone's pixels
LINE = 17  # from one line of text to the next
GAP = 13  # between two notebooks
PATH_X = 24  # of the path's line
INDENT = 24  # of what leaves it, and again of what leaves that
ROUND = 10  # radius of a corner
BEYOND = 7  # x of a line to what needs a second notebook
# Width of a letter of a title in a wide font, thick on the path.
LETTERS = {"path": 8.2, "elective": 7.4}
NEEDED = re.compile(r"\*\*What you'll need\.\*\*([^\n]*)")
NUMBERS = re.compile(r"[Nn]otebooks? ((?:\d\d(?:, | and )?)+)")


class Stop:
    """A notebook on the map: its number, title, file, minutes, and what it needs."""

    def __init__(self, path):
        self.account = clock.account(path)
        self.number = self.account.name
        self.file = path.stem
        texts = {cell.id: cell.source for cell in read(path).cells}
        self.title = texts["title"].splitlines()[0].removeprefix("# ")
        said = NEEDED.search(texts["at-a-glance"])[1]
        named = "".join(NUMBERS.findall(said))
        self.needs = sorted(set(re.findall(r"\d\d", named)))
        self.is_on_path = self.number in clock.CORE_PATH
        self.kind = "path" if self.is_on_path else "elective"

    def after(self, stops):
        """Return the notebooks that it leaves from: the last one of the path that it
        needs, and electives; those are left out that one of the others needs. What
        names none leaves from the first.
        """
        on_path = [number for number in self.needs if stops[number].is_on_path]
        others = [number for number in self.needs if number not in on_path]
        before = {one for number in others for one in stops[number].needs}
        found = [one for one in on_path[-1:] if one not in before] + others
        return found or [*stops][:1]


def stops(folder=COURSE / "notebooks"):
    """Return {number: Stop} of all notebooks."""
    found = [Stop(path) for path in sorted(folder.glob("[0-9]*.ipynb"))]
    return {stop.number: stop for stop in found}


def rows(every):
    """Return [(stop, depth)] from top to bottom: the path, and below each notebook those
    that leave it. What leaves from two stands below the later one.
    """

    def below(number, depth):
        yield every[number], depth
        for stop in every.values():
            if not stop.is_on_path and parent(stop, every) == number:
                yield from below(stop.number, depth + 1)

    path = [stop.number for stop in every.values() if stop.is_on_path]
    return [row for number in path for row in below(number, 0)]


def parent(stop, every):
    """Return the notebook below which an elective stands: the first of those it is
    after.
    """
    return stop.after(every)[0]


def words(stop, every):
    """Return what stands below a title: minutes, and after what an elective can be taken."""
    minutes = f"{stop.account.span} minutes"
    if stop.is_on_path:
        return minutes
    return f"{minutes} · after {' and '.join(stop.after(every))}"


def drawn(every):
    """Return the map as SVG."""
    places, texts, y = {}, [], 4
    for stop, depth in rows(every):
        x = PATH_X + depth * INDENT
        left = x + 16
        kind = stop.kind
        fitting = int((WIDTH - left) / LETTERS[kind])
        lines = textwrap.wrap(f"{stop.number} · {stop.title}", fitting)
        places[stop.number] = (x, y + LINE - 5)
        spans = " ".join(
            f'<tspan x="{left}" dy="{LINE if n else 0}">{escape(line)}</tspan>'
            for n, line in enumerate(lines)
        )
        texts.append(
            f'<a href="notebooks/{stop.file}.html" class="{kind}">'
            f'<text x="{left}" y="{y + LINE}">{spans}</text></a>'
        )
        y += LINE * (len(lines) + 1)
        texts.append(
            f'<text class="minutes" x="{left}" y="{y}">{words(stop, every)}</text>'
        )
        y += GAP
    lines = []
    for stop in every.values():
        if not stop.is_on_path:
            first, *others = stop.after(every)
            lines.append(f'<path d="{_branch(places[first], places[stop.number])}"/>')
            lines += [
                f'<path class="second" d="{_around(places[one], places[stop.number])}"/>'
                for one in others
            ]
    lines.append(f'<path class="path" d="{_path(every, places)}"/>')
    dots = [
        f'<circle class="{stop.kind}" '
        f'cx="{places[number][0]}" cy="{places[number][1]}" r="6"/>'
        for number, stop in every.items()
    ]
    shapes = "\n".join(lines + dots)
    return (
        f'<svg class="course-map" viewBox="0 0 {WIDTH} {y}" role="group" '
        f'aria-label="Map of the course">\n<g aria-hidden="true">\n{shapes}\n</g>\n'
        + "\n".join(texts)
        + "\n</svg>"
    )


def _path(every, places):
    ends = [places[number] for number, stop in every.items() if stop.is_on_path]
    (x, top), (_, bottom) = ends[0], ends[-1]
    return f"M{x} {top}V{bottom}"


def _branch(start, end):
    """A line that leaves a notebook downwards and turns to the right."""
    (x, top), (right, bottom) = start, end
    return f"M{x} {top}V{bottom - ROUND}q0 {ROUND} {ROUND} {ROUND}H{right}"


def _around(start, end):
    """A line left of the path, from one elective to another one below."""
    (x, top), (right, bottom) = start, end
    return (
        f"M{x} {top}H{BEYOND + ROUND}q{-ROUND} 0 {-ROUND} {ROUND}"
        f"V{bottom - ROUND}q0 {ROUND} {ROUND} {ROUND}H{right}"
    )


def told(every):
    """Return the map in words."""
    path = [number for number, stop in every.items() if stop.is_on_path]
    groups = {}
    for number, stop in every.items():
        if not stop.is_on_path:
            groups.setdefault(" and ".join(stop.after(every)), []).append(number)
    parts = [f"{listed(numbers)} after {place}" for place, numbers in groups.items()]
    return (
        f"The path is the thick line, {path[0]} to {path[-1]} in turn. The others are "
        f"electives, which you can take when you have done what is named: {', '.join(parts)}."
    )


def listed(numbers):
    """Return numbers as English joins them."""
    *most, last = numbers
    return f"{', '.join(most)} and {last}" if most else last


def page():
    """Return the map and its words, as Markdown."""
    every = stops()
    return f"```{{raw}} html\n{drawn(every)}\n```\n\n{told(every)}"
