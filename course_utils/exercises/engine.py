"""Exercises that check themselves: what a learner sees, and how an answer is judged.

A notebook's module defines `Exercise`s and one `Prediction`. A checker takes the learner's
answer and returns None when it is right, else one or two sentences saying what is wrong.
"""

import dis
import html
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from .progress import mark_solved

# Label and border color (Okabe-Ito) of each kind of box: the label carries the meaning.
LOOKS = {
    "correct": ("Correct.", "#009E73"),
    "not yet": ("Not yet.", "#D55E00"),
    "not attempted": ("Not attempted yet.", "#888888"),
    "recorded": ("Guess recorded.", "#0072B2"),
}


@dataclass(frozen=True)
class Feedback:
    """The verdict on an answer: a status and one or two sentences.

    `status` is "correct", "not yet" or "not attempted"; a prediction that is kept has "recorded".

    >>> Feedback("not yet", "16 bits are two bytes.")
    Not yet. 16 bits are two bytes.
    """

    status: str
    message: str

    def __repr__(self):
        return f"{LOOKS[self.status][0]} {self.message}"

    def _repr_html_(self):
        label, color = LOOKS[self.status]
        return _box(label, self.message, color)


@dataclass(frozen=True)
class Note:
    """A labelled box that judges nothing: a hint, a solution, a message about a file.

    >>> Note("Hint 1 of 2.", "A byte is 8 bits.")
    Hint 1 of 2. A byte is 8 bits.
    """

    label: str
    message: str
    code: str = ""

    def __repr__(self):
        return "\n".join(
            part for part in (f"{self.label} {self.message}".strip(), self.code) if part
        )

    def _repr_html_(self):
        return _box(self.label, self.message, "#0072B2", self.code)


def _box(label, message, color, code=""):
    # No background and no text color of its own: readable in light and dark themes.
    message = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(message))
    code = f'<pre style="margin: 6px 0 0 0">{html.escape(code)}</pre>' if code else ""
    style = f"border-left: 4px solid {color}; padding: 4px 12px; color: inherit"
    return f'<div style="{style}"><strong>{html.escape(label)}</strong> {message}{code}</div>'


@dataclass(frozen=True)
class Exercise:
    """One exercise, as written in a notebook's module.

    `task` is Markdown, `stub` and `solution` are code cells, `checker(answer)` returns None or what
    is wrong, `wrong` holds `(answer, fragment of its message)` pairs that the tests try, and
    `right` is shown when the answer is correct.

    Example: see `nb00.EXERCISES`.
    """

    number: int
    title: str
    task: str
    stub: str
    solution: str
    checker: Callable
    hints: list
    wrong: list
    right: str


@dataclass(frozen=True)
class Prediction:
    """The question asked before any code of a notebook.

    `read(number)` returns `(guess to keep or None, one sentence)` for a finite number.

    Example: see `nb00.PREDICTION`.
    """

    task: str
    stub: str
    solution: str
    read: Callable


@dataclass
class Question:
    """An exercise in the learner's hands: `check`, `hint`, `solution`.

    Example: `exercises.load("00")[2].check(0.137)`
    """

    notebook: str
    exercise: Exercise
    _hints_given: int = field(default=0, repr=False)

    def __repr__(self):
        return f"Exercise {int(self.notebook)}.{self.exercise.number} · {self.exercise.title}"

    def check(self, answer):
        """Judge an answer of any type and return `Feedback`; nothing raises.

        Example: `q[2].check(7.3)` says that 7.3 is the slowdown.
        """
        try:
            if untouched(answer):
                return Feedback("not attempted", "Replace each `...` and run the cell again.")
            problem = self.exercise.checker(answer)
        except Exception:  # the answer's own methods raise; all else is the checker's business
            problem = f"You gave {describe(answer)}, which cannot be read. Look at the task again."
        if problem:
            return Feedback("not yet", problem)
        mark_solved(self.notebook, self.exercise.number)
        return Feedback("correct", self.exercise.right)

    def hint(self):
        """The next hint at each call.

        Example: `q[1].hint()`
        """
        hints = self.exercise.hints
        if self._hints_given == len(hints):
            call = f"q[{self.exercise.number}].solution()"
            return Note("No further hint.", f"`{call}` shows the code.")
        self._hints_given += 1
        return Note(f"Hint {self._hints_given} of {len(hints)}.", hints[self._hints_given - 1])

    def solution(self):
        """The reference code.

        Example: `q[1].solution()`
        """
        return Note("Solution.", "", self.exercise.solution)


