"""Devices whose roofs were measured, here or elsewhere, and what those promise."""

from functools import partial

from course_utils import models
from course_utils.benchmark import records
from course_utils.roofline.catalogue import measured_device
from course_utils.roofline.prediction import predict
from course_utils.roofline.steps import works

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
    import pandas as pd

    rows = []
    for measurement in records.load() if found is None else found:
        roofs = measurement.get("ceilings", [])
        conditions = measurement["conditions"]
        if not any(roof["figure"] == "float32" for roof in roofs):
            continue
        device = measured_device(pd.DataFrame(roofs))
        block = dict(conditions["transformer"])
        size = block.pop("batch_size")
        build = partial(models.transformer_block, **block)
        made = {
            "cnn": (models.mnist_cnn, conditions["batch_size"]),
            "transformer": (build, size),
        }
        for model in records.MODELS:
            steps = works(*made[model]) if measurement.get(model) else {}
            floors = {
                policy: predict(step, device).ms for policy, step in steps.items()
            }
            for row in measurement.get(model, []):
                floor = floors[row["policy"]]
                took = row["step_ms"]
                line = [
                    measurement["device"],
                    records.label(measurement),
                    model,
                    row["policy"],
                ]
                speedups = floors["float32"] / floor, row["speedup"]
                rows.append([*line, floor, took, took / floor, *speedups])
    return pd.DataFrame(rows, columns=COLUMNS)
