"""Keep the notebooks in one canonical form and to their template, and make their solved
copies.

    python -m tools.notebooks --check [NAMES]    one line per fault, exit status 1
    python -m tools.notebooks --fix [NAMES]      rewrite what can be, report the rest
    python -m tools.notebooks --solve [NAMES]    write and run notebooks/solved/, lessons too
    python -m tools.notebooks --draw [NAMES]     give stored explorers their pictures

A name is the start of a notebook's file name, such as 04. Without names, all notebooks.
`--solve` writes no other file. What follows from the solved copies, the minutes, the
lessons and docs/ledger.md, is written by `--fix`, and by `--draw` too. All three stop at
a notebook in which somebody worked, and write nothing.
"""

import contextlib
import html
import itertools
import os
import re
import sys
import tempfile
import time

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellControlSignal, DeadKernelError
from nbclient.output_widget import OutputWidget
from tqdm import tqdm

from course_utils import claims, exercises, widgets
from tools import clock, origin, pictures, publishing, reference, template, workshop
from tools.canonical_form import (
    COURSE,
    VIEW,
    canonical,
    code_cells,
    named,
    read,
    solution_form,
    text_of,
)
from tools.origin import solved_copy, worked_in

SLOWEST_CELL = 1200  # seconds
WIDGETS = "application/vnd.jupyter.widget-state+json"
HINT = widgets.NEEDS_THE_KERNEL.data
# What an interact panel sends while the reply to its cell is awaited on the same socket
# can lose that reply (nbclient #312), and no kernel needs it: the outputs are in the
# widget's state anyway.
OutputWidget.send = lambda self, *args, **kwargs: None


def selected(folder, names=(), pattern="[0-9]*.ipynb"):
    """Return the blank notebooks of a folder whose file names start with one of the
    names. Of the lessons, which `--solve` alone selects, `workshop` takes care.
    """
    found = sorted(folder.glob(pattern))
    for name in names:
        if not any(path.name.startswith(name) for path in found):
            known = ", ".join(path.stem for path in found) or "it holds none"
            raise SystemExit(
                f"No notebook in {folder.name}/ starts with {name!r}: {known}."
            )
    return [path for path in found if not names or path.name.startswith(tuple(names))]


def drift(path):
    """Return how the solved copy of a blank notebook differs from what it would be made
    into.
    """
    copy = solved_copy(path)
    if not copy.exists():
        return [f"{path.name}: there is no solved copy, run --solve."]
    solved = read(copy)
    found = origin.changes(solution_form(read(path), path.name), solved)
    if not origin.ran_once(solved):
        found.append("not every code cell was run once, from top to bottom")
    return [f"solved/{path.name}: {fault}, run --solve." for fault in found]


def with_copy(path):
    """Return the files that there are of a blank notebook and its solved copy."""
    return [file for file in (path, solved_copy(path)) if file.exists()]


def check(paths):
    """Return every fault of these blank notebooks and of their solved copies."""
    found = []
    for path in paths:
        if reason := worked_in(path):
            found.append(f"{path.name}: {reason}, so --fix and --solve stop at it.")
            continue
        own = [fault for file in with_copy(path) for fault in template.faults(file)]
        found += own or drift(path)
    (folder,) = {path.parent for path in paths}
    accounts = times(folder)
    found += workshop.faults(folder)
    found += filter(None, map(clock.over, accounts))
    found += [
        f"{named(path)}: its badge, clone, claims or minutes are not what --fix would write."
        for path, text, wanted in timed(folder, accounts)
        if text != wanted
    ]
    for solved in selected(folder / "solved"):
        if not (folder / solved.name).exists():
            found.append(
                f"solved/{solved.name}: there is no blank notebook of this name."
            )
        # a damaged copy, which `faults` names
        with contextlib.suppress(ValueError):
            found += picture_faults(solved)
    return found


def fix(paths):
    """Rewrite these notebooks and their solved copies in canonical form, and all
    minutes.
    """
    for path in paths:
        for file in with_copy(path):
            try:
                nb = read(file)
                if file != path:
                    carry_text(solution_form(read(path), path.name), nb)
                write(file, canonical(nb, file.name, solved=file != path))
            except ValueError as error:
                print(f"{file.name}: left as it is: {error}")
    wind(paths[0].parent)


