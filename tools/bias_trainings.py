"""What a bias gradient that is added up in bfloat16 does to trainings.

    python -m tools.bias_trainings

writes data/bias_trainings.json: which layers' gradients are off, by the number of
positions; what becomes of trainings, of one of them at smaller batches, and of one with
oneDNN on and off; what cures them, and how long a step takes with each cure. It takes a
quarter of an hour on two cores. The trainings are those of `tools.bias_models`.
"""

import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from tensorflow.python.util import _pywrap_util_port  # tells what TensorFlow decided
from tqdm import tqdm

from course_utils import hardware, paths, records, session
from course_utils.benchmark import measure, ratios, timer
from course_utils.training import dtype_policy
from tools import bias_models
from tools.bias_models import OwnBias, compiled, loss_of, overlap, skipped, trained
from tools.record import made

SEEDS = (0, 1, 2)
POSITIONS = (128, 256, 512, 1024, 4096, 32768)
BATCHES = (32, 128, 512, 1024, 4096)
WIDTH = 8
POLICIES = ("float32", "mixed_float16", "mixed_bfloat16")
PAIRS = 10  # of models, fresh ones, that a cure is timed with
SECONDS = 1  # that a pair takes turns
ONEDNN = "TF_ENABLE_ONEDNN_OPTS"  # TensorFlow reads it when it is imported
CONVOLUTION = """
import tensorflow as tf
x = tf.ones((1, 8, 8, 8), "bfloat16")
tf.nn.conv2d(x, x, 1, "SAME")
"""

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


def layer_errors():
    """`bias_error` of all layers: a list of rows."""
    signs = ("one sign", "mean zero")
    cases = itertools.product(LAYERS, POLICIES[1:], signs, POSITIONS)
    rows = []
    for name, policy, sign, n in tqdm(list(cases), desc="layers"):
        make, shape = LAYERS[name]
        error = bias_error(make, shape(n), policy, sign)
        row = {"layer": name, "policy": policy, "terms": sign}
        rows.append(row | {"positions": n, "error": error})
    return rows


TRAININGS = {
    "regression, targets near 20": bias_models.regression,
    "the same, five times as long": bias_models.longer,
    "regression, targets near 0": bias_models.centered,
    "one in a hundred": bias_models.rare,
    "a level near 5, recurrent": bias_models.recurrent,
}


def losses(make, policy, optimizer, **options):
    """The last loss of a training, for each seed."""
    return [
        loss_of(trained(make, policy, optimizer, seed, **options)) for seed in SEEDS
    ]


def trainings():
    """How trainings end under each policy, and how many of their steps were skipped."""
    cases = list(itertools.product(TRAININGS, ("SGD", "Adam"), POLICIES))
    rows = []
    for name, optimizer, policy in tqdm(cases, desc="trainings"):
        tasks = [trained(TRAININGS[name], policy, optimizer, seed) for seed in SEEDS]
        row = {"training": name, "optimizer": optimizer, "policy": policy}
        row |= {"losses": [loss_of(task) for task in tasks]}
        rows.append(row | {"skipped": [skipped(task) for task in tasks]})
    return rows


def smaller_batches():
    """How the first training ends with fewer rows in a step.

    The number of steps stays: with SGD it is what carries an offset. As many rows as
    before would be 128 times as many steps at 32 rows, and leave nothing to learn.
    """
    cases = list(itertools.product(BATCHES, ("float32", "mixed_bfloat16")))
    rows = []
    for batch, policy in tqdm(cases, desc="batches"):
        make = partial(bias_models.regression, batch=batch)
        row = {"batch": batch, "policy": policy}
        rows.append(row | {"losses": losses(make, policy, "SGD")})
    return rows


