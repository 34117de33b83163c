"""The same sums in ten engines.

    python -m tools.engines           make data/engine_sums.json, with a virtual
                                      environment for each library (about 5 GB, gone
                                      afterwards); with names, only these, and the rest
                                      stays as it is
    python tools/engines.py LIBRARY   print what one library does, by its own Python

An operation is asked in numbers, thousands of ones, of which a 16-bit sum stops at 2,048 or
at 256, in several shapes; and as `python -m course_utils sums` asks TensorFlow, by answers
that tell a float32 sum from a 16-bit one that does not stop. All of it happens once as the
library comes, and once more with what holds it to the routines of a CPU without AVX-512,
where it has such a switch.
"""

import datetime
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import ml_dtypes  # noqa: F401  (bfloat16 for NumPy)
import numpy as np

if not __package__:  # by a Python that has the library, and not the course
    sys.path.insert(0, str(Path(__file__).parents[1]))

from course_utils.precision.sums import listen
from tools import engine_sums
from tools.engine_sums import MEAN, MEANS, POOL

COUNTS = {"float16": 5000, "bfloat16": 1000}
WIDTH = 4
# More terms, one column, and many: what could change how a library adds up.
SHAPES = {name: [(n, 4), (4 * n, 4), (n, 1), (n, 64)] for name, n in COUNTS.items()}
COLUMNS = (
    2,
    7,
    8,
    9,
    12,
    100,
)  # asked where some of these shapes are right and some not
AVERAGES = (MEAN, MEANS, POOL)
THOUSANDS = "mean of 100 thousands"
NPY = {"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR"}
XLA = {"XLA_FLAGS": "--xla_cpu_max_isa=AVX2"}
ONEDNN = {"ONEDNN_MAX_CPU_ISA": "AVX2"}
# name: (its sums, what pip installs beside NumPy and ml_dtypes, what holds it to AVX2)
LIBRARIES = {
    "NumPy, ml_dtypes": (engine_sums.numpy, "ml_dtypes==0.6.0", NPY),
    "pandas": (engine_sums.pandas, "pandas==3.1.1 ml_dtypes==0.6.0", NPY),
    "TensorFlow": (
        engine_sums.tensorflow,
        "tensorflow==2.21.0",
        {"TF_ENABLE_ONEDNN_OPTS": "0"},
    ),
    "TensorFlow, XLA": (engine_sums.xla, "tensorflow==2.21.0", XLA),
    "JAX": (engine_sums.jax, "jax==0.12.0.1 flax==0.12.12", XLA),
    "PyTorch": (
        engine_sums.torch,
        "torch==2.15.0",
        {"ATEN_CPU_CAPABILITY": "avx2"} | ONEDNN,
    ),
    "ONNX Runtime": (engine_sums.onnx, "onnxruntime==1.32.0 onnx==1.23.2", {}),
    "OpenVINO": (
        engine_sums.openvino,
        "openvino==2026.4.1",
        {engine_sums.PRECISION: "f32"},
    ),
    "MLX": (engine_sums.mlx, "mlx[cpu]==0.32.4", {}),
    "Paddle": (engine_sums.paddle, "paddlepaddle==3.3.1", ONEDNN),
}


def terms(name, dtype, count):
    """Ones; tens where a library may count the terms, too; or thousands."""
    if name == THOUSANDS:
        return np.full(100, 1000, dtype)
    return np.full(count, 10 if name == POOL else 1, dtype)


def numbers(run, given, width):
    """The different numbers that a sum of these terms returns; JSON has no infinity."""
    found = np.asarray(run(given, width)).astype("float64").ravel()
    return sorted({float(n) if np.isfinite(n) else str(n) for n in found}, key=str)


def exact(name, count):
    """What the total of an operation ought to be."""
    if name == THOUSANDS:
        return 1000
    if name in AVERAGES:
        return 10 if name == POOL else 1
    return count


def answer(run, name, dtype):
    """Its numbers for each shape, and where it is kept by the answers; where the number
    of columns decides whether they are right, also those for other ones.
    """

    def first(given):
        return np.asarray(run(given, WIDTH)).ravel()[0]

    right = np.mean if name in AVERAGES else np.sum
    count, total = COUNTS[dtype], exact(name, COUNTS[dtype])
    with np.errstate(all="ignore"):
        found = [numbers(run, terms(name, dtype, n), w) for n, w in SHAPES[dtype]]
        more = {"numbers": found, "kept in": listen(first, dtype, right).verdict}
        if len({found[n] == [total] for n in (0, 2, 3)}) == 2:
            given = terms(name, dtype, count)
            more["columns"] = {w: numbers(run, given, w) for w in COLUMNS}
    return more


def answers(library, only=()):
    """The versions of a library, and {operation: {dtype: its `answer`}}, without an entry
    where it has no such sum; with `only`, of these operations.
    """
    sums, versions = LIBRARIES[library][0]()
    found = {name: {} for name in (*sums, THOUSANDS) if not only or name in only}
    for name, row in found.items():
        for dtype in COUNTS:
            try:
                if name == THOUSANDS:
                    mean = sums[MEAN], terms(name, dtype, 100), WIDTH
                    row[dtype] = {"numbers": [numbers(*mean)], "kept in": None}
                else:
                    row[dtype] = answer(sums[name], name, dtype)
            except Exception as error:  # what a library lacks it says in many ways
                print(f"{library}, {name}, {dtype}: {error}"[:200], file=sys.stderr)
    return {"versions": versions | {"python": platform.python_version()}, "sums": found}


def with_and_without(library):
    """`answers`, and those with the switches of a library, from a process of its own."""
    switches = LIBRARIES[library][2]
    found = answers(library) | {"switches": switches}
    if switches:
        command = [sys.executable, __file__, library, "alone"]
        environment = os.environ | switches
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
        found["switched"] = json.loads(done.stdout)["sums"]
    return found


def main(*asked):
    from course_utils import hardware, paths, records
    from tools.casts import recorded

    path = paths.data("engine_sums.json")
    libraries = {}
    if path.exists():
        libraries = json.loads(path.read_text(encoding="utf-8"))["libraries"]
    for library in asked or LIBRARIES:
        now = {"cpu": str(hardware.detect()), "date": str(datetime.date.today())}
        libraries[library] = now | recorded(library, LIBRARIES[library][1], __file__)
        ordered = {name: libraries[name] for name in LIBRARIES if name in libraries}
        records.save({"kind": "engine_sums", "libraries": ordered}, path)
        print(f"{library}: written to {path}")


if __name__ == "__main__":
    if __package__:
        main(*sys.argv[1:])
    else:
        asked = answers if sys.argv[2:] else with_and_without
        print(json.dumps(asked(sys.argv[1])))
