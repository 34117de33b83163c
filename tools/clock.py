"""How long a notebook takes: one model of a reader, and what of it stands written in
the course.

    python -m tools.clock [NAMES]     print the account of these notebooks, section by section

`tools.notebooks --fix` writes the minutes into the sections' clocks, *At a glance*, the
map of notebook 00 and the README; `--check` names those that are stale, and a core over
its budget.
"""

import re
import sys
from dataclasses import dataclass
from functools import cached_property

from course_utils import exercises
from tools.canonical import COMING_BACK, COURSE, EXERCISE_TAG, read, tags_of

# words read in a minute; minutes for a line of code, a figure
WORDS, LINE, FIGURE = 180, 0.1, 0.5
# Minutes of each core, from notebook 00 on; of each, words as they stand in the file,
# and lines of code. What is alike in all notebooks takes no minute and is not counted:
# the lines of the setup cell, the line for those who come back, and the help at the
# end.
BUDGET = (20, 45, 45, 45, 40, 50, 50, 45, 45, 40, 60)
MOST = {"written": 1_974, "lines": 210}
# What has a clock of its own. What does not, such as the prediction, goes with what is
# above it.
TIMED = re.compile(r"\d+\. |Setup|Common mistakes|Recap")
HEADING = re.compile(r"^## +(.+?) *\n", re.M)
CLOCK = re.compile(r"\*≈\d+ min( · \d+ min so far)?\*(?:\n+|\Z)")
PICTURE = re.compile(r"!\[[^\]]+\]\((?!https://colab)")
GLANCE = re.compile(
    r"\*\*\d+ minutes\*\*(, (?:of which \d+ core|and \d+ going further))?"
)
PATH = re.compile(r"The core path is 00 to 05[^\n.]*\.")
WRITTEN = (CLOCK, GLANCE, PATH, re.compile(r"\| \d+( to \d+)? \|"))
CORE_PATH = ("00", "01", "02", "03", "04", "05")


@dataclass
class Section:
    """What a reader has to do between two clocks."""

    heading: str
    words: int = 0
    written: int = 0  # links, formulas, what is folded and the clocks too
    lines: int = 0
    figures: int = 0
    exercises: int = 0  # their own minutes
    seconds: float = 0  # of waiting

    @property
    def further(self):
        return "Going further" in self.heading

    @property
    def minutes(self):
        reading = self.words / WORDS + self.lines * LINE + self.figures * FIGURE
        return reading + self.exercises + self.seconds / 60


@dataclass
class Account:
    """A notebook's sections and the minutes that they come to."""

    name: str
    sections: list

    def total(self, what, further=False):
        """Return the sum of this over the core, or over what lies beyond it."""
        return sum(getattr(s, what) for s in self.sections if s.further == further)

    @cached_property
    def core(self):
        return round(self.total("minutes"))

    @cached_property
    def whole(self):
        return self.core + round(self.total("minutes", further=True))

    @property
    def span(self):
        """The minutes as they stand in the maps."""
        return (
            f"{self.core} to {self.whole}" if self.whole > self.core else f"{self.core}"
        )

    def clocks(self):
        """Return {heading: its clock}; a section beyond the core moves no clock on."""
        so_far, found = 0.0, {}
        for section in self.sections:
            own = max(1, round(section.minutes))
            found[section.heading] = f"*≈{own} min*"
            if not section.further:
                so_far += section.minutes
                own = max(1, round(so_far) - round(so_far - section.minutes))
                found[section.heading] = f"*≈{own} min · {round(so_far)} min so far*"
        return found

    def glance(self):
        further = f", and {self.whole - self.core} going further"
        return f"**{self.core} minutes**" + further * (self.whole > self.core)


def words(source, folded=False):
    """Count the words that a reader sees, unless asked not those that a click unfolds."""
    # so that what --fix writes does not depend on what it wrote
    for written in WRITTEN:
        source = written.sub(" ", source)
    if not folded:
        source = re.sub(r"<details.*?</summary>.*?</details>", "", source, flags=re.S)
    source = re.sub(r"</?\w[^>]*>|!\[.*?\]\([^)]*\)|\]\([^)]*\)", " ", source)
    return sum(any(map(str.isalnum, word)) for word in source.split())


def pictures(outputs):
    """Count the figures and explorers among a cell's outputs."""
    shown = [output.get("data", {}) for output in outputs]
    html = re.compile("<img |attachShadow")
    return sum(
        "image/png" in d or bool(html.search(d.get("text/html", ""))) for d in shown
    )


