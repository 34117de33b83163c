"""The lab report and the class board: what they show, and that no string of anybody's
does harm.
"""

import copy
import json
import os
import subprocess
import sys
import types
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from helpers.reports import HOSTILE, card, report

from course_utils import exercises
from course_utils.__main__ import main
from course_utils.exercises import hand_ins as data
from course_utils.exercises import store
from course_utils.report import LabReport, board, collection
from tools.canonical_form import COURSE


class Page(HTMLParser):
    """A page: its tags with the names of their attributes, and all that it shows or
    says.
    """

    def __init__(self, html):
        super().__init__()
        self.tags = [("",)]
        self.said = []
        self.feed(html)
        self.text = " ".join(" ".join(self.said).split()).replace(" :", ":")

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, *(name for name, _ in attributes)))
        self.said += [value for name, value in attributes if name == "aria-label"]

    def handle_data(self, said):
        if self.tags[-1][0] not in ("style", "script"):
            self.said.append(said)


def harmless(html):
    """The page, after looking for anything that could run or fetch."""
    page = Page(html)
    for tag, *names in page.tags:
        assert tag not in "img iframe object embed link base form a".split()
        assert not any(name.startswith("on") for name in names), names
        assert not {"src", "href"} & {*names}
        assert tag != "script" or names == ["type", "id"]
    assert "default-src 'none'" in html
    return page


def test_a_report_says_all_that_it_was_given(tmp_path):
    exercises.load("00").predict(2.5)
    sheet = exercises.load("00")
    store.save("00", "solved", sheet[1].exercise.id)
    made = report()
    path = made.save(tmp_path / "report.html")
    page = harmless(path.read_text(encoding="utf-8"))
    for said in (
        "A report",
        "policy: mixed_bfloat16 · batch: 64",
        "speedup × 2 1.8 1.5",
        "row 3",
        "float32 4.5",
        "line from 2 at 1 to 1 at 2, no number in 1 of 3 points.",
        "finding finding finding",
        "Why?",
        f"00 · {sheet.title} you guessed 2.5 1 of {len(sheet.exercises)}",
        exercises.load("13").title,
    ):
        assert said in page.text, said
    assert data.read(path) == made.data
    assert made.data["progress"]["00"]["solved"] == [sheet[1].exercise.id]


def test_what_a_learner_left_out_and_numbers_of_any_kind():
    rows = [
        card(guess=..., predicted=None, measured=np.float32(2)),
        card(measured=np.inf),
    ]
    made = LabReport("t", {"n": np.int64(3)}, rows, {}, pd.DataFrame(), [], ...)
    shown = [made.data["card"][0][key] for key in ("guess", "measured")]
    assert shown == [None, 2.0] and made.data["card"][1]["measured"] == "inf"
    text = harmless(made.html()).text
    assert "– – 2" in text and "repaired None." in text and "my words" not in text
    wrong = {"unit' is a required": {"quantity": "a"}, "unit, 3.0 is": card(unit=3)}
    for said, row in wrong.items():
        with pytest.raises(ValueError, match=rf"at \$.card\[0\].*{said}"):
            LabReport("t", {}, [row], {}, pd.DataFrame(), [])


def test_only_a_report_is_overwritten(tmp_path):
    path = tmp_path / "report.html"
    for title in ("First", "Second"):
        report(title=title).save(path)
        assert title in path.read_text("utf-8")
    other = tmp_path / "notes.html"
    other.write_text("<p>mine", encoding="utf-8")
    for place, why in ((other, "is no lab report"), (tmp_path, "cannot be written")):
        with pytest.raises(ValueError, match=f"{why}.*choose another name"):
            report().save(place)
    assert other.read_text("utf-8") == "<p>mine"


# --- the class board ------------------------------------------------------------------


def hand_in(path, found, before=""):
    """A file that the board reads as a report with these data."""
    text = json.dumps(found).replace("<", "\\u003c")
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{before}{data.BEGIN}{text}{data.END}", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def good():
    """The data of a harmless report, to be changed."""
    made = copy.deepcopy(report().data)
    made["card"].append(card("time", "ms", 10.0, None, 31.0))
    return lambda **fields: copy.deepcopy(made) | fields


