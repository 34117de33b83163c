"""The tools that keep the notebooks: every rule passes a good notebook and names a broken one."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

sys.path.insert(0, str(Path(__file__).parent / "tools"))
import canonical
import size
import twice

import notebooks


class Question:
    exercise = SimpleNamespace(task="How many bits?")
    cell = ("answer = ...", "answer = 8\nprint(answer)")

    def __repr__(self):
        return "Exercise 0.1 · A byte"


SHEET = SimpleNamespace(
    prediction=SimpleNamespace(task="Guess it.", stub="guess = ...", solution="guess = 2"),
    questions={1: Question()},
)


def load(name):
    return SHEET


def good_notebook():
    cells = [
        new_markdown_cell("# Title", id="title"),
        new_code_cell(canonical.SETUP, id="setup"),
        new_code_cell("guess = ...", id="predict", metadata={"tags": ["prediction"]}),
        new_markdown_cell("Read [this](../data/x.md).", id="text"),
        new_markdown_cell(
            "### Exercise 0.1 · A byte\n\nHow many bits?",
            id="task-1",
            metadata={"tags": ["task-1"]},
        ),
        new_code_cell("answer = ...", id="exercise-1", metadata={"tags": ["exercise-1"]}),
        new_markdown_cell("## Predict\n\nGuess it.", id="question", metadata={"tags": ["predict"]}),
    ]
    return new_notebook(cells=cells, metadata=canonical.METADATA)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The notebooks folder of a small course, with a good notebook in it."""
    monkeypatch.setattr(canonical, "SETUP", "import os, sys")
    folder = tmp_path / "notebooks"
    folder.mkdir()
    save(good_notebook(), folder)
    return folder


def save(nb, folder):
    notebooks.write(folder / "00_small.ipynb", nb)
    return folder / "00_small.ipynb"


def change_of(edit):
    nb = good_notebook()
    edit(nb)
    return nb


def test_a_good_notebook_has_no_faults(folder):
    assert canonical.faults(folder / "00_small.ipynb", load) == []


def output(nb):
    nb.cells[2].outputs = [new_output("stream", text="x")]
    nb.cells[2].execution_count = 1


def setter(cell, **values):
    return lambda nb: nb.cells[cell].update(values)


def tags(cell, *names):
    return lambda nb: nb.cells[cell].metadata.update(tags=list(names))


MENDABLE = {
    "outputs": (output, "outputs"),
    "metadata": (lambda nb: nb.metadata.update(widgets={}), "metadata"),
    "version": (lambda nb: nb.metadata.language_info.update(version="3.1"), "metadata"),
    "format": (lambda nb: nb.update(nbformat_minor=4), "metadata"),
    "stub": (setter(5, source="answer = 7"), "'exercise-1': its source"),
    "task": (setter(4, source="### Exercise 0.1"), "'task-1': its source"),
    "question": (setter(6, source="## Predict"), "'question': its source"),
    "prediction": (setter(2, source="guess = 1"), "'predict': its source"),
    "tag order": (tags(5, "going-further", "exercise-1"), "'exercise-1': its metadata"),
    "timing": (lambda nb: nb.cells[2].metadata.update(execution={}), "'predict': its metadata"),
    "spaces": (setter(3, source="Text.  \n"), "'text': its source"),
}


@pytest.mark.parametrize(("edit", "fragment"), MENDABLE.values(), ids=MENDABLE.keys())
def test_check_names_and_fix_mends(folder, edit, fragment):
    path = save(change_of(edit), folder)
    assert fragment in canonical.faults(path, load)[0]
    notebooks.fix([path], load)
    assert canonical.faults(path, load) == []


def test_fix_mends_the_setup_cell_and_the_layout(folder):
    path = folder / "00_small.ipynb"
    right = path.read_text()
    path.write_text(right.replace("import os, sys", "import os"))
    assert "'setup': its source" in canonical.faults(path, load)[0]
    notebooks.fix([path], load)
    assert path.read_text() == right
    path.write_text(right.rstrip())
    assert "layout" in canonical.faults(path, load)[0]


