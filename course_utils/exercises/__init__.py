"""The engine of exercises and predictions: `q = exercises.load("00")`.

Those of a notebook stand in its room of `course_utils.lessons`.
"""

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from course_utils.exercises import hand_ins, store
from course_utils.exercises.answers import describe, you_gave
from course_utils.exercises.engine import Note, Question, feedback
from course_utils.exercises.table import Table

if TYPE_CHECKING:
    from types import ModuleType

    import ipywidgets

# the rooms of the notebooks, from which `load` imports one by name
LESSONS = Path(__file__).parents[1] / "lessons"


class _OfEach(Note):
    """What stands at `q.hint` and answers `q.hint(1)`: a sentence that says what to
    write.
    """

    def __call__(self, *arguments: object) -> Note:
        return self


class Sheet:
    """The exercises of one notebook, which `load` makes: `q[1].check(answer)`,
    `q.summary()`.
    """

    def __init__(self, notebook: str, module: "ModuleType", called: str = "q"):
        self.notebook = notebook
        self.called = called
        first = f"`{called}[1].check(answer)`, `{called}[1].hint()` or `{called}[1].solution()`"
        each = _OfEach("Which exercise?", f"For the first one, write {first}.")
        self.check = self.hint = self.solution = each
        self.title = module.TITLE
        self.prediction = module.PREDICTION
        self.exercises = module.EXERCISES
        self.curve = getattr(module, "CURVE", None)
        self.questions = {
            n: Question(notebook, n, each, called)
            for n, each in enumerate(self.exercises, 1)
        }

    def __repr__(self):
        return f"Notebook {self.notebook} · {self.title}: exercises 1 to {len(self.exercises)}"

    def __getitem__(self, place: int) -> Question:
        try:
            return self.questions[place]
        except (KeyError, TypeError):
            raise IndexError(
                f"This notebook has exercises 1 to {len(self.exercises)}, such as"
                f" `{self.called}[1]`; you asked for {describe(place)}."
            ) from None

    @property
    def guess(self) -> float | dict | None:
        """The recorded prediction, as `Prediction.parse` gives it, or None; kept over
        kernels.
        """
        return self.prediction.parse(store.entry(self.notebook)["guess"])

    @property
    def measured(self) -> float | dict | None:
        """What was measured for the guess, in its form, or None; kept without a guess
        too.
        """
        return store.entry(self.notebook)["measured"]

    @measured.setter
    def measured(self, value: object) -> None:
        store.save(self.notebook, "measured", hand_ins.plain(value))

    def card(self) -> list[dict]:
        """The guess beside what was measured: dicts, as in a hand-in's card."""
        values = {"guess": self.guess, "measured": self.measured}
        rows = []
        measures = self.prediction.measures
        parts = measures if isinstance(measures, dict) else {"": measures}
        for part, (quantity, unit) in parts.items():
            row = {"quantity": quantity, "unit": unit, "predicted": None}
            for key, value in values.items():
                row[key] = value.get(part) if isinstance(value, dict) else value
            rows.append(row)
        return rows

    def hand_in(self, name: object = "") -> Note:
        """Write what was guessed, measured and solved into one file: `q.hand_in("Ana")`."""
        return _hand_in([self], name)

    @property
    def drawn(self) -> dict | None:
        """The curve that was drawn, `{place: value}`, or None; the same in the next
        kernel.
        """
        values = store.entry(self.notebook)["drawn"]
        if not values or self.curve is None or len(values) != len(self.curve.start):
            return None
        return dict(zip(self.curve.start, values, strict=True))

    @property
    def solved(self) -> list[int]:
        """The numbers of the solved exercises, such as `[1, 3]`."""
        ids = store.entry(self.notebook)["solved"]
        return [n for n, each in self.questions.items() if each.exercise.id in ids]

    def predict(self, *guesses: object) -> Note:
        """Record one prediction, as in `q.predict(2.0)`, and return a `Note`; nothing
        raises.
        """
        if not guesses:
            return feedback("not attempted", "Give your guess: `q.predict(guess)`.")
        # a decimal comma makes two
        guess = guesses[0] if len(guesses) == 1 else guesses
        if guess is ...:
            return feedback(
                "not attempted",
                "No guess yet: replace `...` with your guess and run the cell again.",
            )
        value = self.prediction.parse(guess)
        if value is None:
            return feedback(
                "not yet", f"{you_gave(guess)}: a guess is {self.prediction.wanted}."
            )
        store.save(self.notebook, "guess", value)
        return feedback("recorded", self.prediction.respond(value))

    def draw(self) -> "ipywidgets.VBox":
        """Sliders for a curve that is guessed, and what they draw; each move is recorded.

        A notebook without one raises a ValueError.
        """
        from course_utils import widgets  # late: it loads matplotlib

        if self.curve is None:
            raise ValueError(f"Notebook {self.notebook} has no curve to draw.")
        curve = self.curve
        start = self.drawn or curve.start

        def on_move(values):
            if values != (self.drawn or start):
                store.save(self.notebook, "drawn", list(values.values()))
            return curve.figure(values)

        return widgets.sliders(start, curve.low, curve.high, on_move, curve.label)

    def summary(self) -> Table:
        """What is solved in this notebook, as a table: `q.summary()` in the last cell."""
        guess = "no guess"
        if self.guess is not None:
            guess = f"your guess: {self.prediction.show(self.guess)}"
        rows = [("Prediction", guess)]
        if self.curve is not None:
            rows.append(("Drawn curve", "recorded" if self.drawn else "not drawn"))
        for n, question in self.questions.items():
            rows.append((str(question), "solved" if n in self.solved else "open"))
        note = f"{len(self.solved)} of {len(self.exercises)} exercises solved."
        title = f"Notebook {self.notebook} · {self.title}"
        return Table(title, ("Part", "State"), rows, note)


