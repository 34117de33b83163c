"""How long a step takes at best on a device, and where its layers stand below the
roofs.
"""

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from course_utils.roofline.catalogue import Device
from course_utils.roofline.counting import Work

CACHED = 16 * 2**20  # bytes, our choice: who moves no more may find them in a cache


@dataclass(frozen=True, eq=False)
class Floor:
    """The least time that the roofs of a device allow for a step.

    The table is that of a `Work` with one column more: ms.
    """

    table: pd.DataFrame

    @property
    def ms(self) -> float:
        """The whole step, in milliseconds."""
        return float(self.table["ms"].sum())

    @property
    def budget(self) -> dict[str, float]:
        """What of it are products, and what is other work: {"products": ms, "other":
        ms}.
        """
        products = float(self.table["ms"][self.table["product"]].sum())
        return {"products": products, "other": self.ms - products}


def predict(step: Work, device: Device) -> Floor:
    """The least time of each operation: arithmetic at the peak, or bytes at full speed.

    A product takes the longer of the two, any other operation its bytes; one comes
    after the other. An operation that moves at most 16 MiB does so at the speed of the
    cache, where it is known. Starting operations, waiting for input and routines that
    stay below the roofs come on top; a roof that was measured too low takes off. Where
    the memory is unknown, only products count.

    Example:
        >>> import numpy as np, tensorflow as tf
        >>> from course_utils.roofline import count, devices
        >>> a = np.ones((1024, 1024), "float32")
        >>> round(predict(count(tf.matmul, a, a), devices()["T4"]).ms, 2)
        0.27
    """
    table = step.table
    peaks = [
        device.peak(dtype) if product else np.inf
        for dtype, product in zip(table["dtype"], table["product"], strict=True)
    ]
    arithmetic = table["flops"] / peaks
    cache = max(device.bandwidth, 1e9 * (device.cache_gb_per_s or 0))
    speed = np.where(table["bytes"] <= CACHED, cache, device.bandwidth)
    memory = table["bytes"] / speed
    return Floor(table.assign(ms=1e3 * np.maximum(arithmetic, memory)))


def points(floors: dict[str, Floor]) -> pd.DataFrame:
    """Where each layer and pass stands on the roofline, and the optimizer: for
    notebook 13's roofline.

    From {policy: `Floor`} for one device: label ("dense, backward", or "adam" for all
    updates), dtype (of the policy), intensity (operations per byte), tflops (10¹²
    operations a second), ms. What takes less than half a percent of the step is left
    out.

    Example:
        points({p: predict(steps[p], device) for p in steps})
    """
    tables = []
    for policy, floor in floors.items():
        labels = floor.table["name"].map(_label)
        passes = floor.table.groupby(_numbered(labels), sort=False)
        passes = passes[["flops", "bytes", "ms"]].sum()
        passes = passes[passes["ms"] > 0.005 * floor.ms].reset_index(names="label")
        tables.append(passes.assign(dtype=policy.removeprefix("mixed_")))
    table = pd.concat(tables, ignore_index=True)
    table["intensity"] = table["flops"] / table["bytes"]
    table["tflops"] = 1e-9 * table["flops"] / table["ms"]
    return table[["label", "dtype", "intensity", "tflops", "ms"]]


def _label(name):
    """The layer and the pass of an operation, by its name in the graph.

    "gradient_tape/model/dense_3/MatMul" belongs to ("dense_3", "backward"), and what
    has no model before it, such as "adam/Mul", to ("adam", "").
    """
    scopes = name.removeprefix("cond/").split("/")
    backward = scopes[0] == "gradient_tape"
    if backward:
        scopes = scopes[1:]
    if len(scopes) < 3:
        return re.sub(r"_\d+$", "", scopes[0]), ""
    return scopes[1], "backward" if backward else "forward"


def _numbered(labels):
    """Each label as text, Keras's count replaced by one of this model: "conv2d 2"."""
    names: dict = {}
    layers: dict = {}
    for layer, way in dict.fromkeys(labels):
        stem = re.sub(r"(_\d+)+$", "", layer)
        if way and layer not in layers:
            names.setdefault(stem, []).append(layer)
            layers[layer] = f"{stem} {len(names[stem])}"
    return labels.map(
        lambda label: f"{layers[label[0]]}, {label[1]}" if label[1] else label[0]
    )
