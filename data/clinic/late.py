# https://github.com/tensorflow/hub/issues/466
import keras
from keras import layers
from sklearn.datasets import load_digits

x, y = load_digits(return_X_y=True)
x = (x / 16).astype("float32").reshape(-1, 8, 8, 1)
EPOCHS = 2


def build():
    hidden = [layers.Conv2D(96, 3, padding="same", activation="relu") for _ in range(3)]
    last = layers.Dense(10, activation="softmax", dtype="float32")
    model = keras.Sequential([keras.Input((8, 8, 1)), *hidden, layers.Flatten(), last])
    keras.config.set_dtype_policy("mixed_bfloat16")
    optimizer = keras.optimizers.Adam(2e-3)
    model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
    return model
