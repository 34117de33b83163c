"""What training a Keras model keeps in memory, counted from the calls of its layers."""

import math
from dataclasses import dataclass

import ml_dtypes  # noqa: F401  (teaches NumPy the name "bfloat16")
import numpy as np

from course_utils.precision.calls import calls_of, symbols

VIEWS = ("Flatten", "Reshape", "InputLayer", "Identity")


@dataclass(frozen=True)
class MemoryAccount:
    """Bytes that one training step of a model needs."""

    weights: int  # the variables of the layers, in their variable dtype
    gradients: int  # one for each trainable variable, in its dtype
    optimizer: int  # Adam's two slots for each trainable variable
    # in 16 bits, for layers that compute so and keep float32 variables
    weight_copies: int
    # every layer's output, kept for the backward pass, for the whole batch
    activations: int
    activation_gradients: int  # one for each of them, of the same size

    @property
    def total(self) -> int:
        """The sum of the parts, in bytes."""
        return sum(vars(self).values())


def account(model, batch_size: int) -> MemoryAccount:
    """Counts the bytes that a step of a Keras model with Adam needs, under its layers'
    policies.

    ValueError if the shape of the inputs, or of what a layer makes of them, stays open.
    A layer that is called twice counts twice. Attention counts its projections and
    scores; a recurrent layer counts by its output alone, so the sum is too small
    there. Layers before the first one with weights to train get no gradient.

    A measured peak lies near the sum: below, because the backward pass gives
    activations back while it makes their gradients; above, because of the kernels'
    working space, the batch, the allocator's rounding, and what a subclassed model
    computes outside layers.

    Example:
        >>> from course_utils import models
        >>> account(models.mnist_cnn(), batch_size=1).activations
        139688
    """
    import keras
    from keras.layers import RNN, MultiHeadAttention

    calls = _calls(model, batch_size)
    # These count what they make inside by themselves.
    whole = {c.layer for c in calls if isinstance(c.layer, RNN | MultiHeadAttention)}
    inside = {
        held for layer in whole for held in layer._flatten_layers(include_self=False)
    }
    activations = gradients = 0
    trains = False  # whether a gradient comes back to here
    for call in calls:
        layer = call.layer
        trains = trains or (
            not isinstance(layer, keras.Model) and bool(layer.trainable_variables)
        )
        graph = isinstance(layer, keras.Model) and hasattr(layer, "operations")
        handed_on = graph or (call.hands_on and layer not in whole)
        if layer in inside or type(layer).__name__ in VIEWS or handed_on:
            continue
        kept = _kept(call)
        activations += kept
        gradients += trains * kept
    others = keras.tree.flatten([operation.output for operation in _between(model)])
    made_between = sum(_size((batch_size, *x.shape[1:]), x.dtype) for x in others)
    trainable = sum(_size(v.shape, v.dtype) for v in model.trainable_variables)
    return MemoryAccount(
        weights=sum(_size(v.shape, v.dtype) for v in model.weights),
        gradients=trainable,
        optimizer=2 * trainable,
        weight_copies=_copies(model),
        activations=activations + made_between,
        activation_gradients=gradients + trains * made_between,
    )


def _kept(call):
    """Bytes of what a call makes for the backward pass."""
    import keras

    layer = call.layer
    if any(None in shape for shape, _ in call.left):
        raise ValueError(
            f"What the layer {layer.name!r} puts out has an open shape, {call.left[0][0]}: give "
            "the layer a fixed one."
        )
    made = sum(_size(*output) for output in call.left)
    if isinstance(layer, keras.layers.MultiHeadAttention):
        made += _inside_attention(layer, [shape for shape, _ in call.arrived])
    return made


def _calls(model, batch_size):
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


def _between(model):
    """The operations of Functional models that are no layers."""
    import keras

    models = [m for m in model._flatten_layers() if isinstance(m, keras.Model)]
    operations = [o for m in models for o in getattr(m, "operations", [])]
    return [o for o in dict.fromkeys(operations) if not isinstance(o, keras.Layer)]


def _inside_attention(layer, inputs):
    """Bytes of its queries, keys, values, scores, and their weighted sum.

    `inputs`: the shapes (batch, …, width) of query and value.
    """
    (batch, *queries, _), (_, *values, _) = inputs[:2]
    t = math.prod(queries)
    s = math.prod(values)
    value_dim = layer.value_dim or layer.key_dim
    numbers = (t + s) * layer.key_dim + s * value_dim + t * s + t * value_dim
    return _size((batch, layer.num_heads, numbers), layer.compute_dtype)


def _size(shape, dtype):
    """Bytes of an array."""
    return math.prod(shape) * np.dtype(str(dtype)).itemsize


def _copies(model):
    """Bytes of the weights in 16 bits, each by the policy of the innermost layer that
    has it.
    """
    copied = 0
    seen = set()
    for layer in sorted(
        reversed(model._flatten_layers()), key=lambda each: len(each.weights)
    ):
        for weight in layer.trainable_variables:
            if id(weight) not in seen and layer.compute_dtype != layer.variable_dtype:
                copied += _size(weight.shape, layer.compute_dtype)
            seen.add(id(weight))
    return copied
