"""Exercises that check themselves: what a learner sees. A notebook's module holds the
data.
"""

import html
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from course_utils.errors import one_line
from course_utils.exercises import store
from course_utils.exercises.answers import Mistake, attempt, describe, number, untouched
from course_utils.exercises.functions import edited, slipped

# Label and border color (Okabe-Ito) of each kind of box: the label carries the meaning.
LOOKS = {
    "correct": ("Correct.", "#009E73"),
    "not yet": ("Not yet.", "#D55E00"),
    "not attempted": ("Not attempted yet.", "#888888"),
    "recorded": ("Guess recorded.", "#0072B2"),
}


@dataclass
class Note:
    """A labelled box, such as `Note("Hint 1 of 2.", "A byte is 8 bits.")`.

    A verdict on an answer has a `status`, a key of `LOOKS`. An `explorer` shows why,
    folded below the text; where nothing unfolds, so does its plain text.
    """

    label: str
    message: str
    code: str = ""
    color: str = "#0072B2"
    status: str = ""
    explorer: Any = None

    def __repr__(self):
        lines = [f"{self.label} {self.message}".strip(), self.code]
        if self.explorer:
            lines.append(self.explorer._repr_mimebundle_()["text/plain"])
        return "\n".join(filter(None, lines))

    def _repr_html_(self):
        # No background and no text color of its own: readable in light and dark themes.
        label = html.escape(self.label)
        message = html.escape(self.message)
        message = re.sub(r"`([^`]+)`", r"<code>\1</code>", message)
        style = (
            f"border-left: 4px solid {self.color}; padding: 4px 12px; color: inherit"
        )
        code = html.escape(self.code)
        if code:
            code = f'<pre style="margin: 6px 0 0 0">{code}</pre>'
        box = f'<div style="{style}"><strong>{label}</strong> {message}{code}</div>'
        if not self.explorer:
            return box
        summary = f"<summary>See why in {type(self.explorer).__name__}</summary>"
        markup = self.explorer._repr_mimebundle_()["text/html"]
        return f"{box}\n<details>{summary}\n{markup}</details>"


def feedback(status: str, message: str, explorer: Any = None) -> Note:
    """The verdict on an answer, a `Note` with a status and one or two sentences.

    >>> feedback("not yet", "16 bits are two bytes.")
    Not yet. 16 bits are two bytes.
    """
    label, color = LOOKS[status]
    return Note(label, message, color=color, status=status, explorer=explorer)


