"""Devices whose roofs were measured, here or elsewhere, and what those promise."""

import numpy as np
import pandas as pd

from course_utils.benchmark import records
from course_utils.benchmark.measure import build
from course_utils.roofline.catalogue import measured_device
from course_utils.roofline.counting import count
from course_utils.roofline.prediction import predict
from course_utils.training import dtype_policy


def predicted_and_measured(found: list[dict] | None = None):
    """Each recorded step of the CNN and of the Transformer block beside the least that
    roofs allow.

    A DataFrame, a row a policy, of the measurements found, or of those in
    data/measurements, but for those without roofs: device, settings, model, policy,
    predicted_ms, measured_ms, times (measured over predicted), predicted_speedup,
    measured_speedup.

    Example:
        predicted_and_measured()["times"].min()
    """
    rows = []
    for measurement in records.load() if found is None else found:
        roofs = measurement.get("ceilings", [])
        if not any(roof["figure"] == "float32" for roof in roofs):
            continue
        device = measured_device(pd.DataFrame(roofs))
        for model in records.MODELS:
            steps = measurement.get(model, [])
            floors = {}
            for policy in [row["policy"] for row in steps]:
                work = _count(model, policy, measurement)
                floors[policy] = predict(work, device).ms
            for row in steps:
                floor = floors[row["policy"]]
                rows.append(
                    {
                        "device": measurement["device"],
                        "settings": records.label(measurement),
                        "model": model,
                        "policy": row["policy"],
                        "predicted_ms": floor,
                        "measured_ms": row["step_ms"],
                        "times": row["step_ms"] / floor,
                        "predicted_speedup": floors["float32"] / floor,
                        "measured_speedup": row["speedup"],
                    }
                )
    return pd.DataFrame(rows)


def _count(part, policy, measurement):
    """The work of a recorded step: of the CNN, or of the Transformer block."""
    conditions = measurement["conditions"]
    block = conditions["transformer"]
    with dtype_policy(policy):
        model = build(part, block)
    batch_size = (conditions if part == "cnn" else block)["batch_size"]
    x = np.zeros((batch_size, *model.input_shape[1:]), "float32")
    y = np.zeros(batch_size, "int64") if part == "cnn" else x
    return count(model.train_step, (x, y))
