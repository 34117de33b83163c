"""The network of notebook 02."""

import keras
import numpy as np
from keras import layers

from course_utils.training import dtype_policy


def autoencoder(policy: str, seed: int = 0) -> keras.Sequential:
    """The network of notebook 02 under a policy: 64 numbers to 32, and back; no biases.

    From float32 (n, 64) to float32 (n, 64). Its weights are the same for a seed under
    every policy, and drawing them moves no other seed.

    Example:
        >>> autoencoder("mixed_float16").count_params()
        4096
    """
    options = {"use_bias": False, "kernel_initializer": "zeros"}
    with dtype_policy(policy):
        squeeze = layers.Dense(32, activation="relu", name="squeeze", **options)
        restore = layers.Dense(64, name="restore", **options)
        to_float32 = layers.Activation("linear", dtype="float32", name="to_float32")
        stack = [keras.Input((64,), name="picture"), squeeze, restore, to_float32]
        model = keras.Sequential(stack, name="autoencoder")
    rng = np.random.default_rng(seed)
    model.set_weights([rng.uniform(-0.25, 0.25, w.shape) for w in model.weights])
    return model
