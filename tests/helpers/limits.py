"""Eight training steps, and what makes each faster: the record behind notebook 05's tree.

    python tests/helpers/limits.py FILE [NAME …]

records each step under float32 and the 16-bit policy, times it with every cure in turns
with the step as it was, and writes the file, as JSON. A quick test asks the tree about
the recorded bars. Minutes; by hand, on a CPU with bfloat16 units, which the two cures
of compute and memory need: there bfloat16 makes products faster, and float16 does not.
"""

import json
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from course_utils import hardware, models, profiling, records
from course_utils.benchmark import ratios, timer
from course_utils.lessons.nb05 import read_slowly
from course_utils.training import dtype_policy

STEPS = 16  # of the step in one call, as a cure
SIXTEEN = "mixed_bfloat16"
# Which part of a step a cure belongs to, or which two.
CURES = {
    "batches in memory": ("input",),
    f"{STEPS} steps a call": ("launch", "input"),  # it reads ahead, too
    "XLA": ("launch", "memory"),
    "mixed_bfloat16": ("compute",),
    "mixed_float16": ("memory",),
    "no batch normalization": ("memory",),  # of a step that has some: fewer operations
}
KNOWN = ("cnn", "one filter", "reads its input", "adds and ReLUs")
# Named before the tree was changed, and not run until it was done.
HELD_OUT = ("transformer", "recurrent", "separable", "turned pictures")


def built(name: str) -> tuple[keras.Model, tuple[np.ndarray, np.ndarray]]:
    """A model, not compiled, under the policy in force, and one batch for it."""
    rng = np.random.default_rng(0)

    def digits(number):
        x = rng.random((number, 28, 28, 1), dtype="float32")
        return x, np.arange(number) % 10

    def network(shape, *hidden):
        last = layers.Dense(10, dtype="float32")
        return keras.Sequential([keras.Input(shape), *hidden, last])

    if name in ("cnn", "reads its input"):
        return models.mnist_cnn(), digits(128)
    if name == "one filter":
        return models.mnist_cnn(1), digits(1)
    if name == "adds and ReLUs":
        start = keras.Input((49,))
        x = first = layers.Dense(2048)(start)
        for _ in range(24):
            x = layers.ReLU()(layers.Add()([x, first]))  # [x, x] overflows float16
        model = keras.Model(start, layers.Dense(10, dtype="float32")(x))
        x, y = digits(2048)
        return model, (x[:, ::4, ::4].reshape(-1, 49), y)
    if name == "transformer":
        x = rng.random((16, 64, 128), dtype="float32")
        return models.transformer_block(64, 128), (x, x)
    if name == "recurrent":
        x, y = digits(32)
        return network((28, 28), layers.GRU(64)), (x[..., 0], y)
    if name == "separable":
        hidden = []
        for _ in range(3):
            hidden += [
                layers.SeparableConv2D(32, 3, padding="same", use_bias=False),
                layers.BatchNormalization(),
                layers.ReLU(),
            ]
        pool = layers.GlobalAveragePooling2D()
        return network((28, 28, 1), *hidden, pool), digits(64)
    if name == "turned pictures":
        hidden = [layers.Dense(1024, activation="relu") for _ in range(2)]
        x, y = digits(256)
        return network((784,), *hidden), (x.reshape(-1, 784), y)
    raise ValueError(f"{name!r} is none of {(*KNOWN, *HELD_OUT)}.")


def normalizes(model: keras.Model) -> bool:
    return any(isinstance(x, layers.BatchNormalization) for x in model.layers)


def without_normalization(model: keras.Model) -> keras.Model:
    kept = [x for x in model.layers if not isinstance(x, layers.BatchNormalization)]
    fresh = [type(x).from_config(x.get_config()) for x in kept]
    return keras.Sequential([keras.Input(model.input_shape[1:]), *fresh])


def batches(name: str, batch: tuple[np.ndarray, np.ndarray]) -> tf.data.Dataset:
    """What the step reads as it was: most find their batch ready in memory."""
    if name == "reads its input":
        x, y = batch
        return read_slowly(x, y, len(x), seconds=0.03)
    if name == "turned pictures":  # by Python, one picture after the other

        def turned(x):
            return np.stack([np.rot90(a.reshape(28, 28)).ravel() for a in x])

        def read(x, y):
            x = tf.numpy_function(turned, [x], tf.float32)
            return tf.ensure_shape(x, (len(batch[0]), 784)), y

        return tf.data.Dataset.from_tensors(batch).repeat().map(read)
    return in_memory(batch)


def in_memory(batch: tuple[np.ndarray, np.ndarray]) -> tf.data.Dataset:
    return tf.data.Dataset.from_tensors(batch).repeat()


def step_of(name: str, policy: str = "float32", cure: str = "") -> Callable[[], float]:
    """One call of Keras's own training step, as `fit` calls it, which returns the loss."""
    with dtype_policy(cure if cure.startswith("mixed") else policy):
        model, batch = built(name)
        if cure == "no batch normalization":
            model = without_normalization(model)
    data = in_memory(batch) if cure == "batches in memory" else batches(name, batch)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    if batch[1].ndim > 1:
        loss = keras.losses.MeanSquaredError()
    optimizer = "sgd" if name == "adds and ReLUs" else "adam"
    model.compile(
        optimizer,
        loss,
        jit_compile=cure == "XLA",
        steps_per_execution=STEPS if "steps" in cure else 1,
    )
    model.optimizer.build(model.trainable_variables)  # else TensorFlow traces twice
    model.make_train_function()
    iterator = iter(data)
    return lambda: float(model.train_function(iterator)["loss"])


def measured(name: str, seconds: float) -> dict:
    """The bars of a step, and how many times as fast each cure makes it, with its
    interval.
    """
    steps = {policy: step_of(name, policy) for policy in ("float32", SIXTEEN)}
    traces = profiling.record_in_turns(steps, steps=8, seconds=1)
    found = {"bars": {policy: profiling.budget(t) for policy, t in traces.items()}}
    found["cures"] = {}
    for cure in CURES:
        if cure == "no batch normalization" and not normalizes(built(name)[0]):
            continue
        cases = {"as it was": steps["float32"], "cured": step_of(name, cure=cure)}
        times = timer.timings(cases, seconds, f"{name}, {cure}", at_least=12)
        in_a_call = STEPS if "steps" in cure else 1
        cured = [t / in_a_call for t in times["cured"]]
        found["cures"][cure] = [*ratios.paired(cured, times["as it was"])]
    return found


def main(file: str, *names: str) -> None:
    path = Path(file)
    record = json.loads(path.read_text()) if path.exists() else {}
    cpu = str(hardware.detect())
    record["machine"] = {"cpu": cpu, **records.versions(), "date": str(date.today())}
    for name in names or (*KNOWN, *HELD_OUT):
        found = record.setdefault("steps", {})[name] = measured(name, 3)
        print(name, found)
        path.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
