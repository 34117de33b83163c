"""How fast devices multiply and copy at best: data/devices.json, a source for each figure."""

import functools
import json
import math
import re
from dataclasses import dataclass, field
from pathlib import Path

PATH = Path(__file__).resolve().parent.parent.parent / "data" / "devices.json"
DTYPES = ("float32", "tf32", "bfloat16", "float16")
BYTES = {"float32": 4, "tf32": 4, "bfloat16": 2, "float16": 2}  # of a number in memory


@dataclass(frozen=True)
class Device:
    """The roofs of one device.

    Attributes:
        name: the maker's name, or "this machine".
        kind: "GPU", "TPU" or "CPU".
        tflops: {dtype: 10¹² operations a second in matrix products}, a multiplication and an
            addition being two. A dtype without units of its own is missing.
        gb_per_s: 10⁹ bytes a second to and from memory, or None where nobody told.
        compute_capability: NVIDIA's number such as 7.5, or None.
        measured: whether the roofs were measured, not read somewhere.

    Example:
        >>> devices()["T4"].tflops["float16"]
        65
    """

    name: str
    kind: str
    tflops: dict
    gb_per_s: float | None = None
    compute_capability: float | None = None
    measured: bool = False
    match: str = field(default="", repr=False)

    def unit(self, dtype: str, tf32: bool = True) -> str:
        """The dtype whose units multiply numbers of `dtype` here.

        float32 goes through TF32's units where there are any, as TensorFlow does unless it is
        told otherwise. A dtype without units is computed in float32.

        Example:
            >>> devices()["A100 40 GB"].unit("float32"), devices()["T4"].unit("bfloat16")
            ('tf32', 'float32')
        """
        if dtype not in BYTES:
            raise ValueError(f"{dtype!r} is no dtype of the catalogue: take one of {DTYPES}.")
        if dtype in self.tflops and not (dtype == "float32" and tf32 and "tf32" in self.tflops):
            return dtype
        return "tf32" if tf32 and "tf32" in self.tflops else "float32"

    def peak(self, dtype: str, tf32: bool = True) -> float:
        """Operations per second in matrix products of this dtype, at best.

        Example:
            >>> devices()["T4"].peak("float16")
            65000000000000.0
        """
        return 1e12 * self.tflops[self.unit(dtype, tf32)]

    @property
    def bandwidth(self) -> float:
        """Bytes per second to and from memory; infinite where it is not known."""
        return math.inf if self.gb_per_s is None else 1e9 * self.gb_per_s

    def roof(self, dtype: str, intensity: float, tf32: bool = True) -> float:
        """Operations per second at best, for so many operations per byte moved.

        Source: Williams, Waterman, Patterson, Roofline, Communications of the ACM 52(4), 2009.

        Example:
            >>> devices()["T4"].roof("float16", intensity=100)
            32000000000000.0
        """
        return min(self.peak(dtype, tf32), intensity * self.bandwidth)

    def ridge(self, dtype: str, tf32: bool = True) -> float:
        """Operations per byte from which on arithmetic is the limit, not memory.

        Example:
            >>> round(devices()["T4"].ridge("float16"))
            203
        """
        return self.peak(dtype, tf32) / self.bandwidth


@functools.cache
def _file():
    return json.loads(PATH.read_text(encoding="utf-8"))


def devices() -> dict[str, Device]:
    """The catalogue: {name: `Device`}, in the order of the file.

    Example:
        >>> len(devices()) >= 10
        True
    """
    return {row["name"]: device_from_row(row) for row in _file()["devices"]}


def device_from_row(row: dict) -> Device:
    """A `Device` from a row of data/devices.json."""
    band = row.get("gb_per_s")
    return Device(
        name=row["name"],
        kind=row["kind"],
        tflops={dtype: figure["value"] for dtype, figure in row["tflops"].items()},
        gb_per_s=band and band["value"],
        compute_capability=row.get("compute_capability"),
        measured="measured" in row,
        match=row.get("match", ""),
    )


def sources():
    """Every figure of the catalogue with where it is from: a pandas DataFrame.

    Columns: device, figure (a dtype or "memory"), value, unit, basis ("read", "derived" from
    what was read, or "measured"), how (it was derived or measured), source (an address).
    """
    import pandas as pd

    rows = []
    for row in _file()["devices"]:
        figures = {**row["tflops"], "memory": row.get("gb_per_s")}
        for name, figure in figures.items():
            if figure is None:
                continue
            unit = "GB/s" if name == "memory" else "TFLOP/s"
            basis = "derived" if "derived" in figure else "read"
            basis = "measured" if "measured" in row else basis
            how = row.get("measured", figure.get("derived", ""))
            line = [row["name"], name, figure["value"], unit, basis, how]
            rows.append([*line, figure.get("source", "")])
    columns = ["device", "figure", "value", "unit", "basis", "how", "source"]
    return pd.DataFrame(rows, columns=columns)


def named(name: str) -> Device | None:
    """The device of the catalogue that an accelerator's own name belongs to, None if there is none.

    Example:
        >>> named("Tesla T4").name, named("GeForce GTX 1080")
        ('T4', None)
    """
    found = [d for d in devices().values() if d.match and re.search(d.match, name)]
    return found[0] if found else None
