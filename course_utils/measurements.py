"""Results recorded on real devices by the course's own bench command."""

import datetime
import itertools
import json
import os
import platform
import re
from pathlib import Path

from course_utils import hardware

FOLDER = Path(__file__).resolve().parent.parent / "data" / "measurements"
OWN = FOLDER / "own"  # what a learner records: shown like the rest, not part of the repository

# Settings that change which kernels run; recorded when they are set.
SWITCHES = ("TF_ENABLE_ONEDNN_OPTS", "ONEDNN_MAX_CPU_ISA", "NVIDIA_TF32_OVERRIDE")
COLUMNS = ["device", "settings", "date", "policy", "step_ms", "speedup", "memory_ratio"]


def record(seconds: float = 60, name: str | None = None) -> dict:
    """Measures this device: matrix products by dtype, and the MNIST CNN under three policies.

    Args:
        seconds: time for the CNN's steps; the matrix products take a quarter of it more.
        name: what to call this device; its own name if None.

    Returns:
        A dict that JSON can hold: device, cpu, versions, date, settings, matmul (a list
        of cases in GFLOP/s), cnn (a row per policy as in `benchmark.Comparison.table`),
        conditions (batch size, jit_compile, data), notes.

    Example:
        measurements.save(measurements.record(seconds=60), "my-laptop.json")
    """
    import keras
    import tensorflow as tf

    from course_utils import benchmark, datasets, models, sweeps

    def build_model():
        model = models.mnist_cnn()
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        # JAX without jit runs operation by operation, which nobody trains with.
        jit = keras.backend.backend() == "jax"
        model.compile(keras.optimizers.Adam(1e-3), loss, jit_compile=jit)
        return model

    machine = hardware.detect()
    work = hardware.workload(machine)
    digits = datasets.load_mnist()
    x = (digits.x_train[..., None] / 255).astype("float32")
    result = benchmark.compare_policies(
        build_model, x, digits.y_train, batch_size=min(work.batch_size, len(x)), seconds=seconds
    )
    rates = sweeps.matmul_rates(work.matmul_sizes, seconds=seconds / 4)
    table = result.table.drop(columns=["accuracy", "accuracy_se"])
    return {
        "device": name or _device_name(machine),
        "cpu": str(machine),
        "versions": {
            "python": platform.python_version(),
            "tensorflow": tf.__version__,
            "keras": keras.__version__,
            "system": machine.system,
        },
        "date": datetime.date.today().isoformat(),
        "settings": {name: os.environ[name] for name in SWITCHES if name in os.environ},
        "conditions": {
            "model": "mnist_cnn (32-64-128)",
            "data": digits.name,
            "batch_size": result.batch_size,
            "jit_compile": result.jit_compile,
            "seconds": seconds,
        },
        "cnn": json.loads(table.reset_index().to_json(orient="records", double_precision=4)),
        "matmul": json.loads(rates.to_json(orient="records", double_precision=1)),
        "notes": list(result.notes),
    }


def save(measurement: dict, path: str | Path | None = None) -> Path:
    """Writes a measurement as JSON and returns where.

    Without a path, a new file in data/measurements/own, named after device, settings and date.
    """
    if path is None:
        words = [measurement["device"], *(f"{k}={v}" for k, v in measurement["settings"].items())]
        slug = re.sub(r"[^a-z0-9]+", "-", " ".join(words).lower()).strip("-") or "device"
        stems = itertools.chain([""], (f"-{n}" for n in itertools.count(2)))
        names = (OWN / f"{slug}-{measurement['date']}{stem}.json" for stem in stems)
        path = next(name for name in names if not name.exists())
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(measurement, indent=1, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8")
    return path


def load(folder: str | Path = FOLDER) -> list[dict]:
    """Every measurement of speed in a folder and below it, sorted by path.

    Raises:
        ValueError: a file is not a measurement; the message names it.
    """
    found = []
    for path in sorted(Path(folder).rglob("*.json")):
        try:
            measurement = json.loads(path.read_text(encoding="utf-8"))
            if measurement.get("kind") == "gradients":
                continue  # `recordings` reads those
            list(_rows(measurement))
        except (ValueError, KeyError, AttributeError, TypeError):
            raise ValueError(
                f"{path.name} is not a measurement: record it again with "
                "`python -m course_utils bench`, or remove it."
            ) from None
        found.append(measurement)
    return found


def table(found: list[dict] | None = None):
    """The recorded CNN steps as a DataFrame: one row per device and policy.

    Columns: device, settings, date, policy, step_ms, speedup, memory_ratio.
    """
    import pandas as pd

    rows = [row for m in (load() if found is None else found) for row in _rows(m)]
    return pd.DataFrame(rows, columns=COLUMNS)


def _rows(measurement):
    settings = " ".join(f"{k}={v}" for k, v in measurement["settings"].items())
    for row in measurement["cnn"]:
        numbers = [row[key] for key in COLUMNS[3:]]
        yield [measurement["device"], settings, measurement["date"], *numbers]


def _device_name(machine):
    working = [a.name for a in machine.accelerators if a.works]
    if working:
        return working[0]
    sets = [s for s in machine.instruction_sets or () if "16" in s]
    return f"{machine.cpu} {machine.cores} cores" + (f" {' '.join(sets)}" if sets else "")
