"""Settings of Keras and of the device that hold for a `with` block."""

import contextlib
from collections.abc import Iterator

import keras
import tensorflow as tf


@contextlib.contextmanager
def dtype_policy(name: "str | keras.DTypePolicy") -> Iterator[None]:
    """Sets Keras's global dtype policy for a `with` block and restores the former one.

    Example:
        >>> with dtype_policy("mixed_bfloat16"):
        ...     keras.config.dtype_policy().compute_dtype
        'bfloat16'
    """
    former = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(former)


@contextlib.contextmanager
def tf32(on: bool) -> Iterator[None]:
    """Lets float32 products go through TF32 or not in a `with` block, where a GPU has
    it.

    Example:
        with tf32(False):
            model.train_on_batch(x, y)  # true float32
    """
    former = tf.config.experimental.tensor_float_32_execution_enabled()
    tf.config.experimental.enable_tensor_float_32_execution(on)
    try:
        yield
    finally:
        tf.config.experimental.enable_tensor_float_32_execution(former)
