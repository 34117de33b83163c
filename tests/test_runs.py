"""The runs made by hand, matrix and soak: what has run is recorded, whatever happens
after it.
"""

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


def test_what_has_run_is_recorded_whatever_ends_the_rest(course):
    with (
        pytest.raises(KeyboardInterrupt),
        runs.recorded("matrix", "Head.", "leg") as rows,
    ):
        rows.append(["Python 3.11"])
        raise KeyboardInterrupt
    (record,) = course.glob("matrix-*.md")
    assert record.read_text(encoding="utf-8").endswith("| Python 3.11 |\n")


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
