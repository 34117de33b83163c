# https://github.com/tensorflow/tensorflow/issues/40397
import time

import keras
import tensorflow as tf
from keras import layers
from sklearn.datasets import load_digits

keras.config.set_dtype_policy("mixed_bfloat16")
x, y = load_digits(return_X_y=True)
x = (x / 16).astype("float32")


def pictures():
    for at in range(0, 1536, 64):
        time.sleep(0.02)  # as long as 64 pictures take to be decoded
        yield x[at : at + 64], y[at : at + 64]


def batches():
    kinds = tf.TensorSpec((64, 64), "float32"), tf.TensorSpec((64,), "int64")
    return tf.data.Dataset.from_generator(pictures, output_signature=kinds).repeat(3)


def build():
    hidden = [layers.Dense(512, activation="relu") for _ in range(2)]
    last = layers.Dense(10, activation="softmax", dtype="float32")
    model = keras.Sequential([keras.Input((64,)), *hidden, last])
    optimizer = keras.optimizers.Adam(1e-3)
    model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
    return model
