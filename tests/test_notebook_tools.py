"""The tools that keep the notebooks: they name what is broken in one, and mend what they
can.
"""

import copy
import re
import shutil
import sys

import pytest
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools import (
    canonical_form,
    clock,
    notebooks,
    origin,
    release,
    rerun_cells,
    template,
)
from tools.canonical_form import COURSE, read

STREAM = new_output("stream", text="x")
PICTURE = new_output("display_data", {"image/png": "AAAA"})


@pytest.fixture
def path(tmp_path):
    """Notebook 01 in a copy of the course."""
    shutil.copytree(COURSE / "notebooks", tmp_path / "notebooks")
    shutil.copy(COURSE / "README.md", tmp_path)
    for name in ("data", "docs"):
        (tmp_path / name).symlink_to(COURSE / name)
    return tmp_path / "notebooks/01_floats.ipynb"


def save(path, edit):
    """Write a notebook again after this edit of it and of its cells by id."""
    nb = read(path)
    edit(nb, {cell.id: cell for cell in nb.cells})
    notebooks.write(path, nb)


@pytest.mark.slow
def test_what_fix_can_mend_is_named_and_mended(path):
    names = ("01_floats", "solved/01_floats", "workshop_90", "solved/workshop_90")
    files = [path.parents[1] / "README.md"]
    files += [path.parent / f"{name}.ipynb" for name in names]
    good = [file.read_text() for file in files]

    def spoil(nb, cells):
        nb.metadata["widgets"] = {}
        cells["setup"].source = "import os"
        cells["long-sum"].source += "\n"
        cells["vanish"].metadata["tags"].reverse()
        cells["recap"].metadata["slideshow"] = {}
        cells["mistakes"].source += " "
        for id, minutes in {
            "at-a-glance": "{} minutes",
            "fields-text": "≈{} min",
        }.items():
            text = cells[id].source
            cells[id].source = re.sub(minutes.format(r"\d+"), minutes.format(1), text)
        cells["trouble"].source = "Ask somebody."

    def grow_old(nb, cells):
        cells["recap"].source = "Another text."
        data = cells["floatlab"].outputs[0].data
        data["text/html"] = data["text/html"].replace("<script>\n", "<script>\nold ")

    save(path, spoil)
    save(files[2], grow_old)
    files[0].write_text(re.sub(r"\| \d+ to", "| 1 to", good[0]))
    for lesson in files[3:]:
        lesson.write_text(lesson.read_text().replace("Recap", "Old"))
    ran = path.with_name("09_clinic.ipynb")
    save(ran, lambda nb, cells: cells["setup"].update(execution_count=1))
    named = "\n".join(notebooks.check([path, ran]))
    assert "09_clinic.ipynb: its cells were run, so --fix and --solve stop" in named
    for cell in ("setup", "long-sum", "vanish", "recap", "mistakes", "floatlab"):
        assert f"cell {cell!r} is not what --fix would write" in named
    assert "README.md: its badge, clone, claims or minutes are not" in named
    for lesson in names[2:]:
        assert f"{lesson}.ipynb: it does not follow from the notebooks" in named
    notebooks.fix([path])
    assert [file.read_text() for file in files] == good


# A cell, what is replaced in its text, and by what
REFUSED = [
    ("cure", "", "x\n" * 16, "lines, at most 15"),
    ("exercise-1", "q[1].check(answer)", "", "lacks 'q[1].check(answer)'"),
    ("task-1", "### Exercise 1.1", "### 1.1", "lacks '### Exercise 1.1 ·'"),
    ("further", "## Further reading", "", "There is no '## Further reading'"),
    ("fields-text", "## 2.", "## 3.", "[1, 3, 3,"),
    ("recap", "", "![](../data/README.md)", "without alternative text"),
    ("recap", "", "[x](http://a.org)", "an http link where https is wanted"),
    ("recap", "", "[x](02_loss_scaling.ipynb#cell-id=none)", "=none does not exist"),
]


@pytest.mark.parametrize(("id", "old", "new", "fragment"), REFUSED)
def test_what_fix_cannot_mend_is_named(path, id, old, new, fragment):
    def spoil(nb, cells):
        cells[id].source = cells[id].source.replace(old, new, 1)

    save(path, spoil)
    assert any(fragment in fault for fault in template.faults(path))


