"""The exercises and their engine: every listed answer, whatever else a learner may pass in."""

import doctest
import importlib
import json
import math
import re
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from course_utils import exercises
from course_utils.exercises import (
    adam06,
    agree07,
    answers,
    batch05,
    checks02,
    checks03,
    checks04,
    checks05,
    checks06,
    checks07,
    device05,
    efficiency07,
    fade03,
    fields01,
    layer03,
    limits01,
    limits05,
    loop06,
    measure05,
    metric06,
    nb00,
    nb01,
    nb02,
    nb03,
    nb04,
    nb05,
    nb06,
    nb07,
    order02,
    resume06,
    rounding01,
    scaler02,
    steps06,
    steptime05,
    sums01,
    wire07,
    wrong06,
)

progress = importlib.import_module(
    "course_utils.exercises.progress"
)  # exercises.progress is a function

ROOT = Path(__file__).resolve().parents[1]
ADDRESS = re.compile(r"0x[0-9a-f]{6,}")  # of an object in memory
SHEETS = {name: exercises.load(name) for name in exercises.available()}
EXERCISES = [(name, exercise) for name, sheet in SHEETS.items() for exercise in sheet.exercises]
WRONG = [(name, exercise, *pair) for name, exercise in EXERCISES for pair in exercise.wrong]

every_notebook = pytest.mark.parametrize("name", SHEETS)
every_exercise = pytest.mark.parametrize(
    "name, exercise", EXERCISES, ids=[f"{name}-{e.number}" for name, e in EXERCISES]
)


def run(code, sheet):
    """What the last line of a cell shows."""
    *before, last = code.rstrip().split("\n")
    names = {"q": sheet}
    exec("\n".join(before), names)
    return eval(last, names)


# --- what the modules say -----------------------------------------------------------------------


@every_exercise
def test_the_reference_solution_is_correct(name, exercise):
    feedback = run(exercise.solution, exercises.load(name))
    assert (feedback.status, feedback.message) == ("correct", exercise.right)
    assert exercises.load(name).solved == [exercise.number]


@every_exercise
def test_the_stub_is_not_attempted(name, exercise):
    feedback = run(exercise.stub, exercises.load(name))
    assert feedback.status == "not attempted"
    assert "..." in exercise.stub and "..." not in exercise.solution.replace("[...,", "")
    assert exercises.load(name).solved == []


@pytest.mark.parametrize("name, exercise, answer, fragment", WRONG)
def test_each_wrong_answer_gets_its_message(name, exercise, answer, fragment):
    feedback = exercises.load(name)[exercise.number].check(answer)
    assert feedback.status == "not yet"
    assert fragment in feedback.message
    assert exercises.load(name).solved == []


@every_exercise
def test_the_messages_differ_and_are_short(name, exercise):
    messages = [exercise.checker(answer) for answer, _ in exercise.wrong]
    assert len(messages) >= 5 and len(set(messages)) == len(messages)
    for text in [*messages, *exercise.hints, exercise.right]:
        assert len(text) < 300 and len(re.split(r"[.?] (?=[A-Z`])", text)) <= 2, text
        assert text.endswith((".", "?", "`")) or "raises" in text, text


def texts(name):
    sheet = SHEETS[name]
    yield from (sheet.prediction.task, sheet.prediction.stub, sheet.prediction.solution)
    for e in sheet.exercises:
        yield from (e.title, e.task, e.stub, e.solution, e.right, *e.hints)
        yield from (e.checker(answer) for answer, _ in e.wrong)


@every_notebook
def test_the_voice(name):
    for text in texts(name):
        words = re.sub(r"`[^`]*`", "", text)
        assert not re.search(r"\b(simply|just|obviously)\b|!|\$|\\", words, re.I), text
        assert not re.search(r"\bMP\d{3}\b", words), text  # no claim ids or finding codes


@every_notebook
def test_numbers_and_hints(name):
    sheet = SHEETS[name]
    assert [e.number for e in sheet.exercises] == list(range(1, len(sheet.exercises) + 1))
    for e in sheet.exercises:
        assert 2 <= len(e.hints) <= 3
        assert e.stub.splitlines()[-1] == e.solution.splitlines()[-1]
        assert e.stub.splitlines()[-1].startswith(f"q[{e.number}].check(")


