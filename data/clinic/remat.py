# https://github.com/bojone/bert4keras/issues/521
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.config.set_dtype_policy("mixed_bfloat16")
x, y = load_digits(return_X_y=True)
x = (x / 16).astype("float32")
EPOCHS = 10


class Block(layers.Layer):
    def __init__(self):
        super().__init__()
        self.dense, self.drop = layers.Dense(128, activation="relu"), layers.Dropout(0.5)

    def inner(self, x):
        return self.drop(self.dense(x))

    def call(self, x):
        return keras.remat(self.inner)(x)  # saves memory: computed again on the way back


def build():
    last = layers.Dense(10, activation="softmax", dtype="float32")
    model = keras.Sequential([keras.Input((64,)), *(Block() for _ in range(4)), last])
    optimizer = keras.optimizers.Adam(1e-3)
    model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
    return model
