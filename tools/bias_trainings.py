"""What a bias gradient that is added up in bfloat16 does to trainings.

    python -m tools.bias_trainings

writes data/bias_trainings.json: which layers' gradients are off, by the number of
positions; what becomes of four trainings; and what cures them.
"""

import itertools
import time

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from tqdm import tqdm

from course_utils import paths, records, session
from course_utils.training import dtype_policy
from tools.record import made

SEEDS = (0, 1, 2)
POSITIONS = (128, 256, 512, 1024, 4096, 32768)
WIDTH = 8
POLICIES = ("float32", "mixed_float16", "mixed_bfloat16")


class OwnBias(layers.Layer):
    """`x + b`, whose gradient TensorFlow adds up elsewhere."""

    def build(self, shape):
        self.bias = self.add_weight(shape=(shape[-1],), name="bias")

    def call(self, x):
        return x + self.bias


def dense(units, own=False, **options):
    """A Dense layer, with a bias of one's own or Keras's."""
    if not own:
        return [layers.Dense(units, **options)]
    activation = layers.Activation(options.pop("activation", "linear"))
    return [layers.Dense(units, use_bias=False, **options), OwnBias(), activation]


# Which layers, from how many positions on?

LAYERS = {  # name: (constructor, the shape of a batch of n positions)
    "Dense": (lambda: layers.Dense(WIDTH), lambda n: (n, WIDTH)),
    "Dense(1)": (lambda: layers.Dense(1), lambda n: (n, WIDTH)),
    "x + b": (OwnBias, lambda n: (n, WIDTH)),
    "EinsumDense": (
        lambda: layers.EinsumDense("abc,cd->abd", (None, WIDTH), bias_axes="d"),
        lambda n: (n // 64, 64, WIDTH),
    ),
    "Conv1D": (lambda: layers.Conv1D(WIDTH, 1), lambda n: (n // 64, 64, WIDTH)),
    "Conv2D": (lambda: layers.Conv2D(WIDTH, 1), lambda n: (n // 64, 8, 8, WIDTH)),
    "Conv3D": (lambda: layers.Conv3D(WIDTH, 1), lambda n: (n // 64, 4, 4, 4, WIDTH)),
    "Conv2DTranspose": (
        lambda: layers.Conv2DTranspose(WIDTH, 1),
        lambda n: (n // 64, 8, 8, WIDTH),
    ),
    "DepthwiseConv2D": (
        lambda: layers.DepthwiseConv2D(1),
        lambda n: (n // 64, 8, 8, WIDTH),
    ),
    "LSTM, 16 steps": (lambda: layers.LSTM(WIDTH), lambda n: (n // 16, 16, WIDTH)),
    "LayerNormalization": (layers.LayerNormalization, lambda n: (n, WIDTH)),
}


def bias_error(make, shape, policy, sign):
    """How far a layer's bias gradient is from float32's, as a part of its length.

    In a graph, with the gradients of all weights, as `fit` asks for them. What arrives
    from above has one sign, or a mean of zero.
    """
    source = np.random.default_rng(0)
    x = source.normal(size=shape).astype("float32")
    gradients = []
    for name in ("float32", policy):
        keras.utils.set_random_seed(0)
        with dtype_policy(name):
            layer = make()
        layer.build(shape)

        @tf.function(autograph=False)
        def step(x, upstream, layer=layer):
            with tf.GradientTape() as tape:
                y = layer(x, training=True)
            weights = [w.value for w in layer.trainable_variables]
            return tape.gradient(y, weights, tf.cast(upstream, y.dtype))

        out = tuple(layer(x).shape)
        upstream = np.random.default_rng(1).normal(size=out).astype("float32")
        upstream = np.abs(upstream) if sign == "one sign" else upstream
        index = next(
            n
            for n, weight in enumerate(layer.trainable_variables)
            if weight.name in ("bias", "beta")
        )
        gradients.append(step(x, upstream)[index].numpy().astype("float64").ravel())
    right, other = gradients
    return float(np.linalg.norm(other - right) / np.linalg.norm(right))


# Trainings


def regression(own=False, head=None):
    """Four targets near 20: an offset that only biases can learn."""
    source = np.random.default_rng(3)
    x = source.normal(size=(4096, 16)).astype("float32")
    y = np.tanh(x @ source.normal(size=(16, 4)) / 4) + 20
    first = dense(32, own, activation="relu")
    net = [keras.Input((16,)), *first, *dense(4, own, dtype=head)]
    return keras.Sequential(net), x, y.astype("float32"), "mse", 80


def longer(own=False):
    """The same, five times as long."""
    *parts, steps = regression(own)
    return *parts, 5 * steps


def with_float32_head(own=False):
    """The same with a last layer in float32, as for logits."""
    return regression(own, "float32")


def centered(own=False):
    """The same without the offset."""
    model, x, y, loss, steps = regression(own)
    return model, x, y - 20, loss, steps


def rare(own=False):
    """One example of a hundred belongs to the second class."""
    source = np.random.default_rng(4)
    y = (np.arange(4096) % 100 == 0).astype("int32")
    x = source.normal(size=(4096, 16)) + 0.8 * y[:, None]
    net = [keras.Input((16,)), *dense(32, own, activation="relu"), *dense(2, own)]
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return keras.Sequential(net), x.astype("float32"), y, loss, 160


def recurrent(own=False):
    """A level near 5 that a recurrent layer tells at each of 32 steps."""
    source = np.random.default_rng(5)
    x = source.normal(size=(256, 32, 4)).astype("float32")
    y = 5 + np.cumsum(x[..., :1], axis=1) / 8
    net = [keras.Input((32, 4)), layers.LSTM(16, return_sequences=True)]
    return keras.Sequential([*net, *dense(2, own)]), x, np.repeat(y, 2, -1), "mse", 60


TRAININGS = {
    "regression, targets near 20": regression,
    "the same, five times as long": longer,
    "regression, targets near 0": centered,
    "one in a hundred": rare,
    "a level near 5, recurrent": recurrent,
}
OPTIMIZERS = {
    "SGD": lambda: keras.optimizers.SGD(0.05),
    "Adam": lambda: keras.optimizers.Adam(0.01),
    "SGD, scaled": lambda: keras.optimizers.LossScaleOptimizer(
        keras.optimizers.SGD(0.05)
    ),
}


def trained(make, policy, optimizer, seed, own=False, xla=False):
    """(The loss on all data after the last step; seconds of a step, the median.)"""
    keras.utils.set_random_seed(seed)
    with dtype_policy(policy):
        model, x, y, loss, steps = make(own)
        # compile wraps it by the model's policy
        model.compile(OPTIMIZERS[optimizer](), loss, jit_compile=xla)
    seconds = []
    for _ in range(steps):
        start = time.perf_counter()
        model.train_on_batch(x, y)
        seconds.append(time.perf_counter() - start)
    return float(model.evaluate(x, y, batch_size=len(x), verbose=0)), float(
        np.median(seconds)
    )


CURES = {
    "as it is": {},
    "float32": {"policy": "float32"},
    "x + b": {"own": True},
    "XLA": {"xla": True},
    "a float32 head": {"make": with_float32_head},
    "a loss scale": {"optimizer": "SGD, scaled"},
}


def main():
    session.setup()
    errors = []
    signs = ("one sign", "mean zero")
    cases = list(itertools.product(LAYERS, POLICIES[1:], signs, POSITIONS))
    for name, policy, sign, n in tqdm(cases, desc="layers"):
        make, shape = LAYERS[name]
        error = bias_error(make, shape(n), policy, sign)
        errors.append(
            {
                "layer": name,
                "policy": policy,
                "terms": sign,
                "positions": n,
                "error": error,
            }
        )
    rows = []
    cases = list(itertools.product(TRAININGS, ("SGD", "Adam"), POLICIES))
    for name, optimizer, policy in tqdm(cases, desc="trainings"):
        losses = [trained(TRAININGS[name], policy, optimizer, s)[0] for s in SEEDS]
        rows.append(
            {
                "training": name,
                "optimizer": optimizer,
                "policy": policy,
                "losses": losses,
            }
        )
    cures = []
    for name, how in tqdm(CURES.items(), desc="cures"):
        usual = {"make": regression, "policy": "mixed_bfloat16", "optimizer": "SGD"}
        runs = [trained(seed=seed, **usual | how) for seed in SEEDS]
        losses, seconds = zip(*runs, strict=True)
        cures.append({"cure": name, "losses": losses, "step_ms": 1e3 * min(seconds)})
    record = made("bias trainings", layers=errors, trainings=rows, cures=cures)
    print(f"Written to {records.save(record, paths.data('bias_trainings.json'))}")


if __name__ == "__main__":
    main()
