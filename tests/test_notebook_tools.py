"""The tools that keep the notebooks: they name what is broken in one, and mend what they
can.
"""

import re
import shutil
import sys

import pytest
from nbconvert import HTMLExporter, SlidesExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools import canonical, clock, notebooks, template
from tools.canonical import COURSE, read

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


def test_what_fix_can_mend_is_named_and_mended(path):
    copy = path.parent / "solved" / path.name
    readme = path.parents[1] / "README.md"
    good = [file.read_text() for file in (path, copy, readme)]

    def spoil(nb, cells):
        nb.metadata["widgets"] = {}
        cells["setup"].source = "import os"
        cells["long-sum"].update(outputs=[STREAM], execution_count=1)
        cells["vanish"].metadata["tags"].reverse()
        cells["recap"].metadata["slideshow"] = {}
        cells["mistakes"].source += " "
        for id, old in {"at-a-glance": "57", "fields-text": "17"}.items():
            cells[id].source = cells[id].source.replace(old, "1")
        nb.cells.remove(cells["trouble"])

    def grow_old(nb, cells):
        cells["recap"].source = "Another text."
        data = cells["floatlab"].outputs[0].data
        data["text/html"] = data["text/html"].replace("<script>\n", "<script>\nold ")

    save(path, spoil)
    save(copy, grow_old)
    readme.write_text(good[-1].replace("| 57 to", "| 58 to"))
    named = "\n".join(notebooks.check([path]))
    for cell in ("setup", "long-sum", "vanish", "recap", "mistakes", "floatlab"):
        assert f"cell {cell!r} is not what --fix would write" in named
    assert "README.md: its badge, claims or minutes are not" in named
    notebooks.fix([path])
    assert [file.read_text() for file in (path, copy, readme)] == good


def setter(cell, **values):
    return lambda nb, cells: cells[cell].update(values)


def text(id, old, new):
    """Replace text where it stands in a cell."""

    def edit(nb, cells):
        assert old in cells[id].source
        cells[id].source = cells[id].source.replace(old, new, 1)

    return edit


REFUSED = [
    (setter("cure", id="a1b2c3d4"), "random"),
    (setter("cure", id="Cure"), "a-z"),
    (setter("cure", id="cancel"), "used twice"),
    (setter("setup", id="start"), "'setup'"),
    (setter("cure", source="x\n" * 16), "16 lines"),
    (setter("cure", source=""), "empty"),
    (setter("exercise-1", source="answer = 7"), "lacks 'q[1].check(answer)'"),
    (text("task-1", "### Exercise 1.1", "### 1.1"), "lacks '### Exercise 1.1 ·'"),
    (lambda nb, cells: nb.cells.remove(cells["exercise-1"]), "0 cells have the tag"),
    (text("title", "# Read", "Read"), "level-1"),
    (text("further", "## Further reading", "Further"), "'## Further reading'"),
    (text("fields-text", "## 2.", "## 3."), "[1, 3, 3,"),
    (text("recap", "## Recap", "## Recap\n\n![](../data/none.png)"), "alternative"),
    (text("recap", "## Recap", "## Recap\n\n[x](../data/none)"), "none does not exist"),
    (text("recap", "## Recap", "## Recap\n\nhttp://a.org"), "https"),
]


@pytest.mark.parametrize(("edit", "fragment"), REFUSED)
def test_what_fix_cannot_mend_is_named(path, edit, fragment):
    save(path, edit)
    assert any(fragment in fault for fault in template.faults(path))


