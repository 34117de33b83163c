"""The calls of a model's layers, noted while the model runs on symbols instead of numbers."""

import contextlib
import functools
from dataclasses import dataclass
from typing import Any


@dataclass(eq=False)
class Call:
    """One call of one layer.

    Attributes:
        layer: the `keras.Layer`.
        arrived: dtypes of its input tensors before it casts them, masks left out.
        cast: whether Keras casts one of them before the layer computes.
        left: (shape, dtype) of each output tensor.
    """

    layer: Any
    arrived: list[str]
    cast: bool
    left: list[tuple]


def calls_of(model, spec) -> list[Call]:
    """Calls the model as in inference, without computing, and returns the calls of all layers.

    Args:
        model: a `keras.Model`. Weights do not change; a model that is not built yet is built.
        spec: what to call it with: a `keras.KerasTensor`, or a dict or list of them.

    Example:
        >>> model = keras.Sequential([keras.layers.Dense(3, dtype="float16")])
        >>> calls_of(model, keras.KerasTensor((2, 4)))[-1].cast
        True
    """
    if not all(layer.built for layer in model._flatten_layers()):
        _run(model, spec)  # The first call builds, and for it runs some layers twice.
    with _noted() as calls:
        _run(model, spec)
    return calls


def _run(model, spec):
    import keras

    failures = []

    class Probe(keras.Operation):
        def call(self, inputs):
            try:
                return model(inputs)
            except Exception as error:
                failures.append(error)
                raise

    try:
        Probe().compute_output_spec(spec)
    except Exception as error:
        # Keras blames the probe; the model's own error says more.
        raise (failures or [error])[0] from None


@contextlib.contextmanager
def _noted():
    """Notes every call of a layer while the block runs: a list of `Call`, in order.

    Keras casts in `Layer.__call__`, and Python looks that up on the class: only there can one see
    what arrives before the cast.
    """
    import keras

    former, calls = keras.Layer.__call__, []

    @functools.wraps(former)
    def noted(self, *args, **kwargs):
        others = {name: value for name, value in kwargs.items() if "mask" not in name}
        arrived = [dtype for _, dtype in _tensors((args, others))]
        call = Call(self, arrived, _casts(self, arrived), [])
        calls.append(call)
        outputs = former(self, *args, **kwargs)
        call.left = _tensors(outputs)
        return outputs

    keras.Layer.__call__ = noted
    try:
        yield calls
    finally:
        keras.Layer.__call__ = former


def _tensors(structure):
    """(shape, dtype) of each tensor in a structure."""
    import keras

    found = [
        x for x in keras.tree.flatten(structure) if hasattr(x, "shape") and hasattr(x, "dtype")
    ]
    return [(tuple(x.shape), keras.utils.standardize_dtype(x.dtype)) for x in found]


def _casts(layer, dtypes):
    """Whether Keras casts one of the inputs before it calls the layer: only from float to float."""
    if not layer.autocast or not getattr(layer, "_convert_input_args", True):
        return False
    return any("float" in dtype and dtype != layer.input_dtype for dtype in dtypes)


def of_layer(layer, calls) -> list[Call]:
    """The calls of one layer; those of its wrapper where the wrapper goes round its `__call__`."""
    import keras

    direct = [call for call in calls if call.layer is layer]
    return direct or [
        call
        for call in calls
        if isinstance(call.layer, keras.layers.Wrapper) and call.layer.layer is layer
    ]
