"""The calls of a model's layers, noted while the model runs on symbols instead of
numbers.
"""

import contextlib
import functools
import math
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from unittest import mock

import keras
import numpy as np

from mixed_precision_lint.finding import NARROW, WIDE
from mixed_precision_lint.inside import with_bodies

if TYPE_CHECKING:
    import tensorflow as tf

# where the model leaves the batch open; not 1, which operations may squeeze away
BATCH = 2


@dataclass(eq=False)
class Call:
    """One call of one layer, with the (shape, dtype) of its input and output tensors."""

    layer: keras.Layer
    inputs: list[tuple]  # before the layer casts; masks are left out
    cast: bool  # whether Keras casts one of them before the layer computes
    outer: "Call | None"  # the call that this one is a part of
    outputs: list[tuple] = field(default_factory=list)
    # {"input", "weight" or "inside": bytes that its own casts from float to float read
    # and write}
    cast_bytes: Counter = field(default_factory=Counter)
    # Of TensorFlow's graph: what is its own, in the bodies of loops too, and none of a
    # layer that it calls.
    operations: list = field(default_factory=list)
    # {number that its own code, and no layer that it calls, put into 16 bits: the dtype
    # and the constant}
    numbers: dict[float, tuple] = field(default_factory=dict)
    # the dtypes of the single numbers of NumPy's that it made constants of
    from_numpy: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)  # dtypes of those that it added
    asks_policy: bool = False  # whether its code asks for the global policy


def symbols(model: keras.Model, batch_size: int = BATCH) -> Any:
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
        with contextlib.suppress(AttributeError, IndexError):
            if isinstance(model, keras.Sequential):
                inputs = model.inputs[0]
            elif hasattr(model, "inputs"):
                inputs = model.input
            else:  # `input` has no names
                inputs = model._inbound_nodes[0].arguments.args[0]
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


def calls_of(model: keras.Model, spec: Any) -> list[Call]:
    """Calls a model, without computing, and returns the calls of all layers.

    `spec` is what `symbols` gives. Weights do not change.

        >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, dtype="float16")])
        >>> calls_of(model, symbols(model))[-1].cast
        True
    """
    if not all(layer.built for layer in model._flatten_layers()):
        # The first call builds, and for it runs some layers twice.
        _on_symbols(model, spec)
    with _noted() as (calls, failed):
        try:
            _on_symbols(model, spec)
        except Exception as error:
            error.layer = failed[0] if failed else model  # type: ignore[attr-defined]
            raise
    return calls


def _on_symbols(model, spec):
    class SymbolicCall(keras.Operation):
        def call(self, inputs):
            return model(inputs)

    try:
        SymbolicCall().compute_output_spec(spec)
    except Exception as error:
        # Keras blames the symbolic call; the layer's own error says more.
        raise (error.__context__ or error) from None


@contextlib.contextmanager
def _noted():
    """Notes every call of a layer while the block runs: a list of `Call`, in order, and
    one of the layers that raised an error, the innermost first.

    Keras casts in `Layer.__call__`, and Python looks that up on the class: only there
    can one see what arrives before the cast.
    """
    former = keras.Layer.__call__
    calls: list[Call] = []
    failed: list = []
    running: list[Call] = []
    claimed: set = set()  # operations

    @functools.wraps(former)
    def noted(self, *args, **kwargs):
        others = [value for name, value in kwargs.items() if "mask" not in name]
        inputs = _tensors((args, others))
        outer = running[-1] if running else None
        call = Call(self, inputs, _casts(self, inputs), outer)
        calls.append(call)
        running.append(call)
        before = len(_operations())
        try:
            outputs = former(self, *args, **kwargs)
        except Exception:
            failed.append(self)
            raise
        finally:
            running.pop()
        # The layers that it calls have ended, and taken theirs.
        call.operations = [
            each for each in with_bodies(_operations()[before:]) if each not in claimed
        ]
        claimed.update(call.operations)
        _count_casts(call, (args, kwargs))
        call.outputs = _tensors(outputs)
        return outputs

    with (
        mock.patch.object(keras.Layer, "__call__", noted),
        _noted_losses(running),
        _noted_numbers(running),
        _noted_questions(running),
    ):
        yield calls, failed


