"""Devices whose roofs were measured, here or elsewhere, and what those promise."""

import functools

from course_utils import models
from course_utils.benchmark import records
from course_utils.roofline.catalogue import Device
from course_utils.roofline.prediction import predict
from course_utils.roofline.steps import works

COLUMNS = ["device", "settings", "model", "policy", "predicted_ms", "measured_ms", "times"]
COLUMNS += ["predicted_speedup", "measured_speedup"]


def measured_device(table) -> Device:
    """This machine as a `Device`: its roofs are the best medians of a table of `ceilings`.

    ValueError where the table has no matrix product in float32.

    Example:
        measured_device(ceilings(seconds=10)).tflops
    """
    if "float32" not in set(table["figure"]):
        raise ValueError("The table has no float32 product: call ceilings() and let it finish.")
    return _device("this machine", zip(table["figure"], table["value"], strict=True))


def recorded_device(measurement: dict) -> Device:
    """The `Device` of a measurement of `records.load()`: the best median of what it did.

    The first measurements hold products of matrices by dtype, later ones memory too, and what
    TF32's units do apart.

    Example:
        >>> recorded_device(records.load()[0]).tflops["float32"] > 0
        True
    """
    cases = [(case["figure"], case["value"]) for case in measurement.get("ceilings", [])]
    # In the plain products float32 goes through TF32 where the device has it.
    through = {"float32": "tf32"} if measurement["conditions"].get("tf32") else {}
    for case in measurement.get("matmul", []):
        cases.append((through.get(case["dtype"], case["dtype"]), case["gflops"] / 1e3))
    return _device(measurement["device"], cases)


def _device(name, cases):
    """A `Device` with the best of each figure."""
    best = {}
    for figure, value in cases:
        best[figure] = max(best.get(figure, 0.0), float(value))
    memory = best.pop("memory", None)
    return Device(name, best, memory)


def predicted_and_measured(found: list[dict] | None = None):
    """Each recorded step of the CNN and of the Transformer block beside the least that roofs allow.

    A DataFrame of the measurements found, or of those in data/measurements: device, settings,
    model ("cnn", "transformer"), policy, predicted_ms, measured_ms, times (measured over
    predicted), predicted_speedup, measured_speedup. Left out are measurements without roofs or
    products.

    Example:
        predicted_and_measured()["times"].min()
    """
    import pandas as pd

    rows = []
    for measurement in records.load() if found is None else found:
        device, conditions = recorded_device(measurement), measurement["conditions"]
        if "float32" not in device.tflops:
            continue
        cnn, block = {"batch_size": conditions["batch_size"]}, conditions.get("transformer")
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
