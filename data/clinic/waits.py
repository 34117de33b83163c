# https://github.com/pierluigiferrari/ssd_keras/issues/216
import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_digits

keras.config.set_dtype_policy("mixed_bfloat16")
x, y = load_digits(return_X_y=True)
x, y = x[:300].repeat(64, 1).astype("int"), y[:300]  # scans of 4,096 pixels
files = [",".join(map(str, scan)) for scan in x]
x = (x[:, ::64] / 16).astype("float32")


def picture(number):
    return np.array(files[number].split(","), "float32")[::64] / 16


class Batches:
    def __getitem__(self, step):
        if step == 24:
            raise IndexError
        numbers = np.arange(64) + step % 4 * 64
        return np.stack([picture(number) for number in numbers]), y[numbers]


batches = Batches()


def build():
    hidden = layers.Dense(64, activation="relu")
    last = layers.Dense(10, activation="softmax", dtype="float32")
    model = keras.Sequential([keras.Input((64,)), hidden, last])
    optimizer = keras.optimizers.Adam(2e-2)
    model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
    return model
