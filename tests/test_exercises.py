"""The exercises of all notebooks and their engine, judges, progress and reports."""

import json
import math
import os
import re
import shutil
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from helpers.tasks import CELLS
from hypothesis import given, settings
from hypothesis import strategies as st

from course_utils import exercises
from course_utils.exercises import answers, engine, mystery, slow, store
from course_utils.exercises.functions import Function

ROOT = Path(__file__).resolve().parents[1]
SHEETS = {name: exercises.load(name) for name in exercises.available()}
every_notebook = pytest.mark.parametrize("name", SHEETS)
every_exercise = pytest.mark.parametrize(
    "name, number",
    [(name, number) for name, sheet in SHEETS.items() for number in sheet.questions],
)


def run(code, sheet):
    """The names that a cell makes, and what its last line shows."""
    before, _, last = code.rpartition("\n")
    names = {"q": sheet}
    exec(before, names)
    return names, eval(last, names)


def check_codes(*texts):
    """No text for a learner names a finding by its code."""
    for text in texts:
        words = re.sub(r"`[^`]*`", "", text)
        assert not re.search(r"\bMP\d{3}\b", words), text


# --- whatever a learner may pass in ---------------------------------------------------


class Hostile:
    """Every question asked of it raises."""

    def __getattr__(self, name):
        raise RuntimeError(name)

    def _raise(self, *arguments):
        raise RuntimeError("hostile")

    __float__ = __index__ = __repr__ = __str__ = __eq__ = __hash__ = __len__ = (
        __iter__
    ) = _raise
    __bool__ = __array__ = __getitem__ = __contains__ = _raise


class Unprintable(Exception):
    __str__ = Hostile._raise


def raising(error):
    def raises(*arguments):
        raise error

    return raises


raises = raising(KeyError("<b>no</b>\n" * 100))
leaves = raising(SystemExit(3))
VALUES = [
    *(
        None,
        True,
        "4",
        "<script>`\ud800" * 50,
        b"4",
        [],
        [1, 2],
        {},
        {1},
        (None,) * 3,
        1j,
        0,
        -7.5,
    ),
    *(
        math.nan,
        math.inf,
        -math.inf,
        10**4000,
        -(10**400),
        Decimal("NaN"),
        Decimal("1e999"),
    ),
    *(
        np.arange(3),
        np.zeros((2, 2)),
        np.array(np.nan),
        np.array(["a"]),
        np.bool_(True),
        range(3),
    ),
    object(),
]
FUNCTIONS = [
    *(int, print, len, raises, leaves, raising(Unprintable()), Hostile),
    type("HostileFunction", (Hostile,), {"__call__": lambda *arguments: Hostile()})(),
    *(lambda *a, v=v: v for v in [*VALUES, 1, np.zeros((1,) * 60), [[1], [2, 3]]]),
    lambda *a: a,
]
values = st.one_of(
    *(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.complex_numbers(),
        st.binary(),
    ),
    # it would read as an address of an object
    st.text().filter(lambda text: "0x" not in text),
    *(st.sampled_from(VALUES), st.builds(Hostile)),
    st.lists(st.floats() | st.none(), max_size=4).map(tuple),
)


def holds(feedback, answer):
    """The promises that every Feedback keeps."""
    assert feedback.status in ("correct", "not yet", "not attempted", "recorded")
    assert "fault of the course" not in feedback.message, (feedback, type(answer))
    assert len(feedback.message) < 300 and not re.search(
        r"0x[0-9a-f]{6,}", feedback.message
    )
    text, *table = repr(feedback).split("\n")
    html, *explorer = feedback._repr_html_().split("\n<details>")
    assert (
        bool(feedback.explorer)
        == bool(table)
        == bool(explorer)
        <= (feedback.status == "not yet")
    )
    assert "\n" not in html and "<b>" not in html and "<script" not in html
    (text + html).encode()
    return feedback


# --- what the modules say -------------------------------------------------------------


@every_exercise
def test_solution_and_stub(name, number):
    sheet = exercises.load(name)
    question = sheet[number]
    stub, solution = CELLS[name][f"exercise-{number}"], question.cell
    assert "..." in stub and "..." not in solution.replace("[...,", "")
    names, feedback = run(stub, sheet)
    assert feedback.status == "not attempted" and sheet.solved == []
    if judges := getattr(question.exercise.answer, "judges", None):
        # the stub has a place for each part that is asked for
        assert list(names[question.exercise.name]) == list(judges)
    feedback = run(solution, sheet)[1]
    assert (feedback.status, feedback.message) == ("correct", question.exercise.right)
    assert sheet.solved == [number]


