"""TPU: which way leads to it, tried in processes of their own. Not run on a TPU yet.

TensorFlow with the package tensorflow-tpu comes first, then Keras on JAX, last the CPU. An
initialization that fails can take its process down, so it is never tried in the learner's.
"""

from course_utils import processes
from course_utils.hardware import accelerators

ON_JAX = f"PYTHONPATH={processes.ROOT} KERAS_BACKEND=jax python -m course_utils bench"
SENTENCES = {
    "TensorFlow": "TensorFlow can use this TPU.",
    "JAX": f"Keras on JAX can, so measure this TPU with `!{ON_JAX}`; the notebooks use the CPU.",
}


def find_tpu() -> dict:
    """Try the ways to a TPU: the variables to set before TensorFlow is imported; never raises.

    Without the signs of a TPU (variables that Colab and Google Cloud set, a device file) nothing is
    tried. A sentence is printed for each try. Example: `find_tpu()` is `{}` without a TPU.
    """
    if not accelerators.shows_a_tpu():
        print("This machine has no TPU, so the course runs on what TensorFlow finds.")
        return {}
    for framework, sentence in SENTENCES.items():
        outcome = accelerators.try_tpu(framework)
        if outcome.result:
            print(sentence)
            return outcome.result[1]
        problem = outcome.problem.removesuffix(".")
        print(f"{framework} cannot use this TPU: {problem[:1].lower()}{problem[1:]}.")
    print(
        "Neither TensorFlow nor JAX can use this TPU, so the course runs on the CPU: shut down "
        "other notebooks, run `%pip install tensorflow-tpu`, and restart the kernel to try again."
    )
    return accelerators.NO_TPU
