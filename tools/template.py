"""The template of the notebooks as rules: each returns what a notebook breaks, as
sentences.
"""

import re
from urllib.parse import unquote

from course_utils import exercises
from tools.canonical_form import (
    EXERCISE_TAG,
    RANDOM_ID,
    canonical,
    code_cells,
    named,
    read,
    tags_of,
    text_of,
)
from tools.clock import GLANCE

LONGEST_CELL = 15  # lines
LARGEST = 700_000  # bytes of a notebook
PARTS = ("At a glance", "What you'll do", "What you'll learn", "What you'll need")
PARTS += ("## Common mistakes", "## Recap", "## Further reading")
LINK = re.compile(r"\]\(([^)\s]+)")


def markdown(nb):
    return [cell for cell in nb.cells if cell.cell_type == "markdown"]


def without_code(source):
    """Return markdown without fenced and inline code."""
    source = re.sub(r"^```.*?^```[^\n]*$", "", source, flags=re.S | re.M)
    return re.sub(r"(`+).+?\1", "", source, flags=re.S)


def cell_faults(nb):
    """Return what --fix cannot mend: identifiers, long cells, the place of the setup
    cell.
    """
    faults = []
    ids = [cell.get("id", "") for cell in nb.cells]
    for place, id in enumerate(ids):
        if not re.fullmatch(r"[a-z0-9-]+", id):
            faults.append(
                f"cell {place}: id {id!r} is not made of a-z, 0-9 and hyphens."
            )
        elif RANDOM_ID.fullmatch(id):
            faults.append(
                f"cell {place}: id {id!r} is random: name it, in the file as text."
            )
        elif id in ids[:place]:
            faults.append(f"cell {place}: id {id!r} is used twice.")
    if [cell.get("id") for cell in code_cells(nb)][:1] != ["setup"]:
        faults.append("the first code cell must have the id 'setup'.")
    return faults


def exercise_faults(nb, name):
    """Return what an exercise's cells lack: they are two, and call it by its number."""
    used = [(tag, cell) for cell in nb.cells for tag in tags_of(cell)]
    used = [(tag, cell) for tag, cell in used if EXERCISE_TAG.fullmatch(tag)]
    faults = []
    tags = [tag for tag, _ in used]
    wanted = {}
    if tags:
        wanted = {"predict": "## Predict\n", "prediction": "q.predict(guess)"}
        for number, question in exercises.load(name[:2]).questions.items():
            wanted[f"task-{number}"] = f"### {question} · "
            wanted[f"exercise-{number}"] = question.call
    for tag, text in wanted.items():
        if tags.count(tag) != 1:
            faults.append(
                f"{tags.count(tag)} cells have the tag {tag!r}, one is wanted."
            )
        elif text not in dict(used)[tag].source:
            faults.append(f"tag {tag!r}: its cell lacks {text.strip()!r}.")
    for tag in set(tags) - set(wanted):
        faults.append(f"tag {tag!r} stands for no exercise of course_utils/lessons.")
    return faults


def structure(nb):
    """One title, the parts that every notebook has, numbered sections, and minutes."""
    text = "\n".join(without_code(cell.source) for cell in markdown(nb))
    text = text.replace("’", "'")
    found = [f"There is no '{part}'." for part in PARTS if part not in text]
    titles = re.findall("^# ", text, re.M)
    if not nb.cells[0].source.startswith("# ") or len(titles) != 1:
        found.append("The first cell begins with the only level-1 heading.")
    numbers = [int(number) for number in re.findall(r"^## +(\d+)\.", text, re.M)]
    if not numbers or numbers != list(range(1, len(numbers) + 1)):
        found.append(f"The sections '## 1. …' have the numbers {numbers}.")
    further = False
    for cell in nb.cells:
        headings = [cell.id] if cell.id in ("summary", "hand-in") else []
        if cell.cell_type == "markdown":
            headings = re.findall(r"^## +(.+)", without_code(cell.source), re.M)
        for heading in headings:
            if further and "Going further" not in heading:
                found.append(f"{heading!r} stands behind 'Going further'.")
            further = further or "Going further" in heading
    if not re.search(f"At a glance.*{GLANCE.pattern}", text):
        found.append("'At a glance' says no minutes like **15 minutes**.")
    bare = [
        cell.id for cell in markdown(nb) if re.search(r"!\[\s*\]|<img", cell.source)
    ]
    return found + [f"cell {id!r}: a picture without alternative text." for id in bare]


def links(nb, folder):
    """Local links resolve from the notebook's folder, to a cell if it has one; others
    are https.
    """
    found = []
    for cell in markdown(nb):
        source = without_code(cell.source)
        for target in LINK.findall(source):
            file, _, id = unquote(target).partition("#cell-id=")
            path = folder / re.split("[#?]", file)[0]
            if re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            if not path.exists() or (
                id and f'"id": "{id}"' not in path.read_text("utf-8")
            ):
                found.append(f"cell {cell.id!r}: {target} does not exist.")
        if "http://" in source:
            found.append(f"cell {cell.id!r}: an http link where https is wanted.")
    return found


def faults(path):
    """Return one sentence per departure of this file from canonical form and template."""
    solved = path.parent.name == "solved"
    try:
        nb = read(path)
        good = canonical(nb, path.name, solved)
    except ValueError as error:
        return [f"{named(path)}: {error}"]
    found = [
        f"cell {cell.get('id')!r} is not what --fix would write."
        for cell, fixed in zip(nb.cells, good.cells, strict=True)
        if cell != fixed
    ]
    if not found and path.read_text(encoding="utf-8") != text_of(good):
        found.append("its metadata or layout are not what --fix would write.")
    found += cell_faults(nb) + links(nb, path.parent)
    if "trouble" not in [cell.get("id") for cell in nb.cells]:
        found.append("there is no cell 'trouble' with help.")
    if path.stat().st_size > LARGEST:
        found.append(f"it is larger than {LARGEST:,} bytes.")
    if not solved:  # whose text is that of the blank notebook
        found += exercise_faults(nb, path.name) + structure(nb)
        for cell in code_cells(nb):
            lines = len(cell.source.splitlines())
            if lines > LONGEST_CELL and cell.get("id") != "setup":
                found.append(
                    f"cell {cell.get('id')!r}: {lines} lines, at most {LONGEST_CELL}."
                )
    return [f"{named(path)}: {fault}" for fault in found]
