"""Exercises that check themselves: what a learner sees. A notebook's module holds the
data.
"""

import html
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from . import store
from .answers import describe, number, shorten, told, untouched
from .functions import slipped

# Label and border color (Okabe-Ito) of each kind of box: the label carries the meaning.
LOOKS = {
    "correct": ("Correct.", "#009E73"),
    "not yet": ("Not yet.", "#D55E00"),
    "not attempted": ("Not attempted yet.", "#888888"),
    "recorded": ("Guess recorded.", "#0072B2"),
}


@dataclass
class Note:
    """A labelled box that judges nothing, such as `Note("Hint 1 of 2.", "A byte is 8
    bits.")`.
    """

    label: str
    message: str
    code: str = ""
    color: str = "#0072B2"

    def __repr__(self):
        text = f"{self.label} {self.message}".strip()
        return f"{text}\n{self.code}" if self.code else text

    def _repr_html_(self):
        # No background and no text color of its own: readable in light and dark themes.
        message = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(self.message))
        code = f'<pre style="margin: 6px 0 0 0">{html.escape(self.code)}</pre>' * bool(
            self.code
        )
        style = (
            f"border-left: 4px solid {self.color}; padding: 4px 12px; color: inherit"
        )
        label = f"<strong>{html.escape(self.label)}</strong>"
        return f'<div style="{style}">{label} {message}{code}</div>'


class Feedback(Note):
    """The verdict on an answer: a `status` (a key of `LOOKS`) and one or two sentences.

    `explorer` shows why, folded below them; where nothing unfolds, so does its plain
    text.

    >>> Feedback("not yet", "16 bits are two bytes.")
    Not yet. 16 bits are two bytes.
    """

    def __init__(self, status, message, explorer=None):
        self.status, self.explorer = status, explorer
        label, color = LOOKS[status]
        super().__init__(label, message, color=color)

    def __repr__(self):
        shown = (
            [self.explorer._repr_mimebundle_()["text/plain"]] if self.explorer else []
        )
        return "\n".join([super().__repr__(), *shown])

    def _repr_html_(self):
        if not self.explorer:
            return super()._repr_html_()
        name = type(self.explorer).__name__
        shown = self.explorer._repr_mimebundle_()["text/html"]
        summary = f"<summary>See why in {name}</summary>"
        return f"{super()._repr_html_()}\n<details>{summary}\n{shown}</details>"


@dataclass(frozen=True)
class Exercise:
    """One exercise, as written in `nb00.EXERCISES`; its place in the list is its
    number.

    Heading, task and stub stand in the notebook alone. Progress is kept under `id`,
    which stays when other exercises come or go. A call of `check` is added to
    `solution`. `answer` judges the variable `name`; of a right one `right` is said;
    `explore(wrong answer)` may show why, in an explorer, or is None. For the tests:
    `slips` is {a part of what is said: the edits that make the solution a wrong one},
    `wrong` has further (answer, a part of what is said of it).
    """

    id: int
    minutes: int
    solution: str
    answer: Callable
    hints: list
    right: str
    name: str = "answer"
    explore: Callable = lambda answer: None
    slips: dict = field(default_factory=dict)
    wrong: list = field(default_factory=list)

    def examples(self):
        """Every listed `(wrong answer, a part of what is said of it)`."""
        judged = self.answer.examples() if hasattr(self.answer, "examples") else ()
        return [*judged, *slipped(self.solution, self.name, self.slips), *self.wrong]


@dataclass(frozen=True)
class Prediction:
    """What becomes of the guess that a notebook asks for before any code, as in
    `nb00.PREDICTION`.

    The question stands in the notebook. `measures` is {part of the guess, "" for the one
    of a single number: (what it is, its unit)}. `read(number)` returns `(guess to keep or
    None, one sentence)` for what `number` makes of a guess: a finite number, or several
    numbers or texts by name, or None. `wanted` says what it takes, and `shown(kept)` is
    the guess again.
    """

    measures: dict
    example: object
    read: Callable
    number: Callable = number
    wanted: str = ""
    shown: Callable = "{:g}".format

    @property
    def solution(self):
        """The cell with the example as the guess."""
        return f"guess = {self.example}\nq.predict(guess)"


