"""What the code of layers that are not Keras's says: words, numbers and calls.

A heuristic, for what cannot be measured.
"""

import ast
import contextlib
import inspect
import io
import math
import re
import textwrap
import tokenize
import types
from typing import TYPE_CHECKING, Any, NamedTuple

from mixed_precision_lint.finding import WIDE

if TYPE_CHECKING:
    import keras

# Methods that compute something else than the layer's output, and those that describe a
# layer. The numbers in `build` are those of initializers.
ELSEWHERE = """
    __init__ build train_step test_step predict_step compute_loss compute_metrics
    compute_mask get_config from_config compute_output_shape compute_output_spec
""".split()
COUNTING = "range arange linspace logspace geomspace cumsum cumprod".split()


# In brackets or after a colon, too, as other linters have it, and in small letters.
COMMENT = re.compile(
    r"#\s*lint\s*:\s*ignore\b[\s:=(\[]*((?:MP\d+[\s,]*)+)", re.IGNORECASE
)


def ignored(text: str) -> set[str]:
    """The codes that comments in some source switch off.

    >>> sorted(ignored("x = y + 1e-9  # lint: ignore MP009, MP007"))
    ['MP007', 'MP009']
    """
    codes: set[str] = set()
    # of a piece of a file, whose end may be cut off
    with contextlib.suppress(tokenize.TokenError, IndentationError):
        for token in tokenize.generate_tokens(
            io.StringIO(textwrap.dedent(text)).readline
        ):
            if token.type == tokenize.COMMENT and (
                match := COMMENT.search(token.string)
            ):
                codes.update(re.findall(r"MP\d+", match[1].upper()))
    return codes


class Written(NamedTuple):
    """A call in the source of a method that spells out a wide dtype."""

    name: str  # the last part of what is called: "cast" for tf.cast(...)
    dtype: str
    counts: bool  # whether it makes whole numbers in a row, or is given some


def own_kinds(layer: "keras.Layer") -> tuple[type, ...]:
    """The classes of a layer that are neither Keras's nor TensorFlow's.

    >>> import keras
    >>> own_kinds(keras.layers.Dense(1))
    ()
    """
    others = ("keras.", "tensorflow.", "builtins")
    return tuple(k for k in type(layer).__mro__ if not k.__module__.startswith(others))


def methods(layer: "keras.Layer") -> dict[str, types.FunctionType]:
    """{name: function} of the methods that a layer does not have from Keras."""
    functions: dict[str, types.FunctionType] = {}
    for kind in own_kinds(layer):
        for name, function in vars(kind).items():
            function = getattr(function, "fget", function)  # of a property
            if inspect.isfunction(function):
                # Keras wraps `build` and `call`; the wrapper knows what it wraps.
                functions.setdefault(name, inspect.unwrap(function))
    return functions


def computing(layer: "keras.Layer") -> list[types.FunctionType]:
    """Those of `methods` that may take part in computing the layer's output."""
    return [f for name, f in methods(layer).items() if name not in ELSEWHERE]


def wide_calls(layer: "keras.Layer") -> list[Written]:
    """The calls in a layer's source that spell out a wide dtype: "float32", tf.float32.

    None of a method that was typed into a Python prompt. Calls of classes are left out:
    `Dense(10, dtype="float32")` gives a layer its policy.
    """
    written = []
    for function in computing(layer):
        for call in _calls(function):
            for argument in (*call.args, *(word.value for word in call.keywords)):
                dtype = getattr(argument, "attr", getattr(argument, "value", None))
                if dtype in WIDE and not _name(call)[:1].isupper():
                    counts = any(_name(inner) in COUNTING for inner in _inside(call))
                    written.append(Written(_name(call), dtype, counts))
    return written


def _calls(function):
    try:
        return _inside(ast.parse(textwrap.dedent(inspect.getsource(function))))
    except (OSError, TypeError, SyntaxError):
        return []


def _inside(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def _name(call):
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def is_class(code: types.CodeType) -> bool:
    """Whether some code is the body of a class."""
    return "__qualname__" in code.co_names


def words(code: types.CodeType) -> set[str | float]:
    """The constants and the names in some code and in that within it, but for classes.

    They need no source.

        >>> sorted(words((lambda x: x.shape + [0.5]).__code__), key=str)
        [0.5, 'shape']
    """
    used: set[str | float] = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            if not is_class(constant):
                used |= words(constant)
        elif isinstance(constant, (str, float)):
            used.add(constant)
    return used


def numbers(layer: "keras.Layer") -> dict[str, float]:
    """{text: value} of the floats with which a layer of yours computes.

    They are spelled out, or have a name: "1e-08", "EPSILON = 1e-08", "self.epsilon =
    1e-08".
    """
    values = {}
    for function in computing(layer):
        owners = {"": function.__globals__, "self.": vars(layer)}
        values |= floats(words(function.__code__), owners)
    return {
        text: value for text, value in sorted(values.items()) if math.isfinite(value)
    }


def floats(
    used: set[str | float], owners: dict[str, dict[str, Any]]
) -> dict[str, float]:
    """{text: value} of the floats among words, and of those that they name.

    `owners`: {"self.": {name: value}}. Who names float32 is taken to do so because of
    the numbers, so then there are none.

        >>> floats({1e-08, "eps", "x"}, {"self.": {"eps": 1e-09}})
        {'1e-08': 1e-08, 'self.eps = 1e-09': 1e-09}
    """
    if used & set(WIDE):
        return {}
    values = {f"{word}": word for word in used if isinstance(word, float)}
    for owner, names in owners.items():
        for name, value in names.items():
            if name in used and isinstance(value, float):
                values[f"{owner}{name} = {value:g}"] = value
    return values
