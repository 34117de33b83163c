"""What fits a lesson: notebooks made from the notebooks' own cells, blank and solved.

`tools.notebooks --fix` writes them, and `--check` names them once a cell they take has
changed. What a notebook calls `q`, they call `q00`, `q01`, ...: its exercises are
checked, and remembered, as in their own notebooks, whichever part ran last. What a
solved cell shows, and how long it took, is of one run of the lesson, by `tools.notebooks
--solve`: times of several runs do not agree. Explorers alone are those of the notebooks.
"""

import contextlib
import copy
import io
import os
import re
import tempfile
from unittest import mock

import nbformat
import yaml
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from course_utils import exercises
from tools import canonical_form, clock, origin, pictures, template
from tools.canonical_form import (
    COURSE,
    EXERCISE_TAG,
    code_cells,
    read,
    tags_of,
    text_of,
)

PLANS = yaml.safe_load((COURSE / "tools/lessons.yaml").read_text(encoding="utf-8"))
TITLE = """\
# Measure mixed precision in {minutes} minutes

Afterwards you can say which gradients float16 loses, how loss scaling saves them, and what a \
policy gains on the machine in front of you."""
GLANCE = """\
**At a glance** · **{minutes} minutes** of work, {left} · level: you have called \
Keras `fit` · hardware: any · in one runtime, from top to bottom · made from notebooks {sources}, \
which say more

| minute | part | from | ask the room |
|---|---|---|---|
{rows}

Another lesson takes {others}."""
BOARD = "Whose guess was farthest off? What do you think is the reason?"
KNOWN = "Your guesses and solved exercises, which the notebooks know too:"
FURTHER = """\
Print the [decision card](../data/decision_card.html): formats, the scale, the output and \
symptoms on one page.

Go on with [01 · Floats](01_floats.ipynb), [02 · Loss scaling](02_loss_scaling.ipynb), \
[03 · Policies](03_policy.ipynb) or [04 · The CNN, three ways](04_mnist_cnn.ipynb). \
[00 · Start here](00_start_here.ipynb) has the map."""


def made(name, folder=COURSE / "notebooks"):
    """Return a lesson blank and solved, and its account; ValueError where its sources
    are not, or not whole.
    """
    plan = PLANS[name]
    minutes, parts = plan["minutes"], plan["parts"]
    given, stored, sections = {}, {}, {}
    for number, part in enumerate(parts):
        notebook = part["notebook"]
        [path] = folder.glob(f"{notebook}_*.ipynb")
        given[notebook] = cells_of(path)
        stored[notebook] = cells_of(path.parent / "solved" / path.name)
        for id, _ in entries(part):
            text = given[notebook][id].source
            for old in re.findall(r"^## (\d+)\. ", text, re.M):
                sections.setdefault((notebook, old), number)
    copied = folder / "solved" / name
    ran_here = cells_of(copied) if copied.exists() else {}
    cells, ran = [], {}
    for number, part in enumerate(parts):
        notebook, heading = part["notebook"], f"## {part['heading']}"
        if number:
            heading = f"## {number}. {part['heading']}"
        for id, own in entries(part):
            cell = copy.deepcopy(given[notebook][id])
            cell.source = own or cell.source
            cell.id = "setup" if id == "setup" else f"{id}-{notebook}"
            cell.metadata["from"] = notebook
            cell.source = moved(cell, notebook, sections, heading)
            heading = ""  # of the first cell alone
            shown = copy.deepcopy(stored[notebook].get(id, cell))
            shown.source = moved(shown, notebook, sections, heading)
            cells.append(cell)
            ran[cell.id] = of_one_run(shown, ran_here.get(cell.id))
    asked = [
        f"q{cell.id[-2:]}[{tag.removeprefix('exercise-')}]"
        for cell in cells
        for tag in tags_of(cell)
        if tag.startswith("exercise-")
    ]
    hand_in = (
        f"exercises.hand_in(..., of=[{', '.join(asked)}])  # ...: your name in quotes"
    )
    recap = [f"- {line}" for line in plan["recap"]]
    cells += [
        new_markdown_cell("\n".join(["## Recap", "", *recap, "", KNOWN]), id="recap"),
        new_code_cell("exercises.progress()", id="progress"),
        new_code_cell(hand_in, id="hand-in"),
        new_markdown_cell(FURTHER, id="further"),
        new_markdown_cell(id="trouble"),
    ]
    cells.insert(0, new_markdown_cell(TITLE.format(minutes=minutes), id="title"))
    cells.insert(1, new_markdown_cell(id="at-a-glance"))
    for _ in range(2):  # the timetable is read too, and its minutes are no words
        account = clock.Account(name, clock.sections(cells, ran, name))
        cells[1].source = glance(account, parts, minutes)
    for cell in cells:
        if cell.cell_type == "markdown":
            cell.source = clock.wound(cell.source, account)
        # what goes further in a notebook is the core of a lesson that takes it
        cell.metadata = {
            "tags": [
                tag
                for tag in tags_of(cell)
                if not EXERCISE_TAG.fullmatch(tag) and tag != "going-further"
            ]
        }
    blank = canonical_form.canonical(nbformat.v4.new_notebook(cells=cells), name)
    return blank, solved(blank, ran, name), account