@pytest.mark.parametrize(
    "module",
    [
        *(answers, checks02, checks03, checks04, nb00, nb01, nb02, nb03, nb04),
        *(fade03, fields01, layer03, limits01, order02, rounding01, scaler02, sums01),
        *(batch05, checks05, device05, limits05, measure05, nb05, steptime05),
        *(adam06, checks06, loop06, metric06, nb06, resume06, steps06, wrong06),
        *(agree07, checks07, efficiency07, nb07, wire07),
    ],
)
def test_the_examples_in_docstrings(module):
    result = doctest.testmod(module)
    assert result.attempted and not result.failed


# --- numbers, counted again ---------------------------------------------------------------------


def test_the_cnn_has_the_numbers_that_notebook_04_names():
    size, channels, weights, outputs = 28, 1, 0, 0
    for layer, width in [("conv", 32), ("pool", 2), ("conv", 64), ("dense", 128), ("dense", 10)]:
        if layer == "conv":
            weights += 3 * 3 * channels * width + width
            size, channels = size - 2, width
        elif layer == "pool":
            size //= width
        else:
            weights += size * size * channels * width + width
            size, channels = 1, width
        outputs += size * size * channels
    assert (weights, outputs) == (checks04.WEIGHTS, checks04.OUTPUTS) == (1_011_466, 34_922)
    assert 4 * outputs == 139_688 and round(4 * 4 * weights / 1e6, 2) == 16.18
    task = SHEETS["04"].exercises[2].task
    assert sum(int(n.replace(",", "")) for n in re.findall(r"= ([\d,]+) \|", task)) + 138 == outputs


def test_notebook_04s_answers_follow_from_those_numbers():
    fixed, per_image = 4 * 4 * 1_011_466, 4 * 34_922
    assert min(range(1, 2000), key=lambda b: abs(fixed - b * per_image)) == 116
    assert [round(r, 2) for r in checks04.RATIOS.values()] == [0.8, 0.56]
    without_copy = [(fixed + b * per_image / 2) / (fixed + b * per_image) for b in checks04.BATCHES]
    assert [round(r, 2) for r in without_copy] == [0.74, 0.55]
    for (answer, _), arrays in zip(checks04.NOT_THE_BATCH[1:4], (1, 2, 3), strict=True):
        assert answer == round(fixed * arrays / 4 / per_image)
    assert checks04.NOT_THE_BATCH[0][0] == round(2 * fixed / per_image)
    assert checks04.NOT_THE_BATCH[4][0] == round(fixed / 34_922)
    variance = 0.98 * 0.02 / 10_000 + 0.981 * 0.019 / 10_000
    assert round(100 * math.sqrt(variance), 2) == 0.2
    assert 60_000 * 28 * 28 * 8 == pytest.approx(376e6, rel=0.001)


@pytest.mark.parametrize("number, answer", [
    (1, {**nb00.RIGHT_POLICIES, "A100": "mixed_float16"}),
    (2, 0.137), (2, 0.14), (2, np.float32(0.1368)), (2, Fraction(128, 936)), (2, Decimal("0.137")),
    (3, {"float32": 4.0, "TF32": np.int64(4), "float16": 2, "bfloat16": 2, "more": None}),
])  # fmt: skip
def test_other_correct_answers_in_notebook_00(number, answer):
    assert exercises.load("00")[number].check(answer).status == "correct"


@pytest.mark.parametrize("number, answer", [
    (1, lambda x: np.expand_dims(np.float32(x) / np.float32(255), -1)),
    (1, lambda x: np.float32(x[..., None] * (1 / 255))),
    (2, lambda a, b: float(np.median(np.float64(a)[1:]) / np.median(np.float64(b)[1:]))),
    (2, lambda a, b: (a.pop(0), b.pop(0), np.median(a) / np.median(b))[-1]),
    (3, 115.854), (3, np.array(116)), (4, {128: 0.797, 1024: 0.564}), (4, {128: 0.8, 1024: 0.56}),
    (5, {"standard error": 0.196, "better": "cannot tell"}),
])  # fmt: skip
def test_other_correct_answers_in_notebook_04(number, answer):
    assert exercises.load("04")[number].check(answer).status == "correct"