def test_a_copy_that_does_not_follow_from_its_notebook_is_named(path):
    save(path, lambda nb, cells: cells["long-sum"].update(source="1"))
    assert "'long-sum' does not follow from the blank" in notebooks.drift(path)[0]
    save(path, lambda nb, cells: nb.cells.pop(1))
    assert "not those of the blank" in notebooks.drift(path)[0]
    assert "no solved copy" in notebooks.drift(path.rename(path.parent / "77.ipynb"))[0]


@pytest.mark.slow
def test_what_a_hasty_copy_leaves_is_named(path):
    copy = path.parent / "solved" / path.name
    save(copy, lambda nb, cells: cells["long-sum"].update(execution_count=99))
    shutil.copy(copy, copy.with_name("77_floats.ipynb"))
    found = "\n".join(notebooks.check([path]))
    assert "not every code cell was run once" in found
    assert "solved/77_floats.ipynb: there is no blank notebook of this name" in found
    save(path, lambda nb, cells: cells["recap"].update(id="title"))
    assert any("'title' is used twice" in fault for fault in template.faults(path))


def test_a_file_that_is_no_notebook_is_named_and_left_alone(path, capsys):
    path.write_text('{"cells": [{}]}')
    notebooks.fix([path])
    assert path.read_text() == '{"cells": [{}]}'
    assert "01_floats.ipynb: left as it is: not a notebook" in capsys.readouterr().out
    assert "01_floats.ipynb: not a notebook of format 4" in template.faults(path)[0]
    with pytest.raises(SystemExit, match="No notebook in notebooks/ starts with '77'"):
        notebooks.main(["--check", "77"])


def test_the_clock_counts_what_a_reader_does():
    words = "word " * 119
    cells = [
        new_markdown_cell(
            f"## 1. One\n\n{words}<details><summary>s</summary>{words}</details>"
        ),
        new_code_cell("guess = 1", metadata={"tags": ["prediction"]}),
        new_markdown_cell("## 2. Going further: two\n\nMore."),
        new_code_cell("1\n\n" * 12, id="lines"),
    ]
    outputs = [new_output("display_data", {"image/png": "AAAA"}), STREAM]
    run = new_code_cell(outputs=outputs, metadata={"seconds": 60})
    account = clock.Account("00", clock.sections(cells, {"lines": run}, "00"))
    assert list(account.table["minutes"]) == pytest.approx(
        [121 / 120 + 1 / 6 + 1, 5 / 120 + 12 / 6 + 2 / 3 + 1 / 20 + 1]
    )
    assert account.span == "2 to 6" and clock.over(account) is None
    account.core = 31
    assert "its core takes 31 minutes, at most 30" in clock.over(account)


def test_a_notebook_run_twice_repeats_whole_sections_and_none_that_takes_long():
    sources = {"a": "", "x": "## 1", "b": "", "c": "", "y": "## 2", "d": ""}
    cells = [
        new_markdown_cell(text, id=id) if text else new_code_cell(id=id)
        for id, text in sources.items()
    ]
    nb = rerun_cells.repeated(new_notebook(cells=cells), {"b": 6, "c": 3, "d": 8})
    assert [cell.id for cell in nb.cells[6:]] == ["a-2", "d-2"]


# What somebody did in a notebook goes nowhere


def files(path):
    """Return the course in which this notebook lies, as its files' bytes by name."""
    course = path.parents[1]
    found = [course / "README.md", *path.parent.rglob("*.ipynb")]
    return {str(file.relative_to(course)): file.read_bytes() for file in found}


def act(command, path):
    """Run a command of the tools on the course in which this notebook lies."""
    course = path.parents[1]
    if command == "release":
        return release.main(course / "out", course)
    if command == "twice":
        return rerun_cells.main(path.parent)
    return notebooks.main(command.split(), path.parent)


