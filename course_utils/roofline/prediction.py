"""How long a step takes at best on a device, and where its layers stand below the
roofs.
"""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_utils.roofline.catalogue import Device
from course_utils.roofline.steps import Work


@dataclass(frozen=True, eq=False)
class Floor:
    """The least time that the roofs of a device allow for a step.

    The table is that of a `Work` with one column more: ms.
    """

    table: Any  # a DataFrame

    @property
    def ms(self) -> float:
        """The whole step, in milliseconds."""
        return float(self.table["ms"].sum())

    @property
    def budget(self) -> dict:
        """What of it are products, and what is other work: {"products": ms, "other":
        ms}.
        """
        products = float(self.table["ms"][self.table["product"]].sum())
        return {"products": products, "other": self.ms - products}


def predict(step: Work, device: Device) -> Floor:
    """The least time of each pass of each layer: operations at the peak, or bytes at
    full speed.

    Each takes the longer of the two; the passes come one after the other. Launching,
    waiting for input, layers without a formula (`step.unknown`) and kernels that stay
    below the roofs come on top, so a measured step is longer. Where the memory is
    unknown, only arithmetic counts.

    Example:
        >>> from course_utils import models
        >>> from course_utils.roofline import devices, work
        >>> round(predict(work(models.mnist_cnn(), 256), devices()["T4"]).ms, 2)
        1.31
    """
    table = step.table
    arithmetic = table["flops"] / [device.peak(dtype) for dtype in table["dtype"]]
    memory = table["bytes"] / device.bandwidth
    return Floor(table.assign(ms=1e3 * np.maximum(arithmetic, memory)))


def points(floors: dict):
    """Where each layer and pass stands on the roofline, and Adam: for
    `figures.roofline`.

    From {policy: `Floor`} for one device: label ("dense, backward", or "Adam" for all
    updates), dtype (of the policy), intensity (operations per byte), tflops (10¹²
    operations a second), ms.

    Example:
        points({p: predict(steps[p], device) for p in steps})
    """
    import pandas as pd

    tables = []
    for policy, floor in floors.items():
        passes = floor.table.groupby(["layer", "step"], sort=False)[
            ["flops", "bytes", "ms"]
        ].sum()
        adam = passes.xs("update", level="step").sum()
        passes = passes.drop("update", level="step")
        names = _bare(passes.index.get_level_values("layer"))
        passes.index = [f"{names[layer]}, {step}" for layer, step in passes.index]
        passes.loc["Adam"] = adam
        passes = passes[passes["ms"] > 0].reset_index(names="label")
        tables.append(passes.assign(dtype=policy.removeprefix("mixed_")))
    table = pd.concat(tables, ignore_index=True)
    table["intensity"] = table["flops"] / table["bytes"]
    table["tflops"] = 1e-9 * table["flops"] / table["ms"]
    return table[["label", "dtype", "intensity", "tflops", "ms"]]


def _bare(layers):
    """{layer: its name with Keras's count replaced by one of this model: "conv2d 2"}."""
    stems = Counter()
    names = {}
    for layer in dict.fromkeys(layers):
        stem = re.sub(r"_\d+$", "", layer)
        stems[stem] += 1
        names[layer] = f"{stem} {stems[stem]}"
    return names
