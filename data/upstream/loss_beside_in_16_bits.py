"""A loss that a 16-bit layer adds makes `fit` raise.

Seen with: Keras 3.13.2 and 3.15.1, TensorFlow 2.20 and 2.21, on a CPU; JAX and PyTorch train.
Prints: TypeError: Cannot convert a list containing a tensor
Should print: trained
Where: `compute_loss` in keras/src/trainers/trainer.py sums a list of the main loss, which is
float32, and of those that layers added, in the dtype in which they came.
"""

import keras
import numpy as np

keras.config.set_dtype_policy("mixed_float16")
model = keras.Sequential(
    [
        keras.Input((4,)),
        keras.layers.Dense(8, activity_regularizer="l2"),
        keras.layers.Dense(1, dtype="float32"),
    ]
)
model.compile("sgd", "mse", jit_compile=False)
try:
    model.fit(np.ones((8, 4)), np.ones((8, 1)), verbose=0)
    print("trained")
except TypeError as error:
    print("TypeError:", str(error).split(" of dtype")[0])
