"""Trainings on several devices whose gradients overflow on purpose, and one process
that plays all.

    overflows.py mirrored FOLDER      everything on 2 logical CPUs; saves a model in FOLDER
    overflows.py worker               one of two workers

Both print what they found as JSON. `tests/canaries/test_devices.py` starts them once
and asserts on it; `tests/test_replica_safe.py` plays the same on one device. As workers run
it as a script, it imports nothing of its own folder.
"""

import json
import sys

import keras
import numpy as np
import tensorflow as tf

from course_utils import distributed
from course_utils.training import (
    LossScaleRecorder,
    ReplicaSafeLossScaleOptimizer,
    dtype_policy,
)
from tools.notebook_cells import Cells

KerasOwn = keras.optimizers.LossScaleOptimizer
SGD = keras.optimizers.SGD
Adam = keras.optimizers.Adam
# powers of two, so that every weight is exact
START = 2.0**4
GROWTH = 3
RATE = 2.0**-6
BAD = [float("inf"), float("-inf"), float("nan")]

# What is played


def patterns(replicas):
    """Names and scripts: for each step, what each replica's gradient is multiplied by."""
    good = [1.0] * replicas
    source = np.random.default_rng(replicas)
    marks = source.choice([1.0, *BAD], (40, replicas), p=[0.85, 0.05, 0.05, 0.05])
    return {"never": [good] * 9, "at random": marks.tolist()}


def on_each_replica(variable):
    """The values on the replicas of this process, as a list of lists."""
    replicas = tf.distribute.get_strategy().experimental_local_results(
        getattr(variable, "value", variable)  # accumulating, `iterations` is a tensor
    )
    return [np.ravel(v.numpy()).tolist() for v in replicas]


class Rig:
    """Two weights, one of sparse gradients, which any replica can spoil: replica r's is
    r + 1.
    """

    def __init__(self, kind=ReplicaSafeLossScaleOptimizer, inner=None, wrap=None):
        self.strategy = tf.distribute.get_strategy()
        self.weights = [
            keras.Variable(np.ones(shape, np.float32)) for shape in ((2, 3), 2)
        ]
        self.optimizer = kind(
            inner or SGD(RATE), initial_scale=START, dynamic_growth_steps=GROWTH
        )
        self.optimizer.build(self.weights)
        self.variables = self.weights + self.optimizer.variables
        self.values = [keras.ops.convert_to_numpy(v) for v in self.variables]
        step = lambda marks: self.strategy.run(self._replica, args=(marks,))  # noqa: E731
        self.step = wrap(step) if wrap else step

    def _replica(self, marks):
        rank = tf.distribute.get_replica_context().replica_id_in_sync_group
        gradient = self.optimizer.scale_loss(tf.cast(rank, tf.float32) + 1)
        spoiled = tf.stack([gradient, gradient * tf.gather(marks, rank)])
        # as of an Embedding
        rows = tf.IndexedSlices(spoiled, tf.range(2), tf.constant([2]))
        self.optimizer.apply([tf.fill((2, 3), gradient), rows], self.weights)

    def play(self, script):
        """From the start: the scales after each step and, at the end, all there is to
        compare.
        """
        for variable, value in zip(self.variables, self.values, strict=True):
            variable.assign(value)
        scales = []
        for marks in script:
            self.step(tf.constant(marks, tf.float32))
            scales.append(on_each_replica(self.optimizer.dynamic_scale))
        return {
            "scales": scales,
            "iterations": on_each_replica(self.optimizer.iterations),
            "weights": [on_each_replica(weight) for weight in self.weights],
        }


# Training in fit, with an overflow of float16 itself


def data(replicas, spoiled):
    """Batches of 4 rows a replica; `spoiled`: pairs (batch, replica) that overflow, or
    ().
    """
    source = np.random.default_rng(0)
    x = source.choice([0.5, 1.0], (6 * 4 * replicas, 4)).astype(np.float32)
    y = np.zeros((len(x), 1), np.float32)
    for batch, replica in spoiled:
        y[4 * (replicas * batch + replica)] = 1024
    return x, y