# --- whatever a learner may pass in -------------------------------------------------------------


class Hostile:
    """Every question asked of it raises."""

    def __getattr__(self, name):
        raise RuntimeError(name)

    def _raise(self, *arguments):
        raise RuntimeError("hostile")

    __float__ = __repr__ = __str__ = __eq__ = __hash__ = __len__ = __iter__ = __bool__ = _raise
    __array__ = __getitem__ = __contains__ = _raise


def raises(*arguments):
    raise KeyError("<b>no</b>\n" * 100)


def leaves(*arguments):
    sys.exit(3)


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError


def raises_unprintable(*arguments):
    raise Unprintable


ODD = [
    *(10**4000, -(10**400), math.nan, math.inf, Decimal("NaN"), Decimal("1e999"), ..., object()),
    *(np.arange(3), np.zeros((2, 2)), np.array(np.nan), np.array(["a"]), np.bool_(True)),
    *(int, print, len, range(3), Hostile, "\ud800<script>`" * 50),
    *(raises, leaves, raises_unprintable, lambda: 1, lambda *a: a, lambda *a: Hostile()),
    *(lambda *a: np.zeros((1,) * 60), lambda *a: [[1], [2, 3]], lambda *a: 10**5000),
]
scalars = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(), st.complex_numbers(), st.text()),
    *(st.binary(), st.builds(Hostile), st.sampled_from(ODD)),
)
keys = st.sampled_from(
    [*nb00.FASTEST, *nb00.MEGABYTES, 128, 1024, "standard error", "better", None]
)
garbage = st.recursive(
    scalars,
    lambda inner: st.lists(inner) | st.dictionaries(keys, inner) | st.tuples(inner, inner),
    max_leaves=8,
)
filled = st.sampled_from(
    [nb00.FASTEST, nb00.MEGABYTES, (128, 1024), ("standard error", "better")]
).flatmap(lambda names: st.fixed_dictionaries(dict.fromkeys(names, scalars)))


def holds(feedback):
    """The promises that every Feedback keeps."""
    assert feedback.status in ("correct", "not yet", "not attempted", "recorded")
    assert len(feedback.message) < 300 and not ADDRESS.search(feedback.message)
    for shown in (repr(feedback), feedback._repr_html_()):
        assert isinstance(shown, str) and "\n" not in shown
        shown.encode()
    assert "<b>" not in feedback._repr_html_() and "<script" not in feedback._repr_html_()
    return feedback


@every_exercise
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(answer=garbage | filled)
def test_no_answer_raises(name, exercise, answer):
    feedback = holds(SHEETS[name][exercise.number].check(answer))
    assert feedback.status in ("not yet", "not attempted", "correct")


@every_notebook
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(guess=garbage)
def test_no_guess_raises(name, guess):
    feedback = holds(SHEETS[name].predict(guess))
    assert feedback.status in ("not yet", "not attempted", "recorded")
    if feedback.status == "recorded":
        assert math.isfinite(SHEETS[name].guess)


NAMED = [
    *(None, True, "4", [], [1, 2], {}, math.nan, math.inf, -math.inf, 10**5000, np.arange(3)),
    *(np.array(np.nan), object(), raises, leaves, raises_unprintable, Hostile(), len),
    *(lambda: 1, lambda *a: "x", lambda *a: Hostile()),
]


@every_exercise
def test_garbage_is_not_yet_and_says_what_was_given(name, exercise):
    for answer in NAMED:
        feedback = holds(SHEETS[name][exercise.number].check(answer))
        assert feedback.status == "not yet"
        assert re.search("[Yy]ou gave|Your function|is missing", feedback.message), feedback


@every_exercise
def test_checkers_need_no_safety_net_for_plain_garbage(name, exercise):
    for answer in NAMED:
        if not isinstance(answer, Hostile):
            assert exercise.checker(answer)