def account(path):
    """Return what a blank notebook and its solved copy, if there is one, ask of a
    reader.
    """
    nb = read(path)
    copy = path.parent / "solved" / path.name
    stored = {cell.id: cell for cell in (read(copy).cells if copy.exists() else [])}
    return Account(path.name[:2], sections(nb.cells, stored, path.name))


def sections(cells, stored, name):
    """Return what these cells, and their stored outputs by id, come to; `from` names a
    source.
    """
    sections = [Section("")]
    for cell in cells:
        solved = stored.get(cell.id, cell)
        if cell.cell_type == "markdown" and cell.id != "trouble":
            above, *below = HEADING.split(cell.source.replace(COMING_BACK, ""))
            for heading, text in [
                (None, above),
                *zip(below[::2], below[1::2], strict=True),
            ]:
                if heading and TIMED.match(heading):
                    if sections[-1].heading:
                        sections.append(Section(heading))
                    # what stands above the first goes with it
                    sections[-1].heading = heading
                sections[-1].written += len(f"{heading or ''} {text}".split())
                sections[-1].words += words(
                    f"{heading or ''}\n{text}", folded=cell.id == "quiz"
                )
                sections[-1].figures += len(PICTURE.findall(text))
        elif (
            cell.cell_type == "code" and cell.id != "setup"
        ):  # plumbing that nobody reads
            sections[-1].lines += sum(
                map(bool, map(str.strip, cell.source.splitlines()))
            )
        sections[-1].figures += pictures(solved.get("outputs", []))
        sections[-1].seconds += solved.metadata.get("seconds", 0)
        for match in filter(None, map(EXERCISE_TAG.fullmatch, tags_of(cell))):
            if match[1] == "exercise":
                questions = exercises.load(
                    cell.metadata.get("from", name)[:2]
                ).questions
                sections[-1].exercises += questions[int(match[2])].exercise.minutes
    return sections


def wound(source, account):
    """Return a markdown cell's text with the minutes of this account."""
    clocks = account.clocks()

    def clock(match):
        wanted = clocks.get(match[1])
        return f"## {match[1]}\n\n" + f"{wanted}\n\n" * bool(wanted)

    once = HEADING.pattern + r"\n*(?:" + CLOCK.pattern + ")*"
    source = re.sub(once, clock, source, flags=re.M).rstrip("\n")
    return GLANCE.sub(account.glance(), source) if "At a glance" in source else source


def mapped(text, accounts):
    """Return a text whose table of notebooks and sentence on the core path have these
    minutes.
    """
    for one in accounts:
        row = rf"^(\| (?:\[)?{one.name} · [^|]*\|)[^|]*\|"
        text = re.sub(row, rf"\g<1> {one.span} |", text, flags=re.M)
    core = [one.core for one in accounts if one.name in CORE_PATH]
    hours = f"{round(sum(core) / 30) / 2:g} hours".replace(".5", "½")
    return PATH.sub(f"The core path is 00 to 05: {hours}.", text)


def over(account):
    """Return one sentence for each budget that a core exceeds."""
    if int(account.name) >= len(BUDGET):
        return [
            f"{account.name}: BUDGET in tools/clock.py has no minutes for its core yet."
        ]
    limits = (
        ("minutes", account.core, BUDGET[int(account.name)]),
        ("words", account.total("written"), MOST["written"]),
        ("lines of code", account.total("lines"), MOST["lines"]),
    )
    return [
        f"{account.name}: its core has {count:,} {what}, at most {limit:,}."
        for what, count, limit in limits
        if count > limit
    ]


def print_account(account):
    print(f"{account.name}  words lines figures exercises waiting   minutes")
    for s in account.sections:
        numbers = (
            f"{s.words:9} {s.lines:5} {s.figures:7} {s.exercises:9} {s.seconds:7.0f}"
        )
        print(f"{numbers} {s.minutes:9.1f}  {s.heading}")
    core = [
        account.total(what)
        for what in ("words", "lines", "figures", "exercises", "seconds")
    ]
    print(
        "core {:4} {:5} {:7} {:9} {:7.0f}".format(*core),
        f"{account.core:9}  of {account.whole}",
    )


if __name__ == "__main__":
    for path in sorted((COURSE / "notebooks").glob("[0-9]*.ipynb")):
        if not sys.argv[1:] or path.name.startswith(tuple(sys.argv[1:])):
            print_account(account(path))
