"""The tools that keep the notebooks: every rule passes a good notebook and names a
broken one.
"""

import re
import sys
from types import SimpleNamespace

import pytest
from nbconvert import HTMLExporter, SlidesExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course_utils.explorers import BitSplit
from tools import canonical, clock, notebooks, runs, template

TITLE = (
    """\
# Measure a thing

*At a glance*: **15 minutes** · next: [another](00_small.ipynb#top)

What you’ll do · What you'll learn · What you'll need: [data](../data/README.md), `a!`

"""
    + canonical.COMING_BACK
)
SECTIONS = """\
## 1. First

*≈2 min · 2 min so far*

We adjust $n!$, and ![A falling line](../data/line.png) shows it; see [this](https://a.org/!x).

```python
# just code, simply!
```

## 2. Second

*≈1 min · 2 min so far*

## Common mistakes

*≈1 min · 2 min so far*

## Recap

*≈13 min · 15 min so far*

## Further reading"""


class Question:
    exercise = SimpleNamespace(minutes=12.8)
    call = "print(answer)"
    cell = "answer = 8\nprint(answer)"

    def __repr__(self):
        return "Exercise 0.1"


SHEET = SimpleNamespace(
    title="Small",
    exercises=[Question.exercise],
    prediction=SimpleNamespace(solution="guess = 2"),
    questions={1: Question()},
)


def tagged(new_cell, source, tag, id=None):
    return new_cell(source, id=id or tag, metadata={"tags": [tag]})


