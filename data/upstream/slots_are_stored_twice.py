"""A `.keras` file under mixed_float16 holds the optimizer's slots twice.

Seen with: TensorFlow 2.20.0 and 2.21.0, Keras 3.13.2, 3.14.1 and 3.15.1.
Where: keras/src/optimizers/loss_scale_optimizer.py: `variables` has the inner optimizer's too,
    and saving visits the wrapper and the inner optimizer.
Prints: float32: file 3.0 times as large as the weights
    mixed_float16: file 5.0 times as large as the weights
Should print: twice 3.0, for weights and Adam's two slots
"""

import os
import tempfile

import keras

for policy in ("float32", "mixed_float16"):
    keras.config.set_dtype_policy(policy)
    model = keras.Sequential([keras.Input((1000,)), keras.layers.Dense(1000)])
    model.compile("adam", "mse")
    model.optimizer.build(model.trainable_variables)
    with tempfile.TemporaryDirectory() as folder:
        model.save(os.path.join(folder, "model.keras"))
        size = os.path.getsize(os.path.join(folder, "model.keras")) / (4 * model.count_params())
    print(f"{policy}: file {size:.1f} times as large as the weights")
