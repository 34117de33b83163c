# https://github.com/keras-team/keras/pull/17571
import keras
from keras import layers, ops
from sklearn.datasets import load_digits

keras.config.set_dtype_policy("mixed_float16")
x, y = load_digits(return_X_y=True)
x = (x / 16).astype("float32").reshape(-1, 8, 8)  # a digit is a sequence of 8 rows
EPOCHS = 5


class Attention(layers.Layer):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = (layers.Dense(8) for _ in range(3))

    def call(self, x):
        padding = ops.cast(ops.all(x == 0, axis=-1), x.dtype)[:, None]  # blank rows
        scores = ops.matmul(self.query(x), ops.swapaxes(self.key(x), 1, 2)) / 8**0.5
        return x + ops.matmul(ops.softmax(scores + padding * -1e9), self.value(x))


def build():
    last = [layers.Flatten(), layers.Dense(10, activation="softmax", dtype="float32")]
    model = keras.Sequential([keras.Input((8, 8)), Attention(), *last])
    optimizer = keras.optimizers.Adam(1e-2)
    model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
    return model
