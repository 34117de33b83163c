"""Which dtype arrives at each layer of a Keras model, and which leaves it."""

import contextlib
import math
from collections import Counter

import ml_dtypes  # noqa: F401  (teaches NumPy the name "bfloat16")
import numpy as np

from course_utils.precision.calls import calls_of, of_layer
from course_utils.precision.layers import inside, walk

COLUMNS = {
    "layer": "object",
    "kind": "object",
    "policy": "object",
    "variable_dtype": "object",
    "compute_dtype": "object",
    "input_dtype": "object",
    "output_dtype": "object",
    "cast": "bool",
    "parameters": "int64",
    "weight_bytes": "int64",
    "activation_bytes": "Int64",
    "optimizer_bytes": "Int64",
}
BATCH = 2  # where the model leaves the batch open; not 1, which operations may squeeze away


def dtype_flow(model, inputs=None):
    """A table of the dtypes that flow through a model: a row for each layer of `layers.walk`.

    The model is called once on symbols instead of numbers, as in inference: nothing is computed
    and no weight changes. Rows come in the order of the calls, unused layers last.

    Args:
        model: a Keras model of any kind. A model that is not built yet needs `inputs` and is built.
        inputs: an example of what you call the model with: an array, a tensor, a `keras.Input`, or
            a dict or list of them. Only shapes and dtypes count; float64 arrays are taken as
            `keras.config.floatx()`, as `fit` does. Without it, Sequential and Functional models
            tell their inputs themselves; a subclassed model tells its shapes alone and is taken
            to get `floatx()`, so give it `inputs` if it gets integers.

    Returns:
        A pandas DataFrame; `attrs["input_dtype"]` is what arrives at the model. Columns:
            layer: path of the layer in the model.
            kind: its class.
            policy: the name of its dtype policy.
            variable_dtype: dtype of most of its weights; without weights, what its policy says.
            compute_dtype: what its policy says.
            input_dtype: what arrives, before any cast by the layer; more than one as
                "float16, float32"; "" for a layer that is not called.
            output_dtype: what leaves.
            cast: whether the layer casts its input by its policy. A subclassed model, or a layer
                of your own that holds others, casts at its own door: its first layer gets the
                result and casts nothing. LayerNormalization takes what comes and casts inside.
            parameters: number of weights, each one counted at one layer only.
            weight_bytes: their bytes, in the dtypes that they really have.
            activation_bytes: bytes of the output for one sample, of all its calls together; <NA>
                if a shape is open. A layer listed besides what it holds counts as 0.
            optimizer_bytes: bytes of the optimizer's variables for these weights; <NA> before the
                optimizer is built, and if its variables cannot be told apart by their names.

    Raises:
        ValueError: the model is not built, or its inputs are not known, and no `inputs` are given.

    Example:
        >>> from course_utils import models
        >>> from course_utils.stepping import dtype_policy
        >>> with dtype_policy("mixed_float16"):
        ...     model = models.mnist_cnn()
        >>> dtype_flow(model)[["layer", "input_dtype", "cast", "output_dtype"]].tail(2)
             layer input_dtype   cast output_dtype
        4    dense     float16  False      float16
        5  dense_1     float16   True      float32
    """
    import keras
    import pandas as pd

    spec = _spec(model, inputs)
    calls = calls_of(model, spec)
    places, slots = walk(model), _optimizer_bytes(model)
    weights = _weights(places)
    tensors = keras.tree.flatten(spec)
    batch = tensors[0].shape[0] if tensors[0].shape else 1
    order, rows = [], []
    for place in places:
        layer, mine = place.layer, weights[place.path]
        here, opened = of_layer(layer, calls), inside(layer) is not None
        order.append(calls.index(here[0]) if here else len(calls))
        rows.append(
            {
                "layer": place.path,
                "kind": type(layer).__name__,
                "policy": layer.dtype_policy.name,
                "variable_dtype": _most(mine) or layer.variable_dtype,
                "compute_dtype": layer.compute_dtype,
                "input_dtype": _names(here[0].arrived) if here else "",
                "output_dtype": _names(dtype for _, dtype in here[0].left) if here else "",
                "cast": any(call.cast for call in here),
                "parameters": sum(math.prod(w.shape) for w in mine),
                "weight_bytes": sum(_bytes(w.shape, w.dtype) for w in mine),
                "activation_bytes": 0 if opened or not here else _per_sample(here, batch),
                "optimizer_bytes": None if slots is None else sum(slots[id(w)] for w in mine),
            }
        )
    rows = [rows[i] for i in np.argsort(order, kind="stable")]
    table = pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)
    table.attrs["input_dtype"] = _names(tensor.dtype for tensor in tensors)
    return table


