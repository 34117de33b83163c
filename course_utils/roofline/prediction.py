"""How long a step takes at best on a device, what bounds it, and what 16 bits would buy."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from course_utils.roofline.catalogue import BYTES, Device
from course_utils.roofline.steps import Work

ARITHMETIC, MEMORY = "arithmetic", "memory"
FAR = 3  # times the predicted time: from here on the kernels, not the roofs, are the limit


@dataclass(frozen=True, eq=False)
class Floor:
    """The least time that the roofs of a device allow for a step.

    The table is that of a `Work` with two columns more: ms, and bound ("arithmetic", "memory").
    """

    table: object

    @property
    def ms(self) -> float:
        """The whole step, in milliseconds."""
        return float(self.table["ms"].sum())


class Limit(NamedTuple):
    """What limits a step: "kernels", "arithmetic", "memory" or "unknown", and a sentence on it."""

    kind: str
    reason: str


def predict(step: Work, device: Device) -> Floor:
    """The least time of each pass of each layer: operations at the peak, or bytes at full speed.

    Each takes the longer of the two; the passes come one after the other. Launching, waiting for
    input, layers without a formula (`step.unknown`) and kernels that stay below the roofs come on
    top, so a measured step is longer. Where the memory is unknown, only arithmetic counts.

    Example:
        >>> from course_utils import models
        >>> from course_utils.roofline import devices, work
        >>> round(predict(work(models.mnist_cnn(), 256), devices()["T4"]).ms, 2)
        1.31
    """
    table = step.table
    arithmetic = table["flops"] / [device.peak(dtype) for dtype in table["dtype"]]
    memory = table["bytes"] / device.bandwidth
    bound = np.where(arithmetic >= memory, ARITHMETIC, MEMORY)
    return Floor(table.assign(ms=1e3 * np.maximum(arithmetic, memory), bound=bound))


def ideal_speedup(device: Device, intensity: float, dtype: str) -> float:
    """How much faster 16 bits are at best, for work with so many operations per float32 byte.

    Half the bytes make twice as many operations per byte: the dot moves to the right, and the
    roof over it is another one. Source: Williams, Waterman, Patterson, Roofline, Communications of
    the ACM 52(4), 2009.

    Example:
        >>> from course_utils.roofline import devices
        >>> round(ideal_speedup(devices()["T4"], 50, "float16"), 2)
        3.95
    """

    def roof(dtype):
        moved = intensity * BYTES["float32"] / BYTES[dtype]
        return min(device.peak(dtype), moved * device.bandwidth)

    return roof(dtype) / roof("float32")


def points(floors: dict, measured_ms: dict | None = None):
    """Where steps stand on the roofline: a DataFrame for `figures.roofline`.

    From {policy: `Floor`} for one device, and {policy: median step in ms} for dots beside the
    predicted ones: label ("step"), dtype, intensity (operations per byte), tflops (10¹²
    operations a second), measured (or else predicted).

    Example:
        points({p: predict(steps[p], device) for p in steps}, {"float32": 26.5})
    """
    import pandas as pd

    rows = []
    for policy, floor in floors.items():
        flops, moved = floor.table["flops"].sum(), floor.table["bytes"].sum()
        for measured, ms in ((False, floor.ms), (True, (measured_ms or {}).get(policy))):
            if ms is not None:
                dtype = policy.removeprefix("mixed_")
                rows.append(["step", dtype, flops / moved, 1e-9 * flops / ms, measured])
    return pd.DataFrame(rows, columns=["label", "dtype", "intensity", "tflops", "measured"])


def limit(measured_ms: float, floor: Floor) -> Limit:
    """Names what limits a measured step (its median on data that lie ready), given its floor.

    Example:
        limit(26.5, predict(work(model, 256), this)).reason
    """
    if not floor.ms:
        return Limit("unknown", "No layer of the model has a formula, so nothing was predicted.")
    said = f"The step takes {measured_ms / floor.ms:.3g} times what the roofs allow"
    if measured_ms / floor.ms > FAR:
        why = "the kernels stay far below them, or something else takes the time."
        return Limit("kernels", f"{said}: {why}")
    bounds = floor.table.groupby("bound")["ms"].sum() / floor.ms
    bound = bounds.idxmax()
    return Limit(bound, f"{said}, and {100 * bounds[bound]:.0f} % of that is bound by {bound}.")


def verdict(predicted: float, measured: float, limit_16: Limit | None = None) -> str:
    """One sentence on what mixed precision was to buy, whether it did, and if not, why.

    Both speeds are against float32, as a ratio; `limit_16` is what limits the 16-bit step.

    Example:
        >>> verdict(1.9, 1.8)
        'The roofs promise 1.9 times the speed of float32, and you measured 1.8: it did.'
    """
    nothing = float(f"{predicted:.2g}") <= 1
    promise = "no more speed than" if nothing else f"{predicted:.2g} times the speed of"
    told = f"The roofs promise {promise} float32, and you measured {measured:.2g}: "
    if nothing and measured > 1.1:
        return told + "it gained more."
    if measured >= 0.8 * predicted:
        return told + ("it did." if measured > 1.1 else "there was little to gain.")
    why = f" {limit_16.reason}" if limit_16 else ""
    return told + ("it gained less." if measured > 1.1 else "it did not help.") + why
