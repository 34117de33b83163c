"""The largest gradient, from which the ceiling of the loss scale follows."""

from collections.abc import Callable

import keras
import tensorflow as tf


def largest_gradient(
    model: keras.Sequential,
    loss: Callable[[tf.types.experimental.TensorLike, tf.Tensor], tf.Tensor],
    x: tf.types.experimental.TensorLike,
    y: tf.types.experimental.TensorLike,
) -> float:
    """The largest size of a gradient in a backward pass, those between layers included.

    `model`: a Sequential in float32, so that nothing is rounded away; `loss(y, output)`
    is a number. From 65,520 over it on a loss scale overflows.
    """
    with tf.GradientTape() as tape:
        outputs = [tf.convert_to_tensor(x)]
        for layer in model.layers:
            outputs.append(layer(outputs[-1]))
        value = loss(y, outputs[-1])
    parts = tape.gradient(value, [*model.trainable_variables, *outputs[1:]])
    return max(float(tf.reduce_max(tf.abs(part))) for part in parts)
