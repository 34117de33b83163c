# https://github.com/tensorflow/tensorflow/issues/48662
import keras
import tensorflow as tf
from sklearn.datasets import load_digits

keras.config.set_dtype_policy("mixed_float16")
x = (load_digits().data / 16).astype("float32")


class Critic(keras.Model):  # of a Wasserstein GAN, its gradient penalty alone
    def train_step(self, data):
        x = tf.cast(data[0], self.compute_dtype)
        with tf.GradientTape() as tape, tf.GradientTape() as inner:
            inner.watch(x)
            slope = inner.gradient(self(x, training=True), x)
            norm = tf.sqrt(tf.reduce_sum(slope * slope, -1))
            loss = tf.reduce_mean((norm - 1) ** 2)
            scaled = self.optimizer.scale_loss(loss)
        gradients = tape.gradient(scaled, self.trainable_variables)
        self.optimizer.apply(gradients, self.trainable_variables)
        return {"loss": loss}


def build():
    small = {"kernel_initializer": keras.initializers.RandomNormal(0, 1e-3)}
    first, last = keras.layers.Dense(64, "tanh", **small), keras.layers.Dense(1, **small)
    inputs = keras.Input((64,))
    model = Critic(inputs, last(first(inputs)))
    model.compile(keras.optimizers.SGD(0.1), jit_compile=False)
    return model