@dataclass(frozen=True)
class Exercise:
    """One exercise, as written in `nb00.EXERCISES`; its place in the list is its
    number.

    Heading, task and stub stand in the notebook alone. Progress is kept under `id`,
    which stays when other exercises come or go. A call of `check` is added to
    `solution`, so this ends in two empty lines if its last part is a function. `answer`
    judges the variable `name`; of a right one `right` is said; `explore(wrong answer)`
    may show why, in an explorer, or is None. For the tests: `slips` is {a part of what
    is said: the edits that make the solution a wrong one}, `wrong` has further (answer,
    a part of what is said of it).
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

    def listed(self) -> list[tuple]:
        """The `(wrong answer, a part of what is said of it)` that stand in a list."""
        of_judge = self.answer.examples() if hasattr(self.answer, "examples") else ()
        return [*of_judge, *self.wrong]

    def examples(self) -> list[tuple]:
        """The listed wrong answers, and those that slips make of the solution, which
        runs it.
        """
        return [*self.listed(), *slipped(self.solution, self.name, self.slips)]


@dataclass(frozen=True)
class Curve:
    """A curve that is guessed with sliders, as in `nb02.CURVE`: {place: its value at
    first}, the slider's ends, its label, and what draws the values.
    """

    start: dict
    low: int
    high: int
    label: str
    figure: Callable


@dataclass(frozen=True)
class Prediction:
    """What becomes of the guess that a notebook asks for before any code, as in
    `nb00.PREDICTION`.

    The question stands in the notebook. `measures` is (what it is, its unit), of each
    part by name where a guess has several. `parse(guess)` returns what is kept of
    a guess: a number, or several numbers or texts by name; or None if it is not what is
    `wanted`. `respond(kept)` is the answer to a guess, and `show(kept)` the guess
    again.
    """

    measures: dict | tuple[str, str]
    example: object
    parse: Callable
    wanted: str
    respond: Callable
    show: Callable = "{:g}".format

    @property
    def solution(self) -> str:
        """The cell with the example as the guess."""
        return f"guess = {self.example}\nq.predict(guess)"


def within(low: float, high: float) -> Callable[[object], float | None]:
    """A `parse` that keeps one number between these two.

    >>> within(0, 100)(10), within(0, 100)(101)
    (10.0, None)
    """

    def parse(guess):
        value = number(guess)
        return value if value is not None and low <= value <= high else None

    return parse


def several(most: dict[str, float]) -> Callable[[object], dict | None]:
    """A `parse` that keeps numbers by name, each above 0 and at most what `most` has for
    it.

    >>> parse = several({"speed": 9, "share": 1})
    >>> parse({"speed": 2, "share": 0.5}), parse({"speed": 2, "share": 0}), parse(2)
    ({'speed': 2.0, 'share': 0.5}, None, None)
    """

    def parse(guess):
        if not isinstance(guess, dict) or set(guess) != set(most):
            return None
        values = {name: within(0, most[name])(guess[name]) for name in most}
        return values if all(values.values()) else None

    return parse


@dataclass
class Question:
    """An exercise in the learner's hands: `check`, `hint`, `solution`."""

    notebook: str
    number: int
    exercise: Exercise
    called: str = "q"  # the variable that holds the sheet
    _hints: int = field(default=0, repr=False)

    def __repr__(self):
        return f"Exercise {int(self.notebook)}.{self.number}"

    @property
    def call(self) -> str:
        """What a learner writes to have the answer checked, such as
        `q[2].check(answer)`.
        """
        return f"{self.called}[{self.number}].check({self.exercise.name})"

    @property
    def cell(self) -> str:
        """The cell with the solution, which checks it."""
        return f"{self.exercise.solution}\n{self.call}"

    def check(self, *answers: object) -> Note:
        """Judge one answer of any type, as in `q[2].check(7.3)`: a `Note`; nothing
        raises.
        """
        if not answers:
            return feedback("not attempted", f"Give your answer: `{self.call}`.")
        # a decimal comma makes two
        answer = answers[0] if len(answers) == 1 else answers
        try:
            if untouched(answer):
                return feedback(
                    "not attempted", "Replace each `...` and run the cell again."
                )
            problem = self.exercise.answer(answer)
        except Mistake as mistake:
            problem = str(mistake)
        # judges read what raises; what comes here is their own
        except Exception as error:
            problem = (
                f"You gave {describe(answer)}, and this check itself failed on it"
                f" ({one_line(error)}). That is a fault of the course: please report it."
            )
        if problem:
            explorer = attempt(lambda: self.exercise.explore(answer))
            return feedback("not yet", problem, explorer)
        store.save(self.notebook, "solved", self.exercise.id)
        return feedback("correct", self.exercise.right)

    def yours_or_ours(self, answer: object) -> Any:
        """The learner's answer if it is right, else the reference, so that later cells
        run on it.
        """
        if self.check(answer).status == "correct":
            return answer
        return edited(self.exercise.solution, self.exercise.name)

    def hint(self, number: int | None = None) -> Note:
        """The next hint at each call, or the one of this number."""
        hints = self.exercise.hints
        if number is None:
            self._hints += 1
            number = self._hints
        wanted = within(1, math.inf)(number)
        place = f"{self.called}[{self.number}]"
        offer = (
            f"exercise has {len(hints)} hints, such as `{place}.hint(1)`, and"
            f" `{place}.solution()` shows the code."
        )
        if wanted is None or not wanted.is_integer():
            message = f"You gave {describe(number)}: this {offer}"
            return Note("No such hint.", message)
        if wanted > len(hints):
            return Note("No further hint.", f"This {offer}")
        return Note(f"Hint {wanted:.0f} of {len(hints)}.", hints[int(wanted) - 1])

    def solution(self) -> Note:
        """The reference code."""
        return Note("Solution.", "", self.cell)
