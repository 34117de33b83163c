"""The training loop of TensorFlow's guide to mixed precision does not run with Keras 3.

Known as: https://github.com/keras-team/keras/issues/20894, and 19479 of the same tracker
Seen with: TensorFlow 2.20.0 and 2.21.0, Keras 3.13.2, 3.14.1 and 3.15.1.
Where: tensorflow.org/guide/mixed_precision, "Training the model with a custom training loop".
Prints: 'LossScaleOptimizer' object has no attribute 'get_scaled_loss'
    gone: get_scaled_loss, get_unscaled_gradients, loss_scale
Should print: a loss, if the guide said `scale_loss`, and left unscaling to `apply_gradients`
"""

import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((1,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.RMSprop())
try:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(tf.ones((2, 1))) ** 2)
        scaled_loss = optimizer.get_scaled_loss(loss)
    scaled_gradients = tape.gradient(scaled_loss, model.trainable_variables)
    gradients = optimizer.get_unscaled_gradients(scaled_gradients)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
except AttributeError as problem:
    print(problem)
names = ("get_scaled_loss", "get_unscaled_gradients", "loss_scale")
print("gone:", ", ".join(name for name in names if not hasattr(optimizer, name)))
