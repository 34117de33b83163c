"""Each lesson's room: what one notebook alone uses lies there, and goes with it."""

import ast
import json
import re
import shutil
import subprocess
import sys

import pytest

from course_utils import exercises, figures
from tools.canonical_form import COURSE, code_cells, read

LESSONS = COURSE / "course_utils/lessons"
NAMED = re.compile(r"\blessons\W+(nb\d\d)\b")
# What others may rely on is no lesson's, however few notebooks show it.
PROMISED = ("comparison", "Picture", "COLORS")
# These make what is recorded or printed of a lesson.
MAKERS = {"record.py": {"nb07"}, "decision_card.py": {"nb02"}}


def sources(folder):
    """Yield each Python file below a folder and its text."""
    for path in sorted((COURSE / folder).rglob("*.py")):
        yield path, path.read_text(encoding="utf-8")


def notebooks():
    """Yield the number and the code of each notebook."""
    for path in sorted(COURSE.glob("notebooks/[0-9]*.ipynb")):
        yield path.name[:2], "\n".join(cell.source for cell in code_cells(read(path)))


def test_every_notebook_has_a_room_with_its_exercises():
    rooms = sorted(path.name for path in LESSONS.glob("nb*"))
    assert rooms == [f"nb{number}" for number, _ in notebooks()]
    assert [f"nb{number}" for number in exercises.available()] == rooms


def test_a_notebook_takes_from_its_own_room_alone():
    for number, code in notebooks():
        assert set(NAMED.findall(code)) <= {f"nb{number}"}, number


def test_no_shared_room_names_a_lesson_s():
    for path, text in sources("course_utils"):
        if LESSONS not in path.parents:
            assert not NAMED.findall(text), path
    for path, text in sources("tools"):
        assert set(NAMED.findall(text)) <= MAKERS.get(path.name, set()), path


def test_what_a_room_offers_is_what_its_notebook_imports():
    for number, code in notebooks():
        room = LESSONS / f"nb{number}/__init__.py"
        offered = set()
        for node in ast.walk(ast.parse(room.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Dict):
                modules = ast.literal_eval(node)
                offered = set(" ".join(modules.values()).split())
        used = {name for name in offered if re.search(rf"\b{name}\b", code)}
        assert used == offered, number


def test_a_figure_that_one_notebook_alone_shows_is_drawn_in_its_room():
    shown = {name: set() for name in dir(figures) if name not in PROMISED}
    for number, code in notebooks():
        for name, users in shown.items():
            if f"figures.{name}(" in code:
                users.add(number)
    for path, text in sources("course_utils"):  # the drill draws one, too
        for name, users in shown.items():
            if f"figures.{name}(" in text and LESSONS not in path.parents:
                users.add(path)
    assert min(len(users) for users in shown.values()) >= 2, shown


def test_a_judge_that_one_notebook_alone_asks_lies_in_its_room():
    """What stands beside the engine is imported by several lessons, or by the engine."""
    for path in (COURSE / "course_utils/exercises").glob("*.py"):
        name = path.stem
        if name == "__init__":
            continue
        wanted = re.compile(rf"exercises(\.| import (.*, )?){name}\b")
        users = {
            one.parent
            for one, text in sources("course_utils")
            if one != path and wanted.search(text)
        }
        assert len(users - {path.parent}) >= 2 or path.parent in users, name


@pytest.mark.slow
def test_without_its_room_one_notebook_and_its_tests_fail_alone(tmp_path):
    folders = "course_utils linter tests tools notebooks data docs"
    for folder in folders.split():
        ignored = shutil.ignore_patterns("__pycache__", "solved", "own")
        shutil.copytree(COURSE / folder, tmp_path / folder, ignore=ignored)
    for name in ("conftest.py", "pyproject.toml", "README.md", "Makefile"):
        shutil.copy(COURSE / name, tmp_path)
    shutil.rmtree(tmp_path / "course_utils/lessons/nb07")
    code = """
import json, pkgutil, importlib
import course_utils
from course_utils import exercises
print(course_utils.__file__)
for module in pkgutil.walk_packages(course_utils.__path__, "course_utils."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
for name in exercises.available():
    exercises.load(name).summary()
exercises.progress()
print(json.dumps(exercises.available()))
"""
    done = run_in(tmp_path, "-c", code)
    place, names = done.stdout.splitlines()[-2:]
    assert place.startswith(str(tmp_path)), done.stderr
    others = [number for number, _ in notebooks() if number != "07"]
    assert json.loads(names) == others
    done = run_in(tmp_path, "-m", "pytest", "-q", "--collect-only", "tests")
    failed = set(re.findall(r"^ERROR (tests/\S+\.py)", done.stdout, re.M))
    its_own = {
        str(path.relative_to(COURSE))
        for path, text in sources("tests")
        if path.name.startswith("test_nb07_") or "07_devices" in text
    }
    assert failed and failed <= its_own, done.stdout[-3000:]


def run_in(folder, *arguments):
    """Run Python on the copy of the course in a folder."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder)}
        | {"PYTHONPATH": f"{folder}:{folder / 'linter'}"},
    )
