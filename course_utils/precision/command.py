"""`python -m course_utils examine model.keras`: what a saved model does wrong in 16
bits.

The file is loaded as `keras.saving.load_model` does it in safe mode, under the dtype
policy that it was saved under. It holds a configuration and no source, so only built-in
layers are examined.

`--fix` changes no file. It prints the repair as a unified diff of the file's
config.json, where the repair is mechanical:

    MP001          the layer at the end gets the policy float32
    MP002, MP013   the optimizer is wrapped in a LossScaleOptimizer
    MP008          a policy float16 becomes mixed_float16, and bfloat16 mixed_bfloat16
    MP009          a UnitNormalization gets the policy float32

Everything else is for you to decide.
"""

import difflib
import json
import re
import sys
import warnings
import zipfile
from collections import Counter
from pathlib import Path

import keras

from course_utils.precision import examine
from course_utils.precision.layers import walk

# with it Keras knows the course's optimizer
from course_utils.training import dtype_policy


class FileError(Exception):
    """A file that cannot be examined; the message is one sentence for the learner."""


def run(path, fix: bool = False) -> int:
    """Prints the findings about a .keras file, one a line, and with `fix` a diff that
    repairs them.

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
    if fix:
        configs = repaired(model, [], relies), repaired(model, findings, relies)
        before, after = (
            json.dumps(config, indent=2).splitlines() for config in configs
        )
        names = "config.json", "config.json, repaired"
        diff = "\n".join(difflib.unified_diff(before, after, *names, lineterm=""))
        print(diff or "Nothing can be repaired mechanically.")
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


def repaired(model, findings, wrap: bool) -> dict:
    """The configuration of a loaded model after the mechanical repairs, made on its
    layers.

    `findings` are those of `examine`; `wrap` says whether MP013 is to be cured by
    wrapping the optimizer.
    """
    codes = {finding.code for finding in findings}
    places = {place.path: place.layer for place in walk(model)}
    for finding in findings:
        layer = places.get(finding.layer)
        unit = isinstance(layer, keras.layers.UnitNormalization)
        if layer is not None and (
            finding.code == "MP001" or finding.code == "MP009" and unit
        ):
            layer.dtype_policy = "float32"
    for layer in model._flatten_layers() if "MP008" in codes else ():
        if layer.dtype_policy.name in ("float16", "bfloat16"):
            layer.dtype_policy = f"mixed_{layer.dtype_policy.name}"
    config = keras.saving.serialize_keras_object(model)
    optimizer = (config.get("compile_config") or {}).get("optimizer")
    if ("MP002" in codes or "MP013" in codes and wrap) and isinstance(optimizer, dict):
        wrapper = keras.optimizers.LossScaleOptimizer(
            keras.optimizers.deserialize(optimizer)
        )
        config["compile_config"]["optimizer"] = keras.optimizers.serialize(wrapper)
    return config


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
