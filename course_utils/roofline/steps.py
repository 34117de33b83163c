"""What one step of a Keras model has to compute and to move, layer by layer."""

from dataclasses import dataclass

from course_utils.benchmark import POLICIES
from course_utils.precision.calls import calls_of, of_layer, symbols
from course_utils.precision.layers import walk
from course_utils.roofline.formulas import Arrays, Count, count, size
from course_utils.training import dtype_policy

PASSES = ("forward", "backward", "update")
COLUMNS = ["layer", "kind", "dtype", "update_dtype"]
COLUMNS += [f"{name}_{what}" for name in PASSES for what in ("flops", "bytes")]
# What an optimizer does to one weight, by the arrays it keeps for it: SGD, with momentum, Adam.
UPDATE_FLOPS = {0: 2, 1: 4, 2: 12}


@dataclass(frozen=True, eq=False)
class Work:
    """Operations and bytes of one step.

    The table, a DataFrame, has a row per layer: layer, kind, dtype (it computes in), update_dtype
    (of its weights), {forward, backward, update}_{flops, bytes}; <NA> for an unknown layer.
    """

    table: object
    unknown: tuple[str, ...] = ()  # layers that are not counted, and operations between layers

    @property
    def flops(self) -> int:
        """All operations of the step."""
        return int(self.table.filter(regex="_flops$").sum().sum())

    @property
    def bytes(self) -> int:
        """All bytes that the step moves at the least."""
        return int(self.table.filter(regex="_bytes$").sum().sum())

    @property
    def intensity(self) -> float:
        """Operations per byte."""
        return self.flops / self.bytes if self.bytes else 0.0


def work(model, batch_size: int, slots: int = 2, inputs=None) -> Work:
    """Counts the operations and bytes of a training step, under the policies of the layers.

    Counted are the forward pass, the gradients (none for what comes before the first weight to
    train) and the optimizer's update; casts of inputs, weights and gradients between dtypes; for
    a model under mixed_float16 the check and the unscaling of the gradients. Not counted are the
    loss, metrics, what a subclassed model computes outside layers, and everything that a library
    does besides (padding, other layouts, working space).

    `slots` are the optimizer's arrays for each weight: 2 for Adam, 0 for plain SGD; `inputs` an
    example of what the model is called with, where it does not tell (else ValueError).

    Example:
        >>> from course_utils import models
        >>> round(work(models.mnist_cnn(), batch_size=1).flops / 1e6)
        32
    """
    import pandas as pd

    calls = calls_with_batch(model, batch_size, inputs)
    trained = [i for i, call in enumerate(calls) if _stands_alone_and_trains(call.layer)]
    first = min(trained, default=len(calls))
    scaled = model.dtype_policy.name == "mixed_float16"
    rows, unknown = {}, []
    for place in walk(model):
        layer, mine = place.layer, of_layer(place.layer, calls)
        if not mine:
            continue  # never called
        index = [i for i, call in enumerate(calls) if any(call is c for c in mine)]
        counts = [_count(layer, calls[i], i > first) for i in index]
        row = {"layer": place.path, "kind": type(layer).__name__, "dtype": layer.compute_dtype}
        row["update_dtype"] = layer.variable_dtype
        if None in counts:
            unknown.append(f"{place.path} ({row['kind']})")
        else:
            row |= vars(sum(counts, Count())) | _update(layer, slots, scaled)
        rows[index[0], place.path] = row
    table = pd.DataFrame([rows[key] for key in sorted(rows)], columns=COLUMNS)
    table[COLUMNS[4:]] = table[COLUMNS[4:]].astype("Int64")
    unknown += [f"{x.name} ({type(x).__name__}, between layers)" for x in between(model)]
    return Work(table, tuple(unknown))


def works(build_model, batch_size: int) -> dict[str, Work]:
    """{policy: `work` of a step} of the model that a function returns, called under each policy.

    Example:
        works(models.mnist_cnn, 256)["mixed_float16"].intensity
    """
    found = {}
    for policy in POLICIES:
        with dtype_policy(policy):
            found[policy] = work(build_model(), batch_size)
    return found


def calls_with_batch(model, batch_size, inputs=None):
    """The calls of all layers on a batch of this size; ValueError where shapes stay open."""
    import keras

    spec = symbols(model, inputs, batch_size)
    if any(None in x.shape for x in keras.tree.flatten(spec)):
        raise ValueError(
            f"The model {model.name!r} does not tell the shape of its inputs: give an example "
            "batch as inputs."
        )
    return calls_of(model, spec)


def between(model):
    """The operations of Functional models that are no layers."""
    import keras

    models = [m for m in model._flatten_layers() if isinstance(m, keras.Model)]
    found = [o for m in models for o in getattr(m, "operations", [])]
    return [o for o in dict.fromkeys(found) if not isinstance(o, keras.Layer)]


def _count(layer, call, to_inputs):
    """Operations and bytes of one call with the casts before it; None for an unknown layer."""
    arrived = [(shape, dtype) for shape, dtype in call.arrived if shape]
    to_inputs = to_inputs and any("float" in dtype for _, dtype in arrived)
    casts, inputs = Count(), []
    for shape, dtype in arrived:
        into = layer.compute_dtype if call.cast and "float" in dtype else dtype
        moved = (size(shape, dtype) + size(shape, into)) * (into != dtype)
        casts += Count(0, moved, 0, moved * to_inputs)
        inputs.append((shape, into))
    if layer.compute_dtype != layer.variable_dtype:
        # Weights are cast on every call, and their gradients back.
        forward, backward = (
            sum(size(w.shape, w.dtype) + size(w.shape, layer.compute_dtype) for w in weights)
            for weights in (layer.weights, layer.trainable_variables)
        )
        casts += Count(0, forward, 0, backward)
    found = count(layer, Arrays(tuple(inputs), tuple(call.left), to_inputs))
    return found and found + casts


def _stands_alone_and_trains(layer):
    return bool(layer.trainable_variables) and not layer._flatten_layers(include_self=False)


def _update(layer, slots, scaled):
    """A layer's part of the optimizer's update."""
    stored = sum(size(w.shape, w.dtype) for w in layer.trainable_variables)
    number = stored // size((1,), layer.variable_dtype)
    return {
        "update_flops": number * (UPDATE_FLOPS.get(slots, 12) + 2 * scaled),
        # Reads weight, gradient and slots, writes weight and slots; unscaling is 3 passes more.
        "update_bytes": stored * (3 + 2 * slots + 3 * scaled),
    }
