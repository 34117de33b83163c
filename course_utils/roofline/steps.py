"""What one step of a Keras model has to compute and to move, layer by layer."""

import contextlib
from dataclasses import dataclass, field

from course_utils.benchmark import POLICIES
from course_utils.precision.calls import of_layer
from course_utils.precision.layers import walk
from course_utils.roofline.calls import calls_with_shapes, shapes_of
from course_utils.roofline.counts import Arrays, Count, size
from course_utils.roofline.formulas import VIEWS, count
from course_utils.stepping import dtype_policy

PASSES = ("forward", "backward", "update")
COLUMNS = ["layer", "kind", "dtype", "update_dtype"]
COLUMNS += [f"{name}_{what}" for name in PASSES for what in ("flops", "bytes")]
COLUMNS += ["output_bytes", "weight_bytes", "copy_bytes"]
# What an optimizer does to one weight, by the arrays it keeps for it: SGD, with momentum, Adam.
UPDATE_FLOPS = {0: 2, 1: 4, 2: 12}


@dataclass(frozen=True, eq=False)
class Work:
    """Operations and bytes of one step.

    Attributes:
        table: a DataFrame with a row per layer: layer, kind, dtype (it computes in), update_dtype
            (of its weights), {forward, backward, update}_{flops, bytes}; and, of these bytes, what
            `memory.account` counts too: output_bytes, weight_bytes, copy_bytes (the weights in 16
            bits). <NA> in the rows of layers that are unknown here.
        batch_size: samples in the step.
        unknown: the layers that are not counted, and operations between layers.
    """

    table: object
    batch_size: int
    unknown: tuple[str, ...] = field(default_factory=tuple)

    @property
    def flops(self) -> int:
        """All operations of the step."""
        return int(self.table[[f"{name}_flops" for name in PASSES]].sum().sum())

    @property
    def bytes(self) -> int:
        """All bytes that the step moves at the least."""
        return int(self.table[[f"{name}_bytes" for name in PASSES]].sum().sum())

    @property
    def intensity(self) -> float:
        """Operations per byte."""
        return self.flops / self.bytes if self.bytes else 0.0


def work(model, batch_size: int, training: bool = True, slots: int = 2, inputs=None) -> Work:
    """Counts the operations and bytes of a step, under the policies of the model's layers.

    Counted are the forward pass and, in training, the gradients (none for what comes before the
    first weight to train) and the optimizer's update; casts of inputs, weights and gradients
    between dtypes; for a model under mixed_float16 the check and the unscaling of the gradients.
    Not counted are the loss, metrics, what a subclassed model computes outside layers, and
    everything that a library does besides (padding, other layouts, working space).

    Args:
        model: a Keras model; the formulas are those of `roofline.formulas`.
        batch_size: samples in the step.
        training: with gradients and update, or the forward pass alone.
        slots: arrays that the optimizer keeps for each weight: 2 for Adam, 0 for plain SGD.
        inputs: an example of what the model is called with, for a subclassed model.

    Raises:
        ValueError: the model does not tell what it is called with and no `inputs` are given.

    Example:
        >>> from course_utils import models
        >>> round(work(models.mnist_cnn(), batch_size=1).flops / 1e6)
        32
    """
    import pandas as pd

    calls = calls_with_shapes(model, shapes_of(model, batch_size, inputs))
    noted = [call for call, _ in calls]
    places = {place.path: (place.layer, of_layer(place.layer, noted)) for place in walk(model)}
    trained = [i for i, (call, _) in enumerate(calls) if _own(call.layer)]
    first = min(trained, default=len(calls))
    scaled = model.dtype_policy.name == "mixed_float16"
    rows, unknown, order = [], [], []
    for path, (layer, mine) in places.items():
        if not mine:
            continue  # never called
        index = [i for i, (call, _) in enumerate(calls) if any(call is c for c in mine)]
        order.append(index[0])
        counts = [_count(layer, *calls[i], i > first, training) for i in index]
        row = {"layer": path, "kind": type(layer).__name__, "dtype": layer.compute_dtype}
        row["update_dtype"] = layer.variable_dtype
        if None in counts:
            unknown.append(f"{path} ({row['kind']})")
        else:
            row |= vars(sum(counts, Count())) | _weights(layer, training, slots, scaled)
            outputs = [output for i in index for output in calls[i][0].left]
            view = row["kind"] in VIEWS
            row["output_bytes"] = 0 if view else sum(size(*output) for output in outputs)
        rows.append(row)
    table = pd.DataFrame(rows, columns=COLUMNS)
    table[COLUMNS[4:]] = table[COLUMNS[4:]].astype("Int64")
    table = table.iloc[pd.Series(order, dtype=int).argsort(kind="stable")].reset_index(drop=True)
    return Work(table, batch_size, (*unknown, *_between(model)))