@every_exercise
def test_each_wrong_answer_gets_a_short_message_of_its_own(name, number):
    question = SHEETS[name][number]
    messages = set()
    exercise = question.exercise
    for answer, fragment in exercise.examples():
        feedback = question.check(answer)
        assert feedback.status == "not yet", (answer, fragment)
        assert fragment in feedback.message, (answer, fragment)
        messages.add(feedback.message)
    assert len(messages) >= 5, (
        "list five wrong answers at least, each with its own message"
    )
    assert SHEETS[name].solved == []
    said = [*messages, *exercise.hints, exercise.right]
    check_codes(*said, question.cell)
    for text in said:
        assert len(text) < 300 and len(re.split(r"[.?] (?=[A-Z`])", text)) <= 3, text
        assert text.endswith((".", "?", "`")) or "raises" in text, text
    assert 2 <= len(exercise.hints) <= 3 and 1 <= exercise.minutes <= 15


@every_notebook
def test_predictions(name):
    sheet = exercises.load(name)
    # progress is under them
    assert len({e.id for e in sheet.exercises}) == len(sheet.exercises)
    stub, solution = CELLS[name]["prediction"], sheet.prediction.solution
    check_codes(solution)
    assert run(stub, sheet)[1].status == "not attempted"
    assert sheet.guess is None
    assert run(solution, sheet)[1].status == "recorded"
    kept = sheet.guess
    assert isinstance(kept, float | dict)
    for bad in [..., *VALUES, -1, 1e9, Hostile()]:
        if name in ("07", "09") and type(bad) is int and bad == 0:
            continue  # nothing left, and nobody well, are guesses there
        assert holds(sheet.predict(bad), bad).status in ("not yet", "not attempted")
    assert exercises.load(name).guess == kept


RIGHT = {  # tuples are the values of a dictionary
    ("00", 2): [161 / 92, np.float32(1.75), Fraction(7, 4), Decimal("1.744")],
    ("01", 3): [(np.float16(8192), ml_dtypes.bfloat16(1024), np.float32(2**26))],
    ("01", 6): [(0.001, 513 / 1024, 1), (0.1, np.float32(0.4), np.float64(0.9))],
    ("01", 5): [("BFLOAT16", np.float16, " neither ")],
    ("04", 2): [440.4, np.array(441.0)],
    ("04", 3): [(75.0, 0.13, " Cannot tell")],
    ("05", 1): [[*slow.REPAIRS[::-1]], [*slow.REPAIRS, "bfloat16"]],
    ("05", 3): [3.95, 1.004 * 320 / 81],
    ("05", 2): [mystery.JUDGE.right | {"B gains": 1.12, "C gains": np.float32(1.6)}],
    ("08", 3): [(" c", "E", "a")],
    ("09", 2): [("Mask ", " NUMERICS")],
    ("07", 3): [(Decimal("1.5"), 66.7, np.float32(50), 2.0)],
}
NEARLY_RIGHT = {
    ("00", 2): [120 / 92, 357 / 228, 1.5, 76 / 40],
    ("01", 1): [0xC640 + 0.5],
    ("01", 3): [(8195, 1024, 2**26)],
    ("01", 6): [(0.11, 0.5, 1), (-0.01, 0.5, 1)],
    ("01", 4): [65519.999999],
    ("02", 2): [(11, 37), (33, 36.9)],
    ("05", 1): [["bfloat16", *slow.REPAIRS[1:]]],
    ("05", 3): [1.008 * 320 / 81, 0.992 * 320 / 81],
    ("05", 2): [mystery.JUDGE.right | {"B gains": 1.1}],
}


@pytest.mark.parametrize(
    "listed, status", [(RIGHT, "correct"), (NEARLY_RIGHT, "not yet")]
)
def test_how_near_is_near_enough(listed, status):
    for (name, number), tried in listed.items():
        question = SHEETS[name][number]
        for answer in tried:
            if isinstance(answer, tuple):
                answer = dict(zip(question.exercise.answer.right, answer, strict=True))
            assert question.check(answer).status == status, (name, number, answer)


ORDERS = {"size": "edcba", "accuracy": "A B C D E", "latency": "ECDBA"}
NUMBERS = {"speedup": 12.34, "memory": np.float32(0.255), "accuracy": 100}
# a guess of several parts, what is said and shown of it, what is asked for, others
PARTS = [
    ("08", ORDERS, "size EDCBA, accuracy ABCDE, latency ECDBA", "three orders",
     [ORDERS | {"size": "AABCD"}, ORDERS | {"speed": "ABCDE"}, {"size": "ABCDE"}, "EDCBA"]),
    ("10", NUMBERS, "12.34 times as fast, 0.255 times the memory, 100 % right", "three numbers",
     [NUMBERS | {"speedup": 0}, NUMBERS | {"memory": 10}, {"speedup": 1}, 1.5,
      NUMBERS | {"accuracy": "many"}, NUMBERS | {"more": 1}]),
]  # fmt: skip


