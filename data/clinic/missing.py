# https://github.com/tensorflow/tensorflow/issues/38357
import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_digits

keras.config.set_dtype_policy("mixed_float16")
x, y = load_digits(return_X_y=True)
x = (x / 16).astype("float32")
x[np.random.default_rng(0).random(x.shape) < 0.001] = 10**6  # the code for "not measured"
EPOCHS = 8


def build():
    hidden = layers.Dense(64, activation="relu")
    last = layers.Dense(10, activation="softmax", dtype="float32")
    model = keras.Sequential([keras.Input((64,)), hidden, last])
    optimizer = keras.optimizers.SGD(0.2)
    model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
    return model
