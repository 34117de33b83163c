"""Overflows in a row take the loss scale to 0; one good step then makes the weights NaN.

Seen with: TensorFlow 2.20.0 and 2.21.0, Keras 3.13.2, 3.14.1 and 3.15.1. tf_keras stops at 1.
Where: keras/src/optimizers/loss_scale_optimizer.py: _stateful_handle_non_finite_grads halves
    without end, and _stateful_handle_finite_grads divides by what is left.
Prints: after 200 overflows: scale 0.0, weight 1.0
    after a good step: scale 0.0, weight nan
Should print: a scale that is not 0, and twice weight 1.0
"""

import keras
import tensorflow as tf

weight = keras.Variable(1.0)
optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD())
optimizer.build([weight])
for name, count, gradient in (("200 overflows", 200, float("inf")), ("a good step", 1, 0.0)):
    for _ in range(count):
        optimizer.apply([tf.constant(gradient)])
    print(f"after {name}: scale {optimizer.dynamic_scale.numpy()}, weight {weight.numpy()}")
