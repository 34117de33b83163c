# https://github.com/tensorflow/tensorflow/issues/56890
import keras
import numpy as np
import tensorflow as tf
from keras import layers

keras.config.set_dtype_policy("mixed_float16")
x = np.random.default_rng(0).random((64, 300, 300, 1), "float32")
y = (x > 0.3).astype("float32")  # which pixels belong to the thing


class Trainee(keras.Model):
    def train_step(self, data):
        x, y = data[:2]
        with tf.GradientTape() as tape:
            p = self(x, training=True)
            y = tf.cast(y, p.dtype)
            both = tf.reduce_sum(y * p)
            loss = 1 - 2 * both / (tf.reduce_sum(y) + tf.reduce_sum(p))
            scaled = self.optimizer.scale_loss(loss)
        gradients = tape.gradient(scaled, self.trainable_variables)
        self.optimizer.apply(gradients, self.trainable_variables)
        return {"loss": loss}


def build():
    inputs = keras.Input((300, 300, 1))
    model = Trainee(inputs, layers.Dense(1, activation="sigmoid")(inputs))
    model.compile(keras.optimizers.SGD(1.0), jit_compile=False)
    return model
