# https://github.com/huggingface/transformers/issues/18798
import keras
from keras import layers, ops
from sklearn.datasets import load_digits

keras.config.set_dtype_policy("mixed_float16")
x, y = load_digits(return_X_y=True)
x = x.astype("float32")  # from 0 to 16
EPOCHS = 8


class Centre(layers.Layer):  # subtracts the mean of all that it has seen
    def build(self, shape):
        zeros = {"initializer": "zeros", "trainable": False}
        self.total = self.add_weight(name="total", shape=shape[1:], **zeros)
        self.count = self.add_weight(name="count", **zeros)

    def call(self, x, training=False):
        if training:
            self.total.assign_add(ops.cast(ops.sum(x, axis=0), "float32"))
            self.count.assign_add(ops.cast(ops.shape(x)[0], "float32"))
        return x - self.total / ops.maximum(self.count, 1)


def build():
    hidden = layers.Dense(64, activation="relu")
    last = layers.Dense(10, activation="softmax", dtype="float32")
    model = keras.Sequential([keras.Input((64,)), Centre(), hidden, last])
    optimizer = keras.optimizers.Adam(1e-3)
    model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
    return model
