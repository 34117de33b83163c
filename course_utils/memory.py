"""What training a Keras model keeps in memory, counted from its layers."""

import math
from dataclasses import dataclass

import ml_dtypes  # noqa: F401  (teaches NumPy the name "bfloat16")
import numpy as np

# Layers whose output is another view of their input, not a second copy.
VIEWS = ("Flatten", "Reshape", "InputLayer")


@dataclass(frozen=True)
class MemoryAccount:
    """Bytes that one training step of a model needs at the least.

    Attributes:
        weights: the variables of the layers, in their variable dtype.
        gradients: one for each trainable variable, in its dtype.
        optimizer: the optimizer's slots; Adam keeps two for each trainable variable.
        weight_copies: the weights once more in 16 bits, for layers that compute in 16
            bits and keep their variables in float32; else 0.
        activations: every layer's output, kept from the forward to the backward
            pass, in the layer's compute dtype, for the whole batch.
    """

    weights: int
    gradients: int
    optimizer: int
    weight_copies: int
    activations: int

    @property
    def total(self) -> int:
        """The sum of the parts, in bytes."""
        return sum(vars(self).values())


def account(model, batch_size: int, slots: int = 2) -> MemoryAccount:
    """Counts the bytes that training `model` keeps, under the policies of its layers.

    Temporary buffers and the gradients of activations come on top, so a measured
    peak is larger.

    Args:
        model: a built Sequential or Functional model with fixed shapes but for the batch.
        batch_size: images (samples) in a batch.
        slots: arrays that the optimizer keeps for each weight: 2 for Adam, 0 for plain SGD.

    Raises:
        ValueError: the model has not been built, so its shapes are unknown.

    Example:
        >>> from course_utils import models
        >>> account(models.mnist_cnn(), batch_size=1).activations
        139688
    """
    if not model.built:
        raise ValueError("The model has no shapes yet: call model.build(input_shape) first.")
    trainable = sum(_bytes(v.shape, v.dtype) for v in model.trainable_variables)
    copies = activations = 0
    for layer in model.layers:
        if type(layer).__name__ not in VIEWS:
            activations += _bytes(layer.output.shape[1:], layer.output.dtype)
        if layer.compute_dtype != layer.variable_dtype:
            copies += sum(_bytes(v.shape, layer.compute_dtype) for v in layer.trainable_variables)
    return MemoryAccount(
        weights=sum(_bytes(v.shape, v.dtype) for v in model.variables),
        gradients=trainable,
        optimizer=slots * trainable,
        weight_copies=copies,
        activations=batch_size * activations,
    )


def _bytes(shape, dtype):
    return math.prod(shape) * np.dtype(str(dtype)).itemsize
