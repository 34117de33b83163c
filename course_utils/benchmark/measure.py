"""What `python -m course_utils bench` measures: one device, from its roofs to whole
steps.

`session.setup` has started TensorFlow before.
"""

import datetime
import json
import os
import re
from collections.abc import Callable
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from course_utils import datasets, hardware, models
from course_utils.benchmark import compare, rates, records, trainee

# The Transformer block's sizes: what keeps a device busy without keeping anybody
# waiting.
LARGE = {"tokens": 512, "width": 1024, "heads": 16, "batch_size": 64}  # GPU or TPU
SMALL = {"tokens": 128, "width": 256, "heads": 4, "batch_size": 16}  # CPU


class Model(NamedTuple):
    """What is trained: a function that builds and compiles it, and its data."""

    build: Callable
    x: np.ndarray
    y: np.ndarray
    batch_size: int


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
    machine = hardware.detect()
    digits = datasets.load_mnist()
    job = Job(seconds, machine, digits.x_train, digits.y_train)
    conditions = {
        "model": "mnist_cnn (32-64-128)",
        "data": digits.name,
        "batch_size": job.models["cnn"].batch_size,
        "jit_compile": False,
        "tf32": "tf32" in job.dtypes,
        "transformer": _block_sizes(),
        "seconds": seconds,
    }
    found = {
        "device": name or device_name(machine),
        "cpu": str(machine),
        "versions": records.versions(),
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


def device_name(machine: hardware.Hardware) -> str:
    """What to call a machine: its accelerator, or its CPU with the cores and 16-bit
    instructions.

    Example:
        >>> device_name(hardware.Hardware("Linux x86_64", "some CPU", 4, ("avx2",)))
        'some CPU 4 cores'
    """
    for accelerator in machine.accelerators:
        if accelerator.works:
            return accelerator.name
    sets = [s for s in machine.instruction_sets or () if "16" in s]
    return " ".join([machine.cpu, hardware.counted(machine.cores), *sets])


class Job:
    """One measurement under way, on a `hardware.Hardware`. Its parts return what JSON
    can hold.

    Attributes: models, {"cnn": `Model`, "transformer": `Model`}; dtypes that this
    device may multiply and policies that this process can compute in; notes, sentences
    on what could not be measured; interrupted, whether a person ended it.
    """

    def __init__(self, seconds: float, machine: hardware.Hardware, images, labels):
        self.seconds = seconds
        self.notes = []
        self.interrupted = False
        batch_size = hardware.workload(machine).batch_size
        self.models = {"cnn": _cnn(images, labels, batch_size), "transformer": _block()}
        self.dtypes = rates.likely_dtypes(machine)
        self.policies = [
            p for p in compare.POLICIES if p.removeprefix("mixed_") in self.dtypes
        ]
        if "bfloat16" not in self.dtypes:
            self.notes.append(
                "No bfloat16: with this ONEDNN_MAX_CPU_ISA it ends the process."
            )

    def cnn(self):
        return self._steps("cnn", self.seconds)

    def transformer(self):
        return self._steps("transformer", self.seconds / 2)

    def ceilings(self):
        return _rows(rates.ceilings(self.seconds / 4, self.dtypes))

    def _steps(self, name, seconds):
        """A training step under each policy: rows of `Comparison.table`."""
        build, x, y, batch_size = self.models[name]

        def measured(policies):
            return compare.compare_policies(build, x, y, policies, batch_size, seconds)

        try:
            result = measured(self.policies)
        except Exception:  # the device has no kernel for one of them
            result = measured([p for p in self.policies if self._runs(name, p)])
        self.interrupted |= result.interrupted
        self.notes += result.notes
        return _rows(result.table.drop(columns=["accuracy", "gap_se"]).reset_index())

    def _runs(self, name, policy):
        """Whether a step is possible; else a note says why not."""
        build, x, y, batch_size = self.models[name]
        try:
            trainee.Trainee(build, policy).step(x[:batch_size], y[:batch_size])
        except Exception as error:
            self.notes.append(f"No {name} under {policy}. {sentence(error)}")
            return False
        return True


def _cnn(images, labels, batch_size):
    x = images[..., None].astype("float32") / 255
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def build():
        return _compiled(models.mnist_cnn(), loss)

    return Model(build, x, labels, min(batch_size, len(x)))


def _block():
    """On random numbers: two batches of them, as inputs and as targets."""
    tokens, width, heads, batch_size = _block_sizes().values()
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 2 * batch_size, tokens, width), dtype="float32")

    def build():
        return _compiled(models.transformer_block(tokens, width, heads), "mse")

    return Model(build, x, y, batch_size)


def _block_sizes():
    return SMALL if trainee.device_kind() == "CPU" else LARGE


def _compiled(model, loss):
    model.compile(keras.optimizers.Adam(1e-3), loss, jit_compile=False)
    return model


def _settings():
    """The switches that are set, and `remapping` where `session.setup` turned it off."""
    found = {name: os.environ[name] for name in records.SWITCHES if name in os.environ}
    if tf.config.optimizer.get_experimental_options().get("remapping") is False:
        found["remapping"] = "off"
    return found


def _rows(table):
    return json.loads(table.to_json(orient="records", double_precision=4))


def sentence(error: Exception) -> str:
    """One sentence on an exception; of TensorFlow's long ones the part that says why.

    Example:
        >>> sentence(ValueError("so not"))
        'It raised ValueError: so not'
    """
    text = " ".join(str(error).split())
    # oneDNN's, in the middle
    why = re.search(r"message: (.+?)(?:\. |, in file|$)", text)
    text = why[1] if why else text
    return f"It raised {type(error).__name__}: {text[:200]}{'…' * (len(text) > 200)}"