@pytest.mark.parametrize("name, given, said, asked, others", PARTS)
def test_a_guess_of_several_parts_is_kept_and_shown(name, given, said, asked, others):
    q = exercises.load(name)
    assert said in q.predict(given).message and said in repr(q.summary())
    assert said in repr(exercises.progress())
    kept = q.guess
    assert all(asked in q.predict(other).message for other in others)
    assert exercises.load(name).guess == kept
    exercises.store.save(name, guess=543211234512345.0)  # as it was kept before
    assert q.guess is None and "no guess" in repr(q.summary())


def test_a_result_without_a_guess_asks_for_one_and_goes_on(capsys):
    q = exercises.load("00")
    q.measured = 1.5
    assert "give one in the cell with `q.predict(guess)`" in capsys.readouterr().out
    assert q.measured == 1.5
    q.predict(2.0)
    q.measured = 1.5
    assert capsys.readouterr().out == ""


@pytest.mark.slow
@every_exercise
def test_whatever_is_given_is_judged_and_said(name, number):
    question = SHEETS[name][number]
    right = run(question.cell, SHEETS[name])[0][question.exercise.name]
    for answer in [*VALUES, *FUNCTIONS, Hostile()]:
        feedback = holds(question.check(answer), answer)
        if answer is None or isinstance(answer, (list, dict)):
            assert re.search(r"\b[Yy]our?\b|is missing", feedback.message), feedback
    for key in right if isinstance(right, dict) else ():
        assert (
            repr(key)
            in question.check({k: v for k, v in right.items() if k != key}).message
        )
        assert repr(key) in question.check({**right, key: ...}).message
    garbage = (
        values
        | st.lists(values, max_size=3)
        | st.dictionaries(st.text(), values, max_size=2)
    )
    if isinstance(right, dict):
        filled = st.fixed_dictionaries(dict.fromkeys(right, values))
        one = st.tuples(st.sampled_from(list(right)), values)
        garbage |= filled | one.map(lambda pair: {**right, pair[0]: pair[1]})

    @settings(max_examples=40, deadline=None, database=None)
    @given(garbage)
    def tried(answer):
        holds(question.check(answer), answer)

    tried()


# --- the judges -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, number",
    [
        (name, number)
        for name, sheet in SHEETS.items()
        for number, question in sheet.questions.items()
        if isinstance(question.exercise.answer, Function)
    ],
)
def test_what_a_function_returns_is_not_taken_for_the_function(name, number):
    question = SHEETS[name][number]
    results = []
    function = run(question.cell, SHEETS[name])[0][question.exercise.name]

    def recorded(*arguments):
        results.append(function(*arguments))
        return results[-1]

    question.check(recorded)
    message = holds(question.check(results[0]), results[0]).message
    assert re.match(
        "You gave (?!a function).+: give the (function|class) itself", message
    )


@pytest.mark.parametrize("name, key", [("03", None), ("10", "positions")])
def test_a_layer_is_not_taken_for_its_class(name, key):
    question = SHEETS[name][3 if name == "03" else 1]
    right = run(question.cell, SHEETS[name])[0]["answer"]
    given = {**right, key: right[key]()} if key else right()
    message = question.check(given).message
    assert re.match("(You gave|positions is) a layer: give the class itself", message)


def test_a_function_is_tried_in_each_trial_and_prints_in_the_first(capsys):
    judge = Function(
        lambda f, n: None if f(n) == n + n else f"Not in trial {n}.", (1, 3)
    )
    assert judge(lambda n: (print(n), 2 * n)[1]) is None
    assert capsys.readouterr().out == "1\n"
    assert judge(lambda n: 2) == "Not in trial 3."


def test_a_function_that_does_nothing_is_a_stub():
    def documented(images):
        """Text."""

    def forgets_return(images):
        images / 255

    assert answers.untouched(documented) and answers.untouched(lambda images: None)
    real = (forgets_return, lambda images: 1, Hostile(), {"a": ..., "b": 1}, {}, [])
    assert not any(map(answers.untouched, real))


# --- what a learner sees --------------------------------------------------------------


