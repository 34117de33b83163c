"""What the parts of a measurement share: the machine, the models, the conditions, the notes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from course_utils import datasets, hardware, models, stepping
from course_utils.bench.start import machine, on_jax

POLICIES = ("float32", "mixed_bfloat16", "mixed_float16")
CNN = "mnist_cnn (32-64-128)"
# The Transformer block's sizes: what keeps a device busy without keeping anybody waiting.
BLOCKS = {
    "CPU": {"tokens": 128, "width": 256, "heads": 4, "batch_size": 16},
    "GPU": {"tokens": 512, "width": 1024, "heads": 16, "batch_size": 64},
    "TPU": {"tokens": 512, "width": 1024, "heads": 16, "batch_size": 64},
}


@dataclass(frozen=True)
class Model:
    """A model to measure: how it is built and compiled, its data, and samples in a step."""

    name: str
    build: Any
    x: np.ndarray
    y: np.ndarray
    batch_size: int


class Job:
    """One measurement under way.

    Args:
        seconds: time for the steps of the CNN.

    Attributes:
        machine, kind: `hardware.Hardware`, and "CPU", "GPU" or "TPU".
        work: the sizes for it, a `hardware.Workload`.
        policies: those that this process can compute in.
        tf32: whether float32 products go through TF32 here unless they are told otherwise.
        models: {"cnn": `Model`, "transformer": `Model`}.
        conditions: for the record.
        notes: sentences on what could not be measured.
        interrupted: whether a person ended it.
    """

    def __init__(self, seconds: float):
        self.seconds, self.notes, self.interrupted = seconds, [], False
        self.machine = machine()
        kind = stepping.device().split(":")[0]
        self.kind = kind if kind in BLOCKS else "CPU"
        self.work = hardware.workload(self.machine)
        self.policies = list(POLICIES)
        if hardware.bfloat16_ends_the_process(self.machine):
            self.policies.remove("mixed_bfloat16")
            self.notes.append("No bfloat16: with this ONEDNN_MAX_CPU_ISA it ends the process.")
        gpus = [gpu.compute_capability or 0 for gpu in self.machine.working("GPU")]
        self.tf32 = bool(gpus) and min(gpus) >= 8
        digits = datasets.load_mnist()
        self.models = {"cnn": _cnn(digits, self.work.batch_size), "transformer": _block(self.kind)}
        self.conditions = {
            "model": CNN,
            "data": digits.name,
            "batch_size": self.models["cnn"].batch_size,
            "jit_compile": on_jax(),
            "tf32": self.tf32,
            "transformer": BLOCKS[self.kind],
            "seconds": seconds,
        }


def compiled_cnn():
    """The course's CNN with Adam, under the policy in force."""
    import keras

    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return _compiled(models.mnist_cnn(), loss)


def compiled_block(tokens: int, width: int, heads: int):
    """The Transformer block with Adam, trained towards given numbers, under the policy in force."""
    return _compiled(models.transformer_block(tokens, width, heads), "mse")


def _compiled(model, loss):
    import keras

    # JAX without jit runs operation by operation, which nobody trains with.
    model.compile(keras.optimizers.Adam(1e-3), loss, jit_compile=on_jax())
    return model


def _cnn(digits, batch_size):
    x = digits.x_train[..., None].astype("float32") / 255
    return Model("cnn", compiled_cnn, x, digits.y_train, min(batch_size, len(x)))


def _block(kind):
    """On random numbers: two batches of them, as inputs and as targets."""
    size = BLOCKS[kind]
    shape = (2 * size["batch_size"], size["tokens"], size["width"])
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(shape, dtype="float32") for _ in range(2))
    build = lambda: compiled_block(size["tokens"], size["width"], size["heads"])  # noqa: E731
    return Model("transformer", build, x, y, size["batch_size"])
