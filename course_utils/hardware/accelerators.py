"""GPUs and TPU cores: which there are, and whether they really work.

Each is tried with a small computation in a process of its own, because a broken driver
or a missing kernel can take the whole process down.
"""

import functools
import math
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_utils import processes

SECONDS = 180  # for each try
TPU_SIGNS = ("TPU_ACCELERATOR_TYPE", "COLAB_TPU_1VM")  # set by Google Cloud and Colab
# Leaves a TPU alone; without one tensorflow-tpu else waits minutes for the metadata
# server.
NO_TPU = {"TPU_LIBRARY_PATH": "/nonexistent", "TF_PLUGGABLE_DEVICE_LIBRARY_PATH": ""}
CPU_ALONE = {**NO_TPU, "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}
UNSEEN = (
    "on Windows TensorFlow uses no NVIDIA GPU; run the course in WSL2."
    if sys.platform == "win32"
    else "TensorFlow does not see it; on Linux outside Colab install tensorflow[and-cuda]."
)


@dataclass(frozen=True)
class Accelerator:
    """One GPU or TPU core."""

    kind: str  # "GPU" or "TPU"
    name: str  # the vendor's, for example "Tesla T4"
    works: bool  # whether a small computation ran on it
    problem: str = ""  # one sentence when it does not work
    compute_capability: float | None = None  # NVIDIA's number such as 7.5
    memory_bytes: int | None = None


def find_accelerators() -> tuple[Accelerator, ...]:
    """Every GPU and TPU core of this machine, working or not; never raises.

    Example:
        >>> all(a.works or a.problem for a in find_accelerators())
        True
    """
    return _gpus() + _tpus()


def usable_gpus(accelerators: tuple[Accelerator, ...]) -> str | None:
    """What CUDA_VISIBLE_DEVICES has to say so that only working GPUs are used; None: no
    change.
    """
    gpus = [a for a in accelerators if a.kind == "GPU"]
    if all(gpu.works for gpu in gpus):
        return None
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = visible.split(",") if visible else [str(i) for i in range(len(gpus))]
    usable = [name for name, gpu in zip(names, gpus, strict=False) if gpu.works]
    return ",".join(usable) or "-1"


def shows_a_tpu() -> bool:
    """Whether this machine has the signs of a TPU: a variable that is set, or a device
    file.
    """
    return (
        any(os.environ.get(sign) for sign in TPU_SIGNS) or Path("/dev/accel0").exists()
    )


@functools.cache
def try_tpu() -> tuple[int, dict]:
    """Compute on the TPU, once, in a process of its own: the cores that can be used, and
    variables to set before TensorFlow is imported. Not run on a TPU yet.

    The first outcome is kept: once this process holds the TPU itself, no other can try
    it.
    """
    chips = [*Path("/dev").glob("accel*"), *Path("/dev").glob("vfio/[0-9]*")]
    if not chips:
        # else the metadata server is asked, for minutes
        os.environ["TPU_SKIP_MDS_QUERY"] = "1"
    return processes.call(compute_on_tpu, timeout=SECONDS).result or (0, NO_TPU)


@functools.cache
def tpu_strategy() -> Any:
    """TensorFlow's strategy for this machine's TPU, which a process can start only
    once.
    """
    import tensorflow as tf

    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="local")
    tf.tpu.experimental.initialize_tpu_system(resolver)
    return tf.distribute.TPUStrategy(resolver)


def _gpus():
    """The GPUs that TensorFlow sees, in its order, each with the outcome of the try."""
    if os.environ.get("CUDA_VISIBLE_DEVICES", "unset") in ("", "-1"):
        return ()
    # It says whether a try is worth its seconds; it does not know what
    # CUDA_VISIBLE_DEVICES hides.
    query = ["nvidia-smi", "--query-gpu=name,memory.total"]
    listing = processes.run([*query, "--format=csv,noheader,nounits"], timeout=20)
    rows = re.findall("(.+), (.+)", listing.printed)  # else it says why there is none
    if listing.problem or not rows:
        return ()
    print("Trying a small computation on the GPU, in a process of its own …")
    grow = {"TF_FORCE_GPU_ALLOW_GROWTH": "true"}
    gpus = processes.call(compute_on_gpus, variables=grow, timeout=SECONDS).result
    if not gpus:
        problem = UNSEEN
        if gpus is None:
            problem = "the try-out ended its process; it is left alone."
        gpus = [(name, None, problem) for name, _ in rows]
    memory = {name: 2**20 * int(mib) for name, mib in rows if mib.isdigit()}
    return tuple(
        Accelerator("GPU", name, not problem, problem, level, memory.get(name))
        for name, level, problem in gpus
    )


def _tpus():
    if not shows_a_tpu():
        return ()
    name = os.environ.get("TPU_ACCELERATOR_TYPE", "TPU")
    cores, _ = try_tpu()
    problem = "" if cores else "TensorFlow cannot use it; it is left alone."
    return (Accelerator("TPU", name, bool(cores), problem),) * max(1, cores)


# ------------------------------------------------------------ in processes of their own


def require(right: bool) -> None:
    """ArithmeticError if a device computed something else; an `assert` can be switched
    off.
    """
    if not right:
        raise ArithmeticError("the device computes wrong numbers")


def compute_on_gpus() -> list[tuple]:
    """Name, compute capability and problem, "" if none, of each GPU that TensorFlow
    sees.
    """
    import tensorflow as tf

    outcomes = []
    levels = tf.sysconfig.get_build_info().get("cuda_compute_capabilities", [])
    newest = max(
        (int(re.findall(r"\d+", name)[0]) / 10 for name in levels), default=math.inf
    )
    for number, gpu in enumerate(tf.config.list_physical_devices("GPU")):
        details = tf.config.experimental.get_device_details(gpu)
        level = float("{}.{}".format(*details.get("compute_capability", (0, 0))))
        problem = ""
        try:
            # A product asks cuBLAS, its double TensorFlow itself, a convolution cuDNN.
            with tf.device(f"GPU:{number}"):
                for dtype in (tf.float32, tf.float16):
                    x = tf.ones((8, 8), dtype)
                    require(float(tf.matmul(x, x)[0, 0] * 2) == 16)
                    image = x[None, ..., None]
                    kernel = x[..., None, None]
                    require(
                        float(tf.nn.conv2d(image, kernel, 1, "VALID")[0, 0, 0, 0]) == 64
                    )
        except Exception as error:
            problem = f"a small computation on it raised {type(error).__name__}; it is left alone."
            if level > newest:
                problem = (
                    f"this TensorFlow's kernels end at {newest}; it is left alone."
                )
        outcomes.append((details.get("device_name", "GPU"), level, problem))
    return outcomes


def compute_on_tpu() -> tuple[int, dict]:
    """See `try_tpu`. It asks for a number computed on the cores: some are listed and
    not there.
    """
    import libtpu

    variables = {
        "PJRT_DEVICE": "TPU",
        "NEXT_PLUGGABLE_DEVICE_USE_C_API": "true",
        "TF_PLUGGABLE_DEVICE_LIBRARY_PATH": libtpu.get_library_path(),
    }
    os.environ.update(variables)
    import tensorflow as tf

    strategy = tpu_strategy()
    cores = strategy.num_replicas_in_sync
    sums = strategy.run(tf.function(lambda: tf.reduce_sum(tf.ones((8, 8)))))
    require(float(strategy.reduce("SUM", sums, None)) == 64 * cores)
    return cores, variables