REFUSED = {
    "random id": (setter(2, id="a1b2c3d4"), "random"),
    "uuid": (setter(2, id="9f0c1a34-1c3e-4a55-8f10-0d1e2f3a4b5c"), "random"),
    "capitals": (setter(2, id="Predict"), "a-z"),
    "id twice": (setter(3, id="title"), "used twice"),
    "no setup": (setter(1, id="start"), "'setup'"),
    "long cell": (lambda nb: nb.cells.append(new_code_cell("x\n" * 16, id="x")), "16 lines"),
    "empty cell": (lambda nb: nb.cells.append(new_code_cell("", id="x")), "empty"),
    "no such exercise": (tags(5, "exercise-2"), "stands for no exercise"),
    "exercise missing": (lambda nb: nb.cells.pop(5), "0 cells have the tag 'exercise-1'"),
    "exercise twice": (
        lambda nb: nb.cells.append(new_code_cell("x", id="x", metadata={"tags": ["exercise-1"]})),
        "2 cells have the tag 'exercise-1'",
    ),
    "no prediction": (lambda nb: nb.cells.pop(2), "0 cells have the tag 'prediction'"),
    "task on code": (setter(4, cell_type="code", outputs=[], execution_count=None), "markdown"),
}


@pytest.mark.parametrize(("edit", "fragment"), REFUSED.values(), ids=REFUSED.keys())
def test_what_fix_cannot_mend_is_named(folder, edit, fragment):
    path = save(change_of(edit), folder)
    notebooks.fix([path], load)
    assert any(fragment in fault for fault in canonical.faults(path, load))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"cells": 3}', '{"cells": [{}]}', "not JSON"])
def test_a_file_that_is_no_notebook_is_named_and_left_alone(folder, text, capsys):
    path = folder / "00_small.ipynb"
    path.write_text(text)
    assert notebooks.main(["--fix"], folder, load) == 1
    assert path.read_text() == text
    assert "00_small.ipynb: not a notebook of format 4" in capsys.readouterr().out


def run_tool(folder, *arguments):
    """Run the command line in a process of its own: its kernels need an event loop."""
    code = (
        "import sys, canonical, notebooks; from pathlib import Path;"
        "from test_notebook_tools import load; canonical.SETUP = 'import os, sys';"
        "sys.exit(notebooks.main(sys.argv[2:], Path(sys.argv[1]), load))"
    )
    here = Path(__file__).parent
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(here), str(here / "tools")])}
    command = [sys.executable, "-c", code, str(folder), *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)


CELLS = {
    "stderr": "print('noise', file=sys.stderr); print('kept')",
    "interpreter": "print(sys.executable)",
    "progress": "print(os.environ['COURSE_PROGRESS'] != 'mine')",
    "place": "print(os.path.basename(os.getcwd()))",
    "raises": "1 / 0",
    "widget": "import ipywidgets; ipywidgets.VBox([ipywidgets.IntSlider(3)])",
}


def test_stored_progress_bars_and_panels_are_dropped_where_outputs_are_not_compared():
    view = {canonical.VIEW: {"model_id": "abc"}, "text/plain": "steps: 0%|"}
    cell = new_code_cell("1", id="x", metadata={"tags": ["nbval-ignore-output"]})
    frame = {"text/html": '<iframe id="tensorboard-frame-1">'}
    cell.outputs = [new_output("display_data", data) for data in (view, frame)]
    cell.outputs.append(new_output("stream", text="kept"))
    nb = new_notebook(cells=[cell])
    canonical.clean_outputs(nb)
    assert [output.output_type for output in nb.cells[0].outputs] == ["stream"]


