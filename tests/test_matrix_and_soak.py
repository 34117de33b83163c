"""The runs made by hand, matrix and soak: what has run is recorded, whatever happens after it."""

import contextlib
import re
import subprocess

import matrix
import nbformat
import pytest
import soak


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Pythons 3.11 and 3.13, a folder with one notebook, and legs that take no time."""
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "00_start_here.ipynb").touch()
    monkeypatch.setattr(matrix, "ROOT", tmp_path)

    def environment(version, *arguments):
        missing = version == "3.12" or (version == "3.11" and "keras==3.13.*" in arguments)
        return subprocess.CompletedProcess([], int(missing), "", "no such version")

    monkeypatch.setattr(matrix, "environment", environment)
    monkeypatch.setattr(matrix, "versions", lambda python: "keras 3")
    return tmp_path


@pytest.mark.parametrize("interrupted", [False, True])
def test_the_record_says_what_ran_and_what_did_not(interrupted, machine, monkeypatch):
    results = iter(["passed", "passed", "failed: notebooks", "passed"])

    def run_leg(python, **variables):
        if variables and interrupted:
            raise KeyboardInterrupt
        return next(results)

    monkeypatch.setattr(matrix, "run_leg", run_leg)
    with pytest.raises(KeyboardInterrupt) if interrupted else contextlib.nullcontext():
        assert matrix.main(["3.11", "3.12", "3.13"]) == 1
    (record,) = (machine / "tests" / "records").glob("matrix-*.md")
    said = record.read_text(encoding="utf-8")
    legs = re.findall(r"^\| Python (.*?) \|", said, re.MULTILINE)
    expected = ["3.11, newest", "3.11, oldest", "3.13, newest", "3.13, newest, oneDNN off"]
    expected += ["3.13, oldest"]
    assert legs == expected[: 3 if interrupted else 5]
    assert "00_start_here" in said and "not found: 3.12." in said
    assert "oldest | – | not installed" in said
    assert ("off | keras 3 | failed: notebooks" in said) is not interrupted


def test_an_interrupt_keeps_the_runs_of_a_soak(tmp_path, monkeypatch):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1", id="a")])
    nbformat.write(notebook, tmp_path / "00_small.ipynb")
    outcomes = iter([None, "cell 'a-again' raised ValueError", None])

    def execute(nb, folder, name):
        assert [cell.id for cell in nb.cells] == ["clock", "a", "again"]
        for outcome in outcomes:
            return outcome
        raise KeyboardInterrupt

    monkeypatch.setattr(soak, "execute", execute)
    monkeypatch.setattr(soak, "COURSE", tmp_path)
    assert soak.main(5, [tmp_path / "00_small.ipynb"]) == 1
    (record,) = (tmp_path / "tests" / "records").glob("soak-*.md")
    said = record.read_text(encoding="utf-8")
    assert "| 00_small.ipynb | 2 of 5 |" in said
    assert "- 00_small.ipynb, run 2, cell 'a-again' raised ValueError" in said
    assert "- 00_small.ipynb, run 4, interrupted: the table holds what had finished" in said
