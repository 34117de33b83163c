"""Make the course's web site, of what is in the course, and the pages beside it.

    python -m tools.site OUT               write the site into this folder
    python -m tools.site --card            write the decision card, data/decision_card.html
    python -m tools.site --picture         draw the README's picture, docs/pictures

The site holds the solved notebooks with their stored outputs, the ledger, a guide for
instructors written from the exercises and the clock, the faults for maintainers.
Nothing is run, and nothing asks a network.
"""

import difflib
import functools
import gc
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import nbformat
from sphinx.cmd.build import build_main

COURSE = Path(__file__).resolve().parents[1]
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # the pages alone speak

from course_utils import exercises  # noqa: E402
from course_utils.exercises.functions import each_slip, edit  # noqa: E402
from tools import (  # noqa: E402
    clock,
    course_map,
    decision_card,
    origin,
    pictures,
    reference,
    signatures,
    toys,
)
from tools.canonical_form import read, tags_of  # noqa: E402

LINK = re.compile(r"(\]\(|src=\")\.\./(?:\.\./)?(?:docs/)?")
TO_CELL = re.compile(r"\[([^\]]+)\]\((\w+)\.ipynb#cell-id=([\w-]+)\)")
# the same in a page of docs
ASKED = re.compile(TO_CELL.pattern.replace(r"\((", r"\(\.\./notebooks/solved/("))
# and the pages that lead to cells
LINKING = (
    "ask.md",
    "clusters.md",
    "glossary.md",
    "hub.md",
    "ledger.md",
    "loops.md",
    "rules.md",
)
# of a table of wrong answers; in a longer one, those told alike share a row
MOST_ROWS = 29
# A page of its own, as those of `tools.toys` are: the site's navigation leads to it, and
# Sphinx leaves it alone.
CARD = "data/decision_card"


def page_of(path, linked):
    """Return a solved notebook as the site shows it: pictures with their words, links
    to cells.
    """
    nb = nbformat.read(path, 4)
    for cell in nb.cells:
        cell.source = LINK.sub(r"\1../", cell.source)
        cell.source = cell.source.replace(f"{CARD}.html", f"{CARD}.md")
        cell.source = TO_CELL.sub(r'<a href="\2.html#cell-\3">\1</a>', cell.source)
        shown = [output.get("metadata", {}) for output in cell.get("outputs", [])]
        said = [one.get("image/png", {}).get("alt") for one in shown]
        if alt := next(filter(None, said), None):
            cell.metadata["mystnb"] = {"image": {"alt": alt}}
    nb.metadata.pop("widgets", None)
    signatures.put_first(nb, path.stem)
    wanted = {id for name, id in linked if name == path.stem}
    wanted.add(signatures.cell_of(path.stem))
    places = [n for n, cell in enumerate(nb.cells) if cell.id in wanted]
    for place in reversed(places):
        anchor = f'<span id="cell-{nb.cells[place].id}"></span>'
        nb.cells.insert(place, nbformat.v4.new_markdown_cell(anchor))
    return nb


def shown(answer, right):
    """Return a wrong answer as code, of several parts those that are wrong; a function
    has none.
    """
    if isinstance(answer, dict) and isinstance(right, dict):
        answer = {
            key: value for key, value in answer.items() if value != right.get(key)
        }
    text = repr(answer)
    told = not callable(answer) and " at 0x" not in text and "<class" not in text
    return f"`{text}`" if told and len(text) <= 100 else ""


def changed(code, edits):
    """Return the lines of code that edits made, one after the other, or those that
    went.
    """
    before = code.splitlines()
    after = edit(code, edits).splitlines()
    lines = [line for line in difflib.ndiff(before, after) if line[2:].strip()]
    new, old = (
        [f"`{line[2:].strip()}`" for line in lines if line[0] == sign] for sign in "+-"
    )
    return "<br>".join(new) or f"without {'<br>'.join(old)}"


