"""Where the bench command runs: the backend that it starts, and the machine that this sees."""

import contextlib
import dataclasses
import importlib.metadata
import importlib.util
import os
import platform

from course_utils import hardware
from course_utils.accelerators import Accelerator


class StartError(RuntimeError):
    """The command cannot start; the message says what to do."""


def on_jax() -> bool:
    """Whether the environment asks for Keras on JAX."""
    return os.environ.get("KERAS_BACKEND") == "jax"


def start():
    """Gets Keras on JAX ready, as `session.setup` does on TensorFlow.

    TensorFlow is not needed, and JAX takes memory as it needs it, so that peaks can be read.

    Raises:
        StartError: a package is missing; one sentence says what to install.
    """
    for package in ("jax", "keras"):
        if not importlib.util.find_spec(package):
            raise StartError(
                f"KERAS_BACKEND is jax and the package {package} is not installed: "
                f"`pip install {package}`, or unset KERAS_BACKEND to measure TensorFlow."
            )
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import keras

    keras.config.set_dtype_policy("float32")
    keras.utils.set_random_seed(0)
    print(" · ".join(f"{name} {version}" for name, version in versions().items()))
    print(machine())


def versions() -> dict[str, str]:
    """{package: version} of what is measured, with Python, the system and Keras's backend."""
    import keras

    backend = keras.backend.backend()
    found = {"python": platform.python_version()}
    for package in (backend, "keras"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    found.setdefault("keras", keras.__version__)
    if backend == "tensorflow":
        import tensorflow as tf

        found["tensorflow"] = tf.__version__  # its package may have another name
    return {**found, "system": f"{platform.system()} {platform.machine()}", "backend": backend}


def machine() -> hardware.Hardware:
    """What `hardware.detect` found; on JAX with the device that JAX uses.

    There, TensorFlow may be missing, which `detect` asks for GPUs.
    """
    if not on_jax():
        return hardware.detect()
    import jax

    used = jax.devices()[0]
    # JAX has its device by now: hide it from the try-outs, which would want it for themselves.
    hidden = {"CUDA_VISIBLE_DEVICES": "-1"}
    former = {name: os.environ.get(name) for name in hidden}
    os.environ.update(hidden)
    try:
        found = hardware.detect()
    finally:
        for name, value in former.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    if used.platform == "cpu":
        return dataclasses.replace(found, accelerators=())
    capability = getattr(used, "compute_capability", None)
    memory = (used.memory_stats() or {}).get("bytes_limit")
    kind = "TPU" if used.platform == "tpu" else "GPU"
    accelerator = Accelerator(
        kind, used.device_kind, True, "", capability and float(capability), memory
    )
    return dataclasses.replace(found, accelerators=(accelerator,))


def device_name(found: hardware.Hardware) -> str:
    """What to call a machine: its accelerator, or its CPU with the cores and 16-bit instructions.

    Example:
        >>> device_name(hardware.Hardware("Linux x86_64", "some CPU", 4, ("avx2",)))
        'some CPU 4 cores'
    """
    working = [a.name for a in found.accelerators if a.works]
    if working:
        return working[0]
    sets = [s for s in found.instruction_sets or () if "16" in s]
    return f"{found.cpu} {found.cores} cores" + (f" {' '.join(sets)}" if sets else "")
