# https://github.com/keras-team/keras/issues/19479
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
        x, y = data[:2]
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply(gradients, self.trainable_variables)
        return {"loss": loss}


def build():
    inputs = keras.Input((64,))
    hidden = layers.Dense(64, activation="relu")(inputs)
    model = Trainee(inputs, layers.Dense(10, activation="softmax", dtype="float32")(hidden))
    optimizer = keras.optimizers.SGD(0.2)
    model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
    return model
