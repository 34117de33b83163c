"""`python -m course_utils examine model.keras`: what a saved model does wrong in 16 bits.

The file is loaded as `keras.saving.load_model` does it in safe mode, under the dtype policy that it
was saved under. It holds a configuration and no source, so only built-in layers are examined.

`--fix` changes no file. It prints the repair as a unified diff of the file's config.json, where the
repair is mechanical:

    MP001          the layer at the end gets the policy float32
    MP002, MP013   the optimizer is wrapped in a LossScaleOptimizer
    MP008          a policy float16 becomes mixed_float16, and bfloat16 mixed_bfloat16
    MP009          a UnitNormalization gets the policy float32

Everything else is for you to decide.
"""

import collections
import copy
import difflib
import json
import re
import sys
import warnings
import zipfile
from pathlib import Path

PURE = {"float16": "mixed_float16", "bfloat16": "mixed_bfloat16"}
WRAPPERS = "LossScaleOptimizer", "ReplicaSafeLossScaleOptimizer"


class FileError(Exception):
    """A file that cannot be examined; the message is one sentence for the learner."""


def run(path, fix: bool = False) -> int:
    """Prints the findings about a file, one a line, and with `fix` a diff that repairs them.

    Args:
        path: a .keras file.
        fix: whether to print the diff too.

    Returns:
        0 without errors and warnings, 1 with any, 2 if the file could not be examined (why goes to
        stderr).

    Example: `run("model.keras")` prints
        MP001 error dense_2: The probabilities come out in float16, so … Fix: Dense(…)
    """
    from course_utils.precision.findings import examine

    try:
        config = read_config(path)
        saved = stored_policy(config)
        model = _load(path, saved)
    except FileError as error:
        print(error, file=sys.stderr)
        return 2
    # Only loss scaling depends on the policy that is in force while the file is loaded.
    relies = saved == "mixed_float16" and model.compiled and not _is_wrapped(config)
    findings = examine(model, saved_policy=saved if relies else None)
    for finding in findings:
        print(finding)
    if not findings:
        print("Nothing found.")
    if fix:
        print(diff(config, repaired(config, findings)) or "Nothing can be repaired mechanically.")
    return int(any(finding.severity != "advice" for finding in findings))


def read_config(path) -> dict:
    """The configuration of the model in a .keras file.

    Raises:
        FileError: there is no such file, or it is no .keras file.
    """
    path = Path(path)
    if not path.exists():
        raise FileError(f"There is no file {path}: give the path of a .keras file.")
    problem = FileError(f"{path} is not a .keras file: save the model with model.save(name.keras).")
    if path.suffix != ".keras":
        raise problem
    try:
        with zipfile.ZipFile(path) as archive:
            config = json.loads(archive.read("config.json"))
    except (zipfile.BadZipFile, KeyError, ValueError, OSError, RuntimeError):
        raise problem from None
    if not isinstance(config, dict) or not isinstance(config.get("config"), dict):
        raise problem
    return config


def stored_policy(config) -> str | None:
    """The name of the dtype policy that a model was saved under.

    A Sequential and a subclassed model store it. A functional model does not: there it is the
    policy that most of its layers have.

    Example:
        >>> stored_policy({"config": {"dtype": "mixed_float16"}})
        'mixed_float16'
    """
    own = _policy(config)
    if own:
        return own
    names = [_policy(layer) for layer in _layers(config) if layer.get("class_name") != "InputLayer"]
    counted = collections.Counter(name for name in names if name)
    return counted.most_common(1)[0][0] if counted else None


