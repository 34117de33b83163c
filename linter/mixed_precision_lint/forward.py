"""Which layers of a model put out what is not finite, and what two loops share."""

from typing import TYPE_CHECKING, Any
from unittest import mock

import keras
import numpy as np

from mixed_precision_lint.arrays import all_finite, finite_or_masked, largest

if TYPE_CHECKING:
    from mixed_precision_lint.instrumented_loop import InstrumentedLoop

Where = tuple[str, str]


def not_finite(model: keras.Model, x: Any) -> tuple[Where, Where]:
    """The layer that first puts out what is not finite, and what it was given, as a part
    of a sentence; and the first whose output is more than masked by −∞. Two empty texts
    each if none is.
    """
    first = first_unmasked = ("", "")
    former = keras.Layer.__call__

    def call(layer, *arguments, **options):
        nonlocal first, first_unmasked
        outputs = former(layer, *arguments, **options)
        if not first_unmasked[0] and not all_finite(outputs):
            where = layer.name, _beyond(layer, (arguments, options))
            if not first[0]:
                first = where
            if not finite_or_masked(outputs):
                first_unmasked = where
        return outputs

    with mock.patch.object(keras.Layer, "__call__", call):
        model(x, training=True)
    return first, first_unmasked


def _beyond(layer, inputs):
    """That a layer's input is beyond its format, as a part of a sentence, or ""."""
    extreme = largest(inputs)
    limit = np.finfo("float16").max
    if layer.compute_dtype == "float16" and limit < extreme < np.inf:
        return f", given {extreme:.3g}, beyond its 65,504"
    return ""


def shared(one: "InstrumentedLoop", other: "InstrumentedLoop") -> str:
    """The name of a layer, a variable or the optimizer that two loops share, or ""."""
    ids = set(map(id, _parts(one)))
    return next((part.name for part in _parts(other) if id(part) in ids), "")


def _parts(loop):
    return [*loop.model._flatten_layers(), *loop.model.variables, loop.optimizer]
