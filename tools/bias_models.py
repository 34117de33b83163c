"""The trainings of `tools.bias_trainings`: small ones whose biases have much to learn, or
nothing.
"""

from functools import partial
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import layers

from course_utils.training import dtype_policy

SIDE = 32  # pixels of an image


class OwnBias(layers.Layer):
    """`x + b`, whose gradient TensorFlow adds up elsewhere; it begins at zeros, as Keras's."""

    def build(self, shape):
        self.bias = self.add_weight((shape[-1],), "zeros", name="bias")

    def call(self, x):
        return x + self.bias


class Task(NamedTuple):
    """A model, what it learns from, and for how long.

    A step takes `batch` rows, drawn anew, or all of them (None).
    """

    model: keras.Model
    x: np.ndarray
    y: np.ndarray
    loss: Any
    steps: int
    batch: int | None = None


def biased(kind, units, *size, own=False, activation="linear", **options):
    """A layer with Keras's bias, or one without and a bias of one's own behind it."""
    if not own:
        return [kind(units, *size, activation=activation, **options)]
    bare = kind(units, *size, use_bias=False, **options)
    return [bare, OwnBias(), layers.Activation(activation)]


dense = partial(biased, layers.Dense)
convolution = partial(biased, layers.Conv2D, padding="same")


def regression(own=False, head=None, batch=None):
    """Four targets near 20: an offset that only biases can learn."""
    source = np.random.default_rng(3)
    x = source.normal(size=(4096, 16)).astype("float32")
    y = np.tanh(x @ source.normal(size=(16, 4)) / 4) + 20
    first = dense(32, own=own, activation="relu")
    net = [keras.Input((16,)), *first, *dense(4, own=own, dtype=head)]
    return Task(keras.Sequential(net), x, y.astype("float32"), "mse", 80, batch)


def longer(own=False):
    """The same, five times as long."""
    task = regression(own)
    return task._replace(steps=5 * task.steps)


def with_float32_head(own=False):
    """The same with a last layer in float32, as for logits."""
    return regression(own, "float32")


def centered(own=False):
    """The same without the offset."""
    task = regression(own)
    return task._replace(y=task.y - 20)


def classes():
    """The loss of logits of some classes."""
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def rare(own=False):
    """One example of a hundred belongs to the second class."""
    source = np.random.default_rng(4)
    y = (np.arange(4096) % 100 == 0).astype("int32")
    x = source.normal(size=(4096, 16)) + 0.8 * y[:, None]
    first = dense(32, own=own, activation="relu")
    net = [keras.Input((16,)), *first, *dense(2, own=own)]
    return Task(keras.Sequential(net), x.astype("float32"), y, classes(), 160)


def recurrent(own=False):
    """A level near 5 that a recurrent layer tells at each of 32 steps."""
    source = np.random.default_rng(5)
    x = source.normal(size=(256, 32, 4)).astype("float32")
    y = np.repeat(5 + np.cumsum(x[..., :1], axis=1) / 8, 2, -1)
    net = [keras.Input((32, 4)), layers.LSTM(16, return_sequences=True)]
    return Task(keras.Sequential([*net, *dense(2, own=own)]), x, y, "mse", 60)


def pixels(own=False):
    """Which pixels of a noisy image belong to its bright disc, told by three
    convolutions.
    """
    source = np.random.default_rng(6)
    place = np.arange(SIDE)
    row, column = source.uniform(6, SIDE - 6, (2, 256, 1, 1))
    radius = source.uniform(3, 7, (256, 1, 1))
    disc = (place[:, None] - row) ** 2 + (place - column) ** 2 < radius**2
    x = (disc + source.normal(size=disc.shape)).astype("float32")[..., None]
    net = [keras.Input((SIDE, SIDE, 1))]
    for _ in range(2):
        net += convolution(8, 3, own=own, activation="relu")
    net += convolution(2, 1, own=own)
    y = disc.astype("int32")
    return Task(keras.Sequential(net), x, y, classes(), 400, batch=16)


OPTIMIZERS = {
    "SGD": lambda: keras.optimizers.SGD(0.05),
    "SGD, rate 0.2": lambda: keras.optimizers.SGD(0.2),
    "Adam": lambda: keras.optimizers.Adam(0.01),
    "SGD, scaled": lambda: keras.optimizers.LossScaleOptimizer(
        keras.optimizers.SGD(0.05)
    ),
}


def compiled(make, policy, optimizer, seed, own=False, xla=False) -> Task:
    """A task whose model was built and compiled under a policy."""
    keras.utils.set_random_seed(seed)
    with dtype_policy(policy):
        task = make(own)
        # compile wraps the optimizer by the model's policy
        task.model.compile(OPTIMIZERS[optimizer](), task.loss, jit_compile=xla)
    return task


def trained(make, policy, optimizer, seed, **options) -> Task:
    """A task whose model has taken all steps; a seed draws the same rows under each
    policy.
    """
    task = compiled(make, policy, optimizer, seed, **options)
    draw = np.random.default_rng(seed)
    rows = slice(None)
    for _ in range(task.steps):
        if task.batch:
            rows = draw.choice(len(task.x), task.batch, replace=False)
        task.model.train_on_batch(task.x[rows], task.y[rows])
    return task


def loss_of(task) -> float:
    """The loss on all that the task learns from."""
    loss = task.model.evaluate(task.x, task.y, batch_size=len(task.x), verbose=0)
    return float(loss)


def skipped(task) -> int:
    """How many steps a loss scale skipped, because a gradient was not finite."""
    return task.steps - int(task.model.optimizer.iterations)


def overlap(task) -> float:
    """The pixels that are in the disc and found, as a share of those that are in it or
    found (intersection over union), of all images.
    """
    logits = task.model.predict(task.x, batch_size=len(task.x), verbose=0)
    found, right = logits.argmax(-1) == 1, task.y == 1
    return float((found & right).sum() / (found | right).sum())