def works(build_model, batch_size: int, policies=POLICIES, slots: int = 2) -> dict[str, Work]:
    """{policy: `work` of a step} of one model under several policies.

    Args:
        build_model: function without arguments that returns a model; it is called under each
            policy.
        batch_size, slots: as for `work`.
        policies: names of Keras dtype policies.

    Example:
        works(models.mnist_cnn, 256)["mixed_float16"].intensity
    """
    found = {}
    for policy in policies:
        with dtype_policy(policy):
            found[policy] = work(build_model(), batch_size, slots=slots)
    return found


def _count(layer, call, arrived, to_inputs, training):
    """Operations and bytes of one call with the casts before it; None for an unknown layer."""
    to_inputs = to_inputs and any("float" in dtype for _, dtype in arrived)
    casts, inputs = Count(), []
    for shape, dtype in arrived:
        into = layer.compute_dtype if call.cast and "float" in dtype else dtype
        moved = (size(shape, dtype) + size(shape, into)) * (into != dtype)
        casts += Count(0, moved, 0, moved * to_inputs)
        inputs.append((shape, into))
    found = count(layer, Arrays(tuple(inputs), tuple(call.left), to_inputs, training))
    if found is None:
        return None
    if layer.compute_dtype != layer.variable_dtype:
        # Weights are cast on every call, and their gradients back.
        forward, backward = (
            sum(size(w.shape, w.dtype) + size(w.shape, layer.compute_dtype) for w in weights)
            for weights in (layer.weights, layer.trainable_variables)
        )
        casts += Count(0, forward, 0, backward)
    found += casts
    return found if training else Count(found.forward_flops, found.forward_bytes)


def _own(layer):
    """Whether a layer that stands for itself has weights to train."""
    with contextlib.suppress(AttributeError):
        return bool(layer.trainable_variables) and not layer._flatten_layers(include_self=False)
    return False


def _weights(layer, training, slots, scaled):
    """Bytes of a layer's weights and of their copies in 16 bits, and its part of the update."""
    weights = [(w.shape, w.dtype) for w in layer.weights]
    train = [(w.shape, w.dtype) for w in layer.trainable_variables]
    stored = sum(size(*w) for w in train)
    copies = sum(size(shape, layer.compute_dtype) for shape, _ in train)
    copies *= layer.compute_dtype != layer.variable_dtype
    number = stored // size((1,), layer.variable_dtype)
    found = {"weight_bytes": sum(size(*w) for w in weights), "copy_bytes": copies}
    found["update_flops"] = number * (UPDATE_FLOPS.get(slots, 12) + 2 * scaled) * training
    # Reads weight, gradient and slots, writes weight and slots; unscaling is 3 passes more.
    found["update_bytes"] = stored * (3 + 2 * slots + 3 * scaled) * training
    return found


def _between(model):
    """Names of the operations of Functional models that are no layers."""
    import keras

    models = [m for m in model._flatten_layers() if isinstance(m, keras.Model)]
    found = [
        o for m in models for o in getattr(m, "operations", []) if not isinstance(o, keras.Layer)
    ]
    return [f"{o.name} ({type(o).__name__}, between layers)" for o in dict.fromkeys(found)]
