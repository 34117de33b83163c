"""An overflow on any replica but the first is not seen, and destroys the weights of all.

Seen with: TensorFlow 2.20.0 and 2.21.0, Keras 3.13.2, 3.14.1 and 3.15.1.
Where: keras/src/optimizers/loss_scale_optimizer.py, _tf_apply, takes `finite` from the first
    replica, "since `grads` is all-reduced". It is not yet: the inner optimizer does that later.
Prints: overflow on replica 0: weights finite True, scale 16384
    overflow on replica 1: weights finite False, scale 32768
Should print: both times weights finite True, scale 16384
"""

import keras
import numpy as np
import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, 2 * [tf.config.LogicalDeviceConfiguration()])
keras.config.set_dtype_policy("mixed_float16")
for replica in (0, 1):  # each gets 2 of 4 rows; one label makes float16 gradients overflow
    with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
        model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse", jit_compile=False)
    model.fit(np.ones((4, 1)), 1e5 * np.eye(4)[:, [2 * replica]], 4, shuffle=False, verbose=0)
    finite, scale = np.isfinite(model.get_weights()[0]).all(), model.optimizer.dynamic_scale
    print(f"overflow on replica {replica}: weights finite {finite}, scale {scale.numpy():.0f}")
