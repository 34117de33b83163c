"""What the roofs promise, beside the steps that were recorded on real devices."""

from course_utils import measurements, models
from course_utils.roofline.catalogue import Device
from course_utils.roofline.prediction import compare
from course_utils.roofline.steps import works

MODEL = "mnist_cnn (32-64-128)"  # what `measurements.record` trains
COLUMNS = ["device", "settings", "policy", "predicted_ms", "measured_ms", "times"]
COLUMNS += ["predicted_speedup", "measured_speedup"]


def recorded_device(measurement: dict, gb_per_s: float | None = None) -> Device:
    """The `Device` of a recorded measurement: its fastest matrix product in each dtype.

    Args:
        measurement: one of `measurements.load()`.
        gb_per_s: the memory's speed, which these measurements do not hold.

    Example:
        >>> recorded_device(measurements.load()[0]).gb_per_s is None
        True
    """
    rates = {}
    for case in measurement["matmul"]:
        rates[case["dtype"]] = max(rates.get(case["dtype"], 0), case["gflops"] / 1e3)
    # An accelerator stands in the line about the machine, with its kind before its name.
    kinds = [kind for kind in ("GPU", "TPU") if f" · {kind} " in measurement["cpu"]]
    return Device(measurement["device"], (kinds or ["CPU"])[0], rates, gb_per_s, measured=True)


def predicted_and_measured(found: list[dict] | None = None, gb_per_s: float | None = None):
    """Each recorded step of the MNIST CNN beside the least time that the roofs allow.

    Args:
        found: measurements; None for those in data/measurements.
        gb_per_s: as for `recorded_device`. Without it only arithmetic counts, and the predicted
            time is a floor.

    Returns:
        A DataFrame: device, settings, policy, predicted_ms, measured_ms, times (measured over
        predicted), predicted_speedup, measured_speedup. Other models are left out.
    """
    import pandas as pd

    rows, steps = [], {}
    for measurement in measurements.load() if found is None else found:
        if measurement["conditions"]["model"] != MODEL:
            continue
        device, size = (
            recorded_device(measurement, gb_per_s),
            measurement["conditions"]["batch_size"],
        )
        steps[size] = steps.get(size) or works(models.mnist_cnn, size)
        promised = compare(steps[size], [device]).set_index("policy")
        settings = " ".join(f"{k}={v}" for k, v in measurement["settings"].items())
        for row in measurement["cnn"]:
            here, took = promised.loc[row["policy"]], row["step_ms"]
            line = [device.name, settings, row["policy"], here["step_ms"], took]
            rows.append([*line, took / here["step_ms"], here["speedup"], row["speedup"]])
    return pd.DataFrame(rows, columns=COLUMNS)
