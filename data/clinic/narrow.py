# https://github.com/keras-team/keras/issues/9594
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.config.set_dtype_policy("mixed_bfloat16")
x, y = load_digits(return_X_y=True)
x = (x / 16).astype("float32")
EPOCHS = 3


def build():
    hidden = layers.Dense(32, activation="relu")
    last = layers.Dense(10, activation="softmax", dtype="float32")
    model = keras.Sequential([keras.Input((64,)), hidden, last])
    optimizer = keras.optimizers.Adam(1e-2)
    model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
    return model
