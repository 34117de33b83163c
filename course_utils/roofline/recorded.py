"""Devices whose roofs were measured, here or elsewhere, and what those promise."""

import keras
import numpy as np
import pandas as pd

from course_utils import models
from course_utils.benchmark import records
from course_utils.roofline.catalogue import measured_device
from course_utils.roofline.counting import count
from course_utils.roofline.prediction import predict
from course_utils.training import dtype_policy

COLUMNS = [
    "device",
    "settings",
    "model",
    "policy",
    "predicted_ms",
    "measured_ms",
    "times",
]
COLUMNS += ["predicted_speedup", "measured_speedup"]


def predicted_and_measured(found: list[dict] | None = None):
    """Each recorded step of the CNN and of the Transformer block beside the least that
    roofs allow.

    A DataFrame, a row a policy, of the measurements found, or of those in
    data/measurements, but for those without roofs: `COLUMNS`; `times` is measured over
    predicted.

    Example:
        predicted_and_measured()["times"].min()
    """
    rows = []
    for measurement in records.load() if found is None else found:
        roofs = measurement.get("ceilings", [])
        if not any(roof["figure"] == "float32" for roof in roofs):
            continue
        device = measured_device(pd.DataFrame(roofs))
        names = [measurement["device"], records.label(measurement)]
        for model in records.MODELS:
            measured = measurement.get(model, [])
            floors = {
                row["policy"]: predict(
                    _count(model, row["policy"], measurement), device
                )
                for row in measured
            }
            for row in measured:
                floor = floors[row["policy"]].ms
                took = row["step_ms"]
                speedups = floors["float32"].ms / floor, row["speedup"]
                times = floor, took, took / floor
                rows.append([*names, model, row["policy"], *times, *speedups])
    return pd.DataFrame(rows, columns=COLUMNS)


def _count(name, policy, measurement):
    """The work of a recorded step: of the CNN, or of the Transformer block."""
    conditions = measurement["conditions"]
    sizes = conditions["transformer"]
    with dtype_policy(policy):
        if name == "cnn":
            model = models.mnist_cnn()
            loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
            x = np.zeros((conditions["batch_size"], 28, 28, 1), "float32")
            y = np.zeros(len(x), "int64")
        else:
            shape = sizes["tokens"], sizes["width"]
            model = models.transformer_block(*shape, sizes["heads"])
            loss = "mse"
            x = y = np.zeros((sizes["batch_size"], *shape), "float32")
    model.compile("adam", loss, jit_compile=False)
    return count(model.train_step, (x, y))
