"""How fast devices multiply and copy at best: data/devices.json, a source for each
figure.
"""

import math
from dataclasses import dataclass

import pandas as pd

from course_utils import paths

PATH = paths.data("devices.json")
DTYPES = ("float32", "tf32", "bfloat16", "float16")


@dataclass(frozen=True)
class Device:
    """The roofs of one device.

    Example:
        >>> devices()["T4"].tflops["float16"]
        65
    """

    name: str  # the maker's, or "this machine"
    # {dtype: 10¹² operations a second in matrix products}, a multiplication and an
    # addition being two. A dtype without units of its own is missing.
    tflops: dict[str, float]
    # 10⁹ bytes a second to and from memory, where somebody told
    gb_per_s: float | None = None
    cache_gb_per_s: float | None = None  # the same for small arrays, where measured

    def peak(self, dtype: str, tf32: bool = True) -> float:
        """Operations per second in matrix products of a dtype at best; ValueError if
        unknown.

        float32 goes through TF32's units where there are any, as TensorFlow does unless
        it is told otherwise. A dtype without units is computed in float32.

        Example:
            >>> devices()["T4"].peak("float16") / devices()["T4"].peak("bfloat16")
            8.024691358024691
        """
        if dtype not in DTYPES:
            raise ValueError(
                f"{dtype!r} is no dtype of the catalogue: take one of {DTYPES}."
            )
        if dtype == "float32" or dtype not in self.tflops:
            dtype = "tf32" if tf32 and "tf32" in self.tflops else "float32"
        return 1e12 * self.tflops[dtype]

    @property
    def bandwidth(self) -> float:
        """Bytes per second to and from memory; infinite where it is not known."""
        return math.inf if self.gb_per_s is None else 1e9 * self.gb_per_s


def devices() -> dict[str, Device]:
    """The catalogue: {name: `Device`}, in the order of the file.

    Example:
        >>> devices()["T4"].gb_per_s
        320
    """
    catalogue = {}
    for row in paths.read(PATH)["devices"]:
        tflops = {dtype: figure["value"] for dtype, figure in row["tflops"].items()}
        catalogue[row["name"]] = Device(row["name"], tflops, row["gb_per_s"]["value"])
    return catalogue


def measured_device(table: pd.DataFrame) -> Device:
    """This machine by its measured roofs: the best of a table of `ceilings`.

    ValueError where the table has no matrix product in float32.

    Example:
        measured_device(ceilings(seconds=10)).tflops
    """
    best = table.groupby("figure")["value"].max().to_dict()
    if "float32" not in best:
        raise ValueError(
            "The table has no float32 product: call ceilings() and let it finish."
        )
    memory, cache = best.pop("memory", None), best.pop("cache", None)
    return Device("this machine", best, memory, cache)
