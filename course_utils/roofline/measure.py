"""The roofs of the device at hand, measured: matrix products by dtype, and going through memory."""

import datetime
import importlib.metadata
import platform
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from course_utils import hardware, stepping
from course_utils.roofline.catalogue import Device

SAMPLE = 0.02  # seconds that one timing lasts at the least: far more than a launch and the clock
MATRICES = {"CPU": (512, 1024), "GPU": (2048, 4096, 8192), "TPU": (2048, 4096, 8192)}
ARRAY_MIB = {"CPU": 128, "GPU": 1024, "TPU": 1024}  # beyond the caches


@dataclass
class _Case:
    """What is run, how much of it one run is (10¹² operations or 10⁹ bytes), and its times."""

    figure: str
    name: str
    amount: float
    run: Any
    together: int = 1
    times: list = field(default_factory=list)


def ceilings(seconds: float = 12, dtypes=None, kind: str | None = None, size: int | None = None):
    """Measures how fast this device multiplies matrices and goes through memory.

    Every case is warmed up; then all take turns until the time is up, at least three times each,
    so that what else the machine does meets all of them alike. Runs of less than 20 ms are timed
    together, with one wait for the device at the end. An interrupt of the kernel keeps what is
    measured. Memory is timed in two ways: a sum into a new array, and one into an array that is
    there.

    Args:
        seconds: time for all of it, filling the arrays and the warm-up apart.
        dtypes: names as in `Device.tflops`; None for those that the device may have.
        kind: "CPU", "GPU" or "TPU": sets the sizes; None looks.
        size: one matrix size n instead of those of the kind.

    Returns:
        A DataFrame with a row per case: figure (a dtype, or "memory"), case (what was run), value
        (median; TFLOP/s or GB/s), q1, q3 (quartiles), runs.

    Example:
        this = roofline.measured_device(roofline.ceilings(seconds=10))
    """
    import pandas as pd

    kind = kind or _kind()
    sizes = (size,) if size else MATRICES[kind]
    cases = [_product(dtype, n) for dtype in dtypes or _dtypes(kind) for n in sizes]
    cases += _sums(ARRAY_MIB[kind])
    try:
        for case in cases:
            _warm_up(case)
        for _ in stepping.rounds(seconds, "roofs", at_least=3):
            for case in cases:
                case.times.append(_time(case))
    except KeyboardInterrupt:
        print("Interrupted: the table holds what was measured until then.")
    rows = []
    for case in cases:
        if case.times:
            q3, median, q1 = case.amount / np.quantile(case.times, (0.25, 0.5, 0.75))
            rows.append([case.figure, case.name, median, q1, q3, len(case.times)])
    return pd.DataFrame(rows, columns=["figure", "case", "value", "q1", "q3", "runs"])


def measured_device(table, name: str = "this machine") -> Device:
    """The `Device` whose roofs are the best medians of a table of `ceilings`.

    Raises:
        ValueError: the table has no matrix product in float32.
    """
    best = table.groupby("figure")["value"].max()
    if "float32" not in best:
        raise ValueError("The table has no float32 product: call ceilings() and let it finish.")
    return Device(
        name=name,
        kind=_kind(),
        tflops={figure: float(value) for figure, value in best.items() if figure != "memory"},
        gb_per_s=float(best["memory"]) if "memory" in best else None,
        measured=True,
    )


def catalogue_row(table, name: str) -> dict:
    """A row for data/devices.json from a table of `ceilings` that was measured here just now.

    Example:
        print(json.dumps(catalogue_row(ceilings(60), "My laptop"), indent=1, ensure_ascii=False))
    """
    import keras

    best = table.loc[table.groupby("figure")["value"].idxmax()].set_index("figure")
    figures = {
        figure: {
            "value": float(f"{line['value']:.4g}"),
            "quartiles": [float(f"{line[q]:.4g}") for q in ("q1", "q3")],
            "derived": f"{line['case']}, {line['runs']} runs",
        }
        for figure, line in best.iterrows()
    }
    backend = keras.backend.backend()
    versions = f"{backend} {importlib.metadata.version(backend)}, keras {keras.__version__}"
    measured = f"{datetime.date.today()}, {versions}, python {platform.python_version()}"
    row = {"name": name, "kind": _kind(), "measured": measured}
    memory = figures.pop("memory", None)
    return {**row, "tflops": figures, **({"gb_per_s": memory} if memory else {})}


def _kind():
    kind = stepping.device().split(":")[0]
    return kind if kind in MATRICES else "CPU"


def _dtypes(kind):
    """What is worth trying; on a GPU that has TF32, float32 both ways."""
    if kind == "GPU":
        capabilities = [g.compute_capability or 0 for g in hardware.detect().working("GPU")]
        if capabilities and min(capabilities) >= 8:
            return ("float32", "tf32", "bfloat16", "float16")
    if kind == "CPU" and hardware.bfloat16_ends_the_process():
        return ("float32", "float16")
    return ("float32", "bfloat16", "float16")


def _product(dtype, size):
    """The product of two square matrices."""
    import keras

    a = keras.random.uniform((size, size), seed=0)
    a = keras.ops.cast(a, "float32" if dtype == "tf32" else dtype)

    def run():
        with stepping.tf32(dtype == "tf32"):
            return keras.ops.matmul(a, a)

    return _Case(dtype, f"{size} × {size}", 2e-12 * size**3, run)


def _sums(mib):
    """Sums of two float32 arrays: every number is read and written, none is used again."""
    import keras

    a = keras.ops.ones((mib * 2**18,), "float32")
    gb = 1e-9 * mib * 2**20
    cases = [_Case("memory", f"a + a into a new array, {mib} MiB", 2 * gb, lambda: a + a)]
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        there = tf.Variable(a)
        run = lambda: there.assign_add(a)  # noqa: E731
        cases.append(_Case("memory", f"b += a, {mib} MiB each", 3 * gb, run))
    return cases


def _warm_up(case):
    """Runs twice; the second run tells how many to time together."""
    _time(case)
    case.together = max(1, min(1000, round(SAMPLE / _time(case))))


def _time(case):
    """Seconds of one run, the device's work finished: one number of the result is read back."""
    import keras

    start = time.perf_counter()
    for _ in range(case.together):
        result = case.run()
    first = keras.ops.reshape(keras.ops.convert_to_tensor(result), (-1,))[0]
    float(keras.ops.cast(first, "float32"))
    return (time.perf_counter() - start) / case.together
