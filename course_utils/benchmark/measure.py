"""What `python -m course_utils bench` measures: one device, from its roofs to whole
steps.

It runs where Keras runs on TensorFlow, and with KERAS_BACKEND=jax from the same code on
JAX, also where no TensorFlow is installed; `benchmark.start` has got the backend ready
before.
"""

import datetime
import json
import os
from collections import namedtuple

import keras
import numpy as np

from course_utils import datasets, hardware, models
from course_utils.benchmark import compare, rates, records, settings, start, trainee

# The Transformer block's sizes: what keeps a device busy without keeping anybody
# waiting.
LARGE = {"tokens": 512, "width": 1024, "heads": 16, "batch_size": 64}
SMALL = {"tokens": 128, "width": 256, "heads": 4, "batch_size": 16}
BLOCKS = {"CPU": SMALL, "GPU": LARGE, "TPU": LARGE}
# A function that builds and compiles a model, its data, and how many samples are in a
# step.
Model = namedtuple("Model", "build x y batch_size")


def record(seconds: float = 60, name: str | None = None, parts=records.PARTS) -> dict:
    """Measures this device, under a name or its own: a dict for JSON, as data/README.md
    tells.

    `seconds` is for the steps of the CNN. The other `parts` (of `records.PARTS`) take a
    share of it each: in all it is some two and a half times as long, and half a minute
    for what does not depend on it. After an interrupt of the CNN's or the block's steps
    the parts that follow are missing.

    Example:
        records.save(measure.record(seconds=60), "my-laptop.json")
    """
    digits = datasets.load_mnist()
    job = Job(seconds, start.machine(), digits.x_train, digits.y_train)
    conditions = {
        "model": "mnist_cnn (32-64-128)",
        "data": digits.name,
        "batch_size": job.models["cnn"].batch_size,
        "jit_compile": start.on_jax(),
        "tf32": job.tf32,
        "transformer": BLOCKS[job.kind],
        "seconds": seconds,
    }
    found = {
        "device": name or start.device_name(job.machine),
        "cpu": str(job.machine),
        "versions": start.versions(),
        "date": datetime.date.today().isoformat(),
        "settings": _settings(),
        "conditions": conditions,
        "cnn": [],
    }
    for part in records.PARTS:  # methods of `Job`, in this order
        if part in parts and not job.interrupted:
            print(f"Measuring {part} …", flush=True)
            found[part] = getattr(job, part)()
    return {**found, "notes": list(dict.fromkeys(job.notes))}


class Job:
    """One measurement under way, on a `hardware.Hardware`. Its parts return what JSON
    can hold.

    Attributes: models, {"cnn": `Model`, "transformer": `Model`}; policies that this
    process can compute in; tf32, whether float32 products go through TF32 unless they
    are told otherwise; notes, sentences on what could not be measured; interrupted,
    whether a person ended it.
    """

    def __init__(self, seconds: float, machine: hardware.Hardware, images, labels):
        self.seconds = seconds
        self.machine = machine
        self.kind = trainee.device_kind()
        self.work = hardware.workload(machine)
        self.notes = []
        self.interrupted = False
        cnn = _cnn(images, labels, self.work.batch_size)
        self.models = {"cnn": cnn, "transformer": _block(self.kind)}
        self.dtypes = rates.likely_dtypes(machine)
        self.tf32 = "tf32" in self.dtypes
        self.policies = [
            p for p in compare.POLICIES if p.removeprefix("mixed_") in self.dtypes
        ]
        if "bfloat16" not in self.dtypes:
            self.notes.append(
                "No bfloat16: with this ONEDNN_MAX_CPU_ISA it ends the process."
            )

    def cnn(self):
        return self._steps("cnn", 1)

    def transformer(self):
        return self._steps("transformer", 0.5)

    def ceilings(self):
        return _rows(rates.ceilings(self.seconds / 4, self.dtypes))

    def _steps(self, name, share):
        """A training step under each policy: rows of `Comparison.table`."""
        (build, x, y, batch_size), policies = self.models[name], self.policies
        seconds = share * self.seconds
        try:
            result = compare.compare_policies(
                build, x, y, policies, batch_size, seconds
            )
        except Exception:  # the backend has no kernel for one of them on this device
            policies = [policy for policy in policies if self._runs(name, policy)]
            result = compare.compare_policies(
                build, x, y, policies, batch_size, seconds
            )
        self.interrupted |= result.interrupted
        self.notes += result.notes
        return _rows(result.table.drop(columns=["accuracy", "gap_se"]).reset_index())

    def _runs(self, name, policy):
        """Whether a step is possible; else a note says why not."""
        build, x, y, batch_size = self.models[name]
        try:
            trainee.Trainee(build, policy).step(x[:batch_size], y[:batch_size])
        except Exception as error:
            self.notes.append(f"No {name} under {policy}. {settings.sentence(error)}")
            return False
        return True


def _cnn(images, labels, batch_size):
    x = images[..., None].astype("float32") / 255
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return Model(
        lambda: _compiled(models.mnist_cnn(), loss), x, labels, min(batch_size, len(x))
    )


def _block(kind):
    """On random numbers: two batches of them, as inputs and as targets."""
    tokens, width, heads, batch_size = BLOCKS[kind].values()
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 2 * batch_size, tokens, width), dtype="float32")
    build = lambda: _compiled(models.transformer_block(tokens, width, heads), "mse")  # noqa: E731
    return Model(build, x, y, batch_size)


def _compiled(model, loss):
    # JAX without jit runs operation by operation, which nobody trains with.
    model.compile(keras.optimizers.Adam(1e-3), loss, jit_compile=start.on_jax())
    return model


def _settings():
    """The switches that are set, and `remapping` where `session.setup` turned it off."""
    found = {name: os.environ[name] for name in records.SWITCHES if name in os.environ}
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        if tf.config.optimizer.get_experimental_options().get("remapping") is False:
            found["remapping"] = "off"
    return found


def _rows(table):
    return json.loads(table.to_json(orient="records", double_precision=4))