def pixels():
    """How the training per pixel ends, with oneDNN as this process has it."""
    cases = [("float32", False), ("mixed_bfloat16", False), ("mixed_bfloat16", True)]
    rows = []
    for policy, own in tqdm(cases, desc=f"pixels, {ONEDNN}={os.environ[ONEDNN]}"):
        make = bias_models.pixels
        tasks = [trained(make, policy, "SGD, rate 0.2", s, own=own) for s in SEEDS]
        rows.append(
            {
                "settings": {ONEDNN: os.environ[ONEDNN]},
                "onednn": _pywrap_util_port.IsMklEnabled(),
                "policy": policy,
                "bias": "x + b" if own else "Keras's",
                "losses": [loss_of(task) for task in tasks],
                "overlaps": [overlap(task) for task in tasks],
            }
        )
    return rows


def pixels_with(onednn):
    """The rows of `pixels` from a process of their own, with oneDNN "1" (on) or "0"."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pixels.json"
        command = [sys.executable, "-m", "tools.bias_trainings", "--pixels", path]
        subprocess.run(command, env={**os.environ, ONEDNN: onednn}, check=True)
        return json.loads(path.read_text(encoding="utf-8"))


def onednn_says():
    """What TensorFlow logs of oneDNN at a bfloat16 convolution, "" for nothing."""
    asked = {**os.environ, ONEDNN: "1", "TF_CPP_MIN_LOG_LEVEL": "0"}
    command = [sys.executable, "-c", CONVOLUTION]
    log = subprocess.run(command, env=asked, capture_output=True, text=True, check=True)
    said = re.findall(r"oneDNN supports .+", log.stderr)
    return said[0] if said else ""


USUAL = {
    "make": bias_models.regression,
    "policy": "mixed_bfloat16",
    "optimizer": "SGD",
}
CURES = {
    "as it is": {},
    "float32": {"policy": "float32"},
    "x + b": {"own": True},
    "XLA": {"xla": True},
    "a float32 head": {"make": bias_models.with_float32_head},
    "a loss scale": {"optimizer": "SGD, scaled"},
}


def step_of(how):
    """A function that takes a step of the first training, cured this way."""
    task = compiled(seed=0, **USUAL | how)
    return lambda: float(task.model.train_on_batch(task.x, task.y))


def times_as_long(how):
    """How many times as long a step takes with a cure as without it, and the interval.

    Rounds of one pair of models agree better with each other than with the next pair's,
    and who steps first has a part in it. So the interval is that of several pairs, each
    with its medians.
    """
    uncured, cured = [], []
    for pair in range(PAIRS):
        turns = {"uncured": step_of({}), "cured": step_of(how)}
        if pair % 2:
            turns = dict(reversed(turns.items()))
        ms = timer.in_turns(turns, SECONDS, f"pair {pair + 1} of {PAIRS}")
        uncured.append(ms["uncured"])
        cured.append(ms["cured"])
    # how many times as fast the uncured step is
    return ratios.paired(uncured, cured)._asdict()


def cures():
    """How the first training ends with each cure, and how long its step takes. The
    training as it is against a copy of itself tells what the intervals are worth.
    """
    return [
        {
            "cure": name,
            "losses": losses(**USUAL | how),
            "times_as_long": times_as_long(how),
        }
        for name, how in tqdm(CURES.items(), desc="cures")
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--pixels",
        type=Path,
        metavar="FILE",
        help="write only the training per pixel, with oneDNN as the environment says",
    )
    asked = parser.parse_args()
    session.setup()
    if asked.pixels:
        asked.pixels.write_text(json.dumps(pixels()), encoding="utf-8")
        return
    record = made(
        "bias trainings",
        device=measure.device_name(hardware.detect()),
        settings={k: os.environ[k] for k in records.SWITCHES if k in os.environ},
        onednn=_pywrap_util_port.IsMklEnabled(),
        layers=layer_errors(),
        trainings=trainings(),
        batches=smaller_batches(),
        pixels=[*pixels_with("1"), *pixels_with("0")],
        onednn_says=onednn_says(),
        cures=cures(),
        pairs=PAIRS,
    )
    print(f"Written to {records.save(record, paths.data('bias_trainings.json'))}")


if __name__ == "__main__":
    main()