def fitted(spoiled, eager=False, inner=None):
    """One dense layer in float16: a target of 1024 overflows in its backward pass
    alone.

    The model after one epoch, and the scale before each step and whether it was
    applied.
    """
    replicas = tf.distribute.get_strategy().num_replicas_in_sync
    recorder = LossScaleRecorder()
    optimizer = ReplicaSafeLossScaleOptimizer(
        inner or SGD(2.0**-10), 2.0**12, dynamic_growth_steps=2
    )
    with dtype_policy("mixed_float16"):
        model = keras.Sequential(
            [keras.Input((4,)), keras.layers.Dense(1, use_bias=False)]
        )
        model.set_weights([np.full((4, 1), 0.125)])
        model.compile(optimizer, "mse", jit_compile=False, run_eagerly=eager)
    assert model.optimizer is optimizer  # compile leaves it in place
    x, y = data(replicas, spoiled)
    model.fit(
        x, y, batch_size=4 * replicas, shuffle=False, verbose=0, callbacks=[recorder]
    )
    return model, recorder.table[["scale", "applied"]].T.values.tolist()


# What TensorFlow and Keras do, refuse and get wrong


def one_step(kind, wrap=tf.function):
    """A step of an optimizer that is not built, with the gradient (3, 4) on each
    replica.
    """
    weight = keras.Variable([1.0, 1.0])
    optimizer = kind(SGD(0.5))

    def replica():
        optimizer.apply([optimizer.scale_loss(tf.constant([3.0, 4.0]))], [weight])

    wrap(lambda: tf.distribute.get_strategy().run(replica))()
    return on_each_replica(weight)


def classify(policy):
    """Accuracy and weights after one epoch, in the strategy of the scope."""
    x = np.random.default_rng(0).normal(size=(64, 8)).astype("float32")
    y = np.arange(64) % 3
    keras.utils.set_random_seed(0)
    with dtype_policy(policy):
        hidden = keras.layers.Dense(16, "relu")
        last = keras.layers.Dense(3, "softmax", dtype="float32")
        model = keras.Sequential([keras.Input((8,)), hidden, last])
    loss = "sparse_categorical_crossentropy"
    model.compile(SGD(0.1), loss, metrics=["accuracy"], jit_compile=False)
    history = model.fit(x, y, 16, verbose=0, shuffle=False).history
    weights = np.concatenate([np.ravel(w) for w in model.get_weights()])
    return history["accuracy"], weights.tolist()


def of_keras():
    """What works under the strategy of the scope, the notebook's own tries among it."""
    from course_utils.lessons.nb07 import fit_attempts

    found = {p: classify(p) for p in ("float32", "mixed_bfloat16", "mixed_float16")}
    names = {"batch": 64, "strategy": None, "fit_attempts": fit_attempts}
    cells = Cells("07_devices").run("attempts", names=names, until='print("plain')
    found |= cells["outcomes"]
    return found | {"auto": fit_attempts.attempt(jit_compile="auto")}


def mirrored():
    """Everything on 2 logical CPUs of one process."""
    found = {"fit": {}}
    safe = ReplicaSafeLossScaleOptimizer
    with tf.distribute.MirroredStrategy(distributed.split_cpu(2)).scope():
        found |= plays()
        rich = keras.optimizers.AdamW(
            0.01, weight_decay=0.01, global_clipnorm=0.05, use_ema=True
        )
        cases = {
            "on 1": [[(2, 1), (3, 1)]],
            "eager": [[(2, 1)], True],
            "rich": [[(0, 1)], False, rich],
        }
        for name, case in cases.items():
            model, steps = fitted(*case)
            found["fit"][name] = [steps, on_each_replica(model.weights[0])]
        found["two"] = of_keras()
        try:
            one_step(safe)
        except Exception as error:
            found["not built"] = str(error)
        found["not built, eager"] = one_step(safe, wrap=lambda step: step)
    with tf.distribute.OneDeviceStrategy("CPU:0").scope():
        found["one"] = of_keras()
    print("RESULT", json.dumps(found))


def plays():
    """What comes of every pattern in a `tf.function`: {"play": {name: result}}."""
    scripts = patterns(tf.distribute.get_strategy().num_replicas_in_sync)
    rig = Rig(wrap=tf.function)
    return {"play": {name: rig.play(script) for name, script in scripts.items()}}


def worker():
    """One of two workers plays every pattern."""
    with tf.distribute.MultiWorkerMirroredStrategy().scope():
        print("RESULT", json.dumps(plays()))


if __name__ == "__main__":
    mirrored() if sys.argv[1] == "mirrored" else worker()
