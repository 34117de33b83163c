"""A training loop for the overflow drill, in the ways that a learner may have written it.

`tests/test_drill.py` writes files that take one of them: `drill = drilled.loop(KIND)`.
"""

import time

import keras
import numpy as np
import tensorflow as tf

from course_utils.training import ReplicaSafeLossScaleOptimizer as Safe

KerasOwn = keras.optimizers.LossScaleOptimizer
Many = tf.distribute.MultiWorkerMirroredStrategy


def two():
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def apart():
    return tf.distribute.MirroredStrategy(["CPU:0"])


class Lone(KerasOwn):
    """Rank 0 takes every step, with what is finite of the gradients; the others skip."""

    def __init__(self, inner, *options):
        super().__init__(inner, *options)
        inner._all_reduce_sum_gradients = lambda pairs: pairs

    def apply(self, gradients, variables=None):
        context = tf.distribute.get_replica_context()
        clean = [tf.where(tf.math.is_finite(g), g, 0) for g in gradients]
        flag = tf.cast(super().check_finite(gradients), "float32")
        flags = context.all_reduce("SUM", flag)
        self.agreed = context.replica_id_in_sync_group == 0 or flags > 1.5
        super().apply(context.all_reduce("SUM", clean), variables)

    def check_finite(self, gradients):
        return tf.convert_to_tensor(self.agreed)


class Late(Safe):
    """Whoever overflows comes late."""

    def check_finite(self, gradients):
        finite = KerasOwn.check_finite(self, gradients)
        wait = tf.where(finite, 0.0, 300.0)
        sleep = tf.py_function(lambda wait: time.sleep(float(wait)), [wait], [])
        with tf.control_dependencies([sleep]):
            return super().check_finite([tf.identity(g) for g in gradients])


class Deaf(Safe):
    """Infinity reaches nothing."""

    def apply(self, gradients, variables=None):
        super().apply([tf.zeros_like(g) for g in gradients], variables)


class Torn(Safe):
    """All decide together, and nobody adds up the gradients."""

    def __init__(self, inner, *options):
        super().__init__(inner, *options)
        inner._all_reduce_sum_gradients = lambda pairs: pairs


def loop(kind, make_strategy=Many):
    """The function that the drill asks for, with an optimizer of this kind."""

    def drill():
        strategy = make_strategy()
        keras.utils.set_random_seed(0)
        with strategy.scope():
            hidden = keras.layers.Dense(8, "relu", dtype="mixed_float16")
            last = keras.layers.Dense(1, dtype="float32")
            model = keras.Sequential([keras.Input((4,)), hidden, last])
            optimizer = kind(keras.optimizers.Adam(0.01))
            optimizer.build(model.trainable_variables)

        def one_replica(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
                scaled = optimizer.scale_loss(loss / 2)
            weights = model.trainable_variables
            optimizer.apply(tape.gradient(scaled, weights), weights)

        @tf.function
        def step(*batch):
            strategy.run(one_replica, batch)

        x = np.random.default_rng(0).random((8, 4), "float32")
        return strategy, model, optimizer, step, (x, np.ones((8, 1), "float32"))

    return drill