@dataclass(frozen=True)
class Curve:
    """A curve that a learner draws before it is measured, as in `nb02.CURVE`:
    `q.draw()`.

    Its points stand at `at`; each is a whole number from `low` to `high`, and `start`
    before it is drawn. `name` stands above the sliders, `picture({place: value})` is
    shown below them.
    """

    name: str
    at: tuple
    start: int
    low: int
    high: int
    picture: Callable


def percentage(said, example="", zero=False):
    """A `read` that keeps a percentage above 0, or from `zero` on, up to 100; as it is
    below 1.

    >>> percentage("You expect {value:g} % to be zero.", ", such as 10 for one in ten")(20.0)
    (20.0, 'You expect 20 % to be zero. The measurement comes below.')
    """

    def read(value):
        if not 0 <= value <= 100 or not (value or zero):
            low = "from 0" if zero else "above 0 and up"
            given = describe(value)
            return None, f"You gave {given}: give a percentage {low} to 100{example}."
        if 0 < value < 1:
            meant = f"If you mean a share of {value:g}, give {100 * value:g}"
            return value, f"Read as {value:g} %. {meant}. The measurement comes below."
        return value, f"{said.format(value=value)} The measurement comes below."

    return read


@dataclass
class Question:
    """An exercise in the learner's hands: `check`, `hint`, `solution`."""

    notebook: str
    number: int
    exercise: Exercise
    called: str = "q"  # the variable that holds the sheet
    _hints_given: int = field(default=0, repr=False)

    def __repr__(self):
        return f"Exercise {int(self.notebook)}.{self.number}"

    @property
    def call(self):
        """What a learner writes to have the answer checked, such as
        `q[2].check(answer)`.
        """
        return f"{self.called}[{self.number}].check({self.exercise.name})"

    @property
    def cell(self):
        """The cell with the solution, which checks it."""
        code = self.exercise.solution.rstrip()
        outer = [line for line in code.splitlines() if line and line[0] != " "]
        blank = "\n\n" if outer[-1].startswith(("def ", "class ")) else ""
        return f"{code}\n{blank}{self.call}"

    def check(self, *answers):
        """Judge one answer of any type, as in `q[2].check(7.3)`: `Feedback`; nothing
        raises.
        """
        if not answers:
            return Feedback("not attempted", f"Give your answer: `{self.call}`.")
        # a decimal comma makes two
        answer = answers[0] if len(answers) == 1 else answers
        try:
            if untouched(answer):
                return Feedback(
                    "not attempted", "Replace each `...` and run the cell again."
                )
            problem = self.exercise.answer(answer)
            explorer = None
            if problem:
                explorer = self.exercise.explore(answer)
        except (
            Exception
        ) as error:  # judges read what raises; what comes here is their own
            explorer = None
            problem = (
                f"You gave {describe(answer)}, and this check itself failed on it"
                f" ({shorten(told(error), 120)}). That is a fault of the course: please report it."
            )
        if problem:
            return Feedback("not yet", problem, explorer)
        store.save(self.notebook, solved=[self.exercise.id])
        return Feedback("correct", self.exercise.right)

    def hint(self, number=None):
        """The next hint at each call, or the one of this number."""
        hints = self.exercise.hints
        if number is None:
            if self._hints_given == len(hints):
                return Note(
                    "No further hint.",
                    f"`{self.called}[{self.number}].solution()` shows the code.",
                )
            self._hints_given += 1
            number = self._hints_given
        if number not in range(1, len(hints) + 1):
            known = f"This exercise has {len(hints)} hints"
            return Note(
                "No such hint.",
                f"{known}: `{self.called}[{self.number}].hint()` gives the next.",
            )
        return Note(f"Hint {number} of {len(hints)}.", hints[int(number) - 1])

    def solution(self):
        """The reference code."""
        return Note("Solution.", "", self.cell)
