"""The Keras models of the course."""

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


def mnist_cnn(width: int = 32) -> keras.Sequential:
    """The classic MNIST network, under the dtype policy in force; not compiled.

    Conv – MaxPool – Conv – Flatten – Dense – Dense, as in notebook 04: a `keras.Model`
    from float32 (n, 28, 28, 1) to logits in float32 (n, 10). The first convolution has
    `width` filters, the second twice, the dense layer four times as many.

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


def six_layers(softmax=None, first=()) -> keras.Sequential:
    """A small network with named layers, under the dtype policy in force; not compiled.

    conv – pool – flatten – hidden – logits – softmax, as in notebook 03: a `keras.Model`
    from float32 (n, 28, 28, 1) to probabilities (n, 10). `softmax` is the policy of the
    last layer, `first` are layers before all others.

    Example:
        >>> six_layers().count_params()
        87322
    """
    return keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            *first,
            layers.Conv2D(8, 3, activation="relu", name="conv"),
            layers.MaxPooling2D(name="pool"),
            layers.Flatten(name="flatten"),
            layers.Dense(64, activation="relu", name="hidden"),
            layers.Dense(10, name="logits"),
            layers.Activation("softmax", dtype=softmax, name="softmax"),
        ],
        name="six_layers",
    )


def reader() -> keras.Sequential:
    """A network for texts of 16 tokens, in which layers cast in every place.

    From int32 (n, 16) to logits in float32 (n, 5), under the dtype policy in force.

    Example:
        >>> reader().count_params()
        84293
    """
    return keras.Sequential(
        [
            keras.Input((16,), dtype="int32"),
            layers.Embedding(1000, 64, name="embed"),
            layers.LayerNormalization(name="norm"),
            layers.Conv1D(96, 3, name="conv"),
            layers.GlobalAveragePooling1D(name="pool"),
            layers.Dense(16, dtype="float32", name="hidden"),
            layers.Dense(5, dtype="float32", name="logits"),
        ],
        name="reader",
    )


def transformer_block(
    tokens: int = 128, width: int = 256, heads: int = 4
) -> keras.Model:
    """One block of a Transformer, under the dtype policy in force; not compiled.

    Normalization – attention – Add, then normalization – Dense with GELU – Dense – Add,
    as in GPT-2 (pre-normalization, a hidden layer of four times the width), without a
    mask: a `keras.Model` from float32 (n, tokens, width) to the same shape in the
    policy's compute dtype.

    Example:
        >>> transformer_block().count_params()
        789760
    """
    start = keras.Input((tokens, width))
    y = layers.LayerNormalization()(start)
    y = layers.MultiHeadAttention(heads, width // heads)(y, y)
    middle = layers.Add()([start, y])
    y = layers.LayerNormalization()(middle)
    y = layers.Dense(4 * width, activation="gelu")(y)
    y = layers.Dense(width)(y)
    return keras.Model(start, layers.Add()([middle, y]), name="transformer_block")


def small_vit() -> keras.Model:
    """A small vision Transformer, under the dtype policy in force; not compiled.

    It cuts an image into 16 patches of 7 × 7 pixels and has two blocks of width 64: a
    `keras.Model` from float32 (n, 28, 28, 1) to logits in float32 (n, 10).

    Example:
        >>> small_vit().count_params()
        70794
    """
    images = keras.Input((28, 28, 1))
    x = layers.Conv2D(64, 7, strides=7)(images)
    x = layers.Reshape((16, 64))(x)
    for _ in range(2):
        y = layers.LayerNormalization()(x)
        x = layers.Add()([x, layers.MultiHeadAttention(4, 16)(y, y)])
        y = layers.LayerNormalization()(x)
        y = layers.Dense(128, activation="gelu")(y)
        x = layers.Add()([x, layers.Dense(64)(y)])
    logits = layers.Dense(10, dtype="float32")(layers.GlobalAveragePooling1D()(x))
    return keras.Model(images, logits, name="small_vit")
