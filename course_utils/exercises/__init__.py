"""Exercises and predictions, one module per notebook and one engine: `q =
exercises.load("00")`.
"""

import importlib
from pathlib import Path

from course_utils.claims import Table

from . import store
from .answers import describe
from .engine import Feedback, Note, Question


class _OfEach(Note):
    """What stands at `q.hint` and answers `q.hint(1)`: a sentence that says what to
    write.
    """

    def __init__(self, call):
        super().__init__("Which exercise?", f"For the first one, write `q[1].{call}`.")

    def __call__(self, *given):
        return self


class Sheet:
    """The exercises of one notebook, which `load` makes: `q[1].check(answer)`,
    `q.summary()`.
    """

    check = _OfEach("check(answer)")
    hint = _OfEach("hint()")
    solution = _OfEach("solution()")

    def __init__(self, notebook, module):
        self.notebook = notebook
        self.title = module.TITLE
        self.prediction = module.PREDICTION
        self.exercises = module.EXERCISES
        self.curve = getattr(module, "CURVE", None)
        numbered = enumerate(self.exercises, 1)
        self.questions = {
            number: Question(notebook, number, each) for number, each in numbered
        }

    def __repr__(self):
        return f"Notebook {self.notebook} · {self.title}: exercises 1 to {len(self.exercises)}"

    def __getitem__(self, number):
        try:
            return self.questions[number]
        except (KeyError, TypeError):
            known = f"1 to {len(self.exercises)}, such as `q[1]`"
            asked = f"you asked for {describe(number)}."
            raise IndexError(f"This notebook has exercises {known}; {asked}") from None

    def __call__(self, number=None):
        """`q(1)` is `q[1]`."""
        return self[number]

    @property
    def guess(self):
        """The recorded prediction, as `Prediction.number` gives it, or None; kept over
        kernels.
        """
        known = store.entry(self.notebook)["guess"]
        return None if known is None else self.prediction.number(known)

    @property
    def drawn(self):
        """The curve that was drawn, `{place: value}`, or None; the same in the next
        kernel.
        """
        known = store.entry(self.notebook)["drawn"]
        whole = self.curve and known and len(known) == len(self.curve.at)
        return dict(zip(self.curve.at, known, strict=True)) if whole else None

    @property
    def solved(self):
        """The numbers of the solved exercises, such as `[1, 3]`."""
        known = store.entry(self.notebook)["solved"]
        return [
            n for n, question in self.questions.items() if question.exercise.id in known
        ]

    def predict(self, *guesses):
        """Record one prediction, as in `q.predict(2.0)`, and return `Feedback`; nothing
        raises.
        """
        if not guesses:
            return Feedback("not attempted", "Give your guess: `q.predict(guess)`.")
        # a decimal comma makes two
        guess = guesses[0] if len(guesses) == 1 else guesses
        if guess is ...:
            message = (
                "No guess yet: replace `...` with your guess and run the cell again."
            )
            return Feedback("not attempted", message)
        value = self.prediction.number(guess)
        if value is None:
            one = f"one finite number, such as `guess = {self.prediction.example}`"
            wanted = f"a guess is {self.prediction.wanted or one}."
            return Feedback("not yet", f"You gave {describe(guess)}: {wanted}")
        value, message = self.prediction.read(value)
        if value is None:
            return Feedback("not yet", message)
        store.save(self.notebook, guess=value)
        return Feedback("recorded", message)

    def draw(self):
        """Sliders for the notebook's curve and what they draw; each move is recorded."""
        from course_utils import widgets  # late: it loads Keras

        curve = self.curve
        start = self.drawn or dict.fromkeys(curve.at, curve.start)

        def moved(values):
            if values != (self.drawn or start):
                store.save(self.notebook, drawn=list(values.values()))
            return curve.picture(values)

        return widgets.sliders(start, curve.low, curve.high, moved, curve.name)

    def summary(self):
        """What is solved in this notebook, as a table: `q.summary()` in the last cell."""
        guess = (
            "no guess"
            if self.guess is None
            else f"your guess: {self.prediction.shown(self.guess)}"
        )
        rows = [("Prediction", guess)]
        if self.curve:
            rows.append(("Drawn curve", "recorded" if self.drawn else "not drawn"))
        for number, question in self.questions.items():
            rows.append((str(question), "solved" if number in self.solved else "open"))
        note = f"{len(self.solved)} of {len(self.exercises)} exercises solved."
        return Table(
            f"Notebook {self.notebook} · {self.title}", ("Part", "State"), rows, note
        )

    def save_report(self, path):
        """Write the summary as Markdown and say where: `q.save_report("report_00.md")`.

        A file that is no report of this notebook is never overwritten.
        """
        table = self.summary()
        heading = f"# Report: {table.title}"
        rows = [
            f"| {' | '.join(row)} |"
            for row in [table.header, ("---", "---"), *table.rows]
        ]
        try:
            file = Path(path)
            if file.exists() and not file.read_bytes().startswith(heading.encode()):
                problem = f"{file} exists and is no report of this notebook: choose another name."
                return Note("Not saved.", problem)
            file.write_text(
                "\n".join([heading, "", *rows, "", table.note, ""]), encoding="utf-8"
            )
        except (OSError, TypeError, ValueError):
            problem = (
                f"No report can be written to {describe(path)}: give another file name."
            )
            return Note("Not saved.", problem)
        return Note("Saved.", f"The report is in {file}.")


def available():
    """Notebooks that have exercises, as two-digit strings: `['00', '01', ...]`."""
    return sorted(module.stem[2:] for module in Path(__file__).parent.glob("nb*.py"))


def load(notebook=None):
    """The exercises of a notebook, named "00", "0" or 0; ValueError for an unknown one."""
    name = next((n for n in available() if str(notebook) in (n, str(int(n)))), None)
    if name is None:
        choice = ", ".join(available())
        raise ValueError(
            f"No exercises for notebook {notebook!r}: choose one of {choice}."
        )
    return Sheet(name, importlib.import_module(f"{__name__}.nb{name}"))


def progress():
    """What is solved and guessed in all notebooks, as a table: `exercises.progress()`."""
    rows = []
    for name in available():
        try:
            sheet = load(name)
        except ValueError as error:  # a damaged file of the course
            rows.append((f"{name} · {error}", "none", "none"))
            continue
        guess = "none" if sheet.guess is None else sheet.prediction.shown(sheet.guess)
        solved = f"{len(sheet.solved)} of {len(sheet.exercises)}"
        rows.append((f"{name} · {sheet.title}", guess, solved))
    header = ("Notebook", "Guess", "Solved")
    return Table("Your progress", header, rows, "exercises.reset() starts anew.")


def reset():
    """Forget all guesses and solved exercises, and say so: `exercises.reset()`."""
    try:
        store.clear()
    except OSError as error:
        return Note(
            "Not reset.", f"The progress file cannot be deleted: {error.strerror}."
        )
    return Note("Reset.", "All guesses and solved exercises are forgotten.")
