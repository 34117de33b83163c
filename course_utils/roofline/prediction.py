"""How long a step takes at best on a device, what bounds it, and what 16 bits would buy."""

import math
from dataclasses import dataclass, field

from course_utils.roofline.catalogue import BYTES, Device
from course_utils.roofline.steps import PASSES, Work

ARITHMETIC, MEMORY = "arithmetic", "memory"


@dataclass(frozen=True, eq=False)
class Prediction:
    """The least time that the roofs of a device allow for a step.

    Attributes:
        table: a DataFrame with a row per layer and pass: layer, kind, step ("forward",
            "backward", "update"), dtype, flops, bytes, intensity (operations per byte), ms,
            bound ("arithmetic" or "memory").
        device: the `Device`.
        ms: the sum, in milliseconds.
        notes: sentences on what the prediction leaves out.
    """

    table: object
    device: Device
    notes: tuple[str, ...] = field(default_factory=tuple)

    @property
    def ms(self) -> float:
        """The whole step, in milliseconds."""
        return float(self.table["ms"].sum())

    @property
    def share(self) -> dict[str, float]:
        """{bound: share of the time}."""
        by_bound = self.table.groupby("bound")["ms"].sum()
        return {b: float(by_bound.get(b, 0.0)) / (self.ms or 1) for b in (ARITHMETIC, MEMORY)}

    @property
    def bound(self) -> str:
        """What bounds the larger part of the time."""
        return max(self.share, key=self.share.get)


def predict(step: Work, device: Device, tf32: bool = True) -> Prediction:
    """The least time of each pass of each layer: operations at the peak, or bytes at full speed.

    Each takes the longer of the two; the passes come one after the other. Launching, waiting for
    input, and kernels that stay below the roofs come on top, so a measured step is longer.

    Args:
        step: what `work` counted.
        device: from `devices()`, or `measured_device(ceilings())`.
        tf32: whether float32 products go through TF32 where the device has it, TensorFlow's
            default.

    Example:
        >>> from course_utils import models
        >>> predict(work(models.mnist_cnn(), 256), devices()["T4"]).bound
        'memory'
    """
    import pandas as pd

    rows, without = [], {}
    for _, layer in step.table.dropna(subset=["forward_flops"]).iterrows():
        for name in PASSES:
            dtype = layer["update_dtype"] if name == "update" else layer["dtype"]
            flops, moved = int(layer[f"{name}_flops"]), int(layer[f"{name}_bytes"])
            if not moved:
                continue
            peak, speed = device.peak(dtype, tf32), device.bandwidth
            if dtype not in device.tflops:
                without[dtype] = device.unit(dtype, tf32)
            times = {ARITHMETIC: flops / peak, MEMORY: moved / speed}
            bound = max(times, key=times.get)
            ms = 1e3 * times[bound]
            line = [layer["layer"], layer["kind"], name, dtype, flops, moved, flops / moved]
            rows.append([*line, ms, bound])
    columns = ["layer", "kind", "step", "dtype", "flops", "bytes", "intensity", "ms", "bound"]
    table = pd.DataFrame(rows, columns=columns)
    return Prediction(table, device, _notes(step, device, without))


def compare(steps: dict, devices, tf32: bool = True):
    """The predicted step under several policies on several devices.

    Args:
        steps: {policy: `Work`}, from `works`.
        devices: the `Device`s.
        tf32: as for `predict`.

    Returns:
        A DataFrame with a row per device and policy: device, policy, intensity, step_ms, speedup
        (against float32 there; NaN without float32 among the steps), bound, arithmetic_share
        (of the time), notes.

    Example:
        compare(works(models.mnist_cnn, 256), devices().values())
    """
    import pandas as pd

    rows = []
    for device in devices:
        found = {policy: predict(step, device, tf32) for policy, step in steps.items()}
        baseline = found["float32"].ms if "float32" in found else math.nan
        for policy, prediction in found.items():
            rows.append(
                {
                    "device": device.name,
                    "policy": policy,
                    "intensity": steps[policy].intensity,
                    "step_ms": prediction.ms,
                    "speedup": baseline / prediction.ms,
                    "bound": prediction.bound,
                    "arithmetic_share": prediction.share[ARITHMETIC],
                    "notes": " ".join(prediction.notes),
                }
            )
    return pd.DataFrame(rows)


def ideal_speedup(device: Device, intensity: float, dtype: str, tf32: bool = True) -> float:
    """How much faster 16 bits are at best, for work with so many operations per float32 byte.

    Half the bytes make twice as many operations per byte: the dot moves to the right, and the
    roof over it is another one.

    Example:
        >>> round(ideal_speedup(devices()["T4"], 50, "float16"), 2)
        3.95
    """
    moved = intensity * BYTES["float32"] / BYTES[dtype]
    return device.roof(dtype, moved, tf32) / device.roof("float32", intensity, tf32)


def _notes(step, device, without):
    notes = []
    if step.unknown:
        notes.append(f"Not counted, for want of a formula: {', '.join(step.unknown)}.")
    for dtype, unit in without.items():
        notes.append(f"{device.name} has no units for {dtype}: taken at the rate of {unit}.")
    if device.gb_per_s is None:
        notes.append(f"The memory of {device.name} was not measured: only arithmetic counts here.")
    return tuple(notes)


def points(predictions: dict, measured_ms: dict | None = None, by_layer: bool = False):
    """Where steps stand on the roofline: a DataFrame for `figures.roofline`.

    Args:
        predictions: {policy: `Prediction`}, all for one device.
        measured_ms: {policy: median step in ms} to put beside the predicted dots.
        by_layer: a dot for each layer, of its forward and backward pass, instead of one for the
            whole step.

    Returns:
        A DataFrame: label ("step" or the layer), dtype, intensity (operations per byte), tflops
        (10¹² operations a second), measured (or else predicted).

    Example:
        points({p: predict(steps[p], device) for p in steps}, {"float32": 26.5})
    """
    import pandas as pd

    rows, names = [], {}
    for policy, prediction in predictions.items():
        table = prediction.table
        if by_layer:
            table = table[(table["step"] != "update") & (table["flops"] > 0)]
            groups = list(table.groupby("layer", sort=False))
            # Keras numbers the layers of a second model on: the first model's names serve all.
            names = names or dict(enumerate(name for name, _ in groups))
            groups = [(names.get(i, name), part) for i, (name, part) in enumerate(groups)]
        else:
            groups = [("step", table)]
        for label, part in groups:
            flops, moved, ms = part["flops"].sum(), part["bytes"].sum(), part["ms"].sum()
            dtype = part["dtype"].iloc[0] if by_layer else policy.removeprefix("mixed_")
            rows.append([label, dtype, flops / moved, 1e-9 * flops / ms, False])
            if not by_layer and policy in (measured_ms or {}):
                rate = 1e-9 * flops / measured_ms[policy]
                rows.append([label, dtype, flops / moved, rate, True])
    columns = ["label", "dtype", "intensity", "tflops", "measured"]
    return pd.DataFrame(rows, columns=columns)
