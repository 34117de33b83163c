"""docs/drills.md says what data/drills.json holds, and takes in nothing else."""

import copy
import json

import pytest

from tools import drills, reference
from tools.canonical_form import COURSE

RECORD = json.loads((COURSE / "data/drills.json").read_text(encoding="utf-8"))
ROWS = {(row["engine"], row["file"]): row for row in drills.told(RECORD)["rows"]}


def test_the_page_is_made_of_the_record_and_each_row_has_its_certificate():
    page = (COURSE / "docs/drills.md").read_text(encoding="utf-8")
    assert reference.drilled() == page
    rows = [line for line in page.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == len(RECORD) == len(ROWS)
    for certificate in RECORD:
        engine, file, device = drills.key_of(certificate)
        assert f"| {engine} | {file} | " in page and device in page
        assert certificate["date"] in page


def test_each_certificate_has_the_answers_of_its_notes():
    for certificate in RECORD:
        answers = drills.answers_of(certificate)
        assert (len(answers) == 15) and certificate["title"].split()[1] == (
            "passes" if all(answers.values()) else "fails"
        )


def test_the_course_s_optimizer_passes_everywhere_and_keras_s_own_on_jax_alone():
    for (engine, _), row in ROWS.items():
        passes = row["optimizer"] == "the course's" or "DataParallel" in engine
        assert (row["verdict"] == "passes") == passes, row
    engines = {engine.split()[0] for engine, _ in ROWS}
    assert engines == {"processes:", "Ray", "slurm-wlm"}


def test_two_models_that_train_apart_are_found_by_their_weights():
    (row,) = (row for (engine, _), row in ROWS.items() if "alone" in engine)
    assert (
        "all copies of the weights are equal (no overflow, one on 0" in row["verdict"]
    )


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The record, in a file of its own."""
    path = tmp_path / "drills.json"
    path.write_text(json.dumps(RECORD), encoding="utf-8")
    monkeypatch.setattr(drills, "PATH", path)
    return path


def test_a_newer_certificate_takes_the_older_one_s_place(kept, tmp_path):
    newer = RECORD[0] | {"date": "2036-01-01", "kind": drills.hand_ins.KIND}
    other = newer | {"device": "Another"}
    for number, each in enumerate((newer, other)):
        ordered = {"kind": each["kind"]} | each
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(ordered), encoding="utf-8")
        assert drills.take([path]) == 0
    after = json.loads(kept.read_text(encoding="utf-8"))
    assert len(after) == len(RECORD) + 1
    assert [each["date"] for each in after].count("2036-01-01") == 2


def faked(certificate):
    certificate["settings"] = {
        key: "yes" if answer == "NO" else answer
        for key, answer in certificate["settings"].items()
    }


def cut(certificate):
    rows = certificate["table"]["rows"]
    rows[:] = [row for row in rows if row[0] != "one on 1"]


def without_notes(certificate):
    certificate["table"] = {"columns": [], "rows": []}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (faked, "its answers are not those of its notes"),
        (cut, "its notes are not of all three runs"),
        (without_notes, "its notes are not of all three runs"),
        (lambda certificate: certificate["settings"].clear(), "'engine'"),
    ],
)
def test_what_is_no_certificate_is_named_and_left_out(
    change, why, kept, tmp_path, capsys
):
    (fails, *_) = (each for each in RECORD if " fails " in each["title"])
    wrong = {"kind": drills.hand_ins.KIND} | copy.deepcopy(fails)
    change(wrong)
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(wrong), encoding="utf-8")
    assert drills.take([path]) == 1
    told = capsys.readouterr().out
    assert f"Left out {path}, no certificate of the drill: {why}" in told
    assert len(json.loads(kept.read_text(encoding="utf-8"))) == len(RECORD)
