# https://github.com/ultralytics/ultralytics/pull/22189
import os
import tempfile

import keras
from keras import layers
from sklearn.datasets import load_digits

keras.config.set_dtype_policy("mixed_float16")
x, y = load_digits(return_X_y=True)
x = (x / 16).astype("float32")
EPOCHS = 4


def build():
    hidden = layers.Dense(64, activation="relu")
    last = layers.Dense(10, activation="softmax", dtype="float32")
    model = keras.Sequential([keras.Input((64,)), hidden, last])
    inner = keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(0.05, 96))
    optimizer = keras.optimizers.LossScaleOptimizer(inner, dynamic_growth_steps=6)
    model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
    return model


def resumed(model):  # somebody else needed the machine, halfway
    file = os.path.join(tempfile.mkdtemp(), "epoch.weights.h5")
    model.save_weights(file)
    model = build()
    model.load_weights(file)
    return model
