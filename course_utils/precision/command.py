"""`python -m course_utils examine model.keras`: what a saved model does wrong in 16
bits.

The file is loaded as `keras.saving.load_model` does it in safe mode, under the dtype
policy that it was saved under. It holds a configuration and no source, so only built-in
layers are examined.
"""

import json
import re
import sys
import warnings
import zipfile
from collections import Counter
from pathlib import Path

import keras

from course_utils.precision import examine

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
        model, relies = load(path)
    except FileError as error:
        print(error, file=sys.stderr)
        return 2
    findings = examine(model, saved_policy="mixed_float16" if relies else None)
    print(*map(str, findings) if findings else ["Nothing found."], sep="\n")
    return int(any(finding.severity != "advice" for finding in findings))


def load(path):
    """(the model, whether its loss scaling relies on the policy in force while it is
    loaded).

    Raises FileError if there is no such file, it is no .keras file, or Keras cannot
    load it.
    """
    path = Path(path)
    if not path.exists():
        raise FileError(f"There is no file {path}: give the path of a .keras file.")
    try:
        with zipfile.ZipFile(path) as archive:
            dtype = json.loads(archive.read("config.json"))["config"].get("dtype")
        saved = keras.dtype_policies.get(dtype).name if dtype else None
    except Exception:  # whatever is in the file
        raise FileError(
            f"{path} is not a .keras file: save the model with model.save(name.keras)."
        ) from None
    model = _load(path, "float32")
    saved = saved or _usual_policy(model)
    optimizer = model.optimizer if model.compiled else None
    wrapped = isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
    relies = saved == "mixed_float16" and model.compiled and not wrapped
    return _load(path, saved), relies


def _usual_policy(model):
    """The policy that most layers have: only functional models do not store their own."""
    layers = model._flatten_layers(include_self=False)
    held = [
        x for x in layers if not isinstance(x, keras.Model | keras.layers.InputLayer)
    ]
    counted = Counter(layer.dtype_policy.name for layer in held).most_common(1)
    return counted[0][0] if counted else model.dtype_policy.name


def _load(path, policy):
    try:
        with warnings.catch_warnings(), dtype_policy(policy):
            warnings.simplefilter("ignore")  # about the state of the optimizer
            return keras.saving.load_model(path, safe_mode=True)
    except Exception as error:  # whatever the layers in the file raise
        text = str(error)
    unknown = re.search(r"Could not locate (?:class|function) '([^']+)'", text)
    if unknown:
        raise FileError(
            f"{path} needs {unknown[1]}, which is not part of Keras and whose source is not in the "
            "file: register the class with @keras.saving.register_keras_serializable(), and in a "
            "program that imports it call course_utils.precision.command.run(path), or "
            "course_utils.precision.examine(model) on the model."
        )
    if "Lambda" in text or "lambda" in text:
        raise FileError(
            f"{path} holds a Lambda layer, whose code could do anything once it is loaded: replace "
            "it by a layer class, or call course_utils.precision.examine(model) on the model."
        )
    raise FileError(f"Keras cannot load {path}: {' '.join(text.split())[:200]}")
