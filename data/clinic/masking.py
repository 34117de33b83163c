# https://github.com/keras-team/keras/pull/244
import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_digits

keras.config.set_dtype_policy("mixed_float16")
x, y = load_digits(return_X_y=True)
x = (x / 16).astype("float32").reshape(-1, 8, 8)  # a digit is a sequence of 8 rows
MISSING = -9999.0  # stands for each row that was not measured
x = np.pad(x, ((0, 0), (0, 4), (0, 0)), constant_values=MISSING)
EPOCHS = 3


def build():
    hidden = [layers.Masking(MISSING), layers.SimpleRNN(24)]
    last = layers.Dense(10, activation="softmax", dtype="float32")
    model = keras.Sequential([keras.Input((12, 8)), *hidden, last])
    optimizer = keras.optimizers.Adam(1e-2)
    model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
    return model
