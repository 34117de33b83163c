"""What a learner gave: reading it without ever raising, and saying it in a few words."""

import dis
import math


def untouched(answer):
    """Whether an answer is still the stub: `...`, a container of them, a do-nothing function.

    >>> untouched({"T4": ..., "TPU": ...}), untouched({"T4": ..., "TPU": 1})
    (True, False)
    """
    if isinstance(answer, dict):
        answer = list(answer.values())
    if isinstance(answer, (list, tuple)):
        return bool(answer) and all(item is ... for item in answer)
    return answer is ... or _does_nothing(answer)


def _does_nothing(function):
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    steps = [
        (s.opname, s.argval)
        for s in dis.get_instructions(code)
        if s.opname not in ("RESUME", "NOP")
    ]
    # The first form is that of Python 3.11 and 3.13, the second that of 3.12 and 3.13.
    return steps in ([("LOAD_CONST", None), ("RETURN_VALUE", None)], [("RETURN_CONST", None)])


def number(answer):
    """The answer as a finite float, or None if it is not one number (text and True are not).

    >>> number(4), number("4"), number(float("nan"))
    (4.0, None, None)
    """
    try:
        if isinstance(answer, (bool, str, bytes)) or type(answer).__name__ in ("bool", "bool_"):
            return None
        if getattr(answer, "shape", ()) != ():
            return None
        value = float(answer)
    except Exception:  # not a number, too large, or an object whose own methods raise
        return None
    return value if math.isfinite(value) else None


def near(value, target, relative=0.01):
    """Whether two numbers agree to a share of the second.

    >>> near(7.3, 7.3125)
    True
    """
    return abs(value - target) <= relative * abs(target)


def describe(answer):
    """A short phrase for what was given, free of memory addresses.

    >>> describe("abc"), describe([1, 2]), describe(None)
    ("the text 'abc'", 'a list of 2 items', 'None')
    """
    try:
        if answer is None or answer is ... or isinstance(answer, bool):
            return "`...`" if answer is ... else str(answer)
        if isinstance(answer, str):
            return f"the text {shorten(repr(answer))}"
        if isinstance(answer, (dict, list, tuple, set)):
            return f"a {type(answer).__name__} of {len(answer)} items"
        if getattr(answer, "shape", ()) != ():
            return shorten(f"an array of shape {tuple(answer.shape)}")
        if hasattr(answer, "dtype") and hasattr(answer, "item"):
            answer = answer.item()  # a NumPy number
        if isinstance(answer, (int, float)):
            return f"the number {answer:.6g}"
    except OverflowError:
        return "a number too large to use"
    except Exception:  # a learner's own class may raise from anywhere
        return "an object that cannot be shown"
    return (
        "a function" if callable(answer) else shorten(f"an object of type {type(answer).__name__}")
    )


def shorten(text, length=60):
    """One printable line of at most `length` characters.

    >>> shorten("a b\\nc", 4)
    'a...'
    """
    line = " ".join(text.split()).encode("utf-8", "replace").decode()
    return line if len(line) <= length else line[: length - 3] + "..."


def missing_key(answer, keys):
    """What is wrong with the form of a dictionary answer, or None.

    >>> missing_key({"T4": 1}, ["T4", "TPU"])
    "The key 'TPU' is missing: give a dictionary with the keys 'T4', 'TPU'."
    """
    wanted = "give a dictionary with the keys " + ", ".join(map(repr, keys))
    if not isinstance(answer, dict):
        return f"You gave {describe(answer)}: {wanted}."
    for key in keys:
        if key not in answer:
            return f"The key {key!r} is missing: {wanted}."
        if answer[key] is ...:
            return f"The value of {key!r} is still `...`: fill in each one."
    return None


def call(function, *arguments):
    """Run a learner's function: `(its result, None)`, or `(None, what went wrong)`.

    >>> call(len, [1, 2]), call(len, 5)[1]
    ((2, None), "Your function raises TypeError: object of type 'int' has no len()")
    """
    try:
        return function(*arguments), None
    except (Exception, SystemExit) as error:
        try:
            text = shorten(str(error), 120)
        except Exception:
            text = "its message cannot be shown"
        return None, f"Your function raises {shorten(type(error).__name__)}: {text}"
