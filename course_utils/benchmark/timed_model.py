"""One training step at a time, with its duration, peak memory and loss."""

import time
from collections.abc import Callable
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from course_utils import distributed, training
from course_utils.benchmark import keras_device
from course_utils.hardware import xla


class Step(NamedTuple):
    """One step: wall time until the loss is back, bytes at the peak above those before,
    the loss.

    peak_bytes is None where the allocator does not tell; loss is the mean of this batch
    before the update.
    """

    seconds: float
    peak_bytes: int | None
    loss: float


class TimedModel:
    """A compiled model under one policy that takes training steps when asked.

    `build_model()` returns the model, compiled (else ValueError), and is called under
    the policy of that name, as `keras_device.build` does it; the seed sets the initial
    weights. "tf32" is float32 through the TF32 units that a GPU has, "float32" without.

    Example:
        TimedModel(build_model, "mixed_bfloat16").step(x[:128], y[:128]).seconds
    """

    def __init__(
        self, build_model: Callable[[], keras.Model], policy: str, seed: int = 0
    ):
        self.policy = policy
        self._build = build_model
        with distributed.scope():
            self.model = keras_device.build(lambda: self._fresh(seed))
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
        policy = "float32" if self.policy == "tf32" else self.policy
        with training.dtype_policy(policy):
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

    def step(self, x: np.ndarray, y: np.ndarray) -> Step:
        """One training step on a batch of NumPy arrays; copying them to the device is
        not timed.
        """
        x = keras.ops.convert_to_tensor(x)
        y = keras.ops.convert_to_tensor(y)
        # Keras averages its metrics since the last reset: reset, so that the loss is
        # this batch's.
        self.model.reset_metrics()
        before = keras_device.start_peak()
        start = time.perf_counter()
        with training.tf32(self.policy != "float32"):
            loss = float(np.ravel(self.model.train_on_batch(x, y))[0])
        seconds = time.perf_counter() - start
        if before is None:
            return Step(seconds, None, loss)
        peak = tf.config.experimental.get_memory_info(keras_device.device())["peak"]
        return Step(seconds, peak - before, loss)

    def right(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Whether the model labels each image of a batch right, an array of booleans."""
        # each replica gives all of them
        answers = self.model.predict_on_batch(x)[: len(x)]
        return np.argmax(answers, axis=-1) == y
