"""The calls of a model's layers, noted while the model runs on symbols instead of
numbers.
"""

import contextlib
import functools
import math
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import keras

# where the model leaves the batch open; not 1, which operations may squeeze away
BATCH = 2
NAMED = ("query", "value", "key")  # how attention orders its inputs, whoever names them


@dataclass(eq=False)
class Call:
    """One call of one layer, with the (shape, dtype) of its input and output tensors."""

    layer: Any
    arrived: list[tuple]  # before the layer casts; masks are left out
    cast: bool  # whether Keras casts one of them before the layer computes
    left: list[tuple]
    # whether the backward pass repeats it: it takes place within keras.remat
    again: bool
    # whether the layer holds others and gives what one of them gave
    hands_on: bool = False
    # the call that this one is a part of
    outer: "Call | None" = None
    # {"input", "weight" or "inside": bytes that its own casts from float to float read
    # and write}
    moved: Counter = field(default_factory=Counter)


def symbols(model, batch_size: int = BATCH):
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


def calls_of(model, spec, training: bool = False) -> list[Call]:
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
        _on_symbols(model, spec, **({"training": True} if training else {}))
    return calls


def _on_symbols(model, spec, **how):
    class Probe(keras.Operation):
        def call(self, inputs):
            return model(inputs, **how)

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
    given = {}
    running: list[Call] = []
    counted: set[str] = set()

    @functools.wraps(former)
    def noted(self, *args, **kwargs):
        named = [kwargs.get(name) for name in NAMED]
        others = [
            v for name, v in kwargs.items() if name not in NAMED and "mask" not in name
        ]
        arrived = _tensors((args, named, others))
        call = Call(self, arrived, _casts(self, arrived), [], _recomputed())
        call.outer = running[-1] if running else None
        calls.append(call)
        running.append(call)
        before = len(_graph_operations())
        try:
            outputs = former(self, *args, **kwargs)
        finally:
            running.pop()
        _count_casts(call, (args, kwargs), before, counted)
        call.left = _tensors(outputs)
        # kept, so that no id comes twice
        tensors = {id(x): x for x in keras.tree.flatten(outputs)}
        holds_others = self._flatten_layers(include_self=False, recursive=False)
        call.hands_on = bool(holds_others) and tensors.keys() <= given.keys()
        given.update(tensors)
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


def _recomputed():
    """Whether TensorFlow's recompute_grad, which is Keras's remat, is what calls just
    now.
    """
    frame = sys._getframe()
    while frame and not frame.f_code.co_qualname.startswith("recompute_grad."):
        frame = frame.f_back
    return frame is not None


def _tensors(structure):
    flat = keras.tree.flatten(structure)
    found = (x for x in flat if hasattr(x, "shape") and hasattr(x, "dtype"))
    return [(tuple(x.shape), keras.utils.standardize_dtype(x.dtype)) for x in found]


def _casts(layer, arrived):
    """Whether Keras casts one of the inputs before it calls the layer: only from float
    to float.
    """
    if not layer.autocast or not getattr(layer, "_convert_input_args", True):
        return False
    return any("float" in dtype and dtype != layer.input_dtype for _, dtype in arrived)


def of_layer(layer, calls) -> list[Call]:
    """The calls of one layer; those of its wrapper where the wrapper goes round its
    `__call__`.
    """
    wrapping = (c for c in calls if isinstance(c.layer, keras.layers.Wrapper))
    direct = [call for call in calls if call.layer is layer]
    return direct or [call for call in wrapping if call.layer.layer is layer]
