# https://github.com/keras-team/keras-hub/issues/2629
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.config.set_dtype_policy("bfloat16")
x, y = load_digits(return_X_y=True)
x = (x / 16).astype("float32")
EPOCHS = 6


def build():
    hidden, last = layers.Dense(64, activation="relu"), layers.Dense(10)
    softmax = layers.Activation("softmax", dtype="float32")
    model = keras.Sequential([keras.Input((64,)), hidden, last, softmax])
    optimizer = keras.optimizers.Adam(5e-3)
    model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
    return model
