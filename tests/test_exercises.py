"""The exercises of all notebooks and their engine, judges, progress and reports."""

import io
import math
import re
import shutil
import subprocess
import sys
import threading
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from helpers.tasks import CELLS

from course_utils import exercises
from course_utils.exercises import answers, engine, functions, judges, store
from course_utils.exercises.functions import Function

ROOT = Path(__file__).resolve().parents[1]
SHEETS = {name: exercises.load(name) for name in exercises.available()}
every_notebook = pytest.mark.parametrize("name", SHEETS)
NUMBERS = [
    (name, number) for name, sheet in SHEETS.items() for number in sheet.questions
]
every_exercise = pytest.mark.parametrize("name, number", NUMBERS)
# Their wrong answers are trained, each for itself.
TRAINED = [("02", 1), ("03", 4), ("06", 1), ("06", 2)]
every_answer = pytest.mark.parametrize(
    "name, number",
    [
        pytest.param(*one, marks=pytest.mark.slow if one in TRAINED else ())
        for one in NUMBERS
    ],
)


def run(code, sheet):
    """The names that a cell makes, and what its last line shows."""
    before, _, last = code.rpartition("\n")
    names = {"q": sheet}
    exec(before, names)
    return names, eval(last, names)


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


VALUES = [
    *(None, True, "4", "<script>`\ud800" * 50, b"4", [], [1, 2], {}, {1}, 1j, 0, -7.5),
    *(math.nan, math.inf, 10**4000, Decimal("NaN"), Decimal("1e999"), range(3)),
    *(np.arange(3), np.array(np.nan), np.array(["a"]), np.bool_(True), object()),
]
FUNCTIONS = [
    *(print, Hostile, raising(KeyError("<b>no</b>\n" * 100)), raising(SystemExit(3))),
    raising(Unprintable()),
    type("HostileFunction", (Hostile,), {"__call__": lambda *arguments: Hostile()})(),
    *(lambda *a, v=v: v for v in [*VALUES, 1, np.zeros((1,) * 60), [[1], [2, 3]]]),
    lambda *a: a,
]


def holds(feedback, answer):
    """The promises that every verdict keeps."""
    assert feedback.status in ("correct", "not yet", "not attempted", "recorded")
    assert "fault of the course" not in feedback.message, (feedback, type(answer))
    assert len(feedback.message) < 300
    assert not re.search(r"0x[0-9a-f]{6,}", feedback.message)
    html = feedback._repr_html_().partition("\n<details>")[0]
    assert "\n" not in html and "<b>" not in html and "<script" not in html
    (repr(feedback) + html).encode()
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


@every_answer
def test_each_wrong_answer_gets_a_short_message_of_its_own(name, number):
    question = SHEETS[name][number]
    exercise = question.exercise
    messages = [*exercise.hints, exercise.right]
    assert len(exercise.examples()) >= 3
    for answer, fragment in exercise.examples():
        feedback = question.check(answer)
        assert feedback.status == "not yet", (answer, fragment)
        assert fragment in feedback.message, (answer, fragment)
        messages.append(feedback.message)
    assert SHEETS[name].solved == []
    assert all(len(text) < 300 for text in messages)


@every_notebook
def test_predictions(name):
    sheet = exercises.load(name)
    # progress is under them
    assert len({e.id for e in sheet.exercises}) == len(sheet.exercises)
    stub, solution = CELLS[name]["prediction"], sheet.prediction.solution
    assert run(stub, sheet)[1].status == "not attempted" and sheet.guess is None
    assert run(solution, sheet)[1].status == "recorded"
    kept = sheet.guess
    assert isinstance(kept, float | dict)
    for bad in [*VALUES, -1, 1e9, Hostile()]:
        if name in ("07", "09", "11", "12") and type(bad) is int and bad == 0:
            continue  # nothing left or lost, and nobody well, are guesses there
        assert holds(sheet.predict(bad), bad).status == "not yet", bad
    assert exercises.load(name).guess == kept


NEAR = {  # an answer, and whether it is near enough
    ("00", 2): {
        161 / 92: True,
        np.float32(1.75): True,
        Fraction(7, 4): True,
        1.5: False,
    },
    ("01", 1): {0xC640 + 0.5: False},
    ("13", 2): {3.95: True, 1.004 * 320 / 81: True, 1.008 * 320 / 81: False},
}


def test_how_near_is_near_enough():
    for (name, number), tried in NEAR.items():
        for answer, right in tried.items():
            status = SHEETS[name][number].check(answer).status
            assert (status == "correct") == right, (name, number, answer)


def test_a_wrong_option_is_told_as_it_is_written():
    judge = judges.Choice("E4M3", {"E5M2": "Not {value}."}, ("E4M3", "E5M2"))
    assert judge(" e5m2") == judge("E5M2") == "Not E5M2."
    assert judge("e4m3") is None


