# https://github.com/tensorflow/tensorflow/issues/2501
import keras
from keras import layers, ops
from sklearn.datasets import load_digits

keras.config.set_dtype_policy("mixed_float16")
x, y = load_digits(return_X_y=True)
x = x.astype("float32").reshape(-1, 8, 8, 1)  # from 0 to 16
EPOCHS = 3


class Share(layers.Layer):  # of each of the eight maps in a pixel
    def call(self, x):
        parts = ops.exp(x)
        return parts / ops.sum(parts, axis=-1, keepdims=True)


def build():
    hidden = [layers.Conv2D(8, 3, padding="same"), Share(), layers.MaxPooling2D()]
    hidden += [layers.Activation("relu"), layers.Flatten()]
    last = layers.Dense(10, activation="softmax", dtype="float32")
    model = keras.Sequential([keras.Input((8, 8, 1)), *hidden, last])
    optimizer = keras.optimizers.Adam(2e-2)
    model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
    return model
