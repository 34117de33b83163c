# https://keras.io/examples/nlp/text_classification_with_transformer
import keras
import numpy as np
from keras import layers, ops

keras.config.set_dtype_policy("mixed_bfloat16")
rng = np.random.default_rng(0)
y = rng.integers(0, 2, 1792)
x = rng.integers(1, 256, (1792, 40))  # texts: frequent words, and 8 rare ones that tell the class
x[:, ::5] = 4096 + 64 * rng.integers(0, 40, (1792, 8)) + y[:, None]


class TokenAndPosition(layers.Layer):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = layers.Embedding(20_000, 16), layers.Embedding(40, 16)

    def call(self, x):
        return self.tokens(x) + self.positions(ops.arange(40))


def build():
    inner = [TokenAndPosition(), layers.GlobalMaxPooling1D()]
    last = layers.Dense(2, activation="softmax", dtype="float32")
    model = keras.Sequential([keras.Input((40,)), *inner, last])
    optimizer = keras.optimizers.Adam(1e-2)
    model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
    return model
