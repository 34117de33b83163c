"""How long a notebook takes: one model of a reader, and what of it stands written in the
course.

    python -m tools.clock [NAMES]     print the account of these notebooks by section

`tools.notebooks --fix` writes the minutes into the sections' clocks, *At a glance*, the
map of notebook 00 and the README; `--check` names those that are stale. The constants
reproduced what four close readings of 2026-11-23 estimated of notebooks 00 to 10.
"""

import re
import sys
from collections import Counter

import pandas as pd

from course_utils import exercises
from tools.canonical_form import COMING_BACK, COURSE, read, tags_of

# Minutes of a reader whose English is a second language.
MINUTES = {
    "words": 1 / 120,
    "lines": 1 / 6,  # of code
    "figures": 2 / 3,
    "rows": 1 / 20,  # of printed output
    "explorers": 2,  # or a panel; what it asks comes on top
    "guesses": 1,
    "exercises": 1,  # counted in their own minutes
    "seconds": 1 / 60,  # of waiting
}
MOST_ROWS = 20  # of one cell that anybody reads
# The minutes that each core may take.
HOUR = ("01", "02", "03", "05", "06", "07", "08", "09", "11", "13")
BUDGET = dict.fromkeys(HOUR, 60) | {"00": 30, "04": 50, "10": 75, "12": 45}
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


class Account:
    """What a notebook asks of a reader, section by section, and the minutes it comes to.

    `table` is a DataFrame with a row for each section: heading, further (does it lie
    beyond the core?), what MINUTES names, and minutes. `core` and `further` are their
    sums, in whole minutes.
    """

    def __init__(self, name, rows):
        self.name = name
        self.table = pd.DataFrame(rows, columns=["heading", *MINUTES]).fillna(0)
        minutes = self.table[list(MINUTES)] @ pd.Series(MINUTES)
        further = self.table["heading"].str.contains("Going further")
        self.table.insert(1, "further", further)
        self.table["minutes"] = minutes
        # added up as `minutes` does, so that both round alike
        self.core = round(sum(minutes[~further]))
        self.further = round(sum(minutes[further]))

    @property
    def span(self):
        """The minutes as they stand in the maps."""
        whole = self.core + self.further
        return f"{self.core} to {whole}" if self.further else f"{self.core}"

    def minutes(self):
        """Yield heading, minutes and minutes so far; a section beyond the core has None
        of these and moves no clock on.
        """
        end = 0.0
        for section in self.table.itertuples():
            if section.further:
                yield section.heading, max(1, round(section.minutes)), None
            else:
                start, end = end, end + section.minutes
                own = max(1, round(end) - round(start))
                yield section.heading, own, round(end)

    def ends(self):
        """Return {number of a section, or its heading: the minute in which it ends};
        what goes further comes after the sections before it, without the recap.
        """
        ends, end = {}, 0
        for heading, own, minutes in self.minutes():
            part = heading.split(". ")[0]
            ends[part] = minutes or end + own
            if part.isdigit():
                end = ends[part]
        return ends

    def clocks(self):
        """Return {heading: its clock}."""
        return {
            heading: f"*≈{own} min*"
            if so_far is None
            else f"*≈{own} min · {so_far} min so far*"
            for heading, own, so_far in self.minutes()
        }

    def glance(self):
        further = f", and {self.further} going further" if self.further else ""
        return f"**{self.core} minutes**{further}"


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
    counts = Counter()
    for output in outputs:
        data = output.get("data", {})
        page = data.get("text/html", "")
        if "attachShadow" in page:
            counts["explorers"] += 1
        elif "image/png" in data or "<img " in page:
            counts["figures"] += 1
        else:
            text = output.get("text") or data.get("text/plain", "")
            counts["rows"] += len(text.splitlines())
    counts["rows"] = min(counts["rows"], MOST_ROWS)
    return counts


def account(path):
    """Return what a blank notebook and its solved copy, if there is one, ask of a
    reader.
    """
    nb = read(path)
    copy = path.parent / "solved" / path.name
    stored = {cell.id: cell for cell in (read(copy).cells if copy.exists() else [])}
    return Account(path.name[:2], sections(nb.cells, stored, path.name))


def sections(cells, stored, name):
    """Return what these cells, and their stored outputs by id, come to, as rows of an
    Account's table; a cell's `from` names the notebook that it was taken from.
    """
    rows = [Counter()]
    rows[0]["heading"] = ""
    for cell in cells:
        if cell.cell_type == "markdown" and cell.id != "trouble":
            above, *below = HEADING.split(cell.source.replace(COMING_BACK, ""))
            texts = [(None, above), *zip(below[::2], below[1::2], strict=True)]
            for heading, text in texts:
                if heading and TIMED.match(heading):
                    if rows[-1]["heading"]:
                        rows.append(Counter())
                    # what stands above the first goes with it
                    rows[-1]["heading"] = heading
                read_aloud = f"{heading or ''}\n{text}"
                rows[-1]["words"] += words(read_aloud, folded=cell.id == "quiz")
                rows[-1]["figures"] += len(PICTURE.findall(text))
        elif cell.cell_type == "code":
            solved = stored.get(cell.id, cell)
            if cell.id != "setup":  # plumbing that nobody reads
                lines = filter(str.strip, cell.source.splitlines())
                rows[-1]["lines"] += len(list(lines))
            rows[-1].update(shown(solved.get("outputs", [])))
            rows[-1]["explorers"] += len(PANEL.findall(cell.source))
            rows[-1]["seconds"] += solved.metadata.get("seconds", 0)
        for tag in tags_of(cell):
            if match := re.fullmatch(r"exercise-(\d+)", tag):
                sheet = exercises.load(cell.metadata.get("from", name)[:2])
                exercise = sheet.questions[int(match[1])].exercise
                rows[-1]["exercises"] += exercise.minutes
            rows[-1]["guesses"] += tag == "prediction"
    return rows


def wound(source, account):
    """Return a markdown cell's text with the minutes of this account."""
    clocks = account.clocks()

    def clock(match):
        wanted = clocks.get(match[1])
        heading = f"## {match[1]}\n\n"
        return f"{heading}{wanted}\n\n" if wanted else heading

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


def taught(text, accounts):
    """Return the teaching plans with the minutes of 90 minutes on one subject."""
    for one in accounts:
        ends = one.ends()
        row = rf"(\| {one.name}, sections 1 to (\d) \|) \d+ \|"
        text = re.sub(
            row, lambda match, ends=ends: f"{match[1]} {ends[match[2]]} |", text
        )
    return text


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


def main(names):
    for path in sorted((COURSE / "notebooks").glob("[0-9]*.ipynb")):
        if path.name.startswith(tuple(names or [""])):
            asked = account(path)
            whole = asked.core + asked.further
            print(f"{asked.name}: {asked.core} minutes, {whole} with what goes further")
            table = asked.table.drop(columns="further").set_index("heading")
            print(table.round().astype(int).to_string(), end="\n\n")
            print(over(asked) or f"at most {BUDGET[asked.name]}", end="\n\n")


if __name__ == "__main__":
    main(sys.argv[1:])
