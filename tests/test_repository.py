"""What a repository shows first: a README that is true, and files for those who host and
cite.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import nbformat
import pytest
import yaml

import course_utils
from course_utils import claims, exercises, training
from tools import clock, pictures, publishing

COURSE = Path(__file__).resolve().parents[1]
README = (COURSE / "README.md").read_text(encoding="utf-8")


def test_its_numbers_and_its_picture_are_those_of_the_record():
    assert f"({pictures.RECORD.relative_to(COURSE)})" in README
    alt = pictures.front().alt
    assert f"[![{alt}](docs/pictures/{pictures.FRONT.name})]" in README
    first = README.split("[![")[0]
    assert re.findall(r"\d\.\d\d", first) == re.findall(r"\d\.\d\d", alt)[:2]
    assert first.count(". ") == 0  # one sentence
    assert README.index("## The course") < README.index("```python")


def test_what_it_says_of_a_gpu_is_what_the_record_holds():
    """Change the sentence when a GPU has run a network on which 16 bits pay."""
    sentence = "16 bits halved this network's memory, and made no step faster"
    assert f"On [an H100](docs/h100.md) {sentence}" in README
    folder = COURSE / "data/measurements"
    (path,) = folder.glob("nvidia*.json")  # the only GPU
    _, *others = json.loads(path.read_text(encoding="utf-8"))["cnn"]
    for step in others:
        assert step["speedup_high"] < 1 and step["memory_ratio"] < 0.5, step


def test_it_is_short_and_says_how_to_get_the_course():
    url = "https://github.com/a/b"
    text = publishing.with_clone(README, url)
    clone = f"git clone {url} mixed-precision\ncd mixed-precision"
    assert f"sh\n{clone}\npython start.py" in text
    assert publishing.with_clone(text, publishing.published()[0]) == README
    text = publishing.with_badge(text, "00_start_here.ipynb", url, "1")
    assert len(text.split()) <= 900


def test_it_counts_the_claims_that_have_a_verdict():
    ledger = json.loads(claims.LEDGER.read_text(encoding="utf-8"))
    judged = sum(claim["verdict"] != "not measured" for claim in ledger)
    told = (
        f"Of [{len(ledger)} claims](docs/ledger.md) that articles make, {judged} have"
    )
    assert told in README


def test_its_code_prints_what_stands_below_it(capsys):
    fences = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)
    ((code, output),) = fences.findall(README)
    assert code.count("\n") - code.count("\n\n") <= 8
    with training.dtype_policy("float32"):  # and so back to it
        exec(code, {})
    assert capsys.readouterr().out == output


def test_the_version_is_the_same_wherever_it_stands():
    citation = yaml.safe_load((COURSE / "CITATION.cff").read_text(encoding="utf-8"))
    changes = (COURSE / "CHANGELOG.md").read_text(encoding="utf-8")
    version = course_utils.__version__
    assert publishing.published()[1] == citation["version"] == version
    (state,) = re.findall(rf"^## {re.escape(version)}(.*)", changes, re.M)
    assert ("date-released" in citation) == ("not released" not in state)


def test_github_runs_the_script_and_can_show_every_form():
    path = COURSE / ".github/workflows/test.yml"
    steps = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]["test"]["steps"]
    assert steps[-1] == {"run": ".ci/run"} and os.access(COURSE / ".ci/run", os.X_OK)
    told = (COURSE / "CONTRIBUTING.md").read_text(encoding="utf-8")
    found = path.parents[1].glob("ISSUE_TEMPLATE/*.yml")
    forms = [form for form in found if form.name != "config.yml"]
    for path in forms:
        form = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert form["name"] and form["description"], path
        ids = [part["id"] for part in form["body"]]
        assert len(ids) == len({*ids}) > 0, path
        assert all(f"`{label}`" in told for label in form["labels"]), path
    assert len(forms) >= 3


@pytest.mark.slow
def test_what_a_hub_has_committed_is_handed_on_to_nobody(tmp_path):
    """nbgitpuller commits what a learner changed, before it pulls."""
    run = {"check": True, "capture_output": True, "text": True}
    room = tmp_path / "room"
    subprocess.run(["git", "clone", "-q", COURSE, room], **run)
    git = ["git", "-C", room, "-c", "user.name=Ana", "-c", "user.email=a@b.c"]
    given = (room / "notebooks/00_start_here.ipynb").read_bytes()
    changed = ["notebooks/00_start_here.ipynb", "notebooks/mine.ipynb", "README.md"]
    for name in changed:
        (room / name).write_text("Ana's answer")
    subprocess.run([*git, "add", "-f", *changed], **run)
    subprocess.run([*git, "commit", "-qm", "Automatic commit by nbgitpuller"], **run)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], **run).stdout.strip()
    make = ["make", "-s", "-f", COURSE / "Makefile", "handover"]
    listed = subprocess.run(make, cwd=room, **run).stdout
    assert "Automatic commit by nbgitpuller" in listed
    assert (room / "notebooks/mine.ipynb").exists()
    subprocess.run([*make, "ERASE=1"], cwd=room, **run)
    assert (room / "notebooks/00_start_here.ipynb").read_bytes() == given
    assert not (room / "notebooks/mine.ipynb").exists()
    assert (room / "README.md").read_text() == "Ana's answer"  # is listed by git status
    gone = subprocess.run([*git, "cat-file", "-e", commit], capture_output=True)
    assert gone.returncode


def test_a_machine_is_handed_on_without_what_a_class_made(tmp_path):
    """Run as an instructor does, in a clone; it lists before it erases."""
    run = {"check": True, "capture_output": True, "text": True}
    subprocess.run(["git", "clone", "-q", COURSE, tmp_path / "room"], **run)
    room = tmp_path / "room"
    made = [
        ".course_progress.jsonl",
        "notebooks/hand-in-Ana-00-1234.json",
        "notebooks/my copy.ipynb",
        "data/measurements/own/ana.json",
        "lab_report_2.html",
        "hand-in-Ana-00-1234.json",
        "class_board.html",
        "class.csv",
        "Untitled1.ipynb",
        "notebooks/staged.ipynb",
        "notebooks/00_start_here.ipynb",
        "notebooks/01_floats.ipynb",
    ]
    (room / "data/measurements/own").mkdir(exist_ok=True)
    git = ["git", "-C", room, "-c", "user.name=Ana", "-c", "user.email=a@b.c"]
    (room / "notebooks/02_loss_scaling.ipynb").write_text("Ana's")
    subprocess.run([*git, "stash", "push", "--", "."], **run)
    for name in made:
        (room / name).write_text("Ana's")
    subprocess.run([*git, "add", "-f", *made[-4:-1]], **run)
    make = ["make", "-s", "-f", COURSE / "Makefile", "handover"]
    listed = subprocess.run(make, cwd=room, **run).stdout
    assert all((room / name).exists() and name in listed for name in made)
    assert "stash@{0}" in listed
    subprocess.run([*make, "ERASE=1"], cwd=room, **run)
    assert not any((room / name).exists() for name in made[:-2])
    told = subprocess.run([*git, "status", "--short"], **run).stdout
    assert told == subprocess.run([*git, "stash", "list"], **run).stdout == ""
    # a ZIP's folder inside a repository of something else
    subprocess.run([*git, "rm", "-q", "--cached", "-r", "."], **run)
    zipped = subprocess.run(
        [*make, "ERASE=1"], cwd=room, capture_output=True, text=True
    )
    assert "unpack the ZIP again" in zipped.stdout and zipped.returncode
    assert (room / "notebooks/00_start_here.ipynb").exists()


def test_the_plans_of_a_teaching_day_hold_the_notebooks_clocks():
    """A slot is as long as the clock of the notebook, or of its part, and ends in order;
    90 minutes on one subject name the minute in which their sections end.
    """
    teach = (COURSE / "docs/teach.md").read_text(encoding="utf-8")
    paths = COURSE.glob("notebooks/[0-9]*.ipynb")
    accounts = {path.name[:2]: clock.account(path) for path in paths}
    assert clock.taught(teach, accounts.values()) == teach, "run tools.notebooks --fix"
    assert len(re.findall(r"\| \d\d, sections 1 to \d \| \d+ \|", teach)) >= 12
    slots = re.findall(
        r"^\| (\d+):(\d\d) \|.*?\| (?:(\d\d)(?:, to section (\d+))?)? ?\|$", teach, re.M
    )
    starts = [60 * int(hour) + int(minute) for hour, minute, _, _ in slots]
    planned = 0
    for start, end, (_, _, name, last) in zip(starts, starts[1:], slots, strict=False):
        if name:
            needed = accounts[name].ends()[last or "Recap"]
            assert end - start >= needed, (
                f"docs/teach.md: {name} takes {needed} minutes up to"
                f" {last or 'its recap'}, and its slot of {end - start} is shorter: move"
                " the starts after it."
            )
            planned += 1
    assert planned >= 13


def test_the_workshop_is_looked_at_before_a_part_ends():
    """Each minute of the table for late rooms lies in the part that it names, shortly
    before the end.
    """
    teach = (COURSE / "docs/teach.md").read_text(encoding="utf-8")
    workshop = (COURSE / "notebooks/workshop_90.ipynb").read_text(encoding="utf-8")
    parts = {
        part: (int(start), int(end))
        for start, end, part in re.findall(r"\| (\d+) to (\d+) \| (\d)\. ", workshop)
    }
    table = teach.partition("## When the workshop is late")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\d+) \| [^|]*?part (\d)\b", table, re.M)
    assert len(rows) == 3
    for minute, part in rows:
        start, end = parts[part]
        assert start < int(minute) < end <= int(minute) + 3, (
            f"docs/teach.md: at minute {minute} the room is not at the end of part {part}"
        )


def test_a_notebook_has_one_title():
    """In its first line, in the README, and where exercises, guides and tabs name it."""
    readme = (COURSE / "README.md").read_text(encoding="utf-8")
    for path in sorted(COURSE.glob("notebooks/[0-9]*.ipynb")):
        number = path.name[:2]
        title = exercises.load(number).title
        assert f"[{number} · {title}](notebooks/{path.name})" in readme, title
        for each in (path, path.parent / "solved" / path.name):
            first = nbformat.read(each, as_version=4).cells[0].source.splitlines()[0]
            assert first == f"# {title}", each