def test_answers_of_several_parts_in_other_words():
    formats = {"gradients": "BFLOAT16", "scores": np.float16, "counts": " neither "}
    assert SHEETS["01"][4].check(formats).status == "correct"


def test_a_guess_of_several_parts_is_kept_and_shown():
    q = exercises.load("10")
    guess = {"speedup": 12.34, "memory": np.float32(0.255), "accuracy": 100}
    said = "12.34 times as fast, 0.255 times the memory, 100 % right"
    assert said in q.predict(guess).message and said in repr(q.summary())
    assert said in repr(exercises.progress())
    kept = q.guess
    for other in (guess | {"speedup": 0}, guess | {"accuracy": "many"}, {"speedup": 1}):
        assert "a guess is three" in q.predict(other).message
    assert exercises.load("10").guess == kept


def test_a_result_without_a_guess_is_kept_and_nobody_is_scolded(capsys):
    """The cell below *Predict* asks for one; a first measurement may go before it."""
    q = exercises.load("00")
    assert "replace `...` with your guess" in q.predict(...).message
    q.measured = 1.5
    assert (q.measured, q.guess) == (1.5, None)
    q.predict(2.0)
    q.measured = 1.5
    assert capsys.readouterr().out == ""


@pytest.mark.slow
@every_exercise
def test_whatever_is_given_is_judged_and_said(name, number):
    question = SHEETS[name][number]
    right = run(question.cell, SHEETS[name])[0][question.exercise.name]
    tried = [*VALUES, *FUNCTIONS, Hostile(), [Hostile()]]
    for key in right if isinstance(right, dict) else ():
        others = {k: v for k, v in right.items() if k != key}
        assert repr(key) in question.check(others).message
        assert repr(key) in question.check({**right, key: ...}).message
        tried += [{**right, key: value} for value in (*VALUES, Hostile())]
    for answer in tried:
        holds(question.check(answer), answer)


# --- the judges -----------------------------------------------------------------------


def test_a_layer_is_not_taken_for_its_class():
    q = exercises.load("10")[1]
    parts = run(q.cell, exercises.load("10"))[0]["answer"]
    said = q.check(parts | {"positions": parts["positions"]()}).message
    assert said.startswith("positions is a layer: give the class itself")


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
    assert answers.describe(...) == "`...`"


# --- what a learner sees --------------------------------------------------------------


def test_feedback_hints_and_solutions():
    q = exercises.load("00")
    feedback = q[2].check(4 / 7)
    html = feedback._repr_html_()
    assert repr(feedback).startswith("Not yet. That is the slowdown")
    assert "<strong>Not yet.</strong>" in html and "background" not in html
    shown = [repr(q[2].hint()) for _ in range(3)]
    assert [hint[:11] for hint in shown[:2]] == ["Hint 1 of 2", "Hint 2 of 2"]
    assert shown[2].endswith("and `q[2].solution()` shows the code.")
    assert "<code>q[2].solution()</code>" in q[2].hint()._repr_html_()
    assert "<pre" in q[2].solution()._repr_html_() and q.solved == []


WRONG_CALLS = {  # what a learner writes: a part of the sentence that answers
    "q[2].hint('1')": "You gave the text '1': this exercise has 2 hints, such as",
    "q[2].hint(0)": "You gave the number 0: this exercise has 2 hints",
    "q[2].hint(1.5)": "You gave the number 1.5: this exercise has 2 hints",
    "q[2].hint(True)": "You gave True: this exercise has 2 hints",
    "q[2].hint(3)": "No further hint. This exercise has 2 hints",
    "q.hint": "`q[1].hint()`",
    "q.hint(1)": "`q[1].hint()`",
    "q.check(answer)": "write `q[1].check(answer)`",
    "q.solution()": "`q[1].solution()`",
    "q[2].check()": "Give your answer: `q[2].check(answer)`",
    "q[2].check(0,25)": "as Python reads a comma (write 0.25): give one number",
    "q.predict()": "Give your guess: `q.predict(guess)`",
    "q.predict(1,5)": "as Python reads a comma (write 1.5): a guess is a speedup between",
    "q.predict((1, 5, 0))": "You gave a tuple of 3 items: a guess is",
}


def test_a_wrong_call_is_answered_by_what_to_write():
    names = {"q": exercises.load("00"), "answer": 4}
    for call, said in WRONG_CALLS.items():
        assert said in repr(eval(call, names)).replace("\n", " ")
    assert names["q"].solved == [] and names["q"].guess is None


