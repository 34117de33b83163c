# https://github.com/tensorflow/tensorflow/issues/45568
import keras
from keras import layers, ops
from sklearn.datasets import load_digits

keras.config.set_dtype_policy("mixed_bfloat16")
x, y = load_digits(return_X_y=True)
x = (x / 16).astype("float32")
EPOCHS = 25


class FadingNoise(layers.Layer):  # helps at first, and is gone after 500 steps
    def build(self, shape):
        self.step = self.add_weight(initializer="zeros", trainable=False)

    def call(self, x, training=False):
        if not training:
            return x
        self.step.assign_add(1)
        share = ops.maximum(0.0, 1 - ops.cast(self.step, "float32") / 500)
        return x + ops.cast(share * keras.random.normal(ops.shape(x), dtype="float32"), x.dtype)


def build():
    hidden = [FadingNoise(), layers.Dense(64, activation="relu")]
    last = layers.Dense(10, activation="softmax", dtype="float32")
    model = keras.Sequential([keras.Input((64,)), *hidden, last])
    optimizer = keras.optimizers.Adam(1e-3)
    model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
    return model