def _hand_in(sheets, name):
    if name is ...:
        how = 'Write your name in place of `...`, or `""` for none, and run the cell again.'
        return Note("Not handed in yet.", how)
    try:
        path = hand_ins.save(sheets, name)
    except ValueError as error:  # NoReport too
        return Note("Not handed in.", str(error))
    solved = sum(len(sheet.solved) for sheet in sheets)
    total = sum(len(sheet.questions) for sheet in sheets)
    parts = [f"{solved} of {total} exercises solved"] if total else []
    for sheet in sheets:
        for row in sheet.card():
            if row["guess"] is None:
                continue
            guess = _short(row["guess"])
            measured = _short(row["measured"])
            parts.append(f"{row['quantity']}: guessed {guess}, measured {measured}")
    what = "; ".join(parts) or "no guess"
    return Note("Handed in.", f"{what}. Give this file to your instructor: {path}")


def _short(value):
    if value is None:
        return "not yet"
    return value if isinstance(value, str) else f"{value:.4g}"


def hand_in(name: object = "", of: list[Question] | None = None) -> Note:
    """Write what was done in all notebooks into one file: `exercises.hand_in("Ana")`.

    `of`: the exercises that count, such as `[q00[1]]`; without it all.
    """
    sheets = [load(notebook) for notebook in available()]
    in_use = [s for s in sheets if s.guess is not None or s.measured or s.solved]
    if of is not None:
        for sheet in in_use:
            sheet.questions = {
                each.number: each for each in of if each.notebook == sheet.notebook
            }
    return _hand_in(in_use, name)


def available() -> list[str]:
    """Notebooks that have exercises, as two-digit strings: `['00', '01', ...]`."""
    return sorted(module.parent.name[2:] for module in LESSONS.glob("nb*/exercises.py"))


def load(notebook: str | int | None = None, called: str = "q") -> Sheet:
    """The exercises of a notebook, named "00", "0" or 0; ValueError for an unknown one.

    `called` is the name of the variable that holds them, for what they tell to write.
    """
    name = str(notebook).zfill(2)
    if name not in available():
        names = ", ".join(available())
        raise ValueError(
            f"No exercises for notebook {notebook!r}: choose one of {names}."
        )
    module = importlib.import_module(f"course_utils.{LESSONS.name}.nb{name}.exercises")
    return Sheet(name, module, called)


def progress() -> Table:
    """What is solved and guessed in all notebooks, as a table: `exercises.progress()`."""
    rows = []
    for name in available():
        try:
            sheet = load(name)
        except ValueError as error:  # a damaged file of the course
            rows.append((f"{name} · {error}", "none", "none"))
            continue
        guess = "none" if sheet.guess is None else sheet.prediction.show(sheet.guess)
        solved = f"{len(sheet.solved)} of {len(sheet.exercises)}"
        rows.append((f"{name} · {sheet.title}", guess, solved))
    header = ("Notebook", "Guess", "Solved")
    return Table("Your progress", header, rows, "exercises.reset() starts anew.")


def reset() -> Note:
    """Forget all guesses and solved exercises, and say so: `exercises.reset()`."""
    try:
        store.clear()
    except OSError as error:
        why = f"The progress file cannot be deleted: {error.strerror}."
        return Note("Not reset.", why)
    return Note("Reset.", "All guesses and solved exercises are forgotten.")
