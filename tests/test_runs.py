"""The runs made by hand, matrix and soak: what has run is recorded, whatever happens
after it.
"""

import re
import subprocess

import nbformat
import pytest

from tools import runs


@pytest.fixture(autouse=True)
def course(tmp_path, monkeypatch):
    """A course of one notebook, and the folder of its records."""
    (tmp_path / "notebooks").mkdir()
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1", id="a")])
    nbformat.write(notebook, tmp_path / "notebooks" / "00_small.ipynb")
    monkeypatch.setattr(runs, "COURSE", tmp_path)
    monkeypatch.setattr(runs, "RECORDS", tmp_path)
    return tmp_path


def test_the_record_of_a_matrix_says_what_ran_and_what_did_not(course, monkeypatch):
    def environment(version, *arguments):
        missing = version == "3.12" or (
            version == "3.11" and "keras==3.13.*" in arguments
        )
        return subprocess.CompletedProcess([], int(missing), "", "no such version")

    def run_leg(python, **variables):
        if not results:
            raise KeyboardInterrupt
        asked.append(variables)
        return results.pop(0)

    asked = []
    monkeypatch.setattr(runs, "environment", environment)
    monkeypatch.setattr(runs, "versions", lambda python: "keras 3")
    monkeypatch.setattr(runs, "run_leg", run_leg)
    results = ["passed", "passed", "failed: notebooks", "passed", "passed"]
    assert runs.matrix("3.11", "3.12", "3.13") == 1
    assert asked == [{}, {}, {"TF_ENABLE_ONEDNN_OPTS": "0"}, {}, runs.TPU]
    results = ["passed", "passed", "failed: notebooks", "passed"]
    with pytest.raises(KeyboardInterrupt):  # in the last leg
        runs.matrix("3.11", "3.12", "3.13")
    (record,) = course.glob("matrix-*.md")
    said = record.read_text(encoding="utf-8")
    legs = re.findall(r"^\| Python (.*?) \|", said, re.MULTILINE)
    expected = [
        "3.11, newest",
        "3.11, oldest",
        "3.13, newest",
        "3.13, newest, oneDNN off",
    ]
    assert legs == [*expected, "3.13, oldest"]
    assert "00_small" in said and "not found: 3.12." in said
    assert (
        "oldest | – | not installed" in said
        and "off | keras 3 | failed: notebooks" in said
    )


@pytest.mark.slow
def test_the_record_of_a_soak_counts_what_finished_and_names_what_raised(course):
    bad = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0", id="b")])
    nbformat.write(bad, course / "notebooks" / "01_bad.ipynb")
    assert runs.soak("2") == 1
    (record,) = course.glob("soak-*.md")
    said = record.read_text(encoding="utf-8")
    assert "| 00_small | 2 of 2 |" in said and "| 01_bad |" not in said
    assert all(
        f"01_bad, run {n}: cell 'b' raised ZeroDivisionError" in said for n in (1, 2)
    )