def repaired(config, findings) -> dict:
    """A copy of a configuration with the mechanical repairs made."""
    new = copy.deepcopy(config)
    codes = {finding.code for finding in findings}
    for finding in findings:
        layer = _find(new, finding.layer)
        unit = layer and layer.get("class_name") == "UnitNormalization"
        if layer and (finding.code == "MP001" or finding.code == "MP009" and unit):
            layer["config"]["dtype"] = _as_config("DTypePolicy", {"name": "float32"}, "keras")
    if "MP008" in codes:
        for layer in [new, *_layers(new)]:
            name = _policy(layer)
            if name in PURE and layer.get("class_name") != "InputLayer":
                mixed = {"name": PURE[name]}
                layer["config"]["dtype"] = _as_config("DTypePolicy", mixed, "keras")
    optimizer = (new.get("compile_config") or {}).get("optimizer")
    # MP013 is about loss scaling only if the file was saved under this policy.
    scaling = "MP002" in codes or "MP013" in codes and stored_policy(config) == "mixed_float16"
    if scaling and isinstance(optimizer, dict) and not _is_wrapped(new):
        settings = {
            "name": "loss_scale_optimizer",
            "inner_optimizer": optimizer,
            "initial_scale": 32768.0,
            "dynamic_growth_steps": 2000,
        }
        wrapped = _as_config("LossScaleOptimizer", settings, "keras.optimizers")
        new["compile_config"]["optimizer"] = wrapped
    return new


def diff(old: dict, new: dict) -> str:
    """Two configurations, written out as JSON, as a unified diff; "" if they are equal."""
    texts = [json.dumps(config, indent=2).splitlines() for config in (old, new)]
    return "\n".join(
        difflib.unified_diff(*texts, "config.json", "config.json, repaired", lineterm="")
    )


def _load(path, policy):
    import keras

    import course_utils.replica_safe  # noqa: F401  so that Keras knows the course's own optimizer
    from course_utils.stepping import dtype_policy

    try:
        with warnings.catch_warnings(), dtype_policy(policy or keras.config.dtype_policy().name):
            warnings.simplefilter("ignore")  # about the state of the optimizer
            return keras.saving.load_model(path, safe_mode=True)
    except Exception as error:  # whatever the layers in the file raise
        text = str(error)
    unknown = re.search(r"Could not locate (?:class|function) '([^']+)'", text)
    if unknown:
        raise FileError(
            f"{path} needs {unknown[1]}, which is not part of Keras and whose source is not in the "
            "file: register the class with @keras.saving.register_keras_serializable(), and in a "
            "program that imports it call course_utils.examine.run(path), or "
            "course_utils.precision.examine(model) on the model."
        )
    if "Lambda" in text or "lambda" in text:
        raise FileError(
            f"{path} holds a Lambda layer, whose code could do anything once it is loaded: replace "
            "it by a layer class, or call course_utils.precision.examine(model) on the model."
        )
    raise FileError(f"Keras cannot load {path}: {' '.join(text.split())[:200]}")


def _policy(layer):
    """The name of the policy in a layer's configuration, or None."""
    dtype = layer["config"].get("dtype")
    if isinstance(dtype, dict) and isinstance(dtype.get("config"), dict):
        dtype = dtype["config"].get("name")
    return dtype if isinstance(dtype, str) else None


def _children(layer):
    layers = layer["config"].get("layers")
    found = [*(layers if isinstance(layers, list) else ()), layer["config"].get("layer")]
    return [c for c in found if isinstance(c, dict) and isinstance(c.get("config"), dict)]


def _layers(config):
    """The configurations of all layers, nested ones included."""
    for child in _children(config):
        yield child
        yield from _layers(child)


def _find(config, path):
    """The configuration of the layer at a path such as "encoder/dense", or None."""
    for name in path.split("/"):
        children = _children(config)
        config = next((c for c in children if c["config"].get("name") == name), None)
        if config is None:
            return None
    return config


def _is_wrapped(config):
    optimizer = (config.get("compile_config") or {}).get("optimizer")
    return isinstance(optimizer, dict) and optimizer.get("class_name") in WRAPPERS


def _as_config(kind, settings, module):
    return {"module": module, "class_name": kind, "config": settings, "registered_name": None}
