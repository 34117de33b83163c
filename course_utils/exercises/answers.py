"""What a learner gave: reading it without ever raising, and saying it in a few words."""

import dis
import math
import re
import sys
import types
from collections.abc import Callable, Collection
from typing import Any

from course_utils.errors import one_line, shorten


def untouched(answer: object) -> bool:
    """Whether an answer is still the stub: `...`, a container of them, a do-nothing
    function.
    """
    if isinstance(answer, dict):
        answer = list(answer.values())
    if isinstance(answer, (list, tuple)):
        return bool(answer) and all(item is ... for item in answer)
    if not isinstance(answer, types.FunctionType):
        return answer is ...
    steps = dis.get_instructions(answer)
    values = [s.argval for s in steps if s.opname not in ("RESUME", "NOP")]
    # Python loads None and returns it, from 3.12 on in one step.
    return values in ([None, None], [None])


def number(answer: object) -> float | None:
    """The answer as a finite float; None if it is text, True or not one number.

    >>> number(4), number("4"), number(math.inf)
    (4.0, None, None)
    """
    try:
        text = isinstance(answer, (str, bytes))
        if text or type(answer).__name__ in ("bool", "bool_"):
            return None
        if getattr(answer, "shape", ()) != ():
            return None
        value = float(answer)  # type: ignore[arg-type]
    except Exception:  # not a number, too large, or an object whose own methods raise
        return None
    return value if math.isfinite(value) else None


def near(value: float, target: float, relative: float = 0.01) -> bool:
    """Whether two numbers agree to a share of the larger one."""
    return math.isclose(value, target, rel_tol=relative)


def describe(answer: object) -> str:
    """A short phrase for what was given, free of addresses, such as "the text 'abc'"."""
    try:
        if answer is None or isinstance(answer, bool):
            return str(answer)
        if answer is ...:
            return "`...`"
        if isinstance(answer, str):
            return f"the text {shorten(repr(answer))}"
        if layer := a_layer(answer):
            return layer
        if isinstance(answer, (dict, list, tuple, set)):
            return f"a {type(answer).__name__} of {len(answer)} items"
        shape = getattr(answer, "shape", ())
        if shape != ():
            return shorten(f"an array of shape {tuple(shape)}")
        if hasattr(answer, "dtype") and hasattr(answer, "item"):
            answer = answer.item()  # a NumPy number
        if isinstance(answer, (int, float)):
            return f"the number {answer:.6g}"
    except OverflowError:
        return "a number too large to use"
    except Exception:  # a learner's own class may raise from anywhere
        return "an object that cannot be shown"
    kind = f"an object of type {type(answer).__name__}"
    return "a function" if callable(answer) else shorten(kind)


def you_gave(answer: object) -> str:
    """How a sentence about an answer begins: "You gave the number 4".

    >>> you_gave((1, 5))  # of `guess = 1,5`
    'You gave two numbers, as Python reads a comma (write 1.5)'
    """
    text = attempt(lambda: repr(answer)) or ""
    if match := re.fullmatch(r"\((-?\d{1,9}), (\d{1,9})\)", text):
        whole, decimals = match.groups()
        return (
            f"You gave two numbers, as Python reads a comma (write {whole}.{decimals})"
        )
    return f"You gave {describe(answer)}"


def a_layer(answer: object) -> str | None:
    """The words "a model" or "a layer" for one of Keras; None for anything else.

    Both can be called, and are no functions.
    """
    keras = sys.modules.get("keras")  # if it is not loaded, there is no layer
    if keras is None or not isinstance(answer, keras.layers.Layer):
        return None
    return "a model" if isinstance(answer, keras.Model) else "a layer"


def missing_key(answer: object, keys: Collection[str]) -> str | None:
    """What is wrong with the form of a dictionary answer, or None."""
    wanted = "give a dictionary with the keys " + ", ".join(map(repr, keys))
    if not isinstance(answer, dict):
        return f"You gave {describe(answer)}: {wanted}."
    for key in keys:
        if key not in answer and key in map(str, answer):
            return f"The key {key!r} is a text: write it in quotes."
        if key not in answer:
            return f"The key {key!r} is missing: {wanted}."
        if answer[key] is ...:
            return f"The value of {key!r} is still `...`: fill in each one."
    return None


class Mistake(Exception):
    """What is wrong with an answer, in one or two sentences."""


def call(
    function: object,
    *arguments: object,
    end: str | None = None,
    what: str = "Your function",
) -> Any:
    """Run a learner's function, and return its result; `Mistake` says what went wrong.

    `end` is what a function lacks that returns None, and None where that is no mistake.
    """
    try:
        result = function(*arguments)  # type: ignore[operator]
    except (Exception, SystemExit) as error:
        raise Mistake(f"{what} raises {one_line(error)}") from None
    if result is None and end:
        raise Mistake(f"Your function returns None: end it with {end}.")
    return result


def attempt(function: Callable[[], Any]) -> Any:
    """What a function without arguments returns, or None where it raises anything."""
    try:
        return function()
    except Exception:
        return None