def _noted_losses(running):
    """Note in the innermost running call what losses it adds."""
    former = keras.Layer.add_loss

    @functools.wraps(former)
    def add_loss(self, loss):
        if running:
            running[-1].losses += [dtype for _, dtype in _tensors(loss)]
        return former(self, loss)

    return mock.patch.object(keras.Layer, "add_loss", add_loss)


def _noted_questions(running):
    """Note in the innermost running call whether its code asks for the global policy."""
    # What they all read, whatever name the code has for them.
    state = keras.config.dtype_policy.__globals__["global_state"]
    former = state.get_global_attribute

    def get(name, *arguments, **options):
        # Keras's own code asks for each layer that is made.
        asker = sys._getframe(2).f_globals.get("__name__", "")
        if running and name == "dtype_policy" and not asker.startswith("keras."):
            running[-1].asks_policy = True
        return former(name, *arguments, **options)

    return mock.patch.object(state, "get_global_attribute", get)


def _noted_numbers(running):
    """Note in the innermost running call the floats that become 16-bit constants.

    TensorFlow makes each of them in one place, which has no public name. Where there is
    no such place, no number is noted.
    """
    if keras.backend.backend() != "tensorflow":
        return contextlib.nullcontext()
    from tensorflow.python.framework import constant_op

    former = getattr(constant_op, "_constant_impl", None)
    if former is None:
        return contextlib.nullcontext()

    def constant(value, dtype, *arguments, **options):
        tensor = former(value, dtype, *arguments, **options)
        name = tensor.dtype.name
        if running and name in NARROW:
            for number in _numbers(value):
                running[-1].numbers[number] = name, tensor
        if running and isinstance(value, np.floating) and name in WIDE:
            running[-1].from_numpy.append(name)
        return tensor

    return mock.patch.object(constant_op, "_constant_impl", constant)


def _operations():
    """Those of TensorFlow's graph so far, while it runs on symbols."""
    if keras.backend.backend() != "tensorflow":
        return []
    import tensorflow as tf

    return tf.compat.v1.get_default_graph().get_operations()


def _count_casts(call, arguments):
    """Note in a call the bytes that its own casts move, once in a loop's body, and the
    numbers that they cast.
    """
    flat = keras.tree.flatten(arguments)
    names = {x.name for x in flat if call.cast and hasattr(x, "op")}
    for operation in call.operations:
        if operation.type != "Cast":
            continue
        start, end = operation.inputs[0], operation.outputs[0]
        if start.dtype.is_floating and end.dtype.is_floating:
            kind = "input" if start.name in names else "inside"
            if start.op.type == "ReadVariableOp":
                kind = "weight"
            count = math.prod(n or 1 for n in start.shape)
            call.cast_bytes[kind] += count * (start.dtype.size + end.dtype.size)
            if start.op.type in ("Const", "Placeholder") and end.dtype.name in NARROW:
                for number in _numbers(constant_value(start)):
                    call.numbers[number] = end.dtype.name, end


def _numbers(value):
    """The number of which a constant consists, in a list; of different ones the largest,
    as small ones are there for something else than to protect from zero.
    """
    try:
        array = np.asarray(value, "float64").ravel()
    except (TypeError, ValueError):
        return []
    array = array[np.isfinite(array)]
    return [float(array[np.abs(array).argmax()])] if array.size else []


def constant_value(tensor: "tf.Tensor") -> np.ndarray | None:
    """The array that a tensor of TensorFlow's graph always is, or None."""
    import tensorflow as tf

    value = tf.get_static_value(tensor)
    if value is None and tensor.dtype.is_floating:
        for outside, inside in tensor.graph.captures:
            if inside is tensor:
                return constant_value(outside)
    return value


def _tensors(structure):
    flat = keras.tree.flatten(structure)
    tensors = (x for x in flat if hasattr(x, "shape") and hasattr(x, "dtype"))
    return [(tuple(x.shape), keras.utils.standardize_dtype(x.dtype)) for x in tensors]


def _casts(layer, inputs):
    """Whether Keras casts one of the inputs before it calls the layer: only from float
    to float.
    """
    if not layer.autocast or not getattr(layer, "_convert_input_args", True):
        return False
    return any("float" in dtype and dtype != layer.input_dtype for _, dtype in inputs)
