"""TPU: which way leads to it, tried in processes of their own. Not run on a TPU yet.

TensorFlow with the package tensorflow-tpu comes first, then Keras on JAX, last the CPU. An
initialization that fails can take its process down, so it is never tried in the learner's.
"""

from dataclasses import dataclass

from course_utils.hardware import accelerators

SENTENCES = {
    "TensorFlow": "TensorFlow can use this TPU: set the route's environment before importing it.",
    "JAX": "Keras can use this TPU on JAX: set KERAS_BACKEND=jax before importing Keras.",
}


@dataclass(frozen=True)
class Route:
    """The way to this machine's TPU: which framework can use it (None: the CPU), and why.

    `environment`: variables to set before that framework is imported.
    """

    framework: str | None
    cores: int
    environment: dict
    reason: str


def find_tpu() -> Route:
    """Try the ways to a TPU, the best one first; never raises.

    Without the signs of a TPU (variables that Colab and Google Cloud set, a device file) nothing is
    tried. Each try takes up to some minutes. A sentence is printed for each, and on where the
    course runs. Example: `find_tpu().framework` is None on a machine without a TPU.
    """
    found = None, 0, {}
    reason = "This machine has no TPU, so the course runs on what TensorFlow finds."
    if accelerators.shows_a_tpu():
        reason = (
            "Neither TensorFlow nor JAX can use this TPU, so the course runs on the CPU: run "
            "`%pip install tensorflow-tpu` and restart the kernel to try again."
        )
        for framework, sentence in SENTENCES.items():
            outcome = accelerators.try_tpu(framework)
            cores, variables = outcome.result or (0, {})
            if cores:
                found, reason = (framework, cores, variables), sentence
                break
            problem = outcome.problem.removesuffix(".") or "It found no core"
            print(f"{framework} cannot use this TPU: {problem[:1].lower()}{problem[1:]}.")
    print(reason)
    return Route(*found, reason)
