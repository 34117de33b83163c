"""GPUs and TPU cores: which there are, and whether they really work.

Each is probed with a small matrix multiplication in a subprocess, because a
broken driver or a missing kernel can take the whole process down.
"""

import csv
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PROBE_SECONDS = 180

# Runs in its own process and prints one JSON line: {device name: problem or ""}.
GPU_PROBE = """
import json, os
os.environ["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"
import tensorflow as tf
found = {}
for gpu in tf.config.list_physical_devices("GPU"):
    name = gpu.name.replace("/physical_device:", "")
    try:
        with tf.device(name):
            for dtype in (tf.float32, tf.float16):
                x = tf.ones((64, 64), dtype)
                assert float(tf.matmul(x, x)[0, 0]) == 64.0
        found[name] = ""
    except Exception as error:
        found[name] = type(error).__name__
print("PROBE" + json.dumps(found))
"""

TPU_PROBE = """
import importlib.util, json, os
if importlib.util.find_spec("tensorflow") and importlib.util.find_spec("libtpu"):
    import libtpu
    os.environ.update(PJRT_DEVICE="TPU", NEXT_PLUGGABLE_DEVICE_USE_C_API="true",
                      TF_PLUGGABLE_DEVICE_LIBRARY_PATH=libtpu.get_library_path())
    import tensorflow as tf
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="local")
    tf.tpu.experimental.initialize_tpu_system(resolver)
    count = len(tf.config.list_logical_devices("TPU"))
else:
    import jax
    count = len(jax.devices("tpu"))
print("PROBE" + json.dumps({f"TPU:{i}": "" for i in range(count)}))
"""


@dataclass(frozen=True)
class Accelerator:
    """One GPU or TPU core.

    Attributes:
        kind: "GPU" or "TPU".
        name: the vendor's name, for example "Tesla T4".
        works: whether a small matrix multiplication ran on it, in a subprocess.
        problem: one sentence when it does not work, else "".
        compute_capability: NVIDIA's number such as 7.5, or None.
        memory_bytes: memory of the device in bytes, or None.
    """

    kind: str
    name: str
    works: bool
    problem: str = ""
    compute_capability: float | None = None
    memory_bytes: int | None = None


def find_accelerators() -> tuple[Accelerator, ...]:
    """Every GPU and TPU core of this machine, working or not; never raises.

    Example:
        >>> all(a.works or a.problem for a in find_accelerators())
        True
    """
    return _gpus() + _tpus()


def run(command: list[str], timeout: float) -> str | None:
    """Standard output of a command, or None if it fails in any way."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return done.stdout if done.returncode == 0 else None


def _gpus():
    """GPUs as nvidia-smi lists them, each with the outcome of the probe."""
    if os.environ.get("CUDA_VISIBLE_DEVICES", "unset") in ("", "-1"):
        return ()
    query = "--query-gpu=name,compute_cap,memory.total"
    listing = run(["nvidia-smi", query, "--format=csv,noheader,nounits"], 20)
    if not listing:
        return ()
    outcome = _probe(GPU_PROBE)
    gpus = []
    for i, row in enumerate(csv.reader(listing.strip().splitlines(), skipinitialspace=True)):
        name, cc, mib = (row + [""] * 3)[:3]
        problem = _gpu_problem(outcome, f"GPU:{i}")
        gpus.append(
            Accelerator(
                "GPU",
                name,
                not problem,
                problem,
                _number(cc),
                int((_number(mib) or 0) * 2**20) or None,
            )
        )
    return tuple(gpus)


def _gpu_problem(outcome, device):
    if outcome is None:
        return "a small matrix multiplication on it ended the process; it is left alone."
    if device not in outcome:
        return "TensorFlow does not see it; on Linux outside Colab install tensorflow[and-cuda]."
    if outcome[device]:
        return f"a small matrix multiplication on it raised {outcome[device]}; it is left alone."
    return ""


def _tpus():
    hints = ("TPU_ACCELERATOR_TYPE", "COLAB_TPU_1VM")
    if not (any(os.environ.get(h) for h in hints) or Path("/dev/accel0").exists()):
        return ()
    name = os.environ.get("TPU_ACCELERATOR_TYPE", "TPU")
    outcome = _probe(TPU_PROBE)
    if not outcome:
        return (Accelerator("TPU", name, False, "its initialization failed; it is left alone."),)
    return tuple(Accelerator("TPU", name, True) for _ in outcome)


def _probe(code):
    """What a probe printed, or None if its process crashed, hung or printed nothing."""
    printed = run([sys.executable, "-c", code], PROBE_SECONDS) or ""
    lines = [line for line in printed.splitlines() if line.startswith("PROBE")]
    try:
        return json.loads(lines[-1].removeprefix("PROBE")) if lines else None
    except ValueError:
        return None


def _number(text):
    try:
        return float(text)
    except ValueError:
        return None
