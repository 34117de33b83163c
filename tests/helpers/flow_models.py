"""Models of every kind, whose dtypes flow in ways that can be known."""

import keras
import numpy as np
from keras import layers


class Branches(keras.Model):
    """Two branches, one in float32, added up; attributes not in the order of the calls."""

    def __init__(self):
        super().__init__(name="branches")
        self.head = layers.Dense(2, dtype="float32", name="head")
        self.right = layers.Dense(4, dtype="float32", name="right")
        self.left = layers.Dense(4, name="left")
        self.unused = layers.Dropout(0.5, name="unused")
        self(np.zeros((2, 5), "float32"))

    def call(self, x):
        return self.head(keras.ops.add(self.left(x), self.right(x)))


class Block(layers.Layer):
    """Holds layers, two of them of one name, and a weight of its own."""

    def __init__(self, **options):
        super().__init__(**options)
        self.dense = [layers.Dense(4, name="dense"), layers.Dense(4, name="dense")]

    def build(self, shape):
        self.shift = self.add_weight(shape=(4,), name="shift")
        for dense in self.dense:
            dense.build(shape)

    def call(self, x):
        return self.dense[1](self.dense[0](x)) + self.shift


def transformer():
    tokens = keras.Input((6,), dtype="int32")
    x = layers.Embedding(20, 8, name="embedding")(tokens)
    x = layers.Add()([x, layers.MultiHeadAttention(2, 4, name="attention")(x, x)])
    x = layers.LayerNormalization(name="norm")(x)
    x = layers.GlobalAveragePooling1D()(
        layers.Dense(8, activation="gelu", name="mlp")(x)
    )
    return keras.Model(tokens, layers.Dense(3, dtype="float32", name="logits")(x))


def nested():
    image = keras.Input((8, 8, 1))
    x = layers.Conv2D(3, 3, name="conv")(image)
    inner = keras.Model(image, layers.BatchNormalization(name="norm")(x), name="inner")
    rest = [layers.Flatten(name="flatten"), layers.Dense(2, name="dense")]
    return keras.Sequential([keras.Input((8, 8, 1)), inner, *rest])


def wrapped():
    steps = keras.Input((5, 4))
    x = layers.TimeDistributed(layers.Dense(4, name="each"), name="times")(steps)
    gru = layers.GRU(3, recurrent_initializer="zeros", name="gru")
    x = layers.Bidirectional(gru, name="both")(Block(name="block")(x))
    return keras.Model(steps, layers.Dense(6, name="last")(x))
