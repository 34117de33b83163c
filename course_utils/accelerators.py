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

# Runs in its own process and prints one JSON line: what each visible GPU is, and its problem or "".
GPU_PROBE = """
import json
import tensorflow as tf
found = []
for i, gpu in enumerate(tf.config.list_physical_devices("GPU")):
    details = tf.config.experimental.get_device_details(gpu)
    major, minor = details.get("compute_capability", (0, 0))
    name = details.get("device_name", "GPU")
    found.append({"name": name, "cc": f"{major}.{minor}", "problem": ""})
    try:
        with tf.device(f"GPU:{i}"):
            for dtype in (tf.float32, tf.float16):
                x = tf.ones((64, 64), dtype)
                assert float(tf.matmul(x, x)[0, 0]) == 64.0
    except Exception as error:
        found[-1]["problem"] = type(error).__name__
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
            command,
            capture_output=True,
            text=True,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "TF_FORCE_GPU_ALLOW_GROWTH": "true"},
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return done.stdout if done.returncode == 0 else None


def usable_gpus(accelerators) -> str | None:
    """What CUDA_VISIBLE_DEVICES has to say so that only working GPUs are used.

    Returns None where nothing has to change: no GPU at all, or every one works.
    """
    gpus = [a for a in accelerators if a.kind == "GPU"]
    if all(gpu.works for gpu in gpus):
        return None
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = visible.split(",") if visible else [str(i) for i in range(len(gpus))]
    kept = [name for name, gpu in zip(names, gpus, strict=False) if gpu.works]
    return ",".join(kept) or "-1"


def _gpus():
    """The GPUs that TensorFlow sees, in its order, each with the outcome of the probe.

    nvidia-smi says whether a probe is worth its seconds, and how much memory a GPU has; it does
    not know what CUDA_VISIBLE_DEVICES hides.
    """
    if os.environ.get("CUDA_VISIBLE_DEVICES", "unset") in ("", "-1"):
        return ()
    query = "--query-gpu=name,compute_cap,memory.total"
    listing = run(["nvidia-smi", query, "--format=csv,noheader,nounits"], 20)
    rows = csv.reader((listing or "").strip().splitlines(), skipinitialspace=True)
    listed = [(row + [""] * 3)[:3] for row in rows if row]
    if not listed:
        return ()
    print("Trying a small matrix product on the GPU, in a process of its own …")
    found = _probe(GPU_PROBE)
    if not found:
        problem = _unseen() if found == [] else "the try-out ended its process; it is left alone."
        found = [{"name": name, "cc": cc, "problem": problem} for name, cc, _ in listed]
    memory = {name: _number(mib) for name, _, mib in listed}
    return tuple(
        Accelerator(
            kind="GPU",
            name=gpu["name"],
            works=not gpu["problem"],
            problem=gpu["problem"] and _sentence(gpu["problem"]),
            compute_capability=_number(gpu["cc"]),
            memory_bytes=int((memory.get(gpu["name"]) or 0) * 2**20) or None,
        )
        for gpu in found
    )


def _unseen():
    if sys.platform == "win32":
        return "on Windows TensorFlow uses no NVIDIA GPU; run the course in WSL2."
    return "TensorFlow does not see it; on Linux outside Colab install tensorflow[and-cuda]."


def _sentence(problem):
    if problem.endswith("."):
        return problem
    return f"a small matrix product on it raised {problem}; it is left alone."


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
