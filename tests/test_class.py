"""A class of forty: what it hands in is on the board, what is none is named, and files
that the course wrote before are still read.
"""

import json
import shutil
from pathlib import Path

import pytest

from course_utils import exercises
from course_utils.__main__ import main
from course_utils.exercises import hand_ins, store
from course_utils.report import collection

# Written on 2026-11-28 by the course of that day: one hand-in of all notebooks, with
# two exercises solved in each, and the progress behind it.
BEFORE = Path(__file__).parent / "helpers" / "kept_2026_11_28"
NOTEBOOKS = [f"{number:02}" for number in range(14)]


def broken_files(folder, whole):
    """Files that are no hand-ins: {name: what the board says of it}."""
    text = json.dumps(whole)
    contents = {
        "cut.json": (text[: len(text) // 2], "its data are damaged"),
        "empty.json": ("", "neither a hand-in nor a lab report"),
        "list.json": ("[1, 2]", "neither a hand-in nor a lab report"),
        "mine.html": ("<p>My homework</p>", "neither a hand-in nor a lab report"),
        "00_start_here.ipynb": ('{"cells": []}', "it is a notebook"),
        "form.json": (text.replace('"card"', '"cards"'), "it has another form"),
        "large.json": (text + " " * hand_ins.LARGEST, "it is larger than 1 MB"),
        "deep.json": (text[:-1] + ', "x": ' + "[" * 9000, "its data are damaged"),
        "picture.json": ("\x89PNG\r\n", "neither a hand-in nor a lab report"),
        "twice.json": (text, "it is the same as"),
        "photo.jpg": ("\x89JFIF", "neither a hand-in nor a lab report"),
        "all.zip": ("PK\x03\x04", "neither a hand-in nor a lab report"),
        # a mail, or Windows, gave it another ending
        "lee.json.txt": (text, "it is the same as"),
        # an upload that was cut
        "tmp3k_x9": (text[: len(text) // 3], "its data are damaged"),
    }
    for name, (content, _) in contents.items():
        (folder / name).write_text(content, "utf-8", newline="")
    return {name: why for name, (_, why) in contents.items()}


def test_thirty_hand_ins_are_shown_and_what_is_none_is_named(tmp_path, capsys):
    """None of these is run or changed, and each stays where it is."""
    kept = json.loads((BEFORE / "lee.json").read_text("utf-8"))
    for number in range(30):
        one = kept | {"name": f"Learner {number}"}
        path = tmp_path / f"hand-in-{number:02}.json"
        path.write_text(json.dumps(one), "utf-8")
    expected = broken_files(tmp_path, kept | {"name": "Learner 0"})
    # the system's own are not spoken of
    (tmp_path / ".DS_Store").write_bytes(b"\0Bud1")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    page = tmp_path / "board.html"
    assert main(["class-board", str(tmp_path), "--out", str(page)]) == 0
    out, err = capsys.readouterr()
    assert out == f"{page} shows 30 of 44 files.\n"
    told = dict(
        line.removeprefix("Left out ").split(": ", 1) for line in err.splitlines()
    )
    assert {Path(name).name for name in told} == {*expected}
    for name, why in told.items():
        assert expected[Path(name).name] in why, name
    shown = page.read_text("utf-8")
    assert all(f"Learner {number}" in shown for number in range(30))
    assert {path: path.read_bytes() for path in before} == before


def test_a_hand_in_of_before_is_read(tmp_path):
    given = shutil.copy(BEFORE / "lee.json", tmp_path)
    reports, left_out = collection.read([given], tmp_path / "board.html")
    assert left_out == {} and set(reports[given]["progress"]) == {*NOTEBOOKS}


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_progress_of_before_is_read(notebook, progress_file, capsys):
    shutil.copy(BEFORE / "progress.jsonl", progress_file)
    kept = store.entry(notebook)
    sheet = exercises.load(notebook)
    assert sheet.guess == kept["guess"] and len(kept["solved"]) in (1, 2)
    there = {each.exercise.id for each in sheet.questions.values()}
    solved = {sheet[number].exercise.id for number in sheet.solved}
    assert solved == there & {*kept["solved"]} and solved
    assert "could not be read" not in capsys.readouterr().out