def untouched(answer):
    """Whether an answer is still the stub: `...`, a container of them, a do-nothing function.

    >>> untouched({"T4": ..., "TPU": ...}), untouched({"T4": ..., "TPU": 1})
    (True, False)
    """
    if isinstance(answer, dict):
        answer = list(answer.values())
    if isinstance(answer, (list, tuple)):
        return bool(answer) and all(item is ... for item in answer)
    return answer is ... or _does_nothing(answer)


def _does_nothing(function):
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    steps = [
        (s.opname, s.argval)
        for s in dis.get_instructions(code)
        if s.opname not in ("RESUME", "NOP")
    ]
    # The first form is that of Python 3.11 and 3.13, the second that of 3.12 and 3.13.
    return steps in ([("LOAD_CONST", None), ("RETURN_VALUE", None)], [("RETURN_CONST", None)])


def number(answer):
    """The answer as a finite float, or None if it is not one number (text and True are not).

    >>> number(4), number("4"), number(float("nan"))
    (4.0, None, None)
    """
    try:
        if isinstance(answer, (bool, str, bytes)) or getattr(answer, "shape", ()) != ():
            return None
        value = float(answer)
    except Exception:  # not a number, too large, or an object whose own methods raise
        return None
    return value if math.isfinite(value) else None


def near(value, target, relative=0.01):
    """Whether two numbers agree to a share of the second.

    >>> near(7.3, 7.3125)
    True
    """
    return abs(value - target) <= relative * abs(target)


def describe(answer):
    """A short phrase for what was given, free of memory addresses.

    >>> describe("abc"), describe([1, 2]), describe(None)
    ("the text 'abc'", 'a list of 2 items', 'None')
    """
    try:
        if answer is None or answer is ... or isinstance(answer, bool):
            return "`...`" if answer is ... else str(answer)
        if isinstance(answer, str):
            return f"the text {shorten(repr(answer))}"
        if isinstance(answer, (dict, list, tuple, set)):
            return f"a {type(answer).__name__} of {len(answer)} items"
        if getattr(answer, "shape", ()) != ():
            return shorten(f"an array of shape {tuple(answer.shape)}")
        if isinstance(answer, (int, float)):
            return f"the number {answer:.6g}"
    except OverflowError:
        return "a number too large to use"
    except Exception:  # a learner's own class may raise from anywhere
        return "an object that cannot be shown"
    return (
        "a function" if callable(answer) else shorten(f"an object of type {type(answer).__name__}")
    )


def shorten(text, length=60):
    """One printable line of at most `length` characters.

    >>> shorten("a b\\nc", 4)
    'a...'
    """
    line = " ".join(text.split()).encode("utf-8", "replace").decode()
    return line if len(line) <= length else line[: length - 3] + "..."


def missing_key(answer, keys):
    """What is wrong with the form of a dictionary answer, or None.

    >>> missing_key({"T4": 1}, ["T4", "TPU"])
    "The key 'TPU' is missing: give a dictionary with the keys 'T4', 'TPU'."
    """
    wanted = "give a dictionary with the keys " + ", ".join(map(repr, keys))
    if not isinstance(answer, dict):
        return f"You gave {describe(answer)}: {wanted}."
    for key in keys:
        if key not in answer:
            return f"The key {key!r} is missing: {wanted}."
        if answer[key] is ...:
            return f"The value of {key!r} is still `...`: fill in each one."
    return None


def call(function, *arguments):
    """Run a learner's function: `(its result, None)`, or `(None, what went wrong)`.

    >>> call(len, [1, 2]), call(len, 5)[1]
    ((2, None), "Your function raises TypeError: object of type 'int' has no len()")
    """
    try:
        return function(*arguments), None
    except (Exception, SystemExit) as error:
        try:
            text = shorten(str(error), 120)
        except Exception:
            text = "its message cannot be shown"
        return None, f"Your function raises {shorten(type(error).__name__)}: {text}"