def ran(capsys, *arguments):
    """How the command ended, and the lines that it printed and complained in."""
    status = main(["class-board", *map(str, arguments)])
    out, err = capsys.readouterr()
    return status, out.splitlines(), err.splitlines()


def test_on_colab_a_hand_in_and_a_report_are_downloaded(
    tmp_path, monkeypatch, progress_file
):
    monkeypatch.chdir(tmp_path)
    taken = []
    colab = types.ModuleType("google.colab")
    colab.files = types.SimpleNamespace(download=taken.append)
    monkeypatch.setitem(sys.modules, "google.colab", colab)
    q = exercises.load("00")
    q.predict(2.0)
    q.hand_in("Ana")
    report().save()
    (made,) = tmp_path.glob("hand-in-Ana*")
    assert taken == [made.name, "lab_report.html"]


@pytest.mark.slow
def test_a_class_hands_in_four_notebooks_and_makes_a_board_and_a_table(
    tmp_path, capsys, monkeypatch, progress_file
):
    """Some are hostile, damaged or there twice."""
    monkeypatch.chdir(tmp_path)
    assert "Write your name" in repr(exercises.load("00").hand_in(...))
    for n, name in enumerate([*(f"Ana {n}" for n in range(8)), *HOSTILE]):
        progress_file.unlink(missing_ok=True)
        q = exercises.load(f"{n % 4:02}")
        q.predict(2 + n % 4)
        q.measured = np.float32(0.05 * 1.1**n)
        assert repr(q.hand_in(name)).startswith("Handed in."), name
    q = exercises.load("00")
    store.save("00", "solved", q[1].exercise.id)
    q.predict(2.0)
    q.measured = 1.86
    note = repr(exercises.hand_in('=HYPERLINK("x")'))
    assert "1 of 6 exercises solved; speedup of the better 16 bits: guessed 2" in note
    assert "\n" not in note  # one line to read aloud
    whole = next(tmp_path.glob("hand-in-Ana-0-00-*.json")).read_text("utf-8")
    for number, text in enumerate((whole[:-90], whole)):
        (tmp_path / f"bad{number}.json").write_text(text, encoding="utf-8")
    given = [tmp_path, "--out", tmp_path / "b.html", "--csv", tmp_path / "c.csv"]
    for _ in range(2):  # the board does not show its own page
        status, out, err = ran(capsys, *given)
        assert status == 0 and out[0].endswith("shows 19 of 22 files."), (out, err)
        assert [line.partition(" ")[0] for line in err] == ["Left"] * 3
    page = harmless((tmp_path / "b.html").read_text("utf-8"))
    assert "Ana 7" in page.text and f"{q[1]} 1 of" in page.text
    table = pd.read_csv(tmp_path / "c.csv")
    assert set(table["notebook"].dropna().astype(int)) == {0, 1, 2, 3}
    assert not table["name"].str.startswith("=").any()


BOARD = """
import sys
from course_utils.__main__ import main
def loaded(*names):
    return [name for name in names if name in sys.modules]
print(main(["class-board", "missing", "empty"]), loaded("pandas", "matplotlib"))
print(main(["class-board", "."]), loaded("tensorflow", "keras", "scipy", "lark"))
"""


