"""One training step at a time, with its duration, peak memory and loss."""

import contextlib
import time
from dataclasses import dataclass

import keras
import numpy as np
from tqdm.auto import tqdm


@dataclass(frozen=True)
class Step:
    """What one call of `train_on_batch` took.

    Attributes:
        seconds: wall time, with the loss already back on the host.
        peak_bytes: the largest memory in use during the step above what was in use
            before it, or None where the allocator does not tell.
        loss: the mean loss of this batch before the update.
    """

    seconds: float
    peak_bytes: int | None
    loss: float


@contextlib.contextmanager
def dtype_policy(name: str):
    """Sets Keras's global dtype policy for a `with` block and restores the former one.

    Example:
        >>> with dtype_policy("mixed_bfloat16"):
        ...     keras.config.dtype_policy().compute_dtype
        'bfloat16'
    """
    former = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(former)


@contextlib.contextmanager
def tf32(on: bool):
    """Lets float32 products go through TF32 or not in a `with` block, where a GPU has it.

    TensorFlow asks at every product; JAX when it compiles, so build the model in the block.

    Example:
        with tf32(False):
            model.train_on_batch(x, y)  # true float32
    """
    if keras.backend.backend() == "jax":
        import jax

        with jax.default_matmul_precision("tensorfloat32" if on else "highest"):
            yield
        return
    if keras.backend.backend() != "tensorflow":
        yield
        return
    import tensorflow as tf

    former = tf.config.experimental.tensor_float_32_execution_enabled()
    tf.config.experimental.enable_tensor_float_32_execution(on)
    try:
        yield
    finally:
        tf.config.experimental.enable_tensor_float_32_execution(former)


class Trainee:
    """A compiled model under one policy that takes training steps when asked.

    Args:
        build_model: function without arguments that returns a compiled model.
        policy: name of the dtype policy in force while it is called.
        seed: sets the initial weights.

    Raises:
        ValueError: `build_model` returned a model that is not compiled.
    """

    def __init__(self, build_model, policy: str, seed: int = 0):
        self.policy = policy
        self._build = build_model
        self.model = self._fresh(seed)
        if not self.model.compiled:
            raise ValueError(
                "build_model must return a compiled model: call model.compile(...) in it."
            )
        self.model.optimizer.build(self.model.trainable_variables)
        self._optimizer_start = [
            keras.ops.convert_to_numpy(v) for v in self.model.optimizer.variables
        ]

    def _fresh(self, seed):
        keras.utils.set_random_seed(seed)
        with dtype_policy(self.policy):
            return self._build()

    @property
    def resident_bytes(self) -> int:
        """Bytes of the weights and of the optimizer's variables."""
        variables = self.model.variables + self.model.optimizer.variables
        return sum(int(np.prod(v.shape)) * np.dtype(v.dtype).itemsize for v in variables)

    @property
    def loss_scale(self) -> float | None:
        """The current loss scale, or None where `compile` added no loss scaling."""
        scale = getattr(self.model.optimizer, "dynamic_scale", None)
        return None if scale is None else float(keras.ops.convert_to_numpy(scale))

    def restart(self, seed: int):
        """Goes back to step 0 with other initial weights; the traced step is kept."""
        self.model.set_weights(self._fresh(seed).get_weights())
        for variable, start in zip(
            self.model.optimizer.variables, self._optimizer_start, strict=True
        ):
            variable.assign(start)
        self.model.reset_metrics()

    def step(self, x, y) -> Step:
        """One training step on a batch of NumPy arrays; copying them to the device is not timed."""
        x, y = keras.ops.convert_to_tensor(x), keras.ops.convert_to_tensor(y)
        # Keras averages its metrics since the last reset: reset, so that the loss is this batch's.
        self.model.reset_metrics()
        before = _start_memory()
        start = time.perf_counter()
        loss = float(np.ravel(self.model.train_on_batch(x, y))[0])
        seconds = time.perf_counter() - start
        return Step(seconds, _peak_above(before), loss)

    def correct(self, x, y) -> int:
        """How many images of a batch the model labels right."""
        logits = self.model.predict_on_batch(x)
        return int(np.sum(np.argmax(logits, axis=-1) == y))


def batches(x, y, batch_size: int, seed: int):
    """Endless shuffled batches of two NumPy arrays, the same ones for the same seed.

    Raises:
        ValueError: there are fewer samples than `batch_size`.
    """
    if len(x) < batch_size:
        raise ValueError(
            f"A batch of {batch_size} needs as many samples and there are {len(x)}: "
            "choose a smaller batch_size."
        )
    return _shuffled(x, y, batch_size, np.random.default_rng(seed))


def _shuffled(x, y, batch_size, rng):
    while True:
        order = rng.permutation(len(x))
        for start in range(0, len(x) - batch_size + 1, batch_size):
            chosen = order[start : start + batch_size]
            yield x[chosen], y[chosen]


def rounds(seconds: float, label: str, at_least: int = 1, exactly: int | None = None):
    """Counts 0, 1, 2, … until the time is up, with a progress bar.

    Args:
        seconds: how long to go on; the round under way is finished.
        label: what the bar says.
        at_least: rounds to make even if the time is up.
        exactly: make this many, whatever the time.

    Example:
        >>> list(rounds(0, "demo", at_least=2))
        [0, 1]
    """
    start = time.perf_counter()
    unit = {"total": exactly} if exactly else {"total": round(seconds, 1), "unit": "s"}
    number = 0
    with tqdm(desc=label, leave=False, **unit) as bar:
        while True:
            elapsed = time.perf_counter() - start
            finished = number >= exactly if exactly else elapsed >= seconds and number >= at_least
            if finished:
                return
            yield number
            number += 1
            elapsed = round(time.perf_counter() - start, 1)
            bar.update((number if exactly else min(elapsed, bar.total)) - bar.n)


def device() -> str:
    """TensorFlow's name of the device that Keras uses: "GPU:0", "TPU:0" or "CPU:0".

    Where Keras runs on JAX it is JAX's first device; on another backend "unknown".
    """
    if keras.backend.backend() == "jax":
        import jax

        kind = jax.devices()[0].platform.upper()
        return f"{'GPU' if kind in ('CUDA', 'ROCM') else kind}:0"
    if keras.backend.backend() != "tensorflow":
        return "unknown"
    import tensorflow as tf

    kinds = {d.device_type for d in tf.config.list_logical_devices()}
    return next((f"{kind}:0" for kind in ("TPU", "GPU") if kind in kinds), "CPU:0")


def counts_memory() -> bool:
    """Whether the allocator of this device tells how much memory is in use."""
    return _start_memory() is not None


def _start_memory():
    """Bytes in use now, with the peak counter reset; None where the allocator does not tell.

    On CPUs only oneDNN's allocator counts; with oneDNN off TensorFlow raises.
    """
    if keras.backend.backend() != "tensorflow":
        return None
    import tensorflow as tf

    try:
        tf.config.experimental.reset_memory_stats(device())
        return tf.config.experimental.get_memory_info(device())["current"]
    except (ValueError, tf.errors.OpError, RuntimeError):
        return None


def _peak_above(before):
    if before is None:
        return None
    import tensorflow as tf

    return tf.config.experimental.get_memory_info(device())["peak"] - before
