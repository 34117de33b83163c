"""The sizes of numbers in arrays, tensors and lists of them."""

import numpy as np


def magnitudes(values: object) -> np.ndarray:
    """The sizes of all values, float64 (n,), of integers and floats of up to 64 bits.

    `values` is an array of NumPy, TensorFlow or JAX, or a nested list of arrays and
    numbers. Of an IndexedSlices its values count; None in a list (the gradient of an
    unused variable) counts nothing. TypeError for complex numbers, bools or text.

    Example:
        >>> magnitudes([None, [-2, 0.5]]).tolist()
        [2.0, 0.5]
    """
    with np.errstate(invalid="ignore"):  # A signaling NaN is only a NaN here.
        sizes = [np.abs(array.astype(np.float64)).ravel() for array in _arrays(values)]
    return np.concatenate([np.zeros(0), *sizes])


def _arrays(values):
    """Every array in a nested list."""
    if not isinstance(values, list | tuple):
        yield _array(values)
        return
    for value in values:
        if value is not None:
            yield from _arrays(value)


def _array(value):
    kind = type(value).__name__
    try:
        array = np.asarray(value.values if kind == "IndexedSlices" else value)
        kind += f" of {array.dtype}"
        if array.dtype.kind != "b" and np.can_cast(array.dtype, np.float64):
            return array
    except Exception:  # Whatever a tensor raises that has no value yet.
        pass
    raise TypeError(
        f"A value of type {kind} has no octaves: give integers or floats of up to 64 bits, as an "
        "array, a tensor or a list of these, outside of tf.function and jax.jit."
    )
