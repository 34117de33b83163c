"""What one step of a Keras model has to compute and to move, layer by layer."""

from dataclasses import dataclass
from typing import Any

from course_utils.benchmark import POLICIES
from course_utils.precision.calls import calls_of, of_layer, symbols
from course_utils.precision.layers import walk
from course_utils.roofline.formulas import PRODUCTS, Arrays, Count, count, size
from course_utils.training import dtype_policy

COLUMNS = ["layer", "step", "dtype", "flops", "bytes", "product"]


@dataclass(frozen=True, eq=False)
class Work:
    """Operations and bytes of one step.

    The table, a DataFrame, has three rows for each layer with a formula: layer, step
    ("forward", "backward", "update"), dtype (of the arithmetic), flops, bytes, product
    (whether it is matrix products or convolutions).
    """

    table: Any  # a DataFrame
    # layers that are not counted, and operations between layers
    unknown: tuple[str, ...] = ()

    @property
    def flops(self) -> int:
        """All operations of the step."""
        return int(self.table["flops"].sum())

    @property
    def bytes(self) -> int:
        """All bytes that the step moves at the least."""
        return int(self.table["bytes"].sum())


def work(model, batch_size: int) -> Work:
    """Counts the operations and bytes of a training step, under the policies of the
    layers.

    Counted are the forward pass, the gradients (none for what comes before the first
    weight to train) and Adam's update; casts of inputs, weights and gradients between
    dtypes; for a model under mixed_float16 the check and the unscaling of the
    gradients. Not counted are the loss, metrics, what a subclassed model computes
    outside layers, and everything that a library does besides (padding, other layouts,
    working space). ValueError where a shape stays open.

    Example:
        >>> from course_utils import models
        >>> round(work(models.mnist_cnn(), batch_size=1).flops / 1e6)
        32
    """
    import pandas as pd

    calls = calls_with_batch(model, batch_size)
    # Layers that hold others train by these.
    alone = [not call.layer._flatten_layers(include_self=False) for call in calls]
    trained = [
        i for i, call in enumerate(calls) if alone[i] and call.layer.trainable_variables
    ]
    first = min(trained, default=len(calls))
    scaled = model.dtype_policy.name == "mixed_float16"
    rows, unknown = [], []
    for path, layer in walk(model):
        mine = of_layer(layer, calls)
        counts = [_count(layer, c, i > first) for i, c in enumerate(calls) if c in mine]
        if None in counts:
            unknown.append(f"{path} ({type(layer).__name__})")
        elif counts:  # else it was never called
            whole = sum(counts, Count())
            dtype = layer.compute_dtype
            product = type(layer).__name__ in PRODUCTS
            rows.append(
                (
                    path,
                    "forward",
                    dtype,
                    whole.forward_flops,
                    whole.forward_bytes,
                    product,
                )
            )
            backward = whole.backward_flops, whole.backward_bytes
            rows.append((path, "backward", dtype, *backward, product))
            rows.append(
                (path, "update", layer.variable_dtype, *_update(layer, scaled), False)
            )
    unknown += [
        f"{x.name} ({type(x).__name__}, between layers)" for x in between(model)
    ]
    return Work(pd.DataFrame(rows, columns=COLUMNS), tuple(unknown))


def works(build_model, batch_size: int) -> dict[str, Work]:
    """{policy: `work` of a step} of the model that a function returns, called under
    each policy.

    Example:
        works(models.mnist_cnn, 256)["mixed_float16"].bytes
    """
    found = {}
    for policy in POLICIES:
        with dtype_policy(policy):
            found[policy] = work(build_model(), batch_size)
    return found


def calls_with_batch(model, batch_size):
    """The calls of all layers on a batch of this size; ValueError where shapes stay
    open.
    """
    import keras

    spec = symbols(model, batch_size)
    if any(None in x.shape for x in keras.tree.flatten(spec)):
        raise ValueError(
            f"The model {model.name!r} leaves a shape of its inputs open: give it a fixed one."
        )
    return calls_of(model, spec)


def between(model):
    """The operations of Functional models that are no layers."""
    import keras

    models = [m for m in model._flatten_layers() if isinstance(m, keras.Model)]
    found = [o for m in models for o in getattr(m, "operations", [])]
    return [o for o in dict.fromkeys(found) if not isinstance(o, keras.Layer)]


def _count(layer, call, to_inputs):
    """Operations and bytes of one call with the casts before it; None for an unknown
    layer.
    """
    arrived = [(shape, dtype) for shape, dtype in call.arrived if shape]
    to_inputs = to_inputs and any("float" in dtype for _, dtype in arrived)
    casts = Count()
    inputs = []
    for shape, dtype in arrived:
        into = layer.compute_dtype if call.cast and "float" in dtype else dtype
        moved = (size(shape, dtype) + size(shape, into)) * (into != dtype)
        casts += Count(0, moved, 0, moved * to_inputs)
        inputs.append((shape, into))
    if layer.compute_dtype != layer.variable_dtype:
        # Weights are cast on every call, and their gradients back.
        forward, backward = (
            sum(
                size(w.shape, w.dtype) + size(w.shape, layer.compute_dtype)
                for w in weights
            )
            for weights in (layer.weights, layer.trainable_variables)
        )
        casts += Count(0, forward, 0, backward)
    found = count(layer, Arrays(tuple(inputs), tuple(call.left), to_inputs))
    return found and found + casts


def _update(layer, scaled):
    """Operations and bytes of a layer's part of Adam's update."""
    stored = sum(size(w.shape, w.dtype) for w in layer.trainable_variables)
    number = stored // size((1,), layer.variable_dtype)
    # Reads weight, gradient and two slots, writes weight and slots; unscaling is 3
    # passes more.
    return number * (12 + 2 * scaled), stored * (7 + 3 * scaled)
