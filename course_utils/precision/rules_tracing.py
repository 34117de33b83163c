"""What a layer puts out, measured without data, and the source of layers that are not Keras's."""

import ast
import inspect
import re
import textwrap
from dataclasses import dataclass
from typing import Any

# Methods that compute something else than the layer's output.
ELSEWHERE = (
    "__init__", "train_step", "test_step", "predict_step", "compute_loss", "compute_metrics",
    "compute_mask",
)  # fmt: skip
# Methods that describe a layer.
DESCRIBING = ("get_config", "from_config", "compute_output_shape", "compute_output_spec")


@dataclass(frozen=True)
class Method:
    """A method of a layer, or the function of a Lambda layer.

    Attributes:
        name: its name; "function" for a Lambda layer's.
        tree: its syntax tree.
        function: the function itself, which knows the names it can see.
    """

    name: str
    tree: Any
    function: Any


def output_dtypes(layer) -> tuple[str, ...] | None:
    """The dtypes that a built layer really puts out, by calling it on symbols.

    A layer with a `compute_output_shape` of its own makes Keras assume the output's dtype, so the
    symbolic tensors of a functional model do not prove it. The layer's state stays as it is.

    Args:
        layer: a `keras.Layer` or `keras.Model`, called in a functional model or built with a
            single input shape.

    Returns:
        One dtype for each output, or None if the layer cannot be called like this.
    """
    import keras

    class Probe(keras.Operation):
        def call(self, *args, **kwargs):
            return layer(*args, **kwargs)

    arguments = _arguments(layer)
    if arguments is None or not layer.built:
        return None
    args, kwargs = arguments
    try:
        outputs = Probe().compute_output_spec(*args, **kwargs)
    except Exception:  # whatever the layer's code raises
        return None
    return tuple(keras.utils.standardize_dtype(t.dtype) for t in keras.tree.flatten(outputs))


def _arguments(layer):
    """What the layer was called with when its model was made, or None."""
    import keras

    # Keras has no public name for the arguments, only for the tensors among them.
    if nodes := layer._inbound_nodes:
        return nodes[0].arguments.args, nodes[0].arguments.kwargs
    shape = (layer.get_build_config() or {}).get("input_shape")
    if not isinstance(shape, tuple | list) or not all(n is None or type(n) is int for n in shape):
        return None
    return (keras.KerasTensor((None, *shape[1:]), dtype=layer.variable_dtype),), {}


def is_custom(layer) -> bool:
    """Whether a layer is not one of Keras's own.

    Example:
        >>> import keras
        >>> is_custom(keras.layers.Dense(3))
        False
    """
    return not type(layer).__module__.startswith("keras.")


def is_lambda(layer) -> bool:
    """Whether it is a `keras.layers.Lambda`, whose function is not Keras's own."""
    import keras

    return isinstance(layer, keras.layers.Lambda)


def computing(layer) -> list[Method]:
    """Those of `methods` that may take part in computing the layer's output."""
    return [method for method in methods(layer) if method.name not in ELSEWHERE]


def methods(layer) -> list[Method]:
    """The methods that a layer does not have from Keras, as far as their source can be read."""
    found = {}
    for cls in type(layer).__mro__:
        if not cls.__module__.startswith(("keras.", "tensorflow.", "builtins")):
            for name, function in vars(cls).items():
                if inspect.isfunction(function) and name not in DESCRIBING:
                    found.setdefault(name, function)
    if is_lambda(layer) and inspect.isfunction(layer.function):
        found["function"] = layer.function
    read = [_read(name, function) for name, function in found.items()]
    return [method for method in read if method]


def _read(name, function):
    # Keras wraps `build` and `call`; the wrapper knows what it wraps.
    function = inspect.unwrap(function)
    try:
        source = textwrap.dedent(inspect.getsource(function)).strip()
        nameless = function.__name__ == "<lambda>"
        tree = _lambda(source, function.__code__) if nameless else ast.parse(source)
    except (OSError, TypeError, SyntaxError):  # typed into a plain Python prompt, or compiled
        return None
    return Method(name, tree, function) if tree else None


def _lambda(source, code):
    """The lambda with this code among those in the lines that `inspect` gives, or None."""
    for start in (match.start() for match in re.finditer(r"\blambda\b", source)):
        for end in range(len(source), start, -1):
            try:
                tree = ast.parse(source[start:end], mode="eval")
            except SyntaxError:
                continue
            if isinstance(tree.body, ast.Lambda):
                found = compile(tree, "", "eval").co_consts[0]
                if (found.co_varnames, found.co_consts) == (code.co_varnames, code.co_consts):
                    return tree
                break
    return None
