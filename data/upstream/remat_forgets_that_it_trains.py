"""Inside a layer's `call`, `keras.remat` recomputes as if not training.

Seen with: TensorFlow 2.20.0 and 2.21.0, Keras 3.13.2 and 3.15.1.
Where: keras/src/layers/layer.py, Layer.__call__: where it is not passed on, `training` comes from
    the context of the outer call, which has ended when tf.recompute_grad runs the layer again.
Prints: plain: dropped going forward 50%, on the way back 50%
    remat: dropped going forward 50%, on the way back 0%
Should print: the same twice
"""

import keras
import numpy as np
import tensorflow as tf


class Block(keras.layers.Layer):
    """Drops half of its input, and calls the layer without `training`."""

    def __init__(self, remat):
        super().__init__()
        self.inner = remat(keras.layers.Dropout(0.5, seed=0))

    def call(self, x):
        return self.inner(x)


x = tf.ones((1, 1000))
for name, remat in (("plain", lambda layer: layer), ("remat", keras.remat)):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = Block(remat)(x, training=True)
    forward, back = np.mean(y == 0), np.mean(tape.gradient(y, x) == 0)
    print(f"{name}: dropped going forward {forward:.0%}, on the way back {back:.0%}")
