"""The judge of functions that learners write: they run beside a slow and obvious reference."""

import contextlib
import copy
import functools
import inspect
import io
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .answers import call, describe, number
from .judges import answers_of


def one_number(result):
    """Read what a function returned: `(number, None)`, or `(None, what it is)`."""
    value = number(result)
    return value, None if value is not None else f"{describe(result)}: one number is needed."


def agree(value, right):
    """Whether numbers, arrays, or tuples of them are close, NaN agreeing with NaN."""
    if isinstance(value, tuple) and isinstance(right, tuple):
        return len(value) == len(right) and all(map(agree, value, right))
    value, right = np.asarray(value), np.asarray(right)
    if value.shape != right.shape:
        return False
    if not {value.dtype.kind, right.dtype.kind} <= set("biuf"):
        return bool(np.array_equal(value, right))
    return bool(np.allclose(value, right, rtol=1e-6, atol=1e-9, equal_nan=True))


@dataclass(frozen=True)
class Function:
    """A function that the learner writes, run beside a slow and obvious reference.

    Attributes:
        trials: function that returns the tuples of arguments, always the same.
        mistakes: {message: wrong function, or tuple of them}: said after the first difference
            where one of them agrees with the learner's function in every trial.
        rules: (a wrong function as example, condition(arguments, value, right), message), tried
            on the first difference after `mistakes`.
        otherwise: what is said where nothing of these fits, text or a function like `differs`.
        read: read(result) -> (value, None) or (None, what the result is and what is needed).
        differs: differs(arguments, value, right) -> the first difference in a sentence.
        wrong: further (wrong answer, a part of what is said of it), for the tests.

    >>> judge = Function(lambda a: 2 * a, lambda: [(1,), (3,)], {"A square.": lambda a: a * a})
    >>> judge(lambda a: a + a), judge(lambda a: a * a)
    (None, 'For a = 1 your function gives 1; 2 is needed. A square.')
    """

    reference: Callable
    trials: Callable
    mistakes: dict = field(default_factory=dict)
    rules: tuple = ()
    otherwise: str | Callable = ""
    read: Callable = one_number
    same: Callable = agree
    differs: Callable | None = None
    wrong: tuple = ()

    def __call__(self, function):
        if not callable(function):
            return f"You gave {describe(function)}: give the function itself, without parentheses."
        values = []
        for arguments in self.trials():
            # What a learner prints is shown for the first trial only.
            printed = io.StringIO() if values else sys.stdout
            with contextlib.redirect_stdout(printed), np.errstate(all="ignore"):
                value, problem = self._run(function, arguments)
            if problem:
                return problem
            values.append(value)
        right = self._values(self.reference)
        pairs = zip(self.trials(), values, right, strict=True)
        first = next((each for each in pairs if not self.same(*each[1:])), None)
        if first is None:
            return None
        said = (self.differs or self._differs)(*first)
        return f"{said} {self._why(values, first)}".strip()

    def _why(self, values, first):
        for message, mistakes in self.mistakes.items():
            for mistake in answers_of(mistakes):
                given = self._values(mistake)
                if given and all(map(self.same, values, given)):
                    return message
        for _, condition, message in self.rules:
            if condition(*first):
                return message
        return self.otherwise(*first) if callable(self.otherwise) else self.otherwise

    def _run(self, function, arguments):
        result, problem = call(function, *copy.deepcopy(arguments))
        if problem:
            return None, problem
        if result is None:
            return None, "Your function returns None: end it with `return`."
        try:
            value, problem = self.read(result)
        except Exception:  # a learner's own class may raise from anywhere
            value, problem = None, "what cannot be read."
        return value, problem and f"Your function returns {problem}"

    def _values(self, function):
        with np.errstate(all="ignore"):
            found = [self._run(function, arguments) for arguments in self.trials()]
        return None if any(problem for _, problem in found) else [value for value, _ in found]

    def _differs(self, arguments, value, right):
        names = inspect.signature(self.reference).parameters
        given = ", ".join(f"{n} = {_shown(a)}" for n, a in zip(names, arguments, strict=True))
        return f"For {given} your function gives {_shown(value)}; {_shown(right)} is needed."

    def examples(self):
        """Yield `(wrong function, a part of what is said of it)`."""
        for message, mistakes in self.mistakes.items():
            yield from ((mistake, message) for mistake in answers_of(mistakes))
        yield from ((example, message) for example, _, message in self.rules)
        yield from self.wrong


def _shown(value):
    return f"{float(value):.6g}" if number(value) is not None else str(value)


def edit(code, edits):
    """The code after `edits`, {old: new} in turn."""
    for old, new in edits.items():
        assert old in code, f"{old!r} is not in the code:\n{code}"
        code = code.replace(old, new)
    return code


def edited(code, name, edits):
    """The function that code defines after these edits; made late, since it imports TensorFlow."""
    code = edit(code, edits)

    @functools.cache
    def made():
        names = {}
        exec(code, names)
        return names[name]

    return lambda *arguments: made()(*arguments)
