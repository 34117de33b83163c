# https://github.com/tensorflow/tensorflow/issues/40397
import time

import keras
from keras import layers
from sklearn.datasets import load_digits

keras.config.set_dtype_policy("mixed_bfloat16")
x, y = load_digits(return_X_y=True)
x = (x / 16).astype("float32")


def decoded(at):
    time.sleep(0.05)  # as long as 128 pictures take to be read and decoded
    return x[at : at + 128], y[at : at + 128]


def batches():
    for at in 3 * list(range(0, 1536, 128)):
        yield decoded(at)


def build():
    hidden = [layers.Dense(512, activation="relu") for _ in range(2)]
    last = layers.Dense(10, activation="softmax", dtype="float32")
    model = keras.Sequential([keras.Input((64,)), *hidden, last])
    optimizer = keras.optimizers.Adam(1e-3)
    model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
    return model
