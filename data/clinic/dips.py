# https://github.com/facebookresearch/swav/issues/47
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.config.set_dtype_policy("mixed_float16")
x, y = load_digits(return_X_y=True)
x = (x / 16).astype("float32")


def build():
    hidden = layers.Dense(64, activation="relu")
    last = layers.Dense(10, activation="softmax", dtype="float32")
    model = keras.Sequential([keras.Input((64,)), hidden, last])
    adam = keras.optimizers.Adam(1e-2)
    optimizer = keras.optimizers.LossScaleOptimizer(adam, initial_scale=2.0**24)
    model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
    return model
