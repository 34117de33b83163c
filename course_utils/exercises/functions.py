"""The judge of functions that learners write, and the wrong ones that it is tried with."""

import contextlib
import io
import json
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_utils.exercises.answers import a_layer, describe

PATIENCE = 10  # seconds, as a first step on a GPU may take some
STILL = "Still running your function. If it does not end, interrupt the kernel (the button ■)."


@dataclass(frozen=True)
class Function:
    """A function that the learner writes, tried in one trial after the other.

    `problem(function, trial)` says what is wrong in one or two sentences, or returns
    None.

    >>> judge = Function(lambda function, a: "No." if function(a) != 2 * a else None, (1, 3))
    >>> judge(lambda a: a + a), judge(lambda a: a * a)
    (None, 'No.')
    """

    problem: Callable
    trials: tuple = (None,)

    def __call__(self, function: object) -> str | None:
        if not callable(function) or a_layer(function):
            return (
                f"You gave {describe(function)}: give the function or class itself, without"
                " parentheses."
            )
        for n, trial in enumerate(self.trials):
            # What a learner prints is shown for the first trial only.
            output = io.StringIO() if n else sys.stdout
            sign = threading.Timer(PATIENCE, print, [STILL], {"file": sys.stdout})
            sign.start()
            try:
                with contextlib.redirect_stdout(output), np.errstate(all="ignore"):
                    if problem := self.problem(function, trial):
                        return problem
            finally:
                sign.cancel()
        return None


def parts(right: dict[str, str | float]) -> str:
    """The cell of a right answer in parts, {name: text or number}, one on each line."""
    lines = (
        f'    "{name}": {json.dumps(value, ensure_ascii=False)},'
        for name, value in right.items()
    )
    return "\n".join(["answer = {", *lines, "}"])


def edit(code: str, edits: dict[str, str]) -> str:
    """The code after `edits`, {old: new} in turn."""
    for old, new in edits.items():
        if old not in code:
            raise ValueError(f"{old!r} is not in the code:\n{code}")
        code = code.replace(old, new)
    return code


def edited(code: str, name: str, edits: dict[str, str] | None = None) -> Any:
    """What `code` calls by this name, after these edits. It runs the code."""
    names = {}
    exec(edit(code, edits or {}), names)
    return names[name]


def each_slip(slips: dict) -> Iterator[tuple[dict, str]]:
    """`(edits, what is said of them)` each, from `{what: edits, or a list of edits}`."""
    for message, some in slips.items():
        several = some if isinstance(some, list) else [some]
        for edits in several:
            yield edits, message


def slipped(code: str, name: str, slips: dict) -> list[tuple]:
    """`(wrong answer, what is said of it)` each, the answer made by running the code
    after its edits.
    """
    answers = []
    for edits, message in each_slip(slips):
        answers.append((edited(code, name, edits), message))
    return answers