def test_solve_runs_the_solutions_and_check_compares_them(folder, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", "mine")
    nb = good_notebook()
    nb.cells += [new_code_cell(source, id=id) for id, source in CELLS.items()]
    nb.cells[-2].metadata.tags = ["nbval-raises-exception"]
    path = save(nb, folder)
    before = path.read_bytes()
    assert "no solved copy" in run_tool(folder, "--check").stdout

    result = run_tool(folder, "--solve", "00")
    assert result.returncode == 0, result.stderr
    assert "cell 'stderr' writes to stderr" in result.stdout
    assert path.read_bytes() == before
    solved = canonical.read(folder / "solved/00_small.ipynb")
    texts = {c.id: "".join(o.get("text", "") for o in c.get("outputs", [])) for c in solved.cells}
    assert texts["exercise-1"] == "8\n"
    assert texts["stderr"] == "kept\n"
    assert texts["interpreter"] == f"{sys.executable}\n"
    assert texts["progress"] == "True\n"
    assert texts["place"] == "solved\n"
    assert solved.cells[3].source == "Read [this](../../data/x.md)."
    assert solved.cells[-2].metadata.tags == ["nbval-raises-exception"]
    assert solved.cells[-1].outputs[0].data[canonical.VIEW]["model_id"] == "widget-1"
    assert run_tool(folder, "--check").stdout == ""

    saved = (folder / "solved/00_small.ipynb").read_text()
    for old, new in [("answer = 8", "answer = 9"), ('_count": 2', '_count": 9')]:
        assert old in saved
        (folder / "solved/00_small.ipynb").write_text(saved.replace(old, new))
        assert "run --solve" in run_tool(folder, "--check").stdout
    (folder / "solved/00_small.ipynb").write_text(saved)
    save(change_of(lambda nb: nb.cells.pop(3)), folder)
    assert "not those of the blank" in run_tool(folder, "--check").stdout
    path.rename(folder / "01_renamed.ipynb")
    assert "no blank notebook of this name" in run_tool(folder, "--check").stdout


@pytest.mark.parametrize(
    ("source", "reason"),
    [("1 / 0", "ZeroDivisionError: division by zero"), ("os._exit(1)", "DeadKernelError")],
)
def test_solve_writes_nothing_when_a_cell_raises(folder, source, reason):
    save(change_of(lambda nb: nb.cells.append(new_code_cell(source, id="bad"))), folder)
    (folder / "solved").mkdir()
    (folder / "solved/00_small.ipynb").write_text("as it was")
    result = run_tool(folder, "--solve")
    assert result.returncode == 1
    assert f"00_small.ipynb: solved copy not written, cell 'bad' raised {reason}" in result.stdout
    assert (folder / "solved/00_small.ipynb").read_text() == "as it was"


def test_an_unknown_name_is_refused_with_the_names_there_are(folder):
    result = run_tool(folder, "--check", "07")
    assert (result.returncode, result.stderr) == (
        1,
        "No notebook in notebooks/ starts with '07': 00_small.\n",
    )


def test_twice_lets_each_code_cell_run_again_in_order():
    nb = twice.twice(good_notebook())
    assert [cell.id for cell in canonical.code_cells(nb)] == [
        *("setup", "predict", "exercise-1"),
        *("setup-again", "predict-again", "exercise-1-again"),
    ]


def test_size_counts_lines_by_room_and_seconds_by_file(tmp_path):
    for name, text in {
        "one.py": "1\n2\n",
        "many/a.mjs": "1\n",
        "many/b.css": "1",
        "c.md": "1",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert size.rooms(size.lines(tmp_path)) == {"one": 2, "many": 2}
    cases = "".join(
        f'<testcase classname="tests.{n}" time="{s}"/>' for n, s in [("a", 1), ("a", 2)]
    )
    (tmp_path / "report.xml").write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    assert size.seconds(tmp_path / "report.xml") == {"tests.a": 3.0}
    assert size.seconds(tmp_path / "none.xml") == {}
