"""The calls of a model's layers, noted while the model runs on symbols instead of
numbers.
"""

import contextlib
import functools
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import keras

# where the model leaves the batch open; not 1, which operations may squeeze away
BATCH = 2


@dataclass(eq=False)
class Call:
    """One call of one layer, with the (shape, dtype) of its input and output tensors."""

    layer: Any
    arrived: list[tuple]  # before the layer casts; masks are left out
    cast: bool  # whether Keras casts one of them before the layer computes
    outer: "Call | None"  # the call that this one is a part of
    left: list[tuple] = field(default_factory=list)
    # {"input", "weight" or "inside": bytes that its own casts from float to float read
    # and write}
    moved: Counter = field(default_factory=Counter)


def symbols(model, batch_size: int = BATCH) -> Any:
    """What a built model is called with, as a `keras.KerasTensor`, or a dict or list of
    them.

    A subclassed model tells shapes alone, and is taken to get `keras.config.floatx()`.
    Raises ValueError where nothing tells the shapes.

        >>> model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        >>> symbols(model, batch_size=8).shape
        (8, 3)
    """

    def symbol(x):
        shape = (batch_size, *x.shape[1:]) if len(x.shape) else ()
        return keras.KerasTensor(shape, dtype=x.dtype)

    if model.built:
        # where no symbol has ever gone through it
        with contextlib.suppress(AttributeError):
            inputs = (
                model.inputs[0] if isinstance(model, keras.Sequential) else model.input
            )
            return keras.tree.map_structure(symbol, inputs)
        # Several arguments would be told by "shapes_dict".
        shapes = (model.get_build_config() or {}).get("input_shape")
        if shapes:
            tensors = keras.tree.map_shape_structure(keras.KerasTensor, shapes)
            return keras.tree.map_structure(symbol, tensors)
    raise ValueError(
        f"The model {model.name!r} does not tell its inputs yet: build it with "
        "model.build(input_shape), or call it on a batch."
    )


def calls_of(model, spec) -> list[Call]:
    """Calls a model, without computing, and returns the calls of all layers.

    `spec` is what `symbols` gives. Weights do not change.

        >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, dtype="float16")])
        >>> calls_of(model, symbols(model))[-1].cast
        True
    """
    if not all(layer.built for layer in model._flatten_layers()):
        # The first call builds, and for it runs some layers twice.
        _on_symbols(model, spec)
    with _noted() as calls:
        _on_symbols(model, spec)
    return calls


def _on_symbols(model, spec):
    class Probe(keras.Operation):
        def call(self, inputs):
            return model(inputs)

    try:
        Probe().compute_output_spec(spec)
    except Exception as error:
        # Keras blames the probe; the layer's own error says more.
        raise (error.__context__ or error) from None


@contextlib.contextmanager
def _noted():
    """Notes every call of a layer while the block runs: a list of `Call`, in order.

    Keras casts in `Layer.__call__`, and Python looks that up on the class: only there
    can one see what arrives before the cast.
    """
    former = keras.Layer.__call__
    calls = []
    running: list[Call] = []
    counted: set[str] = set()

    @functools.wraps(former)
    def noted(self, *args, **kwargs):
        others = [value for name, value in kwargs.items() if "mask" not in name]
        arrived = _tensors((args, others))
        outer = running[-1] if running else None
        call = Call(self, arrived, _casts(self, arrived), outer)
        calls.append(call)
        running.append(call)
        before = len(_graph_operations())
        try:
            outputs = former(self, *args, **kwargs)
        finally:
            running.pop()
        _count_casts(call, (args, kwargs), before, counted)
        call.left = _tensors(outputs)
        return outputs

    with mock.patch.object(keras.Layer, "__call__", noted):
        yield calls


def _graph_operations():
    """What TensorFlow has written down so far, while it runs on symbols."""
    if keras.backend.backend() != "tensorflow":
        return []
    import tensorflow as tf

    return tf.compat.v1.get_default_graph().get_operations()


def _count_casts(call, arguments, before, counted):
    """Note in a call the casts that are its own: none of a layer that it calls.

    What one of several calls in a loop's body casts is not seen.
    """
    flat = keras.tree.flatten(arguments)
    names = {x.name for x in flat if call.cast and hasattr(x, "op")}
    for operation in _graph_operations()[before:]:
        if operation.type != "Cast" or operation.name in counted:
            continue
        counted.add(operation.name)
        start, end = operation.inputs[0], operation.outputs[0]
        if start.dtype.is_floating and end.dtype.is_floating:
            kind = "input" if start.name in names else "inside"
            if start.op.type == "ReadVariableOp":
                kind = "weight"
            numbers = math.prod(n or 1 for n in start.shape)
            call.moved[kind] += numbers * (start.dtype.size + end.dtype.size)


def _tensors(structure):
    flat = keras.tree.flatten(structure)
    tensors = (x for x in flat if hasattr(x, "shape") and hasattr(x, "dtype"))
    return [(tuple(x.shape), keras.utils.standardize_dtype(x.dtype)) for x in tensors]


def _casts(layer, arrived):
    """Whether Keras casts one of the inputs before it calls the layer: only from float
    to float.
    """
    if not layer.autocast or not getattr(layer, "_convert_input_args", True):
        return False
    return any("float" in dtype and dtype != layer.input_dtype for _, dtype in arrived)
