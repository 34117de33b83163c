"""The course's notebooks: canonical, solved copies up to date, built on the template."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "tools"))
import template
from canonical import COURSE, faults, read

from notebooks import drift

FOLDER = COURSE / "notebooks"
BLANK = sorted(FOLDER.glob("*.ipynb"))
LARGEST = 700_000  # bytes of a solved notebook


def solved(path):
    return path.parent / "solved" / path.name


each_notebook = pytest.mark.parametrize("path", BLANK, ids=lambda path: path.stem)


def test_there_are_notebooks_and_no_solved_copy_is_left_over():
    assert BLANK
    assert [path.name for path in sorted((FOLDER / "solved").glob("*.ipynb"))] == [
        path.name for path in BLANK
    ]


@each_notebook
def test_blank_and_solved_are_canonical(path):
    assert faults(path) + faults(solved(path)) == []


@each_notebook
def test_the_solved_copy_follows_from_the_blank_notebook(path):
    assert drift(path) == []


@each_notebook
@pytest.mark.parametrize(
    "rule",
    [
        template.title,
        template.parts,
        template.clock,
        template.wording,
        template.alternative_text,
        template.machine_paths,
    ],
    ids=lambda rule: rule.__name__,
)
def test_the_notebook_follows_the_template(path, rule):
    assert rule(read(path)) == []


@each_notebook
def test_links_resolve_in_both_copies(path):
    assert template.links(read(path), FOLDER) == []
    assert template.links(read(solved(path)), FOLDER / "solved") == []


@each_notebook
def test_stored_outputs_are_small_and_free_of_errors_and_paths(path):
    assert solved(path).stat().st_size < LARGEST
    nb = read(solved(path))
    assert template.machine_paths(nb) == []
    assert template.stored_errors(nb) == []
