"""A small network and the right step, on which the functions of notebook 06 are judged.

Everything is made here; nothing draws on a seed that the learner may have set.
"""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import keras

CODE = """\
import tensorflow as tf


def step(model, optimizer, loss_fn, x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x, training=True))
        scaled = optimizer.scale_loss(loss)
    gradients = tape.gradient(scaled, model.trainable_variables)
    optimizer.apply(gradients, model.trainable_variables)
    return loss

"""


def hidden_model(policy: str, seed: int = 6) -> "keras.Sequential":
    """A small network with BatchNormalization: float32 (n, 6) to float32 logits (n, 3).

    The weights are NumPy's, so that Keras draws no seed; the names leave Keras's
    counters alone.
    """
    import keras  # late, here and below: it loads TensorFlow, which takes seconds

    from course_utils.training import dtype_policy

    layers = keras.layers
    zeros = {"kernel_initializer": "zeros"}
    with dtype_policy(policy):
        model = keras.Sequential(
            [
                keras.Input((6,), name="numbers"),
                layers.Dense(8, activation="relu", name="hidden", **zeros),
                layers.BatchNormalization(momentum=0.5, name="normalized"),
                layers.Dense(3, dtype="float32", name="logits", **zeros),
            ],
            name="hidden_model",
        )
    source = np.random.RandomState(seed)
    for layer in (model.layers[0], model.layers[2]):
        layer.set_weights([source.normal(0, 0.5, w.shape) for w in layer.weights])
    return model