def of_one_run(cell, own):
    """Return a notebook's solved cell with what it showed in the lesson's `own` run, or
    with nothing if another one ran there.
    """
    if cell.cell_type != "code" or pictures.explorers_of(cell):
        return cell
    cell.outputs, cell.execution_count = [], None
    if own and own.source == cell.source:
        cell.outputs, cell.execution_count = own.outputs, own.execution_count
        cell.metadata["seconds"] = own.metadata.get("seconds", 0)
    return cell


def entries(part):
    """Yield the id of each cell of a part, and the text of the lesson's own or None."""
    for entry in part["cells"]:
        yield from entry.items() if isinstance(entry, dict) else [(entry, None)]


def solved(blank, ran, name):
    """Return a lesson with what its cells, by id, held and showed where they ran."""
    nb = copy.deepcopy(blank)
    shown = ending(ran.values())
    for cell in template.markdown(nb):
        cell.source = canonical_form.LOCAL_LINK.sub(r"\1../", cell.source)
    for count, cell in enumerate(code_cells(nb), 1):
        cell.execution_count = count
        if cell.id in shown:
            cell.outputs = [new_output("execute_result", shown[cell.id])]
        else:
            if "stub" in ran[cell.id].metadata:
                cell.metadata["stub"] = cell.source
            cell.source = ran[cell.id].source
            cell.outputs = ran[cell.id].outputs
            if not ran[cell.id].execution_count:
                cell.execution_count = None
            cell.metadata["seconds"] = ran[cell.id].metadata.get("seconds")
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = count
    return canonical_form.canonical(nb, name, solved=True)


def ending(cells):
    """Return what the last two cells show, by their ids, after the predictions and
    exercises among these, which are run here.
    """
    ids = ("load-exercises", "prediction", "exercise-")
    answers = [cell.source for cell in cells if cell.id.startswith(ids)]
    with (
        tempfile.TemporaryDirectory() as scratch,
        contextlib.redirect_stdout(io.StringIO()),
        mock.patch.dict(os.environ, COURSE_PROGRESS=f"{scratch}/progress.json"),
    ):
        exec("\n".join(answers), {})
        tables = {"progress": exercises.progress(), "hand-in": exercises.hand_in(...)}
        return {
            id: {"text/html": table._repr_html_(), "text/plain": repr(table)}
            for id, table in tables.items()
        }


def cells_of(path):
    return {cell.id: cell for cell in read(path).cells}


def moved(cell, notebook, sections, heading):
    """Return a cell's text as it reads in the workshop, under this heading if it is a
    first one.
    """
    source = re.sub(r"\bq(?=[\[.]| = |$)", f"q{notebook}", cell.source, flags=re.M)
    loads = f'exercises.load("{notebook}"'
    source = source.replace(f"{loads})", f'{loads}, called="q{notebook}")')
    if cell.cell_type == "code":
        return source

    def refer(match):
        here = sections.get((notebook, match[2]))
        return f"{match[1]} {here}" if here else f"{match[0]} of notebook {notebook}"

    source = re.sub(
        r"(?<!\d\d, )\b([Ss]ection) (\d+)", refer, clock.CLOCK.sub("", source)
    )
    own = re.compile(r"^## (?:\d+\. )?(.+)$", re.M)
    if heading:
        return (
            own.sub(heading, source) if own.search(source) else f"{heading}\n\n{source}"
        )
    return own.sub(r"### \1", source)


def glance(account, parts, minutes):
    """Return the timetable: in which minute each part begins."""
    *sections, (recap, _, _) = account.minutes()
    rows, begin = [], 0
    for (heading, _, end), part in zip(sections, parts, strict=True):
        ask = part.get("ask", "")
        rows.append(f"| {begin} to {end} | {heading} | {part['notebook']} | {ask} |")
        begin = end
    in_hand = PLANS[account.name].get("board", 0)
    board = minutes - in_hand
    left = f"and {board - account.core} for questions"
    if in_hand:
        left = f"{board - account.core} for questions, and {in_hand} to hand in"
    rows.append(f"| {begin} to {board} | {recap}, and your questions | | |")
    if board < minutes:
        rows.append(
            f"| {board} to {minutes} | Hand in, and read your line aloud | | {BOARD} |"
        )
    others = [
        f"[{plan['minutes']} minutes]({file})"
        for file, plan in PLANS.items()
        if file != account.name
    ]
    *names, last = sorted({part["notebook"] for part in parts})
    return GLANCE.format(
        minutes=account.core,
        left=left,
        sources=" and ".join([", ".join(names), last]),
        rows="\n".join(rows),
        others=" or ".join(others),
    )


def faults(folder):
    """Return one sentence for each lesson of this folder that is stale, or per fault it
    has.
    """
    found = []
    for path, new in files(folder):
        if not path.exists() or path.read_text(encoding="utf-8") != text_of(new):
            found.append(
                f"{canonical_form.named(path)}: it does not follow from the notebooks, run --fix."
            )
            continue
        own = template.cell_faults(new) + template.links(new, path.parent)
        if path.parent.name == "solved" and not origin.ran_once(new):
            own.append("a cell changed since it ran, run --solve.")
        found += [f"{canonical_form.named(path)}: {fault}" for fault in own]
    return found


def files(folder):
    """Yield every file that holds a lesson, and the notebook that belongs there."""
    for name in PLANS:
        with contextlib.suppress(
            ValueError
        ):  # a damaged notebook, which `faults` names
            blank, shown, _ = made(name, folder)
            yield folder / name, blank
            yield folder / "solved" / name, shown
