"""Judges of an answer: `Number`, `Choice`, and `Fields` for several; `functions` has
one more.

A judge, like any function of the answer, returns None where it is right, else what is
wrong in one or two sentences. Each listed wrong answer stands once, beside its message:
text in which `{value}` is what was given, or a function of it. `examples` hands these
pairs to the tests.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from course_utils.exercises.answers import attempt, missing_key, near, number, you_gave


def _say(message, value):
    return message(value) if callable(message) else message.format(value=value)


class _Judge:
    """What `Number` and `Choice` share: read, compare, look up, else fall back."""

    right: Any
    wrong: dict
    otherwise: str | Callable
    asked: str
    read: Callable[[object], Any]  # the value of an answer, None where it is none
    same: Callable[[Any, Any], bool]  # of two values

    def __call__(self, answer: object) -> str | None:
        value = self.read(answer)
        if value is None:
            return f"{you_gave(answer)}: {self.asked}."
        if self.same(value, self.right):
            return None
        reasons = (why for other, why in self._listed() if self.same(value, other))
        return _say(next(reasons, self.otherwise), value)

    def examples(self) -> Iterator[tuple]:
        """Yield `(wrong answer, what is said of it)`, each listed answer once."""
        for answer, message in self._listed():
            yield answer, _say(message, self.read(answer))

    def _listed(self):
        for key, message in self.wrong.items():
            for answer in key if isinstance(key, tuple) else (key,):
                yield answer, message


@dataclass(frozen=True)
class Number(_Judge):
    """One number, finite, of any numeric type.

    Attributes:
        wrong: {answer, or tuple of answers: message}.
        otherwise: the message for any other number, None from a function if it is right too.
        asked: how to give an answer, said where it is no number.
        close: relative tolerance, of right and listed wrong answers alike; 0 is exact.

    >>> judge = Number(8192, {16384: "One doubling too many."}, "Not {value:g}.", close=0)
    >>> judge(8192), judge(16384), judge(1)
    (None, 'One doubling too many.', 'Not 1.')
    """

    right: float
    wrong: dict = field(default_factory=dict)
    otherwise: str | Callable = "You gave {value:g}."
    asked: str = "give one number"
    close: float = 0.01

    def read(self, answer: object) -> float | None:
        return number(answer)

    def same(self, value: float, other: float) -> bool:
        return near(value, other, self.close)


@dataclass(frozen=True)
class Choice(_Judge):
    """One of several options, texts; a dtype is its name.

    Text is compared without regard to case and outer spaces. `wrong` is as for `Number`,
    and has each other option.

    >>> judge = Choice("a", {"b": "b is the other one."}, options=("a", "b"))
    >>> judge(" A"), judge("b"), judge("c")
    (None, 'b is the other one.', "You gave the text 'c': choose from a, b.")
    """

    right: str
    wrong: dict
    options: tuple
    otherwise = "It is not {value}."

    @property  # frozen, as all judges are: nobody sets it
    def asked(self) -> str:  # type: ignore[override]
        return f"choose from {', '.join(self.options)}"

    def read(self, answer: object) -> str | None:
        """The option that was given, as the author writes it."""
        text = attempt(lambda: _name(answer).strip().lower())
        for option in self.options:
            if option.lower() == text:
                return option
        return None

    def same(self, value: str, other: str) -> bool:
        return value.lower() == other.lower()


def _name(answer):
    if isinstance(answer, str):
        return answer
    return getattr(answer, "name", None) or answer.__name__


def choices(
    options: tuple[str, ...], against: dict[str, dict[str, str]], prefix: str = ""
) -> dict[str, Choice]:
    """{name: a `Choice`} with the same options, from {name: {wrong option: what speaks
    against it}}; right is the one that nothing speaks against.

    >>> choices(("a", "b"), {"first": {"b": "it comes later."}}, "not `{value}`: ")["first"]("b")
    'not `b`: it comes later.'
    """
    judges = {}
    for name, reasons in against.items():
        (right,) = set(options) - set(reasons)
        wrong = {option: prefix + reason for option, reason in reasons.items()}
        judges[name] = Choice(right, wrong, options)
    return judges


@dataclass(frozen=True)
class Fields:
    """Several judges for one answer, a dictionary with their names as keys, in this
    order.

    >>> judge = Fields({"a": Number(1), "b": Number(2, {1: "That is a."})})
    >>> judge({"a": 1, "b": 2}), judge({"a": 1, "b": 1})
    (None, 'a is right. b: That is a.')
    """

    judges: dict

    @property
    def right(self) -> dict:
        """A right answer."""
        return {name: judge.right for name, judge in self.judges.items()}

    def __call__(self, answer: Any) -> str | None:
        if problem := missing_key(answer, list(self.judges)):
            return problem
        first, *others = self.judges
        for name, judge in self.judges.items():
            if problem := judge(answer[name]):
                before = f"{first} is right. " if [name] == others else ""
                return before + _named(name, problem)
        return None

    def examples(self) -> Iterator[tuple]:
        """Yield `(wrong answer, a part of what is said of it)`."""
        for name, judge in self.judges.items():
            for value, message in judge.examples():
                yield {**self.right, name: value}, _named(name, message)


def _named(name, problem):
    return f"{name}: {'y' + problem[1:] if problem.startswith('You gave') else problem}"
