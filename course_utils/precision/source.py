"""What the code of layers that are not Keras's says: words, numbers, calls and dtypes.

A heuristic, for what cannot be measured.
"""

import ast
import inspect
import math
import textwrap
import types
from typing import NamedTuple

import keras

# Methods that compute something else than the layer's output, and those that describe a
# layer.
ELSEWHERE = (
    "__init__", "train_step", "test_step", "predict_step", "compute_loss", "compute_metrics",
    "compute_mask", "get_config", "from_config", "compute_output_shape", "compute_output_spec",
)  # fmt: skip
COUNTING = ("range", "arange", "linspace", "logspace", "geomspace", "cumsum", "cumprod")
DTYPES = ("float16", "bfloat16", "float32", "float64")


class Written(NamedTuple):
    """A call in the source of a method."""

    name: str  # the last part of what is called: "cast" for tf.cast(...)
    tree: ast.Call

    @property
    def dtypes(self) -> list[str]:
        """The dtypes that its arguments spell out: "float16", tf.float16, ..."""
        spelled = (
            getattr(each, "attr", getattr(each, "value", None))
            for each in (*self.tree.args, *(word.value for word in self.tree.keywords))
        )
        return [each for each in spelled if each in DTYPES]

    @property
    def counts(self) -> bool:
        """Whether it makes whole numbers in a row, or is given some."""
        calls = (node for node in ast.walk(self.tree) if isinstance(node, ast.Call))
        return any(name_of(call) in COUNTING for call in calls)


def name_of(call: ast.Call) -> str:
    """The last part of what is called: "cast" for tf.cast(...)."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def is_own(layer) -> bool:
    """Whether what a layer computes is not Keras's own: a class of yours, or a Lambda
    layer.
    """
    own = isinstance(layer, keras.layers.Lambda)
    return own or not type(layer).__module__.startswith("keras.")


def methods(layer) -> dict:
    """{name: function} of the methods that a layer does not have from Keras."""
    found: dict = {}
    for cls in type(layer).__mro__:
        if not cls.__module__.startswith(("keras.", "tensorflow.", "builtins")):
            for name, function in vars(cls).items():
                if inspect.isfunction(function):
                    # Keras wraps `build` and `call`; the wrapper knows what it wraps.
                    found.setdefault(name, inspect.unwrap(function))
    return found


def computing(layer) -> dict:
    """Those of `methods` that may take part in computing the layer's output."""
    return {n: f for n, f in methods(layer).items() if n not in ELSEWHERE}


def calls(function) -> list[Written]:
    """The calls in a method's source; none if it was typed into a Python prompt.

    Calls of classes are left out: `Dense(10, dtype="float32")` gives a layer its
    policy.
    """
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return []
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    found = (Written(name_of(node), node) for node in nodes)
    return [call for call in found if not call.name[:1].isupper()]


def words(function) -> set:
    """The constants and the names in the code of a function and of those within it.

    They need no source.

        >>> sorted(words(lambda x: x.shape + [0.5]), key=str)
        [0.5, 'shape']
    """
    found: set = set()
    codes = [function.__code__]
    for code in codes:  # it grows
        found.update(code.co_names, code.co_consts)
        codes += [each for each in code.co_consts if isinstance(each, types.CodeType)]
    return {word for word in found if isinstance(word, str | float)}


def numbers(layer) -> dict[str, float]:
    """{text: value} of the floats with which a layer of yours computes.

    They are spelled out, or have a name: "1e-08", "EPSILON = 1e-08", "self.epsilon =
    1e-08".
    """
    functions = computing(layer)
    if isinstance(layer, keras.layers.Lambda) and inspect.isfunction(layer.function):
        functions["function"] = layer.function
    found = {}
    for name, function in functions.items():
        used = words(function)
        # The numbers in `build` are those of initializers. Who names float32 in a method
        # is taken to do so because of the numbers in it.
        if name == "build" or used & {"float32", "float64"}:
            continue
        found |= {f"{word}": word for word in used if isinstance(word, float)}
        for owner, names in (("", function.__globals__), ("self.", vars(layer))):
            for word in used & names.keys():
                if isinstance(names[word], float):
                    found[f"{owner}{word} = {names[word]:g}"] = names[word]
    return {
        text: value for text, value in sorted(found.items()) if math.isfinite(value)
    }
