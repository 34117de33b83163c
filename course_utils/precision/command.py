"""`python -m course_utils examine FILE`: what a saved model or a script does wrong in 16
bits.

A .keras file is loaded as `keras.saving.load_model` does it in safe mode, without its
optimizer and its loss. It holds a configuration and no source, so only built-in layers
are examined. A script is read, and executed if that is asked for. What loads Keras has
a process of its own.
"""

import functools
import json
import statistics
import sys
import zipfile
from collections.abc import Collection
from pathlib import Path

from course_utils import processes
from course_utils.precision import script
from course_utils.precision.finding import show

LOADING = 60  # seconds for starting Python, and for examining what a script has built
# No log, no windows, and of a GPU no more memory than is needed.
VARIABLES = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "MPLBACKEND": "agg",
    "TF_FORCE_GPU_ALLOW_GROWTH": "true",
}


def run(
    path: Path,
    execute: bool = False,
    seconds: float = 60,
    ignore: Collection[str] = (),
) -> int:
    """Print the findings about a .keras file, about the source of a script, or about each
    model that it builds when it is executed for some seconds; one finding a line, none
    with a code of `ignore`.

    Returns 0 without errors and warnings, 1 with any, 2 if nothing could be examined.
    Why, and all that is no finding, goes to stderr.

    Example: `run(Path("model.keras"))` prints
        MP001 error dense_2: The probabilities come out in float16, so … Fix: Dense(…)
    """
    tell = functools.partial(print, file=sys.stderr)
    if problem := refusal(path):
        tell(problem)
        return 2
    if path.suffix == ".py":
        try:
            findings = [each for each in script.read(path) if each.code not in ignore]
        except (SyntaxError, ValueError) as error:
            tell(f"{path} is no Python that can be run: {error}.")
            return 2
        if not execute:
            tell(
                f"Nothing was executed: `examine --run {path}` runs it and examines the models "
                "it builds."
            )
            return show(findings)
    tell(f"Examining {path}, at most {seconds:g} s ...")
    function = script.run if path.suffix == ".py" else saved
    arguments = {"path": str(path), "seconds": seconds, "ignore": list(ignore)}
    outcome = processes.call(function, arguments, VARIABLES, seconds + LOADING)
    problem, status = outcome.result or (outcome.problem or "It ended its process.", 2)
    if problem:
        tell(f"{path}: {problem.strip()}")
    if text := outcome.printed.strip():
        print(text)
    return status


def refusal(path: Path) -> str:
    """Why a file cannot be examined, in one sentence; "" if it may be.

    Example:
        >>> refusal(Path("missing.keras"))
        'There is no file missing.keras.'
    """
    if not path.exists():
        return f"There is no file {path}."
    if path.is_dir():
        return f"{path} is a folder: name a .keras file or a script (.py) in it."
    if path.suffix == ".ipynb":
        return (
            f"{path} is a notebook: make a script of it, which can be examined, with "
            f"`jupyter nbconvert --to script {path}`."
        )
    if path.suffix in (".h5", ".hdf5"):
        return (
            f"{path} is an .h5 file, as Keras 2 wrote it: load it (with tf_keras, which is Keras "
            "2, if Keras 3 cannot), build the same model with Keras 3, hand over the weights "
            '(`set_weights`), and save that as "model.keras".'
        )
    if path.suffix not in (".keras", ".py"):
        return (
            f"{path} is neither a script (.py) nor a .keras file, as "
            '`model.save("model.keras")` makes it.'
        )
    if path.suffix == ".keras" and not zipfile.is_zipfile(path):
        return f"{path} is damaged: save the model again, or copy the file anew."
    if path.suffix == ".keras" and (version := _version(path)).startswith("2."):
        return (
            f"{path} is a file of Keras {version}: load it with tf_keras, which is Keras 2, build "
            "the same model with Keras 3, hand over the weights (`set_weights`), and save that."
        )
    return ""


def _version(path):
    """The version of Keras that saved a .keras file; "" if it does not tell."""
    try:
        with zipfile.ZipFile(path) as file:
            return str(json.loads(file.read("metadata.json"))["keras_version"])
    except (KeyError, ValueError, TypeError, zipfile.BadZipFile):
        return ""


def saved(path: str, seconds: float, ignore: Collection[str] = ()) -> tuple[str, int]:
    """In a process of its own: print the findings about a .keras file.

    Returns what is to be told about the file, and what `run` returns. Only a script has
    to stop by itself after some seconds.
    """
    import keras  # late, as all that reading a script need not wait for

    from course_utils.precision.layers import walk
    from course_utils.precision.rules import examine

    try:
        model = keras.saving.load_model(path, compile=False, safe_mode=True)
    except Exception as error:  # whatever Keras and the layers in the file raise
        # The innermost reason comes last, after the configuration.
        reason = str(error).rpartition("Exception encountered: ")[2]
        problem = (
            f"Keras cannot load it: {' '.join(reason.split())[:300]} … Or call "
            "course_utils.precision.examine(model) on the model itself."
        )
        return problem, 2
    # A file does not hold the policy of the model itself: take that of most layers.
    policies = [place.layer.dtype_policy.name for place in walk(model)]
    model.dtype_policy = statistics.mode(policies or ["float32"])
    return "", show(examine(model, ignore=ignore))
