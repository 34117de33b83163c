# https://github.com/NVIDIA/apex/pull/45
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.config.set_dtype_policy("mixed_float16")
x, y = load_digits(return_X_y=True)
x = (x / 16).astype("float32")
SHARE = 3e-9  # of this loss in a sum of several
EPOCHS = 6


def build():
    hidden, last = layers.Dense(64, activation="relu"), layers.Dense(10)
    softmax = layers.Activation("softmax", dtype="float32")
    model = keras.Sequential([keras.Input((64,)), hidden, last, softmax])
    adam = keras.optimizers.Adam(5e-3, epsilon=1e-15)
    scaled = keras.optimizers.LossScaleOptimizer(adam, 128, dynamic_growth_steps=10**9)
    loss = {"loss": "sparse_categorical_crossentropy", "loss_weights": SHARE}
    model.compile(scaled, **loss, jit_compile=False)
    return model
