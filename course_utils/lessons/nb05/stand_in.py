"""A network for whoever has none at hand: few products, many additions and ReLUs."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import keras


def few_products(shape: tuple[int, ...]) -> "keras.Model":
    """A network for images of this shape, under the policy in force, not compiled: one
    Dense layer on 4 × 4 pixels at a time, 24 additions, each with a ReLU, and ten
    probabilities.

    Example:
        few_products((28, 28, 1)).summary()
    """
    import keras
    from keras import layers

    start = keras.Input(shape)
    small = layers.Flatten()(layers.MaxPooling2D(4)(start))
    x = first = layers.Dense(2048)(small)
    for _ in range(24):
        x = layers.ReLU()(layers.Add()([x, first]))
    return keras.Model(start, layers.Dense(10, "softmax", dtype="float32")(x))