def test_what_a_learner_passed_is_escaped_in_html():
    feedback = exercises.load("00")[2].check("<img src=x onerror=alert(1)>`<b>`")
    assert "<img" in repr(feedback)
    assert "<img" not in feedback._repr_html_() and "&lt;img" in feedback._repr_html_()


def test_half_filled_dictionaries_are_answers():
    q = exercises.load("00")
    assert "'A100'" in q[1].check({**nb00.RIGHT_POLICIES, "A100": ...}).message
    assert q[1].check(dict.fromkeys(nb00.FASTEST, ...)).status == "not attempted"
    assert q[1].check({}).status == "not yet"


def test_functions_that_do_nothing_are_stubs():
    def only_dots(images): ...

    def documented(images):
        """Text."""

    def forgets_return(images):
        images / 255

    assert all(map(answers.untouched, (only_dots, documented, lambda images: None)))
    assert not any(
        map(answers.untouched, (forgets_return, lambda images: 1, lambda images: images))
    )
    assert exercises.load("04")[1].check(forgets_return).status == "not yet"


def test_a_function_cannot_change_what_it_is_checked_against():
    def wipes(images):
        images[:] = 0
        return images[..., None].astype("float32")

    assert exercises.load("04")[1].check(wipes).status == "not yet"


# --- feedback, hints, predictions ---------------------------------------------------------------


def test_feedback_is_the_same_each_time():
    for name, exercise, answer, _ in WRONG:
        q = exercises.load(name)
        assert repr(q[exercise.number].check(answer)) == repr(q[exercise.number].check(answer))
    feedback = exercises.load("00")[2].check(7.3)
    assert repr(feedback).startswith("Not yet. That is the slowdown")
    html = feedback._repr_html_()
    assert "<strong>Not yet.</strong>" in html and "border-left: 4px solid #D55E00" in html
    assert "color: inherit" in html and "background" not in html


def test_hints_come_one_by_one_and_end():
    q = exercises.load("00")
    shown = [repr(q[2].hint()) for _ in range(4)]
    assert shown[0].startswith("Hint 1 of 2.") and shown[1].startswith("Hint 2 of 2.")
    assert shown[2] == shown[3] == "No further hint. `q[2].solution()` shows the code."
    assert repr(q[1].hint()).startswith("Hint 1 of 2.")
    assert "<code>q[2].solution()</code>" in q[2].hint()._repr_html_()


def test_the_solution_is_shown_as_code():
    note = exercises.load("04")[1].solution()
    assert repr(note).startswith("Solution.\nimport numpy as np\n\n\ndef as_model_input(images):\n")
    assert "<pre" in note._repr_html_() and "np.newaxis" in note._repr_html_()
    assert exercises.load("04").solved == []


@every_notebook
def test_predictions(name):
    sheet = exercises.load(name)
    assert run(sheet.prediction.stub, sheet).status == "not attempted"
    assert sheet.guess is None
    assert run(sheet.prediction.solution, sheet).status == "recorded"
    kept = sheet.guess
    assert isinstance(kept, float)
    for bad in (..., "2", None, -1, 0, math.nan, 1e9, [2]):
        assert sheet.predict(bad).status in ("not yet", "not attempted")
    assert exercises.load(name).guess == kept


def test_notebook_04_reads_percents():
    q = exercises.load("04")
    assert "Read as 80 %" in q.predict(80).message and q.guess == 0.8
    assert q.predict(3).status == "not yet" and q.guess == 0.8
    assert "Read" not in q.predict(1.2).message and q.guess == 1.2


def test_load_names_what_exists():
    for name in ("00", "0", 0):
        assert exercises.load(name).notebook == "00"
    assert exercises.load(4).notebook == "04"
    for name in ("77", 77, None, "", "../00", "engine", True):
        with pytest.raises(ValueError, match="choose one of 00, 01, 02, 03, 04, 05, 06, 07"):
            exercises.load(name)
    for number in (0, 9, "1", None, [1]):
        with pytest.raises(IndexError, match="exercises 1 to 3"):
            exercises.load("00")[number]