def test_a_copy_that_does_not_follow_from_its_notebook_is_named(path):
    save(path, text("long-sum", "dtypes", "formats"))
    assert "'long-sum' does not follow from the blank" in notebooks.drift(path)[0]
    save(path, lambda nb, cells: nb.cells.pop(1))
    assert "not those of the blank" in notebooks.drift(path)[0]
    assert "no solved copy" in notebooks.drift(path.rename(path.parent / "77.ipynb"))[0]


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
    first = f"## 1. One\n\n{words}<details><summary>s</summary>{words}</details>"
    cells = [
        new_markdown_cell(f"{first}\n\n![A line](../data/line.png)", id="one"),
        new_code_cell("guess = 1", id="guess", metadata={"tags": ["prediction"]}),
        new_markdown_cell(f"## 2. Going further: two\n\n{words}", id="two"),
        new_code_cell("1\n\n" * 12, id="lines"),
        new_markdown_cell(f"<details>{words}</details>", id="quiz"),
    ]
    run = new_code_cell(id="lines", outputs=[PICTURE, STREAM], metadata={"seconds": 60})
    account = clock.Account("00", clock.sections(cells, {"lines": run}, "00"))
    minutes = {
        "1. One": 121 / 120 + 1 / 6 + 2 / 3 + 1,
        "2. Going further: two": 242 / 120 + 12 / 6 + 2 / 3 + 1 / 20 + 1,
    }
    table = account.table.set_index("heading")
    assert table["minutes"].to_dict() == pytest.approx(minutes, abs=0.05)
    assert account.span == "3 to 9" and clock.over(account) is None
    assert account.clocks()["2. Going further: two"] == "*≈6 min*"
    account.core = 31
    assert "its core takes 31 minutes, at most 30" in clock.over(account)


CELLS = {
    "load": "import os, sys; from course_utils import exercises; q = exercises.load('01')",
    "exercise-1": "answer = ...  # q[1].check(answer)",
    "stderr": "print('noise', file=sys.stderr); print('kept')",
    "interpreter": "print(sys.executable)",
    "progress": "print(os.environ['COURSE_PROGRESS'] != 'mine')",
    "place": "print(os.path.basename(os.getcwd()))",
    "panel": "from ipywidgets import *; interact(lambda n, to='b': print(n, to), n=(0, 9), "
    "to=['a', 'b']); VBox([IntSlider(3)])",
}


def small(path, sources):
    """Write a notebook of these cells."""
    cells = [new_code_cell(source, id=id) for id, source in sources.items()]
    for cell in cells:
        cell.metadata["tags"] = [cell.id] if cell.id.startswith("exercise") else []
    notebooks.write(path, new_notebook(cells=cells))


@pytest.mark.slow
def test_solve_runs_the_solutions_in_the_copy_s_folder(path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", "mine")
    small(path, CELLS)
    assert notebooks.solve(path) is None
    solved = {cell.id: cell for cell in read(path.parent / "solved" / path.name).cells}
    texts = {
        id: "".join(output.get("text", "") for output in cell.outputs)
        for id, cell in solved.items()
    }
    assert "answer = 0b" in solved["exercise-1"].source
    assert texts["stderr"] == "kept\n" and texts["progress"] == "True\n"
    assert (
        texts["interpreter"] == f"{sys.executable}\n" and texts["place"] == "solved\n"
    )
    caption, shown = solved["panel"].outputs  # and no VBox, stale without its kernel
    assert "with n = 4, to = b." in caption["data"]["text/markdown"]
    assert shown.text == "4 b\n"


@pytest.mark.slow
def test_solve_writes_nothing_when_a_cell_raises(path):
    small(path, {"x": "1 / 0"})
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


def test_slides_are_the_core_and_nbconvert_makes_them():
    nb = read(COURSE / "notebooks/solved/02_loss_scaling.ipynb")
    further = [cell.id for cell in nb.cells].index("further-text")
    kinds = {slide["slide_type"] for slide in canonical.slides(nb)[further:]}
    assert kinds == {"skip"}
    slides, _ = SlidesExporter().from_notebook_node(nb)
    assert slides.count("<section>") > 8 and nb.cells[0].source[2:30] in slides


def test_each_notebook_is_tested_and_stands_on_both_maps():
    makefile = (COURSE / "Makefile").read_text("utf-8")
    tested = re.findall("^(?:TRAINING|COMPARED) = (.+)", makefile, re.MULTILINE)
    maps = [COURSE / "README.md", COURSE / "notebooks/00_start_here.ipynb"]
    maps = "".join(file.read_text("utf-8") for file in maps)
    paths = notebooks.selected(COURSE / "notebooks")
    assert sorted(" ".join(tested).split()) == [path.name[:2] for path in paths]
    for path in paths[1:]:
        assert maps.count(f"{path.name}) |") == 2
