# https://github.com/keras-team/keras/issues/15846
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.utils import shuffle

keras.config.set_dtype_policy("mixed_float16")
x, y = load_digits(return_X_y=True)
x = (x / 16).astype("float32")
x, y = shuffle(x, random_state=0), shuffle(y, random_state=1)


def build():
    hidden = layers.Dense(64, activation="relu")
    last = layers.Dense(10, activation="softmax", dtype="float32")
    model = keras.Sequential([keras.Input((64,)), hidden, last])
    optimizer = keras.optimizers.Adam(1e-2)
    model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
    return model
