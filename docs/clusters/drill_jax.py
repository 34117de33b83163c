"""Keras on JAX under the overflow drill, with Keras's own optimizer, on two workers that
are started in one of three ways:

    alone          as `JaxTrainer` starts them on CPUs
    joined         and `jax.distributed.initialize` is called
    DataParallel   and Keras is told to keep one model for all

`drill_ray.py` runs it.
"""

import math
import os

os.environ["KERAS_BACKEND"] = "jax"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
from sklearn.datasets import load_digits  # noqa: E402

from course_utils.distributed.drill import STEPS, WHEN  # noqa: E402


def local(variable):
    """The values of a variable that lie in this process."""
    return np.asarray(variable.value.addressable_data(0))


def steps(culprit, rank, how, port):
    """Notes as `course_utils.distributed.drill.steps` gives them, of this process."""
    if how != "alone":
        jax.distributed.initialize(f"127.0.0.1:{port}", 2, rank)
    if how == "DataParallel":
        every = keras.distribution.DataParallel(auto_shard_dataset=False)
        keras.distribution.set_distribution(every)
    keras.utils.set_random_seed(0)
    hidden = keras.layers.Dense(64, "relu", dtype="mixed_float16")
    last = keras.layers.Dense(10, dtype="float32")
    model = keras.Sequential([keras.Input((64,)), hidden, last])
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(0.003))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer, loss)
    optimizer.build(model.trainable_variables)
    digits = load_digits()
    images = digits.data[rank::2][:16].astype("float32") / 16
    labels = digits.target[rank::2][:16]
    for number in range(STEPS):
        bad = culprit if number == WHEN else -1
        before = int(local(optimizer.iterations))
        model.train_on_batch(images * (math.inf if rank == bad else 1), labels)
        arrays = map(local, model.trainable_variables)
        size = sum(float(abs(array).sum(dtype="float64")) for array in arrays)
        note = {"step": number, "replica": rank, "overflow": rank == bad}
        note |= {"taken": int(local(optimizer.iterations)) > before}
        note |= {"finite": math.isfinite(size), "weights": size}
        note |= {"scale": float(local(optimizer.dynamic_scale))}
        yield [note | {"optimizer": type(optimizer).__name__}]
