"""Lessons: made from the notebooks' cells, inside their minutes, and their exercises
work.
"""

import re
import shutil

import pytest
from nbformat.v4 import new_markdown_cell

from course_utils import exercises, hardware
from course_utils.hardware import Hardware
from tools import decision_card, site, workshop
from tools.canonical_form import COURSE, code_cells, read, text_of
from tools.notebook_cells import Cells

PATH = COURSE / "notebooks/workshop_90.ipynb"


@pytest.mark.parametrize(
    "name, spare", [("workshop_90.ipynb", 9), ("lightning_20.ipynb", 2)]
)
def test_its_minutes_are_the_clock_s_and_leave_some_for_questions(name, spare):
    nb, _, account = workshop.made(name)
    (table,) = (cell.source for cell in nb.cells if cell.id == "at-a-glance")
    rows = re.findall(r"^\| (\d+) to (\d+) \|", table, re.M)
    begins, ends = zip(*(map(int, row) for row in rows), strict=True)
    assert [*begins, ends[-1]] == [0, *ends] and sorted(set(ends)) == [*ends]
    assert ends[-1] == int(name[-8:-6]) >= account.core + spare


def test_its_exercises_are_checked_and_remembered_as_in_their_own_notebooks():
    for cell in code_cells(read(PATH)):
        if cell.id != "hand-in":
            assert {cell.id[-2:]} >= set(re.findall(r"\bq(\d*)\b", cell.source))
    names = {"exercises": exercises}
    lesson = Cells(PATH.stem)
    # back in an earlier part
    lesson.run("load-exercises-00", "load-exercises-04", names=names)
    answer = exercises.load("00")[1].exercise.solution
    exec(f"{answer}\nq00[1].check(answer)", names)
    lesson.run("prediction-04", names=names, replaced=(("...", "0.5"),))
    assert exercises.load("00").solved == [1] and exercises.load("04").guess == 0.5


@pytest.mark.parametrize("name", workshop.PLANS)
def test_each_guess_of_a_lesson_is_shown_beside_what_is_measured_for_it(name):
    source = "\n".join(
        cell.source for cell in code_cells(read(COURSE / "notebooks" / name))
    )
    for q in re.findall(r"^(q\d\d)\.predict\(", source, re.M):
        assert f"{q}.guess" in source.partition(f"{q}.measured = ")[2], q


def test_a_section_is_called_by_the_number_that_it_has_here():
    cell = new_markdown_cell("Section 2 shows it, section 7 asks.")
    text = workshop.moved(cell, "02", {("02", "2"): 5}, "")
    assert text == "Section 5 shows it, section 7 of notebook 02 asks."


def test_the_site_shows_none_in_which_somebody_worked(tmp_path, monkeypatch):
    shutil.copytree(COURSE / "notebooks", tmp_path / "notebooks")
    path = tmp_path / "notebooks" / PATH.name
    stub = "guess = ...  # percent: 1"
    path.write_text(path.read_text("utf-8").replace(stub, "guess = 1  #"), "utf-8")
    monkeypatch.setattr(site, "COURSE", tmp_path)
    told = rf"them: {PATH.stem} \('prediction-02' is filled in\)\. Unpack the course"
    with pytest.raises(SystemExit, match=told):
        site.build(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_card_is_what_its_script_writes():
    page = decision_card.page()
    stored = decision_card.PATH.read_text(encoding="utf-8")
    assert page == stored, "run tools.site --card"
    named = re.findall(r"<td>(\d\d)(?:, (\d\d))?</td></tr>", page)
    assert len(named) >= 10 and {*sum(named, ())} <= {*exercises.available(), ""}


def test_the_card_and_the_answers_say_which_cpus_are_fast_in_bfloat16():
    (row,) = (chip for chip in decision_card.MACHINES if chip.startswith("CPU with"))
    ask = (COURSE / "docs/ask.md").read_text(encoding="utf-8").replace("`", "")
    assert row in ask
    for cpu in ("AMD", "Intel"):
        for unit in ("amx_bf16", "avx512_bf16"):
            policy = hardware.recommended_policy(Hardware("x86_64", cpu, 8, (unit,)))
            named = f"CPU with {unit}" in row or f"{cpu}'s with {unit}" in row
            assert named == (policy == "mixed_bfloat16"), (cpu, unit)


def test_what_a_lesson_shows_is_of_one_run(tmp_path):
    """Of its own: nothing comes from a notebook's run, and a cell that changed asks for
    another one. An explorer is the notebook's.
    """
    folder = tmp_path / "notebooks"
    shutil.copytree(COURSE / "notebooks", folder)
    for path in (
        folder / "solved" / "00_start_here.ipynb",
        folder / "solved" / PATH.name,
    ):
        text = path.read_text("utf-8").replace("Guess recorded.", f"Of {path.stem}.")
        path.write_text(text, "utf-8")
    shown = {
        cell.id: str(cell.get("outputs"))
        for cell in workshop.made(PATH.name, folder)[1].cells
    }
    assert "Of workshop_90." in shown["prediction-00"]
    assert "data-floatlab" in shown["floatlab-01"]
    source = "guess = 2.0"
    path = folder / "solved" / "00_start_here.ipynb"
    text = path.read_text("utf-8")
    assert source in text
    path.write_text(text.replace(source, "guess = 2.5"), "utf-8")
    for lesson, nb in workshop.files(folder):  # as --fix does
        lesson.write_text(text_of(nb), "utf-8")
    told = [fault for fault in workshop.faults(folder) if "run --solve" in fault]
    assert len(told) == 2  # each lesson asks for this guess


@pytest.mark.parametrize("name", workshop.PLANS)
def test_the_minutes_at_a_glance_are_all_of_the_lesson_s(name):
    cells = read(COURSE / "notebooks" / name).cells
    (glance,) = (cell.source for cell in cells if cell.id == "at-a-glance")
    told = [int(n) for n in re.findall(r"\d+", glance.split(" · level")[0])]
    plan = workshop.PLANS[name]
    assert sum(told) == plan["minutes"]
    assert told[2:] == ([plan["board"]] if "board" in plan else [])
