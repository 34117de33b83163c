"""Which layers of a model put out what is not finite, and what two loops share."""

from typing import Any
from unittest import mock

import keras
import numpy as np

from mixed_precision_lint.arrays import all_finite, finite_or_masked, largest

Where = tuple[str, str]


def not_finite(model: Any, x: Any) -> tuple[Where, Where]:
    """The layer that first puts out what is not finite, and what it was given, as a part
    of a sentence; and the first whose output is more than masked by −∞. Two empty texts
    each if none is.
    """
    seen = [("", ""), ("", "")]
    former = keras.Layer.__call__

    def call(layer, *arguments, **options):
        outputs = former(layer, *arguments, **options)
        for n, test in enumerate((all_finite, finite_or_masked)):
            if not seen[n][0] and not test(outputs):
                extreme = largest((arguments, options))
                limit = np.inf
                if layer.compute_dtype == "float16":
                    limit = float(np.finfo("float16").max)
                beyond = limit < extreme < np.inf
                why = f", given {extreme:.3g}, beyond its 65,504" if beyond else ""
                seen[n] = layer.name, why
        return outputs

    with mock.patch.object(keras.Layer, "__call__", call):
        model(x, training=True)
    return seen[0], seen[1]


def shared(one: Any, other: Any) -> str:
    """The name of a layer, a variable or the optimizer that two loops share, or ""."""
    parts = [
        {
            id(each): each.name
            for each in (
                *loop.model._flatten_layers(),
                *loop.model.variables,
                loop.optimizer,
            )
        }
        for loop in (one, other)
    ]
    return next((name for key, name in parts[0].items() if key in parts[1]), "")