def good_notebook():
    cells = [
        new_markdown_cell(TITLE, id="title"),
        new_code_cell("import os, sys", id="setup"),
        tagged(new_code_cell, "guess = ...  # q.predict(guess)", "prediction"),
        new_markdown_cell(SECTIONS, id="sections"),
        tagged(
            new_markdown_cell, "### Exercise 0.1 · A byte\n\nHow many bits?", "task-1"
        ),
        tagged(new_code_cell, "answer = ...  # print(answer)", "exercise-1"),
        tagged(new_markdown_cell, "## Predict\n\nGuess it.", "predict"),
        new_markdown_cell(canonical.TROUBLE, id="trouble"),
    ]
    nb = new_notebook(cells=cells, metadata=canonical.METADATA)
    for cell, slide in zip(cells, canonical.slides(nb), strict=True):
        cell.metadata.update({"slideshow": slide} if slide else {})
    return nb


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The notebooks folder of a course of one exercise, with a good notebook in it."""
    monkeypatch.setattr(canonical.exercises, "load", lambda name: SHEET)
    monkeypatch.setattr(
        canonical.publishing, "setup_cell", lambda **arguments: "import os, sys"
    )
    (tmp_path / "data").mkdir()
    (tmp_path / "README.md").write_text("# A course\n")
    for name in ("README.md", "line.png"):
        (tmp_path / "data" / name).touch()
    folder = tmp_path / "notebooks"
    folder.mkdir()
    save(folder)
    return folder


def save(folder, edit=lambda nb: None):
    """Write a good notebook after this edit; return its path."""
    nb = good_notebook()
    edit(nb)
    notebooks.write(folder / "00_small.ipynb", nb)
    return folder / "00_small.ipynb"


def setter(cell, **values):
    return lambda nb: nb.cells[cell].update(values)


def tags(cell, *names):
    return lambda nb: nb.cells[cell].metadata.update(tags=list(names))


def text(old, new):
    """Replace text where it stands, title or sections."""

    def edit(nb):
        (cell,) = (cell for cell in nb.cells if old in cell.source)
        cell.source = cell.source.replace(old, new, 1)

    return edit


def adds(source="x", **options):
    return lambda nb: nb.cells.append(new_code_cell(source, id="x", **options))


STREAM = new_output("stream", text="x")
MENDABLE = {
    "outputs": setter(2, outputs=[STREAM], execution_count=1),
    "metadata": lambda nb: nb.metadata.update(widgets={}),
    "setup": setter(1, source="import os"),
    "tag order": tags(5, "going-further", "exercise-1"),
    "slides": lambda nb: nb.cells[0].metadata.update(slideshow={}),
    "no help": lambda nb: nb.cells.pop(),
    "no way back": text(f"\n\n{canonical.COMING_BACK}", ""),
    "a new cell": setter(6, id="a1b2c3d4"),
    "spaces": text("## Recap", "## Recap  "),
}


@pytest.mark.parametrize("edit", MENDABLE.values(), ids=MENDABLE.keys())
def test_check_names_and_fix_mends(folder, edit):
    path = save(folder, edit)
    assert re.search("not what --fix|--fix adds|is random", template.faults(path)[0])
    notebooks.fix([path])
    assert template.faults(path) == []


def hand_in_last(nb):
    nb.cells.append(new_markdown_cell("## 3. Going further: more", id="more"))
    nb.cells.append(new_code_cell("q.hand_in(...)", id="hand-in"))


REFUSED = [
    # Names of cells, and cells of exercises.
    (setter(3, id="a1b2c3d4"), "random"),
    (setter(3, id="Sections"), "a-z"),
    (setter(3, id="title"), "used twice"),
    (setter(1, id="start"), "'setup'"),
    (adds("x\n" * 16), "16 lines"),
    (adds(""), "empty"),
    (setter(5, source="answer = 7"), "'exercise-1': its cell lacks 'print(answer)'"),
    (setter(4, source="### 0.1"), "'task-1': its cell lacks '### Exercise 0.1 ·'"),
    (setter(6, source="## Guess"), "'predict': its cell lacks '## Predict'"),
    (lambda nb: nb.cells.pop(5), "0 cells have the tag 'exercise-1'"),
    (setter(4, cell_type="code", outputs=[], execution_count=None), "markdown"),
    # The template.
    (text("# Measure", "Measure"), "level-1"),
    (text("At a glance", "Overview"), "no 'At a glance'"),
    (text("## Further reading", "Further reading"), "'## Further reading'"),
    (text("## 2. Second", "## 3. Second"), "[1, 3]"),
    (hand_in_last, "'hand-in' stands behind 'Going"),
    (text("**15 minutes**", "15 minutes"), "no minutes"),
    (text("![A falling line]", "![]"), "alternative text"),
    (text("../data/line.png", "../data/none.png"), "none.png does not exist"),
    (
        text("00_small.ipynb#top", "00_small.ipynb#cell-id=none"),
        "#cell-id=none does not exist",
    ),
    (text("https://a.org", "http://a.org"), "https"),
]


@pytest.mark.parametrize(("edit", "fragment"), REFUSED)
def test_what_fix_cannot_mend_is_named(folder, edit, fragment):
    path = save(folder, edit)
    notebooks.fix([path])
    assert any(fragment in fault for fault in notebooks.check([path]))


STALE = {
    "the clock of a section": (
        "*≈13 min · 15 min so far*",
        "*≈14 min · 20 min so far*",
    ),
    "no clock": ('    "*≈13 min · 15 min so far*\\n",\n    "\\n",\n', ""),
    "at a glance": ("**15 minutes**", "**20 minutes**, of which 15 core"),
    "a map": ("| 00 · Small | 15 |", "| 00 · Small | 12 to 15 |"),
    "the core path": (
        "The core path is 00 to 05: 0 hours.",
        "The core path is 00 to 05: 2 hours.",
    ),
}


@pytest.mark.parametrize(("right", "stale"), STALE.values(), ids=STALE.keys())
def test_what_is_stale_is_named_and_written_anew(folder, right, stale):
    path = folder / "00_small.ipynb"
    notebooks.fix([path])
    readme = folder.parent / "README.md"
    files = (path, folder.parent / "README.md")
    readme.write_text("\n".join(STALE[id][0] for id in ("a map", "the core path")))
    good = [file.read_text() for file in files]
    for file in files:
        file.write_text(file.read_text().replace(right, stale))
    assert "minutes are not what --fix" in notebooks.check([path])[-1]
    notebooks.fix([path])
    assert [file.read_text() for file in files] == good


def test_fix_gives_a_stored_explorer_the_script_of_today():
    explorer = BitSplit()._repr_mimebundle_()
    host = explorer["text/html"].partition("</div>\n<script>")[0]
    old = explorer | {"text/html": f"{host}</div>\n<script>\nold</script>\n"}
    cell = new_code_cell("x", id="x", outputs=[new_output("display_data", old)])
    canonical.clean_outputs(new_notebook(cells=[cell]))
    assert cell.outputs[0].data == explorer


def test_the_clock_counts_what_a_reader_does(folder, monkeypatch):
    nb = good_notebook()
    nb.cells[3].source = (
        f"## 1. One\n\n{'word ' * 359}<details><summary>s</summary>{'word ' * 900}</details>\n\n"
        f"![A line](../data/line.png)\n\n## 2. Going further: two\n\n{'word ' * 177}"
    )
    nb.cells += [new_code_cell("1\n\n" * 10, id="lines")]
    nb.cells += [new_markdown_cell(f"<details>{'word ' * 180}</details>", id="quiz")]
    path = folder / "00_small.ipynb"
    notebooks.write(path, nb)
    (folder / "solved").mkdir()
    nb.cells[-2].outputs = [new_output("display_data", {"image/png": "AAAA"}), STREAM]
    nb.cells[-2].metadata["seconds"] = 60
    notebooks.write(folder / "solved" / path.name, nb)
    first, second = clock.account(path).table.itertuples()
    # A title and a prediction above; a task, a recorded figure, a row, ten lines and a
    # minute's wait below.
    above = clock.words(TITLE.replace(canonical.COMING_BACK, ""))
    assert (first.words, first.lines, first.figures) == (above + 361, 1, 1)
    assert (second.words, second.lines, second.figures) == (181 + 10 + 180, 1 + 10, 1)
    assert (first.guesses, second.guesses, second.rows) == (1, 0, 1)
    assert second.minutes == pytest.approx(
        371 / 120 + 11 / 6 + 2 / 3 + 1 / 20 + 12.8 + 1
    )
    assert clock.account(path).clocks()["2. Going further: two"] == "*≈19 min*"
    assert clock.account(path).span == "5 to 24"
    notebooks.fix([path])
    monkeypatch.setattr(clock, "BUDGET", {"00": 2})
    assert "00: its core takes 5 minutes, at most 2." in notebooks.check([path])
    assert "no minutes for it" in clock.over(clock.Account("01", []))


@pytest.mark.parametrize("text", ["[]", '{"cells": [{}]}', "not JSON"])
def test_a_file_that_is_no_notebook_is_named_and_left_alone(folder, text, capsys):
    path = folder / "00_small.ipynb"
    path.write_text(text)
    assert notebooks.main(["--fix"], folder) == 1
    assert path.read_text() == text
    assert "00_small.ipynb: not a notebook of format 4" in capsys.readouterr().out


CELLS = {
    "stderr": "print('noise', file=sys.stderr); print('kept')",
    "interpreter": "print(sys.executable == os.environ['PYTHON'])",
    "progress": "print(os.environ['COURSE_PROGRESS'] != 'mine')",
    "place": "print(os.path.basename(os.getcwd()))",
    "panel": "from ipywidgets import *; interact(lambda n, to='b': print(n, to), n=(0, 9), "
    "to=['a', 'b']); VBox([IntSlider(3)])",
}


@pytest.mark.slow
def test_solve_runs_the_solutions_and_check_compares_them(folder, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", "mine")
    monkeypatch.setenv("PYTHON", sys.executable)
    cells = [new_code_cell(source, id=id) for id, source in CELLS.items()]
    path = save(folder, lambda nb: nb.cells.extend(cells))
    notebooks.fix([path])
    before = path.read_bytes()
    assert notebooks.main(["--solve", "00"], folder) == 0
    assert path.read_bytes() == before
    solved = canonical.read(folder / "solved/00_small.ipynb")
    texts = {
        c.id: "".join(o.get("text", "") for o in c.get("outputs", []))
        for c in solved.cells
    }
    wanted = {
        "exercise-1": "8",
        "stderr": "kept",
        "progress": "True",
        "place": "solved",
    }
    wanted["interpreter"] = "True"
    assert {id: texts[id].strip() for id in wanted} == wanted
    caption, shown = solved.cells[-1].outputs  # and no VBox, stale without its kernel
    assert (
        "with n = 4, to = b." in caption["data"]["text/markdown"]
        and shown.text == "4 b\n"
    )
    assert "(../../data/line.png)" in solved.cells[3].source
    assert notebooks.check([path]) == []

    copy = folder / "solved/00_small.ipynb"
    copy.write_text(copy.read_text().replace("answer = 8", "answer = 9"))
    (fault,) = notebooks.check([path])
    assert "cell 'exercise-1' does not follow from the blank" in fault
    save(folder, lambda nb: nb.cells.append(new_markdown_cell("More.", id="more")))
    notebooks.fix([path])
    assert "not those of the blank" in notebooks.check([path])[0]
    path = path.rename(folder / "01_renamed.ipynb")
    assert "no blank notebook of this name" in notebooks.check([path])[-1]


@pytest.mark.slow
def test_solve_writes_nothing_when_a_cell_raises(folder, capsys):
    save(folder, adds("1 / 0"))
    (folder / "solved").mkdir()
    (folder / "solved/00_small.ipynb").write_text("as it was")
    assert notebooks.main(["--solve"], folder) == 1
    said = (
        "solved copy not written, cell 'x' raised ZeroDivisionError: division by zero"
    )
    assert said in capsys.readouterr().out
    assert (folder / "solved/00_small.ipynb").read_text() == "as it was"


def test_a_good_notebook_lacks_its_solved_copy_alone_and_another_name_is_refused(
    folder,
):
    unsolved = "00_small.ipynb: there is no solved copy, run --solve."
    assert notebooks.check([folder / "00_small.ipynb"]) == [unsolved]
    with pytest.raises(
        SystemExit, match="No notebook in notebooks/ starts with '07': 00_small."
    ):
        notebooks.main(["--check", "07"], folder)


def test_a_notebook_run_twice_repeats_whole_sections_and_none_that_takes_long():
    sources = {"a": "", "x": "## 1", "b": "", "c": "", "y": "## 2", "d": ""}
    nb = new_notebook(
        cells=[
            new_markdown_cell(text, id=id) if text else new_code_cell(id=id)
            for id, text in sources.items()
        ]
    )
    cells = runs.repeated(nb, {"b": 15, "c": 6, "d": 20}).cells
    assert [cell.id for cell in cells[6:]] == ["a-2", "d-2"]


def test_an_export_of_a_panel_shows_its_picture_and_one_sentence():
    nb = canonical.read(canonical.COURSE / "notebooks/solved/03_policy.ipynb")
    cells = [cell for cell in nb.cells if cell.id == "panel"]
    page, _ = HTMLExporter().from_notebook_node(new_notebook(cells=cells))
    assert "The panel with model = six layers" in page
    assert "data:image/png;base64" in page and "Error displaying widget" not in page


def test_slides_are_the_core_and_nbconvert_makes_them():
    nb = canonical.read(canonical.COURSE / "notebooks/solved/02_loss_scaling.ipynb")
    further = next(n for n, c in enumerate(nb.cells) if c.id == "further-text")
    kinds = {slide["slide_type"] for slide in canonical.slides(nb)[further:]}
    assert kinds == {"skip"}
    slides, _ = SlidesExporter().from_notebook_node(nb)
    assert slides.count("<section>") > 8 and nb.cells[0].source[2:30] in slides


def test_each_notebook_is_tested_and_stands_on_both_maps():
    def text_of(name):
        return (canonical.COURSE / name).read_text("utf-8")

    longest = re.search("LONGEST = (.+)", text_of("Makefile"))[1]
    maps = text_of("README.md") + text_of("notebooks/00_start_here.ipynb")
    for path in notebooks.selected(canonical.COURSE / "notebooks"):
        assert path.name[:2] in clock.BUDGET and path.name[:2] in longest
        assert maps.count(f"{path.name}) |") == 2 - path.name.startswith("00")
