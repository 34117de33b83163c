"""`apply(zip(gradients, weights))` is refused by SGD, and under loss scaling does nothing.

Seen with: TensorFlow 2.20.0 and 2.21.0, Keras 3.13.2, 3.14.1 and 3.15.1.
Where: keras/src/optimizers/loss_scale_optimizer.py: check_finite uses the iterator up, and the
    inner optimizer gets an empty list of gradients, for which it does nothing.
Prints: SGD, apply: TypeError, weight 1.00
    LossScaleOptimizer, apply: no error, weight 1.00
    LossScaleOptimizer, apply_gradients: no error, weight 0.99
Should print: TypeError for both `apply`
"""

import keras
import tensorflow as tf

SGD, Scaled = keras.optimizers.SGD, keras.optimizers.LossScaleOptimizer
cases = (SGD(), "apply"), (Scaled(SGD()), "apply"), (Scaled(SGD()), "apply_gradients")
for optimizer, method in cases:
    weight, found = keras.Variable(1.0), "no error"
    optimizer.build([weight])
    try:
        gradient = optimizer.scale_loss(tf.constant(1.0))
        getattr(optimizer, method)(zip([gradient], [weight], strict=True))
    except (TypeError, ValueError) as problem:
        found = type(problem).__name__
    print(f"{type(optimizer).__name__}, {method}: {found}, weight {weight.numpy():.2f}")