def carry_text(wanted, solved):
    """Give the texts and stubs of a solved copy the words of this one, if both have the
    same cells.

    They change no output: what changed in code that runs is left for --solve.
    """
    if [cell.id for cell in wanted.cells] == [cell.get("id") for cell in solved.cells]:
        for new, old in zip(wanted.cells, solved.cells, strict=True):
            if new.cell_type == old.cell_type == "markdown":
                old.source = new.source
            if "stub" in new.metadata:
                old.metadata["stub"] = new.metadata["stub"]


def times(folder):
    """Return the account of every notebook of a folder that is one."""
    found = []
    for path in selected(folder):
        with contextlib.suppress(ValueError, KeyError):  # which `faults` names
            found.append(clock.account(path))
    return found


def timed(folder, accounts):
    """Yield the pages of records and what carries minutes or a badge: file, text,
    wanted text.
    """
    path = folder.parent / "README.md"
    first = selected(folder)[0].name
    text = path.read_text(encoding="utf-8")
    address, version = publishing.published()
    wanted = publishing.with_badge(text, first, address, version)
    wanted = publishing.with_clone(wanted, address)
    yield path, text, clock.mapped(wanted, accounts)
    path = folder.parent / "docs/teach.md"
    if path.exists():
        text = path.read_text(encoding="utf-8")
        yield path, text, clock.taught(text, accounts)
    pages = {"ledger.md": lambda: claims.page("../notebooks/solved"), **reference.PAGES}
    for name, page in pages.items():
        file = folder.parent / "docs" / name
        if file.exists():
            yield file, file.read_text(encoding="utf-8"), page()
    for path in selected(folder):
        own = [account for account in accounts if account.name == path.name[:2]]
        for file in with_copy(path) if own else []:
            nb = read(file)
            text = text_of(nb)
            for cell in template.markdown(nb):
                cell.source = clock.mapped(clock.wound(cell.source, own[0]), accounts)
            count_exercises(nb)
            yield file, text, text_of(nb)


def count_exercises(nb):
    """Bring a stored table of progress to the exercises that there are: `0 of 3`."""
    tables = [c for c in code_cells(nb) if c.source.strip() == "exercises.progress()"]
    for data in (output.data for cell in tables for output in cell.get("outputs", [])):
        for kind in ("text/plain", "text/html"):
            for name in exercises.available():
                sheet = exercises.load(name)
                title = (
                    sheet.title if kind == "text/plain" else html.escape(sheet.title)
                )
                row = rf"({name} · {re.escape(title)}.*?\d+ of )\d+"
                wanted = rf"\g<1>{len(sheet.exercises)}"
                data[kind] = re.sub(row, wanted, data[kind], count=1, flags=re.S)


def wind(folder):
    """Write the minutes wherever they stand, and the README's badge and clone.

    How long a slot of a teaching day is, people decide: a test compares.
    """
    for path, text, wanted in timed(folder, times(folder)):
        if text != wanted:
            path.write_text(wanted, encoding="utf-8")
    for path, nb in workshop.files(folder):
        write(path, nb)


def write(path, nb):
    """Write a notebook whole or not at all."""
    part = path.with_suffix(".part")
    part.write_text(text_of(nb), encoding="utf-8")
    os.replace(part, path)


def execute(nb, folder, name):
    """Run every cell in place with a kernel of this interpreter; return what went
    wrong, if so.
    """
    client = NotebookClient(
        nb,
        timeout=SLOWEST_CELL,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        # without it, output inside an interact panel is an error
        store_widget_state=True,
    )
    client.create_kernel_manager().kernel_spec.argv[0] = sys.executable
    places = [n for n, cell in enumerate(nb.cells) if cell.cell_type == "code"]
    with tempfile.TemporaryDirectory() as scratch:
        own = {
            "COURSE_PROGRESS": f"{scratch}/progress.json",
            "IPYTHONDIR": f"{scratch}/ipython",
            # what is stored was measured for as long as its cell says
            "COURSE_PACE": "",
        }
        with client.setup_kernel(env=os.environ | own):
            for place in tqdm(places, desc=name):
                cell = nb.cells[place]
                start = time.perf_counter()
                try:
                    client.execute_cell(cell, place)
                except (CellControlSignal, DeadKernelError) as error:
                    kind = getattr(error, "ename", type(error).__name__)
                    text = str(getattr(error, "evalue", error)).strip()
                    return f"cell {cell.id!r} raised {kind}: {text}"
                cell.metadata["seconds"] = round(time.perf_counter() - start)
            client.set_widgets_metadata()
    return None


