"""Arrays of TensorFlow's and Keras's: read, compared and noted."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.linalg import norm


def _floats(structure) -> Iterator[np.ndarray]:
    """The arrays of floats in a structure of tensors, in float32."""
    for each in keras.tree.flatten(structure):
        if hasattr(each, "dtype") and "float" in keras.utils.standardize_dtype(
            each.dtype
        ):
            yield keras.ops.convert_to_numpy(keras.ops.cast(each, "float32"))


def all_finite(structure: Any) -> bool:
    """Whether all floats in a structure of tensors are finite."""
    return all(bool(np.isfinite(each).all()) for each in _floats(structure))


def finite_or_masked(structure: Any) -> bool:
    """The same, where −∞ counts as a mask's."""
    return not any(
        bool((np.isnan(each) | np.isposinf(each)).any()) for each in _floats(structure)
    )


def largest(structure: Any) -> float:
    """The largest of the floats in a structure of tensors, without its sign."""
    return max((np.abs(a).max(initial=0.0) for a in _floats(structure)), default=0.0)


def relative_distance(one: np.ndarray, other: np.ndarray) -> float:
    """How far two vectors are apart, as a part of the longer one; 0 for two zeros."""
    longest = max(norm(one), norm(other))
    return float(norm(one - other) / longest) if longest else 0.0


def vector(arrays: Sequence[np.ndarray], counts: Sequence) -> np.ndarray:
    """All values in one vector of float64, each array's divided by its count."""
    parts = [
        np.ravel(each) / max(count, 1)
        for each, count in zip(arrays, counts, strict=True)
    ]
    return np.concatenate(parts, dtype="float64")


def zeros(shape: Sequence[int]) -> tf.Variable:
    """A variable of float32 to take notes in."""
    return tf.Variable(tf.zeros(shape), trainable=False)


def add(variable: tf.Variable, values: tf.Tensor) -> None:
    """Add values to a variable; that nobody reads the sum at once saves time."""
    variable.assign_add(values, read_value=False)


def snapshot(
    variables: Iterable[tf.Variable],
) -> list[tuple[tf.Variable, tf.Tensor]]:
    """Variables, and what they are now."""
    return [(each, tf.convert_to_tensor(each)) for each in variables]


def set_back(start: Iterable[tuple[tf.Variable, tf.Tensor]]) -> None:
    """Set variables to what they were."""
    for variable, value in start:
        variable.assign(value, read_value=False)


def float32(values: Any) -> tf.Tensor:
    """Values, sparse ones too, as a tensor of float32."""
    return tf.cast(tf.convert_to_tensor(values), "float32")


def loss_of(result: Any) -> float | None:
    """The loss among what a step returns: a number, a list that begins with it, a
    dictionary.
    """
    with contextlib.suppress(Exception):  # whatever an object of the loop raises
        if isinstance(result, dict):
            result = result["loss"]
        if isinstance(result, (list, tuple)):
            result = result[0]
        return float(np.mean(result))
    return None
