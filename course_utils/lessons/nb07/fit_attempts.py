"""What Keras can do on several devices, tried by a small `fit`: on TensorFlow, and on
JAX.

Run as a script it is one of several workers.
"""

import contextlib
import gc
import importlib.util
from typing import TYPE_CHECKING

from course_utils import paths, processes
from course_utils.errors import shorten

if TYPE_CHECKING:
    import tensorflow as tf

RECORD = paths.data("keras_on_jax.json")  # written by tools/record.py
ON_JAX = {
    "KERAS_BACKEND": "jax",
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
}
# of the line that says why
KEYS = ("placeholder", "merge_call", "resource", "same size")
BOLD = "\x1b[1m"


def attempt(
    size: int = 64,
    policy: str = "float32",
    bright: int | None = None,
    optimizer: dict | None = None,
    strategy: "tf.distribute.Strategy | None" = None,
    **options: object,
) -> str:
    """Fit two batches of this `size`; one line on what came of it, such as "works".

    `bright`: the row of a picture that is a million times too bright; `optimizer`:
    arguments of SGD; the other `options` go to `compile`.
    """
    import keras
    import numpy as np

    from course_utils.training import dtype_policy

    source = np.random.default_rng(0)
    x = source.random((2 * size, 784), "float32")
    y = source.integers(0, 10, 2 * size)
    if bright is not None:
        x[bright] *= 1e6
    scope = strategy.scope() if strategy else contextlib.nullcontext()
    try:
        with scope, dtype_policy(policy):
            layers = [
                keras.layers.Dense(64, "relu"),
                keras.layers.Dense(10, dtype="float32"),
            ]
            model = keras.Sequential([keras.Input((784,)), *layers])
            loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
            options = {"jit_compile": False, **options}
            model.compile(
                keras.optimizers.SGD(0.1, **(optimizer or {})), loss, **options
            )
        model.fit(x, y, batch_size=size, shuffle=False, verbose=0)
    except Exception as error:
        return f"{type(error).__name__}: {reason(str(error))}"
    finally:
        gc.collect()  # see data/upstream/old_iterator_waits.py
    if bright is None:
        return "works"
    weights = np.concatenate([np.ravel(array) for array in model.get_weights()])
    percent = 100 * np.isfinite(weights).mean()
    return f"{percent:.3g}% of the weights finite"


def reason(text: str) -> str:
    """The part of an error's text that says why, in one line.

    A long text without such a part keeps its beginning and its end.

    Example:
        >>> reason("Attempt to convert a value (PerReplica:{\\n 0: 1}) to a Tensor.")
        'Attempt to convert a value (PerReplica:{ 0: 1}) to a Tensor.'
    """
    lines = [line.split("}} ")[-1].strip() for line in text.splitlines()]
    for line in lines:
        if any(key in line for key in KEYS):
            return shorten(line.removeprefix(BOLD), 63)
    return shorten(" ".join(lines), 110, end=70)


def on_jax(attempts: dict) -> dict:
    """What `attempt` says of each of the `attempts`, {name: its options}, with Keras on
    JAX.

    In a process of its own with two CPU devices; without JAX, what was recorded.
    "where" says with which versions, and when.
    """
    if not importlib.util.find_spec("jax"):
        return paths.read(RECORD)
    outcome = processes.call(_of_jax, {"attempts": attempts}, ON_JAX)
    return outcome.result or {"where": f"JAX could not be tried. {outcome.problem}"}


def _of_jax(attempts):
    import datetime

    import jax
    import keras

    keras.distribution.set_distribution(keras.distribution.DataParallel())
    versions = f"Keras {keras.__version__} on JAX {jax.__version__}"
    where = f"{versions}, {len(jax.devices())} devices, {datetime.date.today()}"
    return {"where": where} | {
        name: attempt(**options) for name, options in attempts.items()
    }


if __name__ == "__main__":
    import tensorflow as tf

    print(attempt(strategy=tf.distribute.MultiWorkerMirroredStrategy()))