def test_feedback_hints_and_solutions():
    q = exercises.load("00")
    feedback = q[2].check(4 / 7)
    html = feedback._repr_html_()
    assert repr(feedback).startswith("Not yet. That is the slowdown")
    assert "<strong>Not yet.</strong>" in html
    assert "color: inherit" in html and "background" not in html
    shown = [repr(q[2].hint()) for _ in range(4)]
    assert [hint[:11] for hint in shown[:2]] == ["Hint 1 of 2", "Hint 2 of 2"]
    assert shown[2] == shown[3] == "No further hint. `q[2].solution()` shows the code."
    assert "<code>q[2].solution()</code>" in q[2].hint()._repr_html_()
    solution = repr(q[2].solution())
    assert solution.startswith("Solution.\n") and solution.endswith(
        "q[2].check(answer)"
    )
    assert "<pre" in q[2].solution()._repr_html_() and q.solved == []


WRONG_CALLS = {  # what a learner writes: a part of the sentence that answers
    "q[2].hint(2)": "Hint 2 of 2. Each round has a ratio",
    "q[2].hint(3)": "has 2 hints: `q[2].hint()` gives the next",
    "q[2].hint('1')": "has 2 hints: `q[2].hint()` gives the next",
    "q.hint": "write `q[1].hint()`",
    "q.hint(1)": "write `q[1].hint()`",
    "q.check(answer)": "write `q[1].check(answer)`",
    "q.solution()": "write `q[1].solution()`",
    "q(2).hint()": "Hint 1 of 2.",
    "q[2].check()": "Give your answer: `q[2].check(answer)`",
    "q[3].check()": "Give your answer: `q[3].check(build)`",
    "q[2].check(0,25)": "You gave a tuple of 2 items: give one number",
    "q.predict()": "Give your guess: `q.predict(guess)`",
    "q.predict(1,5)": "You gave a tuple of 2 items: a guess is one finite number",
}


@pytest.mark.parametrize("call, said", WRONG_CALLS.items())
def test_a_wrong_call_is_answered_by_what_to_write(call, said):
    names = {"q": exercises.load("00"), "answer": 4, "build": raises}
    assert said in repr(eval(call, names)).replace("\n", " ")
    assert names["q"].solved == [] and names["q"].guess is None


def test_a_fault_of_a_check_is_told_as_one(progress_file):
    exercise = engine.Exercise(1, 1, "", lambda answer: [][0], [], "Right.")
    feedback = engine.Question("00", 1, exercise).check(4)
    assert feedback.status == "not yet" and not progress_file.exists()
    assert (
        "this check itself failed on it (IndexError: list index out of range)"
        in repr(feedback)
    )
    assert "cannot be read" not in repr(feedback) and "please report it" in repr(
        feedback
    )


@pytest.mark.parametrize("text", ["", "{}", "null", None])
def test_a_damaged_file_of_one_notebook_leaves_progress_to_the_others(text, tmp_path):
    shutil.copytree(ROOT / "course_utils", tmp_path / "course_utils")
    file = tmp_path / "data/measurements/clinic.json"
    file.parent.mkdir(parents=True)
    if text is not None:
        file.write_text(text)
    code = "from course_utils import exercises; print(exercises.progress())"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert "data/measurements/clinic.json is missing or damaged" in done.stdout, (
        done.stderr
    )
    assert all(f"{name} · " in done.stdout for name in exercises.available())


def test_load_names_what_exists():
    for name in ("04", "4", 4):
        assert exercises.load(name).notebook == "04"
    for name in ("77", 77, None, "", "../00", "engine", True):
        with pytest.raises(
            ValueError, match="choose one of 00, 01, 02, 03, 04, 05, 06, 07"
        ):
            exercises.load(name)
    for number in (0, 9, "1", None, [1]):
        with pytest.raises(
            IndexError, match="exercises 1 to 3, such as `q.1.`; you asked for"
        ):
            exercises.load("00")[number]
    with pytest.raises(ValueError, match="choose one of 00"):
        exercises.load()


# --- progress -------------------------------------------------------------------------

SOLVE_40 = """
import sys
from course_utils.exercises.engine import Exercise, Question
print("ready", flush=True)
input()  # until the other is ready too
for n in range(40):
    exercise = Exercise(n, 1, "", lambda answer: None, [], "Right.")
    Question(sys.argv[1], 1, exercise).check(n)
"""


def solve(number=2):
    return exercises.load("00")[number].check(1.75)


def names_beside(file):
    return [found.name for found in file.parent.iterdir()]


