"""Lessons: made from the notebooks' cells, inside their minutes, and their exercises
work.
"""

import re
import shutil

import pytest
from nbformat.v4 import new_markdown_cell

from course_utils import exercises
from tools import card, notebooks, site, workshop
from tools.canonical import COURSE, code_cells, read, tags_of, text_of
from tools.cells import Cells

PATH = COURSE / "notebooks/workshop_90.ipynb"


def test_they_follow_from_the_notebooks_and_are_stale_once_one_of_them_changes(
    tmp_path,
):
    folder = tmp_path / "notebooks"
    shutil.copytree(COURSE / "notebooks", folder)
    for name in ("data", "course_utils"):
        (tmp_path / name).symlink_to(COURSE / name)
    assert workshop.faults(folder) == []
    path = folder / "04_mnist_cnn.ipynb"
    path.write_text(path.read_text().replace("the classic one", "the old one"))
    # nbval holds it, and so what is made of it
    shown = folder / "solved/02_loss_scaling.ipynb"
    shown.write_text(shown.read_text().replace("relative error 1", "relative error 2"))
    stale = workshop.faults(folder)
    assert [re.match(r"\S+(?=.*--fix)", fault)[0] for fault in stale] == [
        "workshop_90.ipynb:",
        "solved/workshop_90.ipynb:",
    ]
    for file, nb in workshop.files(folder):
        file.write_text(text_of(nb))
    assert workshop.faults(folder) == []
    path.rename(folder / "14_mnist_cnn.ipynb")
    assert workshop.made(PATH.name, folder) is None


def test_a_changed_task_stands_in_copy_lesson_and_site_after_one_command(tmp_path):
    shutil.copytree(COURSE / "notebooks", folder := tmp_path / "notebooks")
    shutil.copy(COURSE / "README.md", tmp_path)
    path = folder / "04_mnist_cnn.ipynb"
    nb = read(path)
    for cell in nb.cells:
        if {"task-1", "predict"} & set(tags_of(cell)):
            cell.source = re.sub(
                r"( · |\n\n)", rf"\1Changed {tags_of(cell)[0]} ", cell.source, count=1
            )
    notebooks.write(path, nb)
    notebooks.main(["--fix", "04"], folder)
    guide = site.guide(path)
    for new in ("Changed task-1", "Changed predict"):
        for file in (path.name, PATH.name):
            assert new in text_of(site.page_of(folder / "solved" / file, set())), file
        assert new in guide


@pytest.mark.parametrize(
    "name, spare", [("workshop_90.ipynb", 9), ("lightning_20.ipynb", 2)]
)
def test_its_minutes_are_the_clock_s_and_leave_some_for_questions(name, spare):
    nb, _, account = workshop.made(name)
    (table,) = (cell.source for cell in nb.cells if cell.id == "at-a-glance")
    rows = re.findall(r"^\| (\d+) to (\d+) \| (.+?) \|", table, re.M)
    begins, ends = ([int(row[n]) for row in rows] for n in (0, 1))
    assert begins == [0, *ends[:-1]] and sorted(set(ends)) == ends
    assert ends[-1] == int(name[-8:-6]) >= account.core + spare
    assert account.total("seconds") >= 20


def test_its_exercises_are_checked_and_remembered_as_in_their_own_notebooks(
    progress_file,
):
    nb = read(PATH)
    for cell in code_cells(nb):
        assert not re.search(r"\bq\b", cell.source), cell.id
        own = cell.source if cell.id != "hand-in" else ""
        for number in re.findall(r"\bq(\d\d)\b", own):
            assert cell.id.endswith(f"-{number}")
    assert "`q[" not in text_of(nb)
    names = {"exercises": exercises}
    parts = Cells(PATH.stem)
    # back in an earlier part
    parts.run("load-exercises-00", "load-exercises-04", names=names)
    answer = exercises.load("00")[1].exercise.solution
    exec(f"{answer}\nq00[1].check(answer)", names)
    parts.run("prediction-04", names=names, replaced=(("...", "0.5"),))
    assert exercises.load("00").solved == [1] and exercises.load("04").guess == 0.5


@pytest.mark.parametrize("name", workshop.PLANS)
def test_each_guess_of_a_lesson_is_shown_beside_what_is_measured_for_it(name):
    cells = [cell.source for cell in code_cells(read(COURSE / "notebooks" / name))]
    for q in re.findall(r"^(q\d\d)\.predict\(", "\n".join(cells), re.M):
        (place,) = (n for n, cell in enumerate(cells) if f"{q}.measured = " in cell)
        beside = f"{q}.guess" in "".join(cells[place:])
        assert beside, q


def test_a_section_is_called_by_the_number_that_it_has_here():
    cell = new_markdown_cell("Section 2 shows it, section 7 asks.")
    text = workshop.moved(cell, "02", {("02", "2"): 5}, "")
    assert text == "Section 5 shows it, section 7 of notebook 02 asks."
    text = {cell.id: cell.source for cell in read(PATH).cells}
    assert "Section 5 of notebook 04 asks" in text["compare-see-04"]


def test_the_card_is_what_its_script_writes_and_names_notebooks_that_there_are():
    assert card.page() == card.PATH.read_text(encoding="utf-8"), "run tools.site --card"
    named = re.findall(r"<td>(\d\d)</td></tr>", card.page())
    assert len(named) == 10 and set(named) <= set(exercises.available())
