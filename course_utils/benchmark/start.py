"""Where the bench command runs: the backend that it starts, and the machine that this
sees.
"""

import dataclasses
import importlib.util
import os
import platform
from unittest import mock

from course_utils import hardware


class StartError(RuntimeError):
    """The command cannot start; the message says what to do."""


def on_jax() -> bool:
    """Whether the environment asks for Keras on JAX."""
    return os.environ.get("KERAS_BACKEND") == "jax"


def start():
    """Gets Keras on JAX ready, without TensorFlow, as `session.setup` does on
    TensorFlow.

    `StartError` says in one sentence which package is missing.
    """
    for package in ("jax", "keras"):
        if not importlib.util.find_spec(package):
            raise StartError(
                f"KERAS_BACKEND is jax and the package {package} is not installed: "
                f"`pip install {package}`, or unset KERAS_BACKEND to measure TensorFlow."
            )
    import keras

    keras.config.set_dtype_policy("float32")
    keras.utils.set_random_seed(0)
    print(" · ".join(f"{name} {version}" for name, version in versions().items()))
    print(machine())


def versions() -> dict[str, str]:
    """{package: version} of what is measured, with Python, the system and Keras's
    backend.
    """
    import keras

    backend = keras.backend.backend()
    return {
        "python": platform.python_version(),
        backend: importlib.import_module(backend).__version__,
        "keras": keras.__version__,
        "system": f"{platform.system()} {platform.machine()}",
        "backend": backend,
    }


def machine() -> hardware.Hardware:
    """What `hardware.detect` found and the backend uses."""
    if not on_jax():
        return hardware.detect()
    import jax

    used = jax.devices()[0]
    # JAX has its device by now: hide it from the try-outs, which would want it for
    # themselves, and for which TensorFlow may be missing.
    with mock.patch.dict(os.environ, CUDA_VISIBLE_DEVICES="-1"):
        found = hardware.detect()
    if used.platform == "cpu":
        return dataclasses.replace(found, accelerators=())
    capability = getattr(used, "compute_capability", None)
    memory = (used.memory_stats() or {}).get("bytes_limit")
    kind = "TPU" if used.platform == "tpu" else "GPU"
    accelerator = hardware.Accelerator(
        kind, used.device_kind, True, "", capability and float(capability), memory
    )
    return dataclasses.replace(found, accelerators=(accelerator,))


def device_name(found: hardware.Hardware) -> str:
    """What to call a machine: its accelerator, or its CPU with the cores and 16-bit
    instructions.

    Example:
        >>> device_name(hardware.Hardware("Linux x86_64", "some CPU", 4, ("avx2",)))
        'some CPU 4 cores'
    """
    working = [a.name for a in found.accelerators if a.works]
    sets = [s for s in found.instruction_sets or () if "16" in s]
    return (
        working[0]
        if working
        else " ".join([found.cpu, hardware.counted(found.cores), *sets])
    )
