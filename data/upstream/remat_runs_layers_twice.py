"""`keras.remat` draws another mask for Dropout, and updates BatchNormalization's average twice.

Seen with: TensorFlow 2.20.0 and 2.21.0, Keras 3.13.2, 3.14.1 and 3.15.1.
Where: keras/src/backend/tensorflow/core.py, remat: tf.recompute_grad runs the layer once more.
Prints: plain: gradient by the mask of the forward pass True, moving mean 1.0
    remat: gradient by the mask of the forward pass False, moving mean 1.9
Should print: the same twice
"""

import keras
import numpy as np
import tensorflow as tf

x = tf.fill((1, 1000), 10.0)
for name, remat in (("plain", lambda layer: layer), ("remat", keras.remat)):
    dropout, norm = keras.layers.Dropout(0.5), keras.layers.BatchNormalization(momentum=0.9)
    norm.build(x.shape)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        dropped = remat(dropout)(x, training=True)
        normalized = remat(norm)(x, training=True)
    same, _ = np.all(tape.gradient(dropped, x) * x == dropped), tape.gradient(normalized, x)
    average = norm.moving_mean.numpy()[0]
    print(f"{name}: gradient by the mask of the forward pass {same}, moving mean {average:.1f}")