@pytest.mark.slow
def test_the_board_of_a_class_loads_no_framework_and_prints_no_log(
    tmp_path, monkeypatch
):
    """Nor pandas and matplotlib where there is nothing to show, nor a grammar of URLs."""
    (tmp_path / "class" / "empty").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "class")
    for number, name in enumerate(("Ana", "Lee")):
        q = exercises.load(f"{number:02}")
        q.predict(2 + number)
        q.hand_in(name)
    report().save()
    done = subprocess.run(
        [sys.executable, "-c", BOARD],
        env=os.environ | {"PYTHONPATH": str(COURSE)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "1 []",
        "class_board.html shows 3 of 3 files.",
        "0 []",
    ], done.stderr
    assert len(done.stderr.splitlines()) == 2  # of the first


def test_a_notebook_in_place_of_a_hand_in_is_named_with_what_to_ask_for(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Ana").mkdir()
    for place in ("Ana", ".ipynb_checkpoints"):
        (tmp_path / place).mkdir(exist_ok=True)
        (tmp_path / place / "00_start_here.ipynb").write_text("{}")
    assert ran(capsys, ".")[2][0] == (
        "Left out Ana/00_start_here.ipynb: it is a notebook: ask for the file that its last "
        "cell writes, hand-in-….json."
    )
    assert len(collection.read(["."], tmp_path / "b.html")[1]) == 1


def test_a_lesson_hands_in_the_exercises_that_it_has(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    q = exercises.load("00")
    store.save("00", "solved", q[1].exercise.id)
    q.predict(2.0)
    q.measured = 1.86
    other = exercises.load("01")
    other.predict(3)
    exercises.hand_in("Lee", of=[q[1]])
    assert main(["class-board", ".", "--out", "board.html"]) == 0
    page = harmless((tmp_path / "board.html").read_text("utf-8"))
    assert f"{q[1]} 1 of 1" in page.text and str(q[2]) not in page.text
    several = [q[2], other[1]]
    guessed = "Handed in. speedup of the"
    for of, words in ([q[1]], "1 of 1 "), (several, "0 of 2 "), ([], guessed):
        assert words in repr(exercises.hand_in("Lee", of=of))


def test_each_learner_has_a_file_and_hands_in_again_into_the_same(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    q = exercises.load("00")
    q.predict(2.0)
    several = "Maria del Carmen von der Heide"
    for name in (f"{several} Lopez", f"{several} Garcia", "🙂", "", "Ana") * 2:
        q.hand_in(name)
    monkeypatch.setattr(data.platform, "node", lambda: "another machine")
    q.predict(3.0)
    q.hand_in("Ana")
    assert len(list(tmp_path.glob("hand-in-*.json"))) == 6
    (tmp_path / "c.csv").write_text("name,mark\nAna,1\n")
    given = ["hand-in-Ana-*", "--out", tmp_path / "b.html", "--csv"]
    for _ in range(2):  # a table of its own gives way
        assert ran(capsys, *given, tmp_path / "d.csv")[0] == 0
    assert list(pd.read_csv(tmp_path / "d.csv")["name"].unique()) == ["Ana"]
    status, _, (said,) = ran(capsys, *given, tmp_path / "c.csv")
    assert status == 1 and "exists and is no table of a class" in said
    assert (tmp_path / "c.csv").read_text() == "name,mark\nAna,1\n"
    (mine, _) = tmp_path.glob("hand-in-Ana-*")
    for path in tmp_path.glob("hand-in-Ana-*"):
        path.write_text("mine")
    assert "exists and is no hand-in: change the" in repr(q.hand_in("Ana"))
    assert mine.read_text() == "mine"


def test_a_damaged_foreign_or_hostile_file_is_named_and_the_others_stay(
    good, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    whole = hand_in(tmp_path / "in" / "good.html", good()).read_text("utf-8")
    none, cut = "it is neither a hand-in nor a lab report", "its data are damaged"
    other = "it has another form: at $"
    cards = json.dumps({"kind": data.KIND, **good(card=[card()] * 1001)})
    broken = {
        "foreign": (none, "<!doctype html><p>Hello"),
        "two": (none, whole + whole),
        "cut": (cut, whole[:-900]),
        "deep": (cut, whole.replace('"A report"', "[" * 100_000 + "]" * 100_000)),
        "digits": (cut, whole.replace(": 31.0", f": {'9' * 5000}")),
        "large": ("it is larger than 1 MB", whole + " " * data.LARGEST),
        "rows": (f"{other}.card, ", cards),
        "less": (f"{other}, 'words' is a req", whole.replace('"words"', '"word"')),
        "types": (f"{other}.card[0], ", whole.replace('"card": [', '"card": [3, ')),
        "same": ("it is the same as in/good.html", whole),
    }
    for name, (_, content) in broken.items():
        (tmp_path / "in" / f"{name}.html").write_text(content, encoding="utf-8")
    broken["missing"] = ("there is no such file", None)
    (tmp_path / "in" / "folder.html").mkdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "in" / "pipe.html")
        broken["pipe"] = ("it is no ordinary file", None)
    given = ["in/good.html", "in", "in/missing.html"]
    status, out, err = ran(capsys, *given, "--out", "board.html")
    assert status == 0 and out[0].endswith(f"shows 1 of {len(broken) + 1} files.")
    page = harmless((tmp_path / "board.html").read_text("utf-8"))
    assert f"left out, see the end: {len(broken)}" in page.text
    for name, (why, _) in broken.items():
        start = f"Left out in/{name}.html: {why}"
        (line,) = (line for line in err if line.startswith(start))
        assert line.removeprefix("Left out ") in page.text


@pytest.mark.parametrize("text", HOSTILE)
def test_no_string_does_harm_in_any_field(text, good, tmp_path):
    made = report(text)
    page = harmless(made.html())
    shown = " ".join("".join(c for c in text if c.isprintable()).split())[:20]
    assert page.text.count(shown) >= 15  # as text
    # as many as there are letters to place
    drawn = ("text", "tspan", "g", "use", "path", "defs")
    mine, plain = (
        [tag for tag in each.tags if tag[0] not in drawn]
        for each in (page, Page(report().html()))
    )
    assert mine == plain
    path = made.save(tmp_path / "a.html")
    assert data.read(path) == made.data

    wild = made.data | {"device": text, "versions": {"tensorflow": text}}
    wild["progress"] = {text: {"guess": text, "solved": [1], "of": []}}
    hand_in(path, wild, "<script>alert(1)</script>")
    name = "".join(c for c in text if c not in "/\\\0\ud800")[:40] + ".html"
    other = hand_in(tmp_path / name, good())
    reports, left_out = collection.read([path, other], tmp_path / "out")
    assert len(reports) == 2 and not left_out
    page = harmless(board.html(reports, {text: text, **dict.fromkeys(reports, "why")}))
    assert [tag for tag, *_ in page.tags].count("svg") == 5
    assert page.text.count(shown) >= 8


def test_no_number_hides_the_others(good):
    reports = {str(n): good() for n in range(9)}
    counts = {"00": {"guess": "", "solved": [], "of": [1e308] * 999}}
    table = board.rows({"a": good(device="d" * 9999, progress=counts)}).to_csv()
    assert max(map(len, table.split(","))) < 110
    for number in (1e308, -1e308, 0.0, 1e-300, 5.0, "inf", None):
        cards = [card(guess=number, measured=number), card("time", "ms", number)]
        reports[f"wild {number}"] = good(card=500 * cards, words="? " * 1000)
    page = harmless(board.html(reports, {}))
    assert "1.50×, 10 reports" in page.text  # those between 1/1000 and 1000
    assert page.text.count("beyond the edge") >= 2


def test_a_board_takes_no_other_files_place(good, tmp_path, capsys):
    path = hand_in(tmp_path / "a.html", good())
    other = hand_in(tmp_path / "a\x7f.html", good(words=""))  # looks the same
    kept = path.read_bytes()
    out = tmp_path / "c.html"
    why = {other: "exists and is no class board", path: "There is no hand-in"}
    for given, told in (why | {tmp_path / "*.htm": "no such file"}).items():
        status, said, err = ran(capsys, given, "--out", path)
        assert (
            (status, said) == (1, []) and told in err[0] and path.read_bytes() == kept
        )
    assert ran(capsys, tmp_path / "*.html", "--out", out)[1] == [
        f"{out} shows 2 of 2 files."
    ]
