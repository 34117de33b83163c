# https://github.com/google-research/text-to-text-transfer-transformer/issues/539
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.config.set_dtype_policy("mixed_float16")
x, y = load_digits(return_X_y=True)
x = (x / 16).astype("float32")
EPOCHS = 8
# stands for weights of a run in bfloat16: a normalization follows, so their size did not matter
LARGE = keras.initializers.RandomNormal(stddev=8_192, seed=0)


def build():
    hidden = layers.Dense(64, activation="relu", kernel_initializer=LARGE)
    last = layers.Dense(10, activation="softmax", dtype="float32")
    model = keras.Sequential([keras.Input((64,)), hidden, layers.LayerNormalization(), last])
    optimizer = keras.optimizers.Adam(1e-2)
    model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
    return model
