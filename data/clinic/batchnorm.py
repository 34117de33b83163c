# https://github.com/pytorch/pytorch/issues/88474
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.config.set_dtype_policy("mixed_float16")
x, y = load_digits(return_X_y=True)
x = (x / 16).astype("float32")
x[640] = 60_000  # a picture that was damaged on the way


def build():
    hidden = [layers.Dense(64), layers.BatchNormalization(momentum=0.9), layers.Activation("gelu")]
    last = layers.Dense(10, activation="softmax", dtype="float32")
    model = keras.Sequential([keras.Input((64,)), *hidden, last])
    optimizer = keras.optimizers.SGD(0.2)
    model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
    return model
