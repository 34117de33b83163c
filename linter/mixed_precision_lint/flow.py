"""Which dtype arrives at each layer of a Keras model, and which leaves it."""

import math
from collections import Counter, defaultdict
from typing import Any, NamedTuple

import keras
import ml_dtypes  # noqa: F401  (teaches NumPy the name "bfloat16")
import numpy as np

from mixed_precision_lint.calls import BATCH, calls_of, symbols
from mixed_precision_lint.layers import refuse_other, walk


class Flow(NamedTuple):
    """What flows through a model in one call."""

    rows: list[dict[str, Any]]  # one for each layer, see `dtype_flow`
    input_dtype: str  # what arrives at the model
    # {name: bytes that casts move} of models and layers that only hold others
    borders: dict[str, int]
    batch_size: int


def dtype_flow(model: keras.Model, batch_size: int = BATCH) -> Flow:
    """The dtypes that flow through a model: a row for each layer of `layers.walk`.

    The model is called once on symbols, as in inference: nothing is computed, no weight
    changes. ValueError for a model that is not built, or without a layer that computes.

    The rows stand in the order of the calls, unused layers last. `input_dtype` is what
    arrives before any cast ("float16, float32" if several, "" if the layer is not
    called), `cast` whether the layer's policy casts it (a subclassed model casts at its
    own door, and its first layer nothing), `variable_dtype` that of most of its weights
    and `read_dtype` what the layer's `call` gets when it reads those. `input_moved`,
    `weight_moved` and `inside_moved` are the bytes that casts read and write in one
    forward pass of `batch_size` samples, from TensorFlow's graph (a loop's body
    counts once): of its inputs by its policy, of its weights, and by its own code.
    `parameters` and `weight_bytes` count each weight at one layer only.

        >>> x = keras.Input((3,))
        >>> model = keras.Sequential([x, keras.layers.Dense(2, dtype="mixed_float16")])
        >>> (row,) = dtype_flow(model).rows
        >>> row["input_dtype"], row["cast"], row["output_dtype"], row["weight_bytes"]
        ('float32', True, 'float16', 32)
    """
    refuse_other(model)
    spec = symbols(model, batch_size)
    calls = calls_of(model, spec)
    places = walk(model)
    weights = _weights(places)
    cast_bytes, borders = _cast_bytes(calls, places)
    rows = []
    for path, layer in places:
        own = [call for call in calls if call.layer is layer]
        stored = _most(weights[path]) or layer.variable_dtype
        casts = cast_bytes[id(layer)]
        counts = [math.prod(weight.shape) for weight in weights[path]]
        widths = [np.dtype(str(weight.dtype)).itemsize for weight in weights[path]]
        rows.append(
            {
                "turn": calls.index(own[0]) if own else len(calls),
                "layer": path,
                "kind": type(layer).__name__,
                "policy": layer.dtype_policy.name,
                "variable_dtype": stored,
                "read_dtype": layer.compute_dtype if casts["weight"] else stored,
                "compute_dtype": layer.compute_dtype,
                "input_dtype": _names(own[0].inputs) if own else "",
                "output_dtype": _names(own[0].outputs) if own else "",
                "cast": any(call.cast for call in own),
                "input_moved": casts["input"],
                "weight_moved": casts["weight"],
                "inside_moved": casts["inside"],
                "parameters": sum(counts),
                "weight_bytes": int(np.dot(counts, widths)),
            }
        )
    if not rows:
        raise ValueError("No layer of this model computes: give another model.")
    rows.sort(key=lambda row: row["turn"])
    for row in rows:
        del row["turn"]
    arrives = _names((x.shape, x.dtype) for x in keras.tree.flatten(spec))
    return Flow(rows, arrives, borders, batch_size)


def _cast_bytes(calls, places):
    """Bytes that casts move: {id of a listed layer: {kind}}, and {name} of the others.

    What a listed layer holds unlisted, as attention does, counts as its own.
    """
    listed = {id(layer) for _, layer in places}
    of_listed: defaultdict = defaultdict(Counter)
    borders: Counter = Counter()
    for call in calls:
        owner = call
        while owner and id(owner.layer) not in listed:
            owner = owner.outer
        if owner:
            of_listed[id(owner.layer)] += call.cast_bytes
        elif call.cast_bytes:
            borders[call.layer.name] += call.cast_bytes.total()
    return of_listed, dict(borders)


def _weights(places):
    """{path: weights}, each weight at one path: in a layer that is held, not around it."""
    weights = {}
    ids = set()
    for path, layer in reversed(places):
        weights[path] = [weight for weight in layer.weights if id(weight) not in ids]
        ids.update(map(id, weights[path]))
    return weights


def _most(weights):
    """The dtype of most of the weights, None without any."""
    count = Counter()
    for weight in weights:
        count[str(weight.dtype)] += math.prod(weight.shape)
    return count.most_common(1)[0][0] if count else None


def _names(tensors):
    """The different dtypes in the order of their arrival: "float16, float32"."""
    return ", ".join(dict.fromkeys(dtype for _, dtype in tensors))
