"""Devices whose roofs were measured, here or elsewhere, and what those promise."""

import functools

from course_utils import models
from course_utils.benchmark import records
from course_utils.roofline.catalogue import Device
from course_utils.roofline.prediction import predict
from course_utils.roofline.steps import works

COLUMNS = ["device", "settings", "model", "policy", "predicted_ms", "measured_ms", "times"]
COLUMNS += ["predicted_speedup", "measured_speedup"]


def measured_device(table, name: str = "this machine") -> Device:
    """A `Device` by its measured roofs: the best medians of a table of `ceilings`.

    ValueError where the table has no matrix product in float32.

    Example:
        measured_device(ceilings(seconds=10)).tflops
    """
    best = table.groupby("figure")["value"].max().to_dict()
    if "float32" not in best:
        raise ValueError("The table has no float32 product: call ceilings() and let it finish.")
    memory = best.pop("memory", None)
    return Device(name, best, memory)


def predicted_and_measured(found: list[dict] | None = None):
    """Each recorded step of the CNN and of the Transformer block beside the least that roofs allow.

    A DataFrame of the measurements found, or of those in data/measurements: device, settings,
    model ("cnn", "transformer"), policy, predicted_ms, measured_ms, times (measured over
    predicted), predicted_speedup, measured_speedup. Left out are measurements without roofs.

    Example:
        predicted_and_measured()["times"].min()
    """
    import pandas as pd

    rows = []
    for measurement in records.load() if found is None else found:
        roofs = measurement.get("ceilings", [])
        if not any(roof["figure"] == "float32" for roof in roofs):
            continue
        device = measured_device(pd.DataFrame(roofs), measurement["device"])
        conditions = measurement["conditions"]
        cnn, block = {"batch_size": conditions["batch_size"]}, conditions["transformer"]
        for model, sizes in (("cnn", cnn), ("transformer", block)):
            for row in measurement.get(model, []):
                steps = _works(model, **sizes)
                promised = {policy: predict(steps[policy], device).ms for policy in steps}
                floor, took = promised[row["policy"]], row["step_ms"]
                line = [device.name, records.label(measurement), model, row["policy"]]
                line += [floor, took, took / floor]
                rows.append([*line, promised["float32"] / floor, row["speedup"]])
    return pd.DataFrame(rows, columns=COLUMNS)


@functools.cache
def _works(model, batch_size, **sizes):
    build = {"cnn": models.mnist_cnn, "transformer": models.transformer_block}[model]
    return works(lambda: build(**sizes), batch_size)