def test_a_key_that_is_a_number_is_told_to_be_a_text():
    said = SHEETS["09"][1].check({4: "nan", 5: "nan"}).message
    assert said == "The key '4' is a text: write it in quotes."
    assert "The key '4' is missing" in SHEETS["09"][1].check({"5": "nan"}).message


def test_a_function_that_takes_long_is_said_to_be_running(monkeypatch):
    class Screen(io.StringIO):
        def write(self, text):
            if "interrupt the kernel" in text:
                told.set()
            return super().write(text)

    told = threading.Event()
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(functions, "PATIENCE", 0.01)
    judge = Function(lambda function, _: function(), (1, 2))
    # until the sign of life is there, in the second trial too, whose prints are hidden
    assert judge(lambda: told.wait(5) and told.clear()) is None
    assert screen.getvalue().count("interrupt the kernel") == 2


def test_a_fault_of_a_check_is_told_as_one(progress_file):
    exercise = engine.Exercise(1, 1, "", lambda answer: [][0], [], "Right.")
    verdict = engine.Question("00", 1, exercise).check(4)
    assert verdict.status == "not yet" and not progress_file.exists()
    said = "this check itself failed on it (IndexError: list index out of range)"
    assert said in verdict.message and "please report it" in verdict.message


def test_a_damaged_file_of_one_notebook_leaves_progress_to_the_others(tmp_path):
    shutil.copytree(ROOT / "course_utils", tmp_path / "course_utils")
    code = "from course_utils import exercises; print(exercises.progress())"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert "data/measurements/clinic.json is missing or damaged" in done.stdout
    assert all(f"{name} · " in done.stdout for name in exercises.available())


def test_load_names_what_exists():
    assert all(exercises.load(name).notebook == "04" for name in ("04", "4", 4))
    with pytest.raises(ValueError, match="choose one of 00, 01, 02, 03"):
        exercises.load(77)
    for number in (0, [1]):
        with pytest.raises(IndexError, match="exercises 1 to 2, such as `q.1.`; you"):
            exercises.load("00")[number]


# --- progress -------------------------------------------------------------------------

SOLVE_40 = """
import sys
from course_utils.exercises.store import save
input()  # until the other is ready too
for n in range(40):
    save(sys.argv[1], "solved", n)
"""


def test_two_kernels_that_solve_40_exercises_each_keep_80(progress_file):
    command = [sys.executable, "-c", SOLVE_40]
    kernels = [
        subprocess.Popen([*command, name], cwd=ROOT, stdin=subprocess.PIPE)
        for name in ("00", "01")
    ]
    for kernel in kernels:
        kernel.stdin.write(b"\n")
    for kernel in kernels:
        kernel.communicate()
    for name in ("00", "01"):
        assert store.entry(name)["solved"] == list(range(40))
    assert list(progress_file.parent.iterdir()) == [progress_file]


@pytest.mark.parametrize("line", [
    b"{", b"[]", b'{"00": 3}', b'["00", "solved", [1]]', b"[" * 100_000, b"\xff\xfe\x00",
])  # fmt: skip
def test_a_damaged_line_is_left_out_and_the_others_count(line, progress_file, capsys):
    q = exercises.load("00")
    q[2].check(1.75)
    progress_file.write_bytes(progress_file.read_bytes() + b"\n" + line)
    q.predict(2)
    for _ in range(2):
        assert q.solved == [2] and q.guess == 2
    assert capsys.readouterr().out.count("could not be read, so that part") == 1
    assert line in progress_file.read_bytes()  # nothing is lost


@pytest.mark.parametrize("path", ["file/progress.json", "folder"])
def test_progress_that_cannot_be_written_stays_in_memory(
    path, tmp_path, monkeypatch, capsys
):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / path))
    q = exercises.load("00")
    assert q.guess is None and capsys.readouterr().out == ""
    for guess in (2, 3):
        assert q.predict(guess).status == "recorded"
    assert q[2].check(1.75).status == "correct"
    written = capsys.readouterr().out
    assert written.count("\n") == 1 and "cannot be saved" in written
    assert q.guess == 3 and q.solved == [2]
    if path == "folder":  # now memory is saved too
        (tmp_path / path).rmdir()
        q[2].check(1.75)
        assert (tmp_path / path).read_text().count("guess") == 2
    assert repr(exercises.reset()).startswith(("Reset", "Not reset"))
    assert q.guess is None and q.solved == []


def test_reset_and_the_default_file(progress_file, monkeypatch):
    exercises.load("00").predict(2)
    for _ in range(2):
        assert repr(exercises.reset()).startswith("Reset.")
    assert not progress_file.exists() and exercises.load("00").guess is None
    monkeypatch.setenv("COURSE_PROGRESS", "")
    assert store.path() == ROOT / ".course_progress.jsonl"
