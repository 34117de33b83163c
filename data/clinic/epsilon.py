# https://github.com/google-deepmind/optax/issues/1754
import keras
from keras import layers, ops
from sklearn.datasets import load_digits

keras.config.set_dtype_policy("mixed_float16")
x, y = load_digits(return_X_y=True)
x = (x / 16).astype("float32").reshape(-1, 8, 8)
EPOCHS = 5


class MinMax(layers.Layer):
    def call(self, x):
        low, high = ops.min(x, 1, keepdims=True), ops.max(x, 1, keepdims=True)
        return (x - low) / ops.maximum(high - low, 1e-8)  # of each column of pixels


def build():
    hidden = [MinMax(), layers.Flatten(), layers.Dense(64, activation="relu")]
    last = layers.Dense(10, activation="softmax", dtype="float32")
    model = keras.Sequential([keras.Input((8, 8)), *hidden, last])
    optimizer = keras.optimizers.Adam(3e-3)
    model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
    return model