def settle_panels(nb):
    """Put what each panel of `interact` shows at first in its place: a page may have no
    kernel.
    """
    stored = nb.metadata.get("widgets", {}).get(WIDGETS, {"state": {}})["state"]

    def parts(model):
        """The states of a widget and of all below it."""
        own = stored.get(model, {}).get("state", {})
        below = own.get("children", ())
        children = (parts(child.removeprefix("IPY_MODEL_")) for child in below)
        return [own, *itertools.chain(*children)]

    def still(output):
        data = output.get("data", {})
        # of a progress bar that is done, and of a panel that says more below
        if data == {"text/html": ""} or data.get("text/markdown") == HINT:
            return []
        if VIEW not in data:
            return [output]
        states = parts(data[VIEW]["model_id"])
        outputs = [shown for own in states for shown in own.get("outputs", ())]
        if not outputs:
            return []
        at = ", ".join(
            f"{own['description']} = {setting(own)}"
            for own in states
            if own.get("description")
        )
        text = f"*The panel with {at}. Run the notebook to move its controls.*"
        caption = nbformat.v4.new_output("display_data", {"text/markdown": text})
        return [caption, *map(nbformat.from_dict, outputs)]

    for cell in code_cells(nb):
        cell.outputs = list(itertools.chain(*map(still, cell.outputs)))


def setting(control):
    """Return what a control of a panel is set to, of its state."""
    options = control.get("_options_labels")
    return options[control["index"]] if options else control["value"]


def solve(path):
    """Write the solved copy of a blank notebook; return the reason if it could not be
    made.
    """
    copy = solved_copy(path)
    copy.parent.mkdir(exist_ok=True)
    try:
        if path.name in workshop.PLANS:
            _, nb, _ = workshop.made(path.name, path.parent)
        else:
            nb = solution_form(read(path), path.name)
    except ValueError as error:
        return f"{path.name}: not solved: {error}"
    if failure := execute(nb, copy.parent, path.stem):
        return f"{path.name}: solved copy not written, {failure}"
    before = read(copy) if copy.exists() else nb
    settle_panels(nb)
    waited_less(nb, before)
    nb = canonical(nb, path.name, solved=True)
    pictures.carry(before, nb)
    write(copy, nb)
    return None


def draw(paths):
    """Give the explorers of the solved copies their pictures."""
    files = [file for path in paths for file in with_copy(path)[1:]]
    notebooks = [read(file) for file in files]
    pictures.draw(notebooks)
    for file, nb in zip(files, notebooks, strict=True):
        write(file, nb)


def picture_faults(path):
    """Return which explorers of a solved copy have no picture of what they are now."""
    return [
        f"{named(path)}: cell {cell.id!r} has no picture of its explorer, run --draw."
        for cell, data in pictures.explorers(read(path))
        if not pictures.is_fresh(data["text/html"])
    ]


def waited_less(nb, before):
    """Let each cell that did not change, and ran before, keep the shorter waiting: a
    busy machine adds to it.
    """
    old = {cell.id: cell for cell in before.cells if cell.get("execution_count")}
    for cell in nb.cells:
        same = cell.id in old and old[cell.id].source == cell.source
        if same and "seconds" in cell.metadata:
            seconds = old[cell.id].metadata.get("seconds", 0)
            cell.metadata.seconds = min(cell.metadata.seconds, seconds)


def cure(folder):
    """Return what to do where somebody worked in the blank notebooks of this folder."""
    return (
        f"{origin.way_back(folder.parent)} If you edit the course itself, clear all outputs, "
        "and put back each `...` that you filled in."
    )


def main(arguments, folder=COURSE / "notebooks"):
    action, *names = arguments or [""]
    if action not in ("--check", "--fix", "--solve", "--draw"):
        raise SystemExit(__doc__)
    pattern = "*.ipynb" if action == "--solve" else "[0-9]*.ipynb"
    paths = selected(folder, names, pattern)
    if action == "--solve":
        origin.stop_at(paths, worked_in, cure(folder))
        found = list(filter(None, map(solve, paths)))
    else:
        if action != "--check":  # minutes and lessons are made of all of them
            lessons = [folder / name for name in workshop.PLANS]
            origin.stop_at([*selected(folder), *lessons], worked_in, cure(folder))
        if action == "--draw":
            draw(paths)
            wind(folder)
        if action == "--fix":
            fix(paths)
        found = check(paths)
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
