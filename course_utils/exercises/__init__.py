"""Exercises and predictions of the course: one module per notebook, one engine.

from course_utils import exercises

q = exercises.load("00")
q.predict(2.0)
q[1].check(my_answer)
"""

import importlib
import pkgutil
import re
from pathlib import Path

from course_utils.table import Table

from .answers import describe
from .answers import number as as_number
from .engine import Feedback, Note, Question
from .progress import clear, entry, record_guess


class Sheet:
    """The exercises of one notebook; `load` makes it.

    Example: `q = exercises.load("00"); q[1].hint()`
    """

    def __init__(self, notebook, module):
        self.notebook = notebook
        self.title = module.TITLE
        self.prediction = module.PREDICTION
        self.exercises = module.EXERCISES
        self._questions = {
            exercise.number: Question(notebook, exercise) for exercise in self.exercises
        }

    def __repr__(self):
        return f"Notebook {self.notebook} · {self.title}: exercises 1 to {len(self.exercises)}"

    def __getitem__(self, number):
        try:
            return self._questions[number]
        except (KeyError, TypeError):
            message = (
                f"This notebook has exercises 1 to {len(self.exercises)}; you asked for"
                f" {describe(number)}."
            )
            raise IndexError(message) from None

    @property
    def guess(self):
        """The recorded prediction, a float, or None.

        Example: `q.predict(2.0); q.guess` is `2.0`, in the next kernel too.
        """
        return entry(self.notebook)["guess"]

    @property
    def solved(self):
        """The numbers of the solved exercises.

        Example: `[1, 3]`
        """
        return [number for number in self._questions if number in entry(self.notebook)["solved"]]

    def predict(self, guess):
        """Record a prediction (a number) and return `Feedback`; nothing raises.

        Example: `q.predict(2.0)`
        """
        if guess is ...:
            return Feedback(
                "not attempted", "No guess yet: replace `...` with a number and run the cell again."
            )
        value = as_number(guess)
        if value is None:
            example = self.prediction.solution.splitlines()[0]
            return Feedback(
                "not yet",
                f"You gave {describe(guess)}: a guess is one finite number, such as `{example}`.",
            )
        value, message = self.prediction.read(value)
        if value is None:
            return Feedback("not yet", message)
        record_guess(self.notebook, value)
        return Feedback("recorded", message)

    def summary(self):
        """What is solved in this notebook, as a table.

        Example: `q.summary()` in the last cell.
        """
        guess = "no guess" if self.guess is None else f"your guess: {self.guess:g}"
        rows = [("Prediction", guess)]
        for number, question in self._questions.items():
            rows.append((str(question), "solved" if number in self.solved else "open"))
        note = f"{len(self.solved)} of {len(self.exercises)} exercises solved."
        return Table(f"Notebook {self.notebook} · {self.title}", ("Part", "State"), rows, note)

    def save_report(self, path):
        """Write the summary as a Markdown file and say where; another file is never overwritten.

        Example: `q.save_report("report_00.md")`
        """
        table = self.summary()
        heading = f"# Report: {table.title}"
        rows = [f"| {' | '.join(row)} |" for row in [table.header, ("---", "---"), *table.rows]]
        try:
            file = Path(path)
            if file.exists() and not file.read_bytes().startswith(heading.encode()):
                problem = f"{file} exists and is no report of this notebook: choose another name."
                return Note("Not saved.", problem)
            file.write_text("\n".join([heading, "", *rows, "", table.note, ""]), encoding="utf-8")
        except (OSError, TypeError, ValueError):
            problem = f"No report can be written to {describe(path)}: give another file name."
            return Note("Not saved.", problem)
        return Note("Saved.", f"The report is in {file}.")


def available():
    """Notebooks that have exercises, as two-digit strings.

    Example: `available()[0]` is `'00'`.
    """
    names = (module.name for module in pkgutil.iter_modules(__path__))
    return sorted(name[2:] for name in names if re.fullmatch(r"nb\d\d", name))


def load(notebook):
    """The exercises of a notebook, named "00", "0" or 0. Raises ValueError for an unknown one.

    Example: `q = exercises.load("00")`
    """
    name = next((n for n in available() if str(notebook) in (n, str(int(n)))), None)
    if name is None:
        choice = ", ".join(available())
        raise ValueError(f"No exercises for notebook {notebook!r}: choose one of {choice}.")
    return Sheet(name, importlib.import_module(f"{__name__}.nb{name}"))


def progress():
    """What is solved and guessed in all notebooks, as a table.

    Example: `exercises.progress()`
    """
    rows = []
    for name in available():
        sheet = load(name)
        guess = "none" if sheet.guess is None else f"{sheet.guess:g}"
        solved = f"{len(sheet.solved)} of {len(sheet.exercises)}"
        rows.append((f"{name} · {sheet.title}", guess, solved))
    header = ("Notebook", "Guess", "Solved")
    return Table("Your progress", header, rows, "exercises.reset() starts anew.")


def reset():
    """Forget all guesses and solved exercises, and say so.

    Example: `exercises.reset()`
    """
    try:
        clear()
    except OSError as error:
        return Note("Not reset.", f"The progress file cannot be deleted: {error.strerror}.")
    return Note("Reset.", "All guesses and solved exercises are forgotten.")
