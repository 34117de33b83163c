"""Exercises that check themselves: what a learner sees, and how an answer is judged.

A notebook's module defines `Exercise`s and one `Prediction`. A checker takes the learner's
answer and returns None when it is right, else one or two sentences saying what is wrong.
"""

import html
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from .answers import describe, untouched
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
