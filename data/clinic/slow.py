# https://github.com/tensorflow/tensorflow/issues/40397
import time

import keras
import tensorflow as tf
from keras import layers
from sklearn.datasets import load_digits

keras.config.set_dtype_policy("mixed_bfloat16")
x, y = load_digits(return_X_y=True)
x = (x / 16).astype("float32")


def decoded(x, y):
    time.sleep(0.02)  # as long as the decoding of 64 pictures takes
    return x, y


def read(x, y):
    return tf.numpy_function(decoded, [x, y], [tf.float32, tf.int64])


def batches():
    return tf.data.Dataset.from_tensor_slices((x[:1536], y[:1536])).batch(64).map(read).repeat(3)


def build():
    hidden = [layers.Dense(512, activation="relu") for _ in range(2)]
    last = layers.Dense(10, activation="softmax", dtype="float32")
    model = keras.Sequential([keras.Input((64,)), *hidden, last])
    optimizer = keras.optimizers.Adam(1e-3)
    model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
    return model
