"""A compiled model that is loaded from an .h5 file cannot be trained.

Seen with: TensorFlow 2.20.0 and 2.21.0, Keras 3.13.2 and 3.15.1.
Where: keras/src/legacy/saving/legacy_h5_format.py, load_model_from_hdf5: the optimizer is built for
    model._trainable_variables, which holds none of the layers' variables.
Prints: .keras: step 2
    .h5: ValueError
Should print: .keras: step 2
    .h5: step 2
"""

import os
import tempfile

import keras
import numpy as np

x, y = np.ones((4, 3), "float32"), np.ones((4, 1), "float32")
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
model.compile("adam", keras.losses.MeanSquaredError(), jit_compile=False)
model.fit(x, y, verbose=0)
for ending in (".keras", ".h5"):
    path = os.path.join(tempfile.mkdtemp(), "model" + ending)
    model.save(path)
    loaded = keras.saving.load_model(path)
    try:
        loaded.fit(x, y, verbose=0)
        print(f"{ending}: step {int(loaded.optimizer.iterations)}")
    except ValueError:
        print(f"{ending}: ValueError")