def work_through(path):
    """Leave 01 as JupyterLab saves it by itself."""

    def work(nb, cells):
        cells["prediction"].source = "guess = 5000\nq.predict(guess)"
        cells["prediction"].update(outputs=[STREAM], execution_count=3)
        cells["exercise-1"].source = "answer = 0b1\nq[1].check(answer)"
        cells["long-sum"].source = "mine = 1"
        nb.cells.append(new_code_cell("mine"))
        nb.metadata["language_info"]["version"] = "3.11.7"

    save(path, work)


def test_what_is_made_of_notebooks_stops_at_one_that_was_worked_through(path):
    work_through(path)
    before = files(path)
    ran = r"01_floats \(its cells were run\)\. "
    for command in ("--solve", "--solve 01", "--fix 09", "--draw 09", "release"):
        with pytest.raises(
            SystemExit, match=f"course has them: {ran}Unpack the course"
        ):
            act(command, path)
    with pytest.raises(SystemExit, match=f"{ran}Let tools.release write"):
        act("twice", path)
    (path.parents[1] / ".git").mkdir()
    with pytest.raises(SystemExit, match=f"{ran}`git stash push -- notebooks` puts"):
        act("release", path)
    assert files(path) == before and not (path.parents[1] / "out").exists()


def test_solve_writes_its_copy_and_no_other_file(path, monkeypatch):
    work_through(path)
    monkeypatch.setattr(notebooks, "execute", lambda *_: None)
    before = files(path)
    assert act("--solve 09", path) == 0
    after = files(path)
    assert after.keys() == before.keys()
    changed = [name for name in after if after[name] != before[name]]
    assert changed == ["notebooks/solved/09_clinic.ipynb"]


# Work of which no output is left: a cell, its new text, and what is said of it
CLEARED = [
    ("prediction", "guess = 5000\nq.predict(guess)", "'prediction' is filled in"),
    ("exercise-4", 'answer = {"gradients": "float16", "scores": ...}', "other cells"),
    ("long-sum-see", "I saw it.", "its solved copy was made of other cells"),
]


@pytest.mark.parametrize(("id", "text", "reason"), CLEARED)
def test_work_without_outputs_is_told_from_the_course_s(path, id, text, reason):
    save(path, lambda nb, cells: cells[id].update(source=text))
    assert reason in origin.strange(path)


def test_neither_a_lesson_nor_a_file_beside_is_handed_out_as_somebody_left_it(path):
    lesson = path.with_name("workshop_90.ipynb")
    save(lesson, lambda nb, cells: cells["prediction-02"].update(source="guess = 1"))
    save(path, lambda nb, cells: nb.cells.append(new_code_cell("mine")))
    stray = path.with_name("Untitled.ipynb")
    stray.write_text("{")
    with pytest.raises(SystemExit) as stop:
        act("release", path)
    assert "01_floats (its solved copy was made of other cells)" in str(stop.value)
    assert "workshop_90 ('prediction-02' is filled in)" in str(stop.value)
    assert "Untitled (it has no solved copy)" in str(stop.value)
    shutil.copy(stray, path.parent / "solved")
    assert origin.strange(stray).startswith("not a notebook of format 4")


def test_a_solved_copy_that_was_run_in_part_is_not_shown(path):
    copy = path.parent / "solved" / path.name
    save(copy, lambda nb, cells: cells["long-sum"].update(execution_count=99))
    assert origin.strange(path, with_copy=True) == "its solved copy was not run whole"
    assert origin.strange(path) == ""  # it is packed: nothing of the copy goes with it


def test_an_edit_does_not_stop_a_maintainer_and_is_the_course_s_once_it_is_solved(
    path, monkeypatch
):
    def edit(nb, cells):
        cells["long-sum"].source += "\nnew = 1"
        cells["recap"].source += "\n- And more."
        cells["exercise-1"].source = "answer = ...  # 16 bits\nq[1].check(answer)"

    def execute(nb, *_):
        for count, cell in enumerate(canonical_form.code_cells(nb), 1):
            cell.execution_count = count

    monkeypatch.setattr(notebooks, "execute", execute)
    monkeypatch.setattr(notebooks, "wind", lambda folder: None)
    save(path, edit)
    assert origin.worked_in(path) == "" != origin.strange(path)
    notebooks.fix([path])
    (fault,) = notebooks.drift(path)
    assert "cell 'long-sum' does not follow from the blank notebook" in fault
    assert act("--solve 01", path) == 0
    assert notebooks.drift(path) == [] and origin.strange(path, with_copy=True) == ""


