"""TPU: which way leads to it, tried in processes of their own. Not run on a TPU yet.

TensorFlow with the package tensorflow-tpu comes first, then Keras on JAX, last the CPU. An
initialization that fails can take its process down, so it is never tried in the learner's.
"""

import contextlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from course_utils import processes

SECONDS = 180  # for each try
HINTS = ("TPU_ACCELERATOR_TYPE", "COLAB_TPU_1VM")

# Both print how many cores they could use, and the variables to set before the import. A number
# computed on the cores is asked for: a TPU can be listed that is not there.
PROBES = {
    "TensorFlow": """
import json, libtpu, os
variables = {"PJRT_DEVICE": "TPU", "NEXT_PLUGGABLE_DEVICE_USE_C_API": "true",
             "TF_PLUGGABLE_DEVICE_LIBRARY_PATH": libtpu.get_library_path()}
os.environ.update(variables)
import tensorflow as tf
resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="local")
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
cores = strategy.num_replicas_in_sync
sums = strategy.run(tf.function(lambda: tf.reduce_sum(tf.ones((8, 8)))))
assert float(strategy.reduce("SUM", sums, None)) == 64 * cores
print("PROBE", json.dumps([cores, variables]))
""",
    "JAX": """
import jax, json
cores = jax.devices("tpu")
assert float(jax.device_put(jax.numpy.ones((8, 8)), cores[0]).sum()) == 64
print("PROBE", json.dumps([len(cores), {"KERAS_BACKEND": "jax"}]))
""",
}


SENTENCES = {
    "TensorFlow": "TensorFlow can use this TPU: set the route's environment before importing it.",
    "JAX": "Keras can use this TPU on JAX: set KERAS_BACKEND=jax before importing Keras.",
}


@dataclass(frozen=True)
class Route:
    """The way to this machine's TPU.

    Attributes:
        framework: "TensorFlow", "JAX", or None for the CPU.
        cores: TPU cores that it can use.
        environment: variables to set before that framework is imported.
        reason: one sentence.
    """

    framework: str | None
    cores: int
    environment: dict
    reason: str


def find_tpu(show=print) -> Route:
    """Try the ways to a TPU, the best one first; never raises.

    Without the signs of a TPU (variables that Colab and Google Cloud set, a device file) nothing is
    tried. Each try takes up to some minutes.

    Args:
        show: gets one sentence for each way that was tried, and on where the course runs.

    Example:
        >>> find_tpu().framework  # without a TPU
        This machine has no TPU, so the course runs on what TensorFlow finds.
    """
    if not (any(os.environ.get(hint) for hint in HINTS) or Path("/dev/accel0").exists()):
        return _told(show, "This machine has no TPU, so the course runs on what TensorFlow finds.")
    for framework, sentence in SENTENCES.items():
        cores, variables, problem = _try(PROBES[framework])
        if cores:
            return _told(show, sentence, framework, cores, variables)
        show(f"{framework} cannot use this TPU: its try-out {problem}.")
    return _told(
        show,
        "Neither TensorFlow nor JAX can use this TPU, so the course runs on the CPU: run "
        "`%pip install tensorflow-tpu` and restart the kernel to try again.",
    )


def _told(show, reason, framework=None, cores=0, variables=None):
    show(reason)
    return Route(framework, cores, variables or {}, reason)


def _try(code):
    """How many cores a probe could use, the variables it set, and how it ended if it could not."""
    process = processes.start([sys.executable, "-c", code])
    try:
        printed, errors = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return 0, {}, f"had not ended after {SECONDS:g} s and was stopped"
    finally:
        processes.stop([process], grace=1)
    lines = [line for line in printed.splitlines() if line.startswith("PROBE ")]
    if process.returncode == 0 and lines:
        with contextlib.suppress(ValueError):
            cores, variables = json.loads(lines[-1].removeprefix("PROBE "))
            if cores:
                return cores, variables, ""
    return 0, {}, processes.ending(process, errors)
