"""The Keras models of the course."""

import keras
from keras import layers


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