def guide(path):
    """Return the instructor's page of a notebook, in Markdown."""
    sheet = exercises.load(path.name[:2])
    texts = {tag: cell.source for cell in read(path).cells for tag in tags_of(cell)}
    parts = [
        told_about(exercise, texts[f"task-{number}"])
        for number, exercise in enumerate(sheet.exercises, 1)
    ]
    return reference.TEMPLATES.get_template("guide.md").render(
        title=f"{path.name[:2]} · {sheet.title}",
        file=path.name,
        sections=clock.account(path).minutes(),
        question=texts["predict"].removeprefix("## Predict").strip(),
        exercises=parts,
    )


def lesson_guide(path):
    """Return the instructor's page of a lesson that is made of the notebooks' cells."""
    texts = {cell.id: cell.source for cell in read(path).cells}
    parts = [
        told_about(exercises.load(notebook)[int(number)].exercise, texts[id])
        for id in texts
        for number, notebook in re.findall(r"^task-(\d)-(\d\d)$", id)
    ]
    timetable = re.search(r"^\| minute .*?(?=\n\n)", texts["at-a-glance"], re.M | re.S)
    return reference.TEMPLATES.get_template("guide.md").render(
        title=f"“{texts['title'].splitlines()[0].removeprefix('# ')}”",
        file=path.name,
        timetable=timetable[0],
        question="The last column of the table has a question for each part.",
        exercises=parts,
    )


def told_about(exercise, task):
    """Return what the instructor's page says of an exercise and its task, for its
    template.
    """
    right = getattr(exercise.answer, "right", None)
    names = {}
    if right is None and hasattr(exercise.answer, "examples"):
        exec(exercise.solution, names)
        right = names[exercise.name]
    # Of a function nothing is shown, and what it needs takes long to load.
    is_code = re.search(r"^(def|class) ", exercise.solution, re.MULTILINE)
    examples = exercise.listed() if is_code else exercise.examples()
    said = [(shown(answer, right), told) for answer, told in examples]
    slips = exercise.slips or getattr(exercise.answer, "slips", {})
    # of functions, of which `shown` returns nothing
    for edits, told in each_slip(slips):
        said.append((changed(exercise.solution, edits), told))
    rows = [(answer, cell(told)) for answer, told in dict.fromkeys(said) if answer]
    kind = "wrong line" if slips else "answer"
    if len(rows) > MOST_ROWS:
        rows = together(rows)
        kind = "answer, and how many more get the same last sentence"
    return {
        "heading": task.splitlines()[0],
        "minutes": exercise.minutes,
        "hints": exercise.hints,
        "solution": exercise.solution,
        "kind": kind,
        "part": ", in part" if slips else "",
        "rows": rows,
    }


def together(rows):
    """Return one row, the first, for all whose text ends in the same sentence, and
    their number.

    For answers in several parts, such as causes of many patients: a text begins with
    its part.
    """
    groups = {}
    for answer, told in rows:
        part, _, text = told.partition(": ")
        last = re.split(r"(?<=[.?]) ", text)[-1]
        groups.setdefault(last, []).append((answer, told, part))
    merged = []
    for group in groups.values():
        answer, told, _ = group[0]
        if len(group) > 1:
            parts = ", ".join(dict.fromkeys(part for _, _, part in group))
            answer += f"<br>and {len(group) - 1} more, in {parts}"
        merged.append((answer, told))
    return merged


def cell(text):
    """Return a text as one line that does not end its cell of a table."""
    text = re.sub(
        r"(`[^`]*`)|([*<])", lambda m: m[1] or f"\\{m[2]}", " ".join(text.split())
    )
    text = text.replace("|", r"\|")
    # the rest depends on the answer
    return text if text.endswith((".", "?")) else f"… {text} …"


