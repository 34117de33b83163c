"""Judges of an answer: `Number`, `Choice`, and `Fields` for several; `functions` has
one more.

A judge, like any function of the answer, returns None where it is right, else what is
wrong in one or two sentences. Each listed wrong answer stands once, beside its message:
text in which `{value}` is what was given, or a function of it. `examples` hands these
pairs to the tests.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain

from .answers import describe, missing_key, near, number


def _say(message, value):
    return message(value) if callable(message) else message.format(value=value)


def nearly(example, right, share):
    """A rule for a number that is right to a share of it, and not to as many digits as
    asked.
    """
    said = "You gave {value:.4g}. That is near: give two decimals."
    return example, lambda value: near(value, right, share), said


class _Judge:
    """What `Number` and `Choice` share: read, compare, look up, else fall back."""

    def __call__(self, answer):
        value, problem = self.read(answer)
        if problem:
            return problem
        if self.accepts(value):
            return None
        said = (message for other, message in self._listed() if self.same(value, other))
        ruled = (message for _, condition, message in self.rules if condition(value))
        return _say(next(chain(said, ruled), self.otherwise), value)

    def examples(self):
        """Yield `(wrong answer, what is said of it)`, each listed answer once."""
        ruled = ((example, message) for example, _, message in self.rules)
        for answer, message in chain(self._listed(), ruled):
            yield answer, _say(message, self.read(answer)[0])

    def _listed(self):
        # a tuple is several answers, or one like `right`
        for key, message in self.wrong.items():
            several = isinstance(key, tuple) and not isinstance(self.right, tuple)
            yield from ((answer, message) for answer in (key if several else (key,)))


@dataclass(frozen=True)
class Number(_Judge):
    """One number, finite, of any numeric type.

    Attributes:
        wrong: {answer, or tuple of answers: message}.
        rules: (an answer as example, condition(value), message), tried in turn after `wrong`.
        asked: how to give an answer, said where it is no number.
        close: relative tolerance, of right and listed wrong answers alike; 0 is exact.
        accept: condition(value) in place of nearness to `right`.

    >>> judge = Number(8192, {16384: "One doubling too many."}, otherwise="Not {value:g}.", close=0)
    >>> judge(8192), judge(16384), judge(1)
    (None, 'One doubling too many.', 'Not 1.')
    """

    right: float
    wrong: dict = field(default_factory=dict)
    rules: tuple = ()
    otherwise: str | Callable = "You gave {value:g}."
    asked: str = "give one number"
    close: float = 0.01
    accept: Callable | None = None

    def read(self, answer):
        value = number(answer)
        return (
            value,
            f"You gave {describe(answer)}: {self.asked}." if value is None else None,
        )

    def accepts(self, value):
        return self.accept(value) if self.accept else self.same(value, self.right)

    def same(self, value, other):
        return near(value, other, self.close)


@dataclass(frozen=True)
class Choice(_Judge):
    """One of several options; an order of names is a tuple of them, or a list.

    Text is compared without regard to case and outer spaces. `wrong`, `rules` and
    `otherwise` are as for `Number`.

    >>> judge = Choice("a", {"b": "b is the other one."}, options=("a", "b"))
    >>> judge(" A"), judge("b"), judge("c")
    (None, 'b is the other one.', "You gave the text 'c': choose from a, b.")
    """

    right: object
    wrong: dict = field(default_factory=dict)
    rules: tuple = ()
    otherwise: str | Callable = "It is not {value}."
    options: tuple = ()
    asked: str = ""

    def read(self, answer):
        try:
            value = _plain(answer)
            options = [(type(option), option) for option in map(_plain, self.options)]
            known = (type(value), value) in options  # 1 is not True
        except Exception:  # a learner's object may raise when it is compared
            value, known = None, False
        asked = self.asked or f"choose from {', '.join(map(str, self.options))}"
        return (
            (value, None) if known else (None, f"You gave {describe(answer)}: {asked}.")
        )

    def accepts(self, value):
        return value == _plain(self.right)

    def same(self, value, other):
        return value == _plain(other)


def refuting(right, why, options):
    """A `Choice` that says of each other option why it is not the right one.

    >>> refuting("a", {"b": "it comes later."}, ("a", "b"))("b")
    'not `b`: it comes later.'
    """
    wrong = {name: f"not `{{value}}`: {reason}" for name, reason in why.items()}
    return Choice(right, wrong, options=options)


def _plain(answer):
    if isinstance(answer, (list, tuple)):
        return tuple(map(_plain, answer))
    if type(answer).__name__ in ("bool", "bool_"):
        return bool(answer)
    if not isinstance(answer, str):  # a dtype is its name
        named = getattr(answer, "name", getattr(answer, "__name__", None))
        answer = named if isinstance(named, str) else answer
    if isinstance(answer, str):
        return answer.strip().lower()
    return answer if number(answer) is None else number(answer)


@dataclass(frozen=True)
class Fields:
    """Several judges for one answer, a dictionary with their names as keys, in this
    order.

    Where each value can be read and one is wrong, first come the messages of `wrong`,
    {tuple of one value for each name: message}.

    >>> judge = Fields({"a": Number(1), "b": Number(2, {1: "That is a."})})
    >>> judge({"a": 1, "b": 2}), judge({"a": 1, "b": 1})
    (None, 'a is right. b: That is a.')
    """

    judges: dict
    wrong: dict = field(default_factory=dict)

    @property
    def right(self):
        """A right answer."""
        return {name: judge.right for name, judge in self.judges.items()}

    def __call__(self, answer):
        if problem := missing_key(answer, list(self.judges)):
            return problem
        values = {}
        for name, judge in self.judges.items():
            values[name], problem = judge.read(answer[name])
            if problem:
                return _named(name, problem)
        for key, message in self.wrong.items():
            pairs = zip(self.judges.values(), values.values(), key, strict=True)
            if all(judge.same(value, other) for judge, value, other in pairs):
                return _say(message, values)
        first, *others = self.judges
        for name, judge in self.judges.items():
            if problem := judge(answer[name]):
                before = f"{first} is right. " if [name] == others else ""
                return before + _named(name, problem)
        return None

    def first_wrong(self, answer):
        """The name and the value of the first wrong part of an answer that has all."""
        return next(
            (name, judge.read(answer[name])[0])
            for name, judge in self.judges.items()
            if judge(answer[name])
        )

    def examples(self):
        """Yield `(wrong answer, a part of what is said of it)`."""
        for key, message in self.wrong.items():
            yield dict(zip(self.judges, key, strict=True)), message
        for name, judge in self.judges.items():
            for value, message in judge.examples():
                yield {**self.right, name: value}, _named(name, message)


def _named(name, problem):
    return f"{name}: {'y' + problem[1:] if problem.startswith('You gave') else problem}"
