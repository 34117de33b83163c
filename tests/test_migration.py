"""The migration table: every cell is code of the script that ran, and Keras 3 runs here again."""

import html
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "tools"))
import run_migration as script  # noqa: E402

from course_utils import migration  # noqa: E402
from course_utils.table import Table  # noqa: E402

DATA = json.loads(migration.DATA.read_text(encoding="utf-8"))
CELLS = [(row["row"], name, cell) for row in DATA["rows"] for name, cell in row["cells"].items()]
RUN = r"[\w-]+ [\d.]+(, [\w-]+ [\d.]+)?, Python 3\.[\d.]+, 20\d\d-\d\d-\d\d"


def test_every_row_has_a_cell_for_every_library():
    assert len(DATA["rows"]) == 11
    for column in DATA["columns"]:
        assert script.rows(column) == [row["row"] for row in DATA["rows"]]
        found = list(script.parts(column))
        assert (found[0], found[-1]) == (script.SETUP, script.TRAIN)
    for row in DATA["rows"]:
        assert list(row["cells"]) == list(DATA["columns"]) == list(script.SCRIPTS)


@pytest.mark.parametrize("row,column,cell", CELLS, ids=lambda v: v if isinstance(v, str) else "")
def test_a_cell_is_code_of_the_script_and_says_how_it_was_checked(row, column, cell):
    part = script.parts(column)[row]
    assert cell["code"] and cell["code"] in script.SCRIPTS[column]
    assert (cell["code"], cell["note"]) == (part["code"], part["note"]), "record it again"
    assert all(re.fullmatch(RUN, run) for run in cell["with"].split("; ")), cell["with"]
    assert max(map(len, cell["code"].split("\n"))) <= migration.WIDTH
    compile(cell["code"], row, "exec")
    if cell["checked"] == "run":
        assert "source" not in cell and not part["source"]
        assert "# check" in part["script"] and "assert " in part["script"]
    else:
        assert cell["checked"] == "documented" and cell["source"] == part["source"]
        assert re.match(r"https://(www\.)?tensorflow\.org/\S+$", cell["source"])


def test_only_questions_to_a_gpu_were_not_run():
    assert {row for row, _, cell in CELLS if cell["checked"] != "run"} == {script.rows("JAX")[-1]}


