"""What the roofs promise, beside the steps that were recorded on real devices."""

from course_utils import measurements, models
from course_utils.roofline.catalogue import Device
from course_utils.roofline.prediction import compare
from course_utils.roofline.steps import works

MODEL = "mnist_cnn (32-64-128)"  # the CNN that the bench command trains
COLUMNS = ["device", "settings", "model", "policy", "predicted_ms", "measured_ms", "times"]
COLUMNS += ["predicted_speedup", "measured_speedup"]


def recorded_device(measurement: dict, gb_per_s: float | None = None) -> Device:
    """The `Device` of a recorded measurement: the best median of what it did.

    The first measurements hold products of matrices by dtype, later ones memory too, and what
    TF32's units do apart.

    Args:
        measurement: one of `measurements.load()`.
        gb_per_s: the memory's speed where the measurement does not hold it.

    Example:
        >>> recorded_device(measurements.load()[0]).kind
        'CPU'
    """
    cases = [(case["figure"], case["value"]) for case in measurement.get("ceilings", [])]
    # In the plain products float32 goes through TF32 where the device has it.
    through = {"float32": "tf32"} if measurement["conditions"].get("tf32") else {}
    for case in measurement.get("matmul", []):
        cases.append((through.get(case["dtype"], case["dtype"]), case["gflops"] / 1e3))
    best = {}
    for figure, value in cases:
        best[figure] = max(best.get(figure, 0), value)
    memory = best.pop("memory", gb_per_s)
    # An accelerator stands in the line about the machine, with its kind before its name.
    kinds = [kind for kind in ("GPU", "TPU") if f" · {kind} " in measurement["cpu"]]
    return Device(measurement["device"], (kinds or ["CPU"])[0], best, memory, measured=True)


def predicted_and_measured(found: list[dict] | None = None, gb_per_s: float | None = None):
    """Each recorded step of the CNN and of the Transformer block beside the least that roofs allow.

    Args:
        found: measurements; None for those in data/measurements.
        gb_per_s: as for `recorded_device`. Where the memory's speed is not known, only arithmetic
            counts, and the predicted time is a floor.

    Returns:
        A DataFrame: device, settings, model ("cnn", "transformer"), policy, predicted_ms,
        measured_ms, times (measured over predicted), predicted_speedup, measured_speedup. Left
        out are other models, and measurements without roofs or products.
    """
    import pandas as pd

    rows, counted = [], {}
    for measurement in measurements.load() if found is None else found:
        device, conditions = recorded_device(measurement, gb_per_s), measurement["conditions"]
        if "float32" not in device.tflops:
            continue
        for model, key, build, size in _models(conditions):
            if not measurement.get(model):
                continue
            if key not in counted:
                counted[key] = works(build, size)
            promised = compare(counted[key], [device], conditions.get("tf32", True))
            promised = promised.set_index("policy")
            for row in measurement[model]:
                here, took = promised.loc[row["policy"]], row["step_ms"]
                line = [device.name, measurements.label(measurement), model, row["policy"]]
                line += [here["step_ms"], took, took / here["step_ms"]]
                rows.append([*line, here["speedup"], row["speedup"]])
    return pd.DataFrame(rows, columns=COLUMNS)


def _models(conditions):
    """(name, what makes its work the same, how to build it, batch size) of each model."""
    if conditions["model"] == MODEL:
        size = conditions["batch_size"]
        yield "cnn", size, models.mnist_cnn, size
    if block := conditions.get("transformer"):
        sizes = {name: n for name, n in block.items() if name != "batch_size"}
        key = tuple(block.items())
        yield "transformer", key, lambda: models.transformer_block(**sizes), block["batch_size"]
