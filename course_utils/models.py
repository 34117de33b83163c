"""The Keras model that the course measures."""

import keras
from keras import layers


def mnist_cnn(width: int = 32):
    """The classic MNIST network, under the dtype policy in force; not compiled.

    Conv – MaxPool – Conv – Flatten – Dense – Dense, as in notebook 04: a `keras.Model` from float32
    (n, 28, 28, 1) to logits in float32 (n, 10). The first convolution has `width` filters, the
    second twice, the dense layer four times as many.

    Example:
        >>> mnist_cnn().count_params()
        1011466
    """
    return keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.Conv2D(width, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(2 * width, 3, activation="relu"),
            layers.Flatten(),
            layers.Dense(4 * width, activation="relu"),
            layers.Dense(10, dtype="float32"),
        ],
        name="mnist_cnn",
    )
