"""How long a notebook takes: one model of a reader, and what of it stands written in the
course.

    python -m tools.clock [NAMES]     print the account of these notebooks by section

`tools.notebooks --fix` writes the minutes into the sections' clocks, *At a glance*, the
map of notebook 00 and the README; `--check` names those that are stale. The constants
reproduced what four close readings of 2026-11-23 estimated of notebooks 00 to 10.
"""

import re
import sys
from dataclasses import dataclass
from functools import cached_property

from course_utils import exercises
from tools.canonical import COMING_BACK, COURSE, read, tags_of

# Minutes of a reader whose English is a second language.
WORD = 1 / 120
LINE = 1 / 6  # of code
FIGURE = 2 / 3
ROW = 1 / 20  # of printed output
EXPLORER = 2  # or a panel; what it asks comes on top
GUESS = 1
MOST_ROWS = 20  # of one cell that anybody reads
# The minutes that each core may take.
HOUR = ("01", "02", "03", "05", "06", "07", "08", "09", "13")
BUDGET = dict.fromkeys(HOUR, 60) | {"00": 30, "04": 50, "10": 75}
# What has a clock of its own. What does not, such as the prediction, goes with what is
# above it.
TIMED = re.compile(r"\d+\. |Setup|Common mistakes|Recap")
HEADING = re.compile(r"^## +(.+?) *\n", re.M)
CLOCK = re.compile(r"\*≈\d+ min( · \d+ min so far)?\*(?:\n+|\Z)")
PICTURE = re.compile(r"!\[[^\]]+\]\((?!https://colab)")
GLANCE = re.compile(
    r"\*\*\d+ minutes\*\*(, (?:of which \d+ core|and \d+ going further))?"
)
# A cell with controls, whose panel no stored copy keeps.
PANEL = re.compile(r"\binteract\(|\bq\d*\.draw\(")
PATH = re.compile(r"The core path is 00 to 05[^\n.]*\.")
WRITTEN = (CLOCK, GLANCE, PATH, re.compile(r"\| \d+( to \d+)? \|"))
CORE_PATH = ("00", "01", "02", "03", "04", "05")


@dataclass
class Section:
    """What a reader has to do between two clocks."""

    heading: str
    words: int = 0
    lines: int = 0
    figures: int = 0
    rows: int = 0
    explorers: int = 0
    guesses: int = 0
    exercises: int = 0  # their own minutes
    seconds: float = 0  # of waiting

    @property
    def further(self):
        return "Going further" in self.heading

    @property
    def minutes(self):
        return (
            self.words * WORD
            + self.lines * LINE
            + self.figures * FIGURE
            + self.rows * ROW
            + self.explorers * EXPLORER
            + self.guesses * GUESS
            + self.exercises
            + self.seconds / 60
        )


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
        """Return {heading: its clock}."""
        return {
            heading: f"*≈{own} min*"
            if so_far is None
            else f"*≈{own} min · {so_far} min so far*"
            for heading, own, so_far in self.minutes()
        }

    def minutes(self):
        """Yield heading, minutes and minutes so far; a section beyond the core has None
        of these and moves no clock on.
        """
        end = 0.0
        for section in self.sections:
            start, end = end, end + section.minutes * (not section.further)
            own = section.minutes if section.further else round(end) - round(start)
            so_far = None if section.further else round(end)
            yield section.heading, max(1, round(own)), so_far

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


def shown(outputs):
    """Return how many figures, explorers and printed rows a cell's outputs show."""
    figures = explorers = rows = 0
    for output in outputs:
        data = output.get("data", {})
        page = data.get("text/html", "")
        if "attachShadow" in page:
            explorers += 1
        elif "image/png" in data or "<img " in page:
            figures += 1
        else:
            rows += len((output.get("text") or data.get("text/plain", "")).splitlines())
    return figures, explorers, min(rows, MOST_ROWS)


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
            texts = [(None, above), *zip(below[::2], below[1::2], strict=True)]
            for heading, text in texts:
                if heading and TIMED.match(heading):
                    if sections[-1].heading:
                        sections.append(Section(heading))
                    # what stands above the first goes with it
                    sections[-1].heading = heading
                read_aloud = f"{heading or ''}\n{text}"
                sections[-1].words += words(read_aloud, folded=cell.id == "quiz")
                sections[-1].figures += len(PICTURE.findall(text))
        elif cell.cell_type == "code":
            if cell.id != "setup":  # plumbing that nobody reads
                lines = [line for line in cell.source.splitlines() if line.strip()]
                sections[-1].lines += len(lines)
            figures, explorers, rows = shown(solved.get("outputs", []))
            sections[-1].figures += figures
            sections[-1].explorers += explorers + len(PANEL.findall(cell.source))
            sections[-1].rows += rows
            sections[-1].seconds += solved.metadata.get("seconds", 0)
        for tag in tags_of(cell):
            match = re.fullmatch(r"exercise-(\d+)", tag)
            if match:
                sheet = exercises.load(cell.metadata.get("from", name)[:2])
                sections[-1].exercises += sheet.questions[
                    int(match[1])
                ].exercise.minutes
            sections[-1].guesses += tag == "prediction"
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
        row = rf"^((?:\| [^|]*)?\| (?:\[)?{one.name} · [^|]*\|)[^|]*\|"
        text = re.sub(row, rf"\g<1> {one.span} |", text, flags=re.M)
    core = [one.core for one in accounts if one.name in CORE_PATH]
    hours = f"{round(sum(core) / 30) / 2:g} hours".replace(".5", "½")
    return PATH.sub(f"The core path is 00 to 05: {hours}.", text)


def over(account):
    """Return one sentence if a core takes more than its budget, else None."""
    limit = BUDGET.get(account.name)
    if limit is None:
        return f"{account.name}: BUDGET in tools/clock.py has no minutes for it yet."
    if account.core > limit:
        return (
            f"{account.name}: its core takes {account.core} minutes, at most {limit}."
        )
    return None


COLUMNS = "words lines figures rows explorers guesses exercises seconds minutes".split()


def print_account(account):
    print(account.name, *(f"{column:>9}" for column in COLUMNS))
    for section in account.sections:
        numbers = (f"{getattr(section, column):9.0f}" for column in COLUMNS)
        print("  ", *numbers, section.heading)
    core = (f"{account.total(column):9.0f}" for column in COLUMNS)
    print("  ", *core, f"core, of {account.whole} minutes")


def main(names):
    accounts = [
        account(path)
        for path in sorted((COURSE / "notebooks").glob("[0-9]*.ipynb"))
        if not names or path.name.startswith(tuple(names))
    ]
    for each in accounts:
        print_account(each)
    print("core  minutes  at most")
    for each in accounts:
        print(f"{each.name:4}  {each.core:7}  {BUDGET[each.name]:7}")


if __name__ == "__main__":
    main(sys.argv[1:])