def test_two_kernels_that_solve_40_exercises_each_keep_80(progress_file):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    command = [sys.executable, "-c", SOLVE_40]
    kernels = [
        subprocess.Popen([*command, name], cwd=ROOT, **pipes) for name in ("00", "01")
    ]
    assert [kernel.stdout.readline() for kernel in kernels] == ["ready\n"] * 2
    for kernel in kernels:
        print(file=kernel.stdin, flush=True)
    while any(kernel.poll() is None for kernel in kernels):
        if progress_file.exists():
            json.loads(progress_file.read_text())  # a reader never sees half a file
    assert [kernel.communicate()[0] for kernel in kernels] == ["", ""]
    solved = list(range(40))
    kept = json.loads(progress_file.read_text())
    assert kept == {"00": {"solved": solved}, "01": {"solved": solved}}
    assert names_beside(progress_file) == ["progress.json"]


def test_the_lock_of_a_dead_kernel_is_taken_away(progress_file, monkeypatch, capsys):
    lock = progress_file.with_name("progress.json.lock")
    lock.touch()
    os.utime(lock, (0, 0))
    solve()
    assert exercises.load("00").solved == [2] and not lock.exists()
    monkeypatch.setattr(store, "STALE", 0.05)
    lock.touch()
    os.utime(lock, (1e10, 1e10))  # another machine's clock
    exercises.load("00").predict(2)
    assert (
        "cannot be saved" in capsys.readouterr().out and exercises.load("00").guess == 2
    )
    assert json.loads(progress_file.read_text()) == {"00": {"solved": [2]}}


@pytest.mark.parametrize("text", [
    b"", b"{", b"[]", b'{"00": 3}', b'{"00": {"solved": ["1"]}}', b'{"00": {"guess": NaN}}',
    b'{"00": {"guess": "2"}}', b'{"08": {"guess": {"size": []}}}',
    b'{"00": {"guess": 1' + b"0" * 400 + b"}}", b"[" * 100_000, b"\xff\xfe\x00",
])  # fmt: skip
def test_a_corrupt_file_is_set_aside(text, progress_file, capsys):
    progress_file.write_bytes(text)
    assert exercises.load("00").guess is None
    assert capsys.readouterr().out.count("\n") == 1
    assert solve().status == "correct" and exercises.load("00").solved == [2]
    assert capsys.readouterr().out == ""
    progress_file.write_bytes(b"again")
    solve()
    copies = sorted(progress_file.parent.glob("*.corrupt"))  # by their time
    assert [copy.read_bytes() for copy in copies] == [text, b"again"]


def test_an_old_file_is_read_and_notebooks_of_a_newer_course_are_kept(progress_file):
    old = '{"42": {"solved": [7], "guess": 1, "more": "x"}, "00": {"solved": [99], "guess": 4}}'
    progress_file.write_text(old)
    solve(), solve(), exercises.load("00")[2].check(4)
    state = json.loads(progress_file.read_text())
    assert state == json.loads(old) | {"00": {"solved": [2, 99], "guess": 4}}
    assert (exercises.load("00").solved, exercises.load("00").guess) == ([2], 4)


@pytest.mark.parametrize(
    "path", ["file/progress.json", "folder", "/proc/nothing/progress.json"]
)
def test_progress_that_cannot_be_written_stays_in_memory(
    path, tmp_path, monkeypatch, capsys
):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder" / "inside").mkdir(parents=True)
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / path))
    q = exercises.load("00")
    assert q.guess is None and capsys.readouterr().out == ""
    assert q.predict(2).status == "recorded" and solve().status == "correct"
    assert q.predict(3).status == "recorded"
    written = capsys.readouterr().out
    assert written.count("\n") == 1 and "cannot be saved" in written
    assert q.guess == 3 and q.solved == [2]
    assert (tmp_path / "file").read_text() == "mine" and not list(
        tmp_path.glob("*.lock")
    )
    assert repr(exercises.reset()).startswith(("Reset", "Not reset"))
    assert q.guess is None and q.solved == []


def test_a_write_that_fails_halfway_leaves_the_old_file(progress_file, monkeypatch):
    def full(self, text, **options):
        self.write_bytes(text.encode()[:9])
        raise OSError("disk full")

    exercises.load("00").predict(2)
    before = progress_file.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", full)
        solve()
    # in memory
    assert progress_file.read_bytes() == before and exercises.load("00").solved == [2]
    exercises.load("00").predict(3)  # now memory is saved too
    assert json.loads(progress_file.read_text()) == {"00": {"guess": 3, "solved": [2]}}
    assert names_beside(progress_file) == ["progress.json"]


def test_reset_and_the_default_file(progress_file, monkeypatch):
    solve()
    for _ in range(2):
        assert repr(exercises.reset()).startswith("Reset.")
    assert not progress_file.exists() and exercises.load("00").solved == []
    monkeypatch.setenv("COURSE_PROGRESS", "")
    assert store.path() == ROOT / ".course_progress.json"
