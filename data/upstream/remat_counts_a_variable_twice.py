"""A variable of Keras that is passed to `keras.remat` gets twice its gradient, eagerly.

Seen with: TensorFlow 2.20.0 and 2.21.0, Keras 3.13.2 and 3.15.1.
Where: tensorflow/python/ops/custom_gradient.py, _eager_mode_decorator: Keras's variable is an input
    of the function, and TensorFlow's inside of it is one that the function uses.
Prints: eagerly, the variable: 2
    eagerly, a tensor of it: 1
    in a graph, the variable: 1
    in a graph, a tensor of it: 1
Should print: 1 in each line
"""

import keras
import tensorflow as tf

x, w = tf.ones(()), keras.Variable(1.0)


def gradient(passed):
    """The gradient of x times w, recomputed."""
    with tf.GradientTape() as tape:
        y = keras.remat(lambda x, w: x * w)(x, passed(w))
    return tape.gradient(y, w.value)


for how, run in (("eagerly", gradient), ("in a graph", tf.function(gradient))):
    for what, passed in (("the variable", lambda w: w), ("a tensor of it", tf.convert_to_tensor)):
        print(f"{how}, {what}: {run(passed):.0f}")
