"""`python -m course_utils examine model.keras`: what a saved model does wrong in 16
bits.

The file is loaded as `keras.saving.load_model` does it in safe mode, under the dtype
policy of most of its layers. It holds a configuration and no source, so only built-in
layers are examined.
"""

import re
import statistics
import sys
import warnings
import zipfile

import keras

from course_utils.precision import examine
from course_utils.precision.layers import walk

# with it Keras knows the course's optimizer
from course_utils.training import dtype_policy


class FileError(Exception):
    """A file that cannot be examined; the message is one sentence for the learner."""


def run(path) -> int:
    """Print the findings about a .keras file, one a line.

    Returns 0 without errors and warnings, 1 with any, 2 if the file could not be
    examined (why goes to stderr).

    Example: `run("model.keras")` prints
        MP001 error dense_2: The probabilities come out in float16, so … Fix: Dense(…)
    """
    try:
        model = load(path, "float32")
        policies = [place.layer.dtype_policy.name for place in walk(model)]
        usual = statistics.mode(policies or ["float32"])
        # only under mixed_float16 does load_model wrap an optimizer that the file does not
        optimizer = model.optimizer if model.compiled else None
        wrapped = isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
        relies = usual == "mixed_float16" and optimizer and not wrapped
        found = examine(load(path, usual), saved_policy=usual if relies else None)
    except FileError as error:
        print(error, file=sys.stderr)
        return 2
    print(*map(str, found) if found else ["Nothing found."], sep="\n")
    return int(any(finding.severity != "advice" for finding in found))


def load(path, policy):
    """The model of a .keras file, loaded under a policy.

    Raises FileError if there is no such file, or Keras cannot load it.
    """
    if not zipfile.is_zipfile(path):
        raise FileError(
            f"There is no .keras file {path}: save the model with model.save(name.keras)."
        )
    try:
        with warnings.catch_warnings(), dtype_policy(policy):
            warnings.simplefilter("ignore")  # about the state of the optimizer
            return keras.saving.load_model(path, safe_mode=True)
    except Exception as error:  # whatever the layers in the file raise
        text = str(error)
    instead = "call course_utils.precision.examine(model) on the model."
    if unknown := re.search(r"Could not locate (?:class|function) '([^']+)'", text):
        raise FileError(
            f"{path} needs {unknown[1]}, which is not part of Keras and whose source is not in the "
            "file: register the class with @keras.saving.register_keras_serializable(), and in a "
            f"program that imports it call course_utils.precision.command.run(path), or {instead}"
        )
    if "lambda" in text.lower():
        raise FileError(
            f"{path} holds a Lambda layer, whose code could do anything once it is loaded: replace "
            f"it by a layer class, or {instead}"
        )
    raise FileError(f"Keras cannot load {path}: {' '.join(text.split())[:200]}.")