def test_keras_3_runs_here():
    """In a process of its own: the script sets the global policy."""
    command = [sys.executable, script.__file__, "Keras 3"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    verdicts = re.findall(r"^  (.+): (\S+)$", done.stdout, re.M)
    assert [name for name, _ in verdicts] == list(script.parts("Keras 3"))
    expected = {row: cell["checked"] for row, column, cell in CELLS if column == "Keras 3"}
    assert dict(verdicts) == {script.SETUP: "run", script.TRAIN: "run", **expected}


FAKE = """
# %% set up
lines = []
# %% good
lines.append(1)
# note: One.
# note: Two.
# check
assert lines == [1]
# %% bad
lines.append(2)
# check
assert lines == [3], "not three"
# %% read
lines.sort()
# source: https://example.org/
# %% train with an overflow on the way
lines.clear()
"""


@pytest.fixture
def fake(monkeypatch, tmp_path):
    """A column "Fake" that runs with pytest, and its own record; what is asserted is `good`."""
    monkeypatch.setitem(script.SCRIPTS, "Fake", FAKE)
    monkeypatch.setitem(script.LIBRARIES, "Fake", ["pytest"])
    monkeypatch.setattr(script, "RECORD", tmp_path / "migration.json")
    script.RECORD.write_text('{"note": "", "columns": {"Fake": "-"}, "rows": []}')
    return lambda good: monkeypatch.setitem(
        script.SCRIPTS, "Fake", FAKE.replace("[3]", "[1, 2]") if good else FAKE
    )


def test_a_wrong_line_is_seen_and_nothing_is_recorded(fake, capsys):
    before = script.RECORD.read_text()
    assert script.run("Fake")["bad"] == "AssertionError: not three"
    assert script.main(["Fake", "--record"]) == 1
    assert "bad: AssertionError: not three" in capsys.readouterr().out
    assert script.RECORD.read_text() == before


def test_what_ran_is_recorded(fake):
    fake(good=True)
    assert script.main(["Fake", "--record"]) == 0
    rows = json.loads(script.RECORD.read_text())["rows"]
    assert [row["row"] for row in rows] == ["good", "bad", "read"]
    good, _, read = (row["cells"]["Fake"] for row in rows)
    assert good["code"] == "lines.append(1)" and good["note"] == "One. Two."
    assert good["checked"] == "run" and good["with"] == script.described("Fake")
    assert (read["checked"], read["source"]) == ("documented", "https://example.org/")


def test_a_record_keeps_the_other_versions_of_the_same_code(fake):
    fake(good=True)
    script.main(["Fake", "--record"])
    here, old = script.described("Fake"), "pytest 1.2, Python 3.8.1, 2020-01-01"
    data = json.loads(script.RECORD.read_text())
    data["rows"][0]["cells"]["Fake"]["with"] = f"{old}; {here}"
    data["rows"][1]["cells"]["Fake"].update(code="other", **{"with": old})
    script.RECORD.write_text(json.dumps(data))
    script.main(["Fake", "--record"])
    good, bad, _ = (row["cells"]["Fake"] for row in json.loads(script.RECORD.read_text())["rows"])
    assert good["with"] == f"{old}; {here}" and bad["with"] == here


def test_a_column_without_its_library_is_refused(capsys, monkeypatch):
    monkeypatch.setattr(script, "columns_here", lambda: ["Keras 3"])
    with pytest.raises(SystemExit):
        script.main(["PyTorch"])
    assert "PyTorch cannot run here: this Python has Keras 3." in capsys.readouterr().err


@pytest.mark.parametrize(
    "tensorflow,column",
    [
        ((2, 3), "TF 2.3"),
        ((2, 4), "TF 2.4–2.15"),
        ((2, 15), "TF 2.4–2.15"),
        ((2, 16), "Keras 3"),
        ((2, 21), "Keras 3"),
    ],
)
def test_the_version_of_tensorflow_tells_the_column(tensorflow, column, monkeypatch):
    here = {"tensorflow": tensorflow, "keras": (3, 0)}
    monkeypatch.setattr(script, "version", here.get)
    assert script.columns_here() == [column]


def test_the_table_shows_two_columns_or_the_chosen_ones():
    shown = migration.table()
    assert isinstance(shown, Table)
    assert shown.header == ("task", "TF 2.4–2.15", "Keras 3")
    assert [row[0] for row in shown.rows] == script.rows("Keras 3")
    some = migration.table("JAX", "Keras 3", "JAX")
    assert some.header == ("task", "JAX", "Keras 3") and {len(row) for row in some.rows} == {3}
    assert "migration.table('TF 2.3', 'TF 2.4–2.15', 'PyTorch')" in some.note
    assert "Keras 3 (from TensorFlow 2.16 on): run with keras 3." in some.note
    assert "Other columns" not in migration.table(*DATA["columns"]).note
    for wrong in ("Torch", "", "keras 3", 3):
        with pytest.raises(ValueError, match="choose of TF 2.3, TF 2.4–2.15, Keras 3, PyTorch"):
            migration.table(wrong)


def test_the_table_marks_what_was_not_run():
    shown = migration.table(*DATA["columns"])
    for row, *cells in shown.rows:
        for column, text in zip(shown.header[1:], cells, strict=True):
            cell = next(c for r, name, c in CELLS if (r, name) == (row, column))
            assert text.startswith(cell["code"])
            marked = text.endswith("# Documented, not run here.")
            assert marked == (cell["checked"] != "run"), (row, column)
            assert max(map(len, text.split("\n"))) <= migration.WIDTH
            compile(text, row, "exec")


def test_code_keeps_its_lines_in_html_and_in_text():
    shown = migration.table("Keras 3")
    page, text = shown._repr_html_(), repr(shown)
    assert "with tf.GradientTape() as tape:\n    loss = loss_fn(" in page
    assert "white-space: pre;" in page and page.count("<tr>") == 12
    assert "&quot;mixed_float16&quot;" in page and html.escape(shown.note) in page
    assert "\n      with tf.GradientTape() as tape:\n          loss = loss_fn(" in text
    assert text.startswith("One task, several libraries\n\nset the policy\n  Keras 3\n")