@pytest.mark.slow
def test_solve_runs_beside_the_copy_and_leaves_the_learner_s_progress(
    path, monkeypatch
):
    monkeypatch.setenv("COURSE_PROGRESS", "mine")
    code = """import os, sys
print(os.getcwd(), sys.executable, os.environ["COURSE_PROGRESS"] == "mine")
print("noise", file=sys.stderr)"""
    panel = "from ipywidgets import interact; interact(lambda n: print(n), n=(0, 8))"
    cells = [new_code_cell(code, id="x"), new_code_cell(panel, id="panel")]
    notebooks.write(path, new_notebook(cells=cells))
    assert notebooks.solve(path) is None
    folder = path.parent / "solved"
    (output,), shown = (cell.outputs for cell in read(folder / path.name).cells)
    assert "with n = 4" in shown[0].data["text/markdown"]  # no widget without a kernel
    assert output.text.split() == [str(folder), sys.executable, "False"]


@pytest.mark.slow
def test_solve_writes_nothing_when_a_cell_raises(path):
    notebooks.write(path, new_notebook(cells=[new_code_cell("1 / 0", id="x")]))
    copy = path.parent / "solved" / path.name
    before = copy.read_bytes()
    failure = notebooks.solve(path)
    assert "cell 'x' raised ZeroDivisionError: division by zero" in failure
    assert copy.read_bytes() == before


def test_an_export_of_a_panel_shows_its_picture_and_one_sentence():
    nb = read(COURSE / "notebooks/solved/03_policy.ipynb")
    nb.cells = [cell for cell in nb.cells if cell.id == "panel"]
    page, _ = HTMLExporter().from_notebook_node(nb)
    assert "The panel with model = six layers" in page
    assert "data:image/png;base64" in page and "Error displaying widget" not in page


def test_slides_are_the_core():
    nb = read(COURSE / "notebooks/solved/02_loss_scaling.ipynb")
    further = [cell.id for cell in nb.cells].index("further-text")
    slides = canonical_form.slides(nb)
    assert slides.count({"slide_type": "slide"}) > 8
    assert all(slide == {"slide_type": "skip"} for slide in slides[further:])


def test_each_notebook_is_tested_and_stands_on_both_maps():
    makefile = (COURSE / "Makefile").read_text("utf-8")
    tested = re.findall("^(?:TRAINING|COMPARED) = (.+)", makefile, re.MULTILINE)
    maps = [COURSE / "README.md", COURSE / "notebooks/00_start_here.ipynb"]
    maps = "".join(file.read_text("utf-8") for file in maps)
    paths = notebooks.selected(COURSE / "notebooks")
    assert sorted(" ".join(tested).split()) == [path.name[:2] for path in paths]
    for path in paths[1:]:
        assert maps.count(f"{path.name}) |") == 2


def test_a_stored_table_of_progress_counts_the_exercises_that_there_are():
    stored = read(COURSE / "notebooks/solved/00_start_here.ipynb")
    nb = copy.deepcopy(stored)
    (cell,) = [c for c in nb.cells if c.id == "progress"]
    (output,) = cell.outputs
    for kind in ("text/plain", "text/html"):
        assert "2 of 2" in output.data[kind]
        output.data[kind] = output.data[kind].replace("0 of 4", "0 of 3")
    notebooks.count_exercises(nb)
    assert nb == stored


def test_a_cell_that_ran_before_keeps_the_shorter_waiting():
    def notebook(*cells):
        nb = new_notebook()
        for id, seconds, count in cells:
            cell = new_code_cell("f()", id=id, execution_count=count)
            if seconds:
                cell.metadata.seconds = seconds
            nb.cells.append(cell)
        return nb

    before = notebook(("long", 5, 1), ("short", None, 2), ("new", None, None))
    after = notebook(("long", 9, 1), ("short", 1, 2), ("new", 30, 3))
    notebooks.waited_less(after, before)
    waits = [cell.metadata.get("seconds", 0) for cell in after.cells]
    assert waits == [5, 0, 30]
