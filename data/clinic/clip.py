# https://github.com/milesial/Pytorch-UNet/issues/468
import keras
import tensorflow as tf
from keras import layers
from sklearn.datasets import load_digits

keras.config.set_dtype_policy("mixed_float16")
x, y = load_digits(return_X_y=True)
x = (x / 16).astype("float32")
EPOCHS = 4


class Trainee(keras.Model):
    def train_step(self, data):
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=data[1], y_pred=self(data[0], training=True))
            scaled = self.optimizer.scale_loss(loss)
        gradients = tape.gradient(scaled, self.trainable_variables)
        gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
        self.optimizer.apply(gradients, self.trainable_variables)
        return {"loss": loss}


def build():
    inputs = keras.Input((64,))
    hidden, last = layers.Dense(64, "relu"), layers.Dense(10, "softmax", dtype="float32")
    model = Trainee(inputs, last(hidden(inputs)))
    sgd = keras.optimizers.SGD(0.2)
    model.compile(sgd, "sparse_categorical_crossentropy", jit_compile=False)
    return model