def _spec(model, inputs):
    """What the model is called with, as tensors without numbers."""
    import keras

    if inputs is None:
        inputs = _known_inputs(model)
    flat = keras.tree.flatten(inputs)
    if not flat or not all(hasattr(x, "shape") and hasattr(x, "dtype") for x in flat):
        raise ValueError(
            f"inputs is a {type(inputs).__name__} that does not hold arrays alone: give an array, "
            "a tensor or a keras.Input, or a dict or list of them."
        )
    batch = next((x.shape[0] for x in flat if len(x.shape) and x.shape[0]), BATCH)

    def symbol(x):
        dtype = keras.utils.standardize_dtype(x.dtype)
        if dtype == "float64" and not isinstance(x, keras.KerasTensor):
            dtype = keras.config.floatx()
        return keras.KerasTensor((batch, *x.shape[1:]) if len(x.shape) else (), dtype=dtype)

    return keras.tree.map_structure(symbol, inputs)


def _known_inputs(model):
    import keras

    if model.built:
        with contextlib.suppress(AttributeError):  # where no symbol has ever gone through it
            return model.inputs[0] if isinstance(model, keras.Sequential) else model.input
        # Several arguments would be told by "shapes_dict": then the model needs `inputs`.
        shapes = (model.get_build_config() or {}).get("input_shape")
        if shapes:
            return keras.tree.map_shape_structure(keras.KerasTensor, shapes)
    raise ValueError(
        f"The model {model.name!r} does not tell its inputs yet: build it with "
        "model.build(input_shape), or give an example batch as inputs."
    )


def _weights(places):
    """{path: weights}, each weight at one path: the first of the layers that hold no others."""
    held, seen = {}, set()
    opened = [place for place in places if inside(place.layer) is not None]
    for place in [p for p in places if p not in opened] + opened[::-1]:
        held[place.path] = [w for w in place.layer.weights if id(w) not in seen]
        seen.update(map(id, held[place.path]))
    return held


def _most(weights):
    """The dtype of most of the weights, None without any."""
    count = Counter()
    for weight in weights:
        count[str(weight.dtype)] += math.prod(weight.shape)
    return max(count, key=count.get, default=None)


def _optimizer_bytes(model):
    """Counter {id of a weight: bytes of its optimizer variables}, None where it cannot be told."""
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None or not optimizer.built:
        return None
    # Keras names a slot after its weight: "dense_kernel_momentum" belongs to "dense/kernel".
    owners, taken, slots = {}, Counter(), Counter()
    for weight in model.trainable_variables:
        owners.setdefault(weight.path.replace("/", "_"), []).append(weight)
    for slot in optimizer.variables:
        name = max((n for n in owners if slot.name.startswith(n + "_")), key=len, default=None)
        if name is not None:
            # Weights of the same name have slots of the same name, in the same order.
            owner = owners[name][taken[slot.name] % len(owners[name])]
            taken[slot.name] += 1
            slots[id(owner)] += _bytes(slot.shape, slot.dtype)
        elif len(slot.shape):
            return None
    return slots


def _per_sample(calls, batch):
    """Bytes of all outputs for one sample, None where a shape or an item's size is open."""
    sizes = [_bytes(shape, dtype) for call in calls for shape, dtype in call.left]
    return None if None in sizes else sum(sizes) // batch


def _bytes(shape, dtype):
    if None in shape or str(dtype) == "string":
        return None
    return math.prod(shape) * np.dtype(str(dtype)).itemsize


def _names(dtypes):
    """The different dtypes in the order of their arrival: "float16, float32"."""
    return ", ".join(dict.fromkeys(dtypes))