def front():
    """Return the first page: a live explorer, what the README says before its first
    command, and its map.
    """
    text = (COURSE / "README.md").read_text(encoding="utf-8").replace("docs/", "")
    text = text.replace("notebooks/solved/", "notebooks/")
    why = text.split("\n\n", 1)[1].split("## Start")[0].strip()
    course = text.split("## The course")[1].split("\n\nExercises ")[0]
    page = (COURSE / "docs" / "index.md").read_text(encoding="utf-8")
    rows = re.findall(r"\| \[(.+?)\]\((notebooks/\w+)\.ipynb\)", course)
    page = page.replace("{notebooks}", "\n".join(f"{name} <{at}>" for name, at in rows))
    nb = nbformat.read(COURSE / "notebooks/solved/01_floats.ipynb", 4)
    (explorer,) = (
        data["text/html"]
        for cell, data in pictures.explorers(nb)
        if cell.id == "floatlab"
    )
    return (
        page.replace("{explorer}", explorer)
        .replace("{readme}", why)
        .replace("{course}", f"## The course\n\n{course_map.page()}{course}")
    )


def write_sources(folder):
    """Write the pages' sources, and the files that they link, into a folder."""
    shutil.copytree(COURSE / "docs", folder, dirs_exist_ok=True)
    shutil.copy(COURSE / "linter" / "RULES.md", folder / "rules.md")
    linked = {
        match[1:]
        for name in LINKING
        for match in ASKED.findall((folder / name).read_text(encoding="utf-8"))
    }
    linked |= toys.linked()
    for name in ("teach.md", "platforms.md", *LINKING, *reference.PAGES):
        page = toys.with_states((folder / name).read_text(encoding="utf-8"))
        page = ASKED.sub(r'<a href="notebooks/\2.html#cell-\3">\1</a>', page)
        page = page.replace("](../", "](").replace(f"{CARD}.html", f"{CARD}.md")
        (folder / name).write_text(page, encoding="utf-8")
    (folder / "index.md").write_text(front(), encoding="utf-8")
    ignore = shutil.ignore_patterns("__pycache__", "own")
    shutil.copytree(COURSE / "course_utils", folder / "course_utils", ignore=ignore)
    shutil.copytree(COURSE / "data", folder / "data", ignore=ignore)
    (folder / f"{CARD}.html").unlink()
    (folder / f"{CARD}.md").write_text("# The decision card\n", encoding="utf-8")
    for name, title in toys.TITLES.items():
        (folder / f"{name}.md").write_text(f"# {title}\n", encoding="utf-8")
    (folder / "notebooks").mkdir()
    (folder / "guide").mkdir()
    paths = sorted((COURSE / "notebooks" / "solved").glob("*.ipynb"))
    for path in paths:
        linked |= {match[1:] for match in TO_CELL.findall(path.read_text("utf-8"))}
    for path in paths:
        nbformat.write(page_of(path, linked), folder / "notebooks" / path.name)
        write = guide if path.name[:2].isdigit() else lesson_guide
        text = write(path.parents[1] / path.name)
        (folder / "guide" / f"{path.stem}.md").write_text(text, encoding="utf-8")


def build(out):
    """Build the site, with the pages' sources in a folder that goes away; return an
    exit status.

    Its notebooks and guides are the course's: at any others nothing is written.
    """
    folder = COURSE / "notebooks"
    shown = [folder / path.name for path in sorted(folder.glob("solved/*.ipynb"))]
    strange = functools.partial(origin.strange, with_copy=True)
    origin.stop_at(shown, strange, origin.way_back(COURSE))
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "source"
        print("1 of 3: collecting the pages", flush=True)
        write_sources(source)
        options = "-W --keep-going -q -E -j 2 -d".split()
        out = Path(out).resolve()
        gc.disable()  # Sphinx keeps its trees to the end: a fifth of the time was spent looking
        status = build_main([*options, f"{scratch}/doctrees", str(source), str(out)])
        gc.enable()
    if status == 0:
        shutil.copy(decision_card.PATH, out / f"{CARD}.html")
        for name in toys.TITLES:
            (out / f"{name}.html").write_text(toys.page(name), encoding="utf-8")
        print(f"The site lies in {out}. Open {out / 'index.html'}")
    return status


def main(*arguments):
    match arguments:
        case ["--card"]:
            return decision_card.write()
        case ["--picture"]:
            return pictures.write()
        case [out] if not out.startswith("-"):
            return build(out)
    raise SystemExit(__doc__)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