def test_importing_loads_nothing_heavy():
    code = (
        "import sys; from course_utils import exercises; exercises.load('04')\n"
        "heavy = {'tensorflow', 'matplotlib', 'pandas', 'IPython'}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


# --- progress -----------------------------------------------------------------------------------


def solve(number=2):
    return exercises.load("00")[number].check(128 / 936)


def test_a_second_kernel_sees_progress():
    q = exercises.load("00")
    q.predict(1.5)
    q[2].check(128 / 936)
    code = (
        "from course_utils import exercises; q = exercises.load('00')\n"
        "print(q.guess, q.solved); q.predict(3)"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert result.stdout == "1.5 [2]\n", result.stderr
    assert q.guess == 3 and q.solved == [2]


def test_solved_stays_solved_and_is_counted_once(progress_file):
    q = exercises.load("00")
    solve(), solve(), q[2].check(7.3)
    assert json.loads(progress_file.read_text()) == {"00": {"solved": [2]}}


@pytest.mark.parametrize("text", [
    "", "{", "null", "[]", "3", '"00"', '{"00": 3}', '{"00": {"solved": 1}}',
    '{"00": {"solved": ["1"]}}', '{"00": {"guess": "2"}}', '{"00": {"guess": NaN}}',
    '{"00": {"guess": 1e999}}', '{"00": {"guess": true}}', '{"00": {"guess": 1' + "0" * 400 + "}}",
    "[" * 100_000, b"\xff\xfe\x00", b"\x00" * 10,
])  # fmt: skip
def test_a_corrupt_file_is_set_aside(text, progress_file, capsys):
    text = text if isinstance(text, bytes) else text.encode()
    progress_file.write_bytes(text)
    assert exercises.load("00").guess is None
    assert capsys.readouterr().out.count("\n") == 1
    assert solve().status == "correct" and exercises.load("00").solved == [2]
    assert capsys.readouterr().out == ""
    copy = progress_file.with_name("progress.json.corrupt")
    assert copy.read_bytes() == text
    progress_file.write_bytes(b"again")
    solve()
    assert copy.read_bytes() == text  # an earlier copy is not overwritten
    assert copy.with_name("progress.json.corrupt1").read_bytes() == b"again"


def test_notebooks_of_a_newer_course_are_kept(progress_file):
    progress_file.write_text(
        '{"42": {"solved": [7], "guess": 1, "more": "x"}, "00": {"solved": [99]}}'
    )
    solve()
    state = json.loads(progress_file.read_text())
    assert state == {"42": {"solved": [7], "guess": 1, "more": "x"}, "00": {"solved": [2, 99]}}
    assert exercises.load("00").solved == [2]


@pytest.mark.parametrize("kind", ["under a file", "a directory", "no such root"])
def test_progress_that_cannot_be_written_stays_in_memory(kind, tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder" / "inside").mkdir(parents=True)
    path = {
        "under a file": tmp_path / "file" / "progress.json",
        "a directory": tmp_path / "folder",
        "no such root": Path("/proc/nothing/progress.json"),
    }[kind]
    monkeypatch.setenv("COURSE_PROGRESS", str(path))
    q = exercises.load("00")
    assert q.guess is None and capsys.readouterr().out == ""
    assert q.predict(2).status == "recorded" and solve().status == "correct"
    assert q.predict(3).status == "recorded"
    told = capsys.readouterr().out
    assert told.count("\n") == 1 and "cannot be saved" in told
    assert q.guess == 3 and q.solved == [2]
    assert (tmp_path / "file").read_text() == "mine" and not list(tmp_path.glob("*.tmp"))
    assert "Reset" in repr(exercises.reset()) or "Not reset." in repr(exercises.reset())
    assert q.guess is None and q.solved == []


def test_memory_is_saved_once_the_folder_can_be_written(tmp_path, monkeypatch, capsys):
    blocker = tmp_path / "later"
    blocker.write_text("")
    monkeypatch.setenv("COURSE_PROGRESS", str(blocker / "progress.json"))
    solve()
    blocker.unlink()
    exercises.load("00").predict(2)
    assert json.loads((blocker / "progress.json").read_text()) == {
        "00": {"solved": [2], "guess": 2.0}
    }
    assert not progress._unsaved.get(blocker / "progress.json")


def test_a_write_that_fails_halfway_leaves_the_old_file(progress_file, monkeypatch, capsys):
    solve()
    before = progress_file.read_bytes()

    def full(*arguments, **options):
        arguments[1].write('{"00": {"gu')
        raise OSError("disk full")

    monkeypatch.setattr(progress.json, "dump", full)
    exercises.load("00").predict(2)
    assert progress_file.read_bytes() == before
    assert [file.name for file in progress_file.parent.iterdir()] == ["progress.json"]
    assert exercises.load("00").guess == 2  # from memory


def test_readers_never_see_half_a_file(progress_file):
    code = (
        "from course_utils import exercises\n"
        "q = exercises.load('00')\n"
        "for i in range(150): q.predict(1 + i % 9); q[2].check(0.137)\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    while any(writer.poll() is None for writer in writers):
        if progress_file.exists():
            json.loads(progress_file.read_text())
    assert [writer.communicate()[0] for writer in writers] == [b"", b""]
    assert exercises.load("00").solved == [2]
    assert [file.name for file in progress_file.parent.iterdir()] == ["progress.json"]


def test_reset(progress_file):
    solve()
    exercises.load("04").predict(0.5)
    assert repr(exercises.reset()).startswith("Reset.")
    assert not progress_file.exists() and exercises.load("04").guess is None
    assert repr(exercises.reset()).startswith("Reset.")


def test_the_default_file_is_in_the_course_folder(monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", "")
    assert progress.path() == ROOT / ".course_progress.json"


# --- tables and reports -------------------------------------------------------------------------


def test_summary():
    q = exercises.load("00")
    q.predict(2)
    solve()
    assert repr(q.summary()).splitlines() == [
        "Notebook 00 · Start here",
        "Part                                      State",
        "Prediction                                your guess: 2",
        "Exercise 0.1 · a policy for each machine  open",
        "Exercise 0.2 · a speedup below one        solved",
        "Exercise 0.3 · bytes in memory            open",
        "1 of 3 exercises solved.",
    ]
    assert q.summary()._repr_html_().count("<tr>") == 5


def test_progress_table():
    exercises.load("04").predict(0.5)
    solve()
    lines = repr(exercises.progress()).splitlines()
    assert lines[2].split() == "00 · Start here none 1 of 3".split()
    assert lines[3].split() == "01 · Floats, bit by bit none 0 of 8".split()
    title = "02 · Why float16 loses small gradients, and how loss scaling saves them"
    assert lines[4].split() == f"{title} none 0 of 6".split()
    assert lines[5].split() == "03 · Setting the policy none 0 of 5".split()
    assert lines[6].split() == "04 · The MNIST CNN, three ways 0.5 0 of 5".split()
    assert lines[7].split() == "05 · Find out where time and memory go none 0 of 6".split()
    assert lines[8].split() == "06 · Your own training loop none 0 of 6".split()
    title = "07 · Train on many devices without losing the weights"
    assert lines[9].split() == f"{title} none 0 of 6".split()
    assert "<td" in exercises.progress()._repr_html_()


def test_tables_escape():
    table = exercises.Table("<b>", ("<i>",), [("<u>",)], "&")
    assert not re.search("<[biu]>", table._repr_html_()) and "&amp;" in table._repr_html_()


def test_report(tmp_path):
    q = exercises.load("00")
    file = tmp_path / "report.md"
    assert repr(q.save_report(file)).startswith("Saved.")
    solve()
    q.save_report(str(file))
    assert "| Exercise 0.2 · a speedup below one | solved |" in file.read_text()
    before = file.read_text()
    assert repr(exercises.load("04").save_report(file)).startswith("Not saved.")
    assert file.read_text() == before
    notes = tmp_path / "notes.txt"
    notes.write_text("mine")
    assert "choose another name" in repr(q.save_report(notes)) and notes.read_text() == "mine"
    for bad in (None, 3, [], "", "a\0b", tmp_path, notes / "x.md", "x" * 5000):
        assert repr(q.save_report(bad)).startswith("Not saved."), bad
