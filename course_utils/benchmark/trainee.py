"""One training step at a time, with its duration, peak memory and loss, on Keras's
device.
"""

import time
from collections.abc import Iterator
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from course_utils import distributed, training
from course_utils.hardware import xla


def device() -> str:
    """TensorFlow's name of the device that Keras uses, "GPU:0", "TPU:0" or "CPU:0"."""
    kinds = {d.device_type for d in tf.config.list_logical_devices()}
    return next((f"{kind}:0" for kind in ("TPU", "GPU") if kind in kinds), "CPU:0")


def device_kind() -> str:
    """The kind of `device`: "GPU", "TPU" or "CPU"."""
    return device().split(":")[0]


def counts_memory() -> bool:
    """Whether the allocator of this device tells how much memory is in use."""
    return start_peak() is not None


def start_peak() -> int | None:
    """Bytes in use now, with the peak counter reset; None where the allocator does not
    tell.
    """
    try:
        tf.config.experimental.reset_memory_stats(device())
        return tf.config.experimental.get_memory_info(device())["current"]
    except (ValueError, tf.errors.OpError, RuntimeError):  # a CPU with oneDNN off
        return None


def build(build_model) -> keras.Model:
    """The model of `build_model()`, made where this machine trains.

    That is a TPU, if there is one. Where `hardware.xla.needs_xla` says so, XLA compiles its
    step, whatever `build_model` says.

    Example:
        model = build(build_model)
    """
    with distributed.scope():
        model = build_model()
    if xla.needs_xla(model):
        model.jit_compile = True
    return model


class Step(NamedTuple):
    """One step: wall time until the loss is back, bytes at the peak above those before,
    the loss.

    peak_bytes is None where the allocator does not tell; loss is the mean of this batch
    before the update.
    """

    seconds: float
    peak_bytes: int | None
    loss: float


class Trainee:
    """A compiled model under one policy that takes training steps when asked.

    `build_model()` returns the model, compiled (else ValueError), and is called under
    the policy of that name, as `build` does it; the seed sets the initial weights.

    Example:
        Trainee(build_model, "mixed_bfloat16").step(x[:128], y[:128]).seconds
    """

    def __init__(self, build_model, policy: str, seed: int = 0):
        self.policy, self._build = policy, build_model
        with distributed.scope():
            self.model = build(lambda: self._fresh(seed))
            if not self.model.compiled:
                raise ValueError(
                    "build_model must return a compiled model: call model.compile(...) in it."
                )
            self.model.optimizer.build(self.model.trainable_variables)
        self.needs_xla = xla.needs_xla(self.model)
        self._optimizer = self.model.optimizer
        self._start = [keras.ops.convert_to_numpy(v) for v in self._optimizer.variables]

    def _fresh(self, seed):
        keras.utils.set_random_seed(seed)
        with training.dtype_policy(self.policy):
            return self._build()

    @property
    def resident_bytes(self) -> int:
        """Bytes of the weights and of the optimizer's variables."""
        variables = self.model.variables + self._optimizer.variables
        return sum(
            int(np.prod(v.shape)) * np.dtype(v.dtype).itemsize for v in variables
        )

    def restart(self, seed: int) -> None:
        """Goes back to step 0 with other initial weights; the traced step is kept."""
        self.model.set_weights(self._fresh(seed).get_weights())
        for variable, start in zip(self._optimizer.variables, self._start, strict=True):
            variable.assign(start)

    def step(self, x, y) -> Step:
        """One training step on a batch of NumPy arrays; copying them to the device is
        not timed.
        """
        x, y = keras.ops.convert_to_tensor(x), keras.ops.convert_to_tensor(y)
        # Keras averages its metrics since the last reset: reset, so that the loss is
        # this batch's.
        self.model.reset_metrics()
        before = start_peak()
        start = time.perf_counter()
        loss = float(np.ravel(self.model.train_on_batch(x, y))[0])
        seconds = time.perf_counter() - start
        if before is None:
            return Step(seconds, None, loss)
        peak = tf.config.experimental.get_memory_info(device())["peak"]
        return Step(seconds, peak - before, loss)

    def right(self, x, y) -> np.ndarray:
        """Whether the model labels each image of a batch right, an array of booleans."""
        # each replica gives all of them
        answers = self.model.predict_on_batch(x)[: len(x)]
        return np.argmax(answers, axis=-1) == y


def batches(x, y, batch_size: int, seed: int) -> Iterator[tuple]:
    """Endless shuffled batches of two NumPy arrays, the same ones for the same seed.

    ValueError where there are fewer samples than `batch_size`.
    """
    if len(x) < batch_size:
        raise ValueError(
            f"A batch of {batch_size} needs as many samples and there are {len(x)}: "
            "choose a smaller batch_size."
        )
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(len(x))
        for start in range(0, len(x) - batch_size + 1, batch_size):
            chosen = order[start : start + batch_size]
            yield x[chosen], y[chosen]
