"""The command: what a saved model or a script does wrong in 16 bits.

    mixed-precision-lint examine model.keras train.py

A .keras file is loaded as `keras.saving.load_model` does it in safe mode, without its
optimizer and its loss. It holds a configuration and no source, so only built-in layers
are examined. A script is read, and executed if that is asked for (`--run`). What loads
Keras has a process of its own.
"""

import argparse
import json
import pkgutil
import shlex
import statistics
import sys
import tomllib
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

from mixed_precision_lint import formats, isolated, script
from mixed_precision_lint.finding import CODES, RETIRED
from mixed_precision_lint.one_line import one_line

LOADING = 60  # seconds for starting Python, and for examining what a script has built
TABLE = "mixed-precision-lint"  # in pyproject.toml, below [tool]


def main(arguments: list[str] | None = None, machine: str = "") -> int:
    """Runs the command and returns its exit status: 0 without errors and warnings, 1
    with any, 2 if one of the files could not be examined.

    `machine` names the function that `rules.examine` asks, "module:function".
    """
    parser = argparse.ArgumentParser(prog=TABLE, description=__doc__.split("\n\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    examine = commands.add_parser(
        "examine", help="look for mixed-precision mistakes in saved models and scripts"
    )
    examine.add_argument(
        "files", nargs="+", type=Path, help=".keras files, or scripts (.py)"
    )
    examine.add_argument(
        "--run", action="store_true", help="run the scripts, and examine their models"
    )
    examine.add_argument(
        "--seconds", type=_seconds, default=60, help="the most that one may run (60)"
    )
    examine.add_argument(
        "--ignore",
        type=lambda text: text.replace(",", " ").split(),
        help="codes that are not to be told, such as MP010,MP012 (else those of "
        f"pyproject.toml: [tool.{TABLE}] ignore)",
    )
    examine.add_argument(
        "--format",
        choices=formats.FORMATS,
        default="text",
        help="text, json, or github: annotations in a workflow",
    )
    commands.add_parser("rules", help="list the rules by their codes")
    options = parser.parse_args(arguments)
    if options.command == "rules":
        print("\n".join(f"{code} {meaning}" for code, meaning in CODES.items()))
        return 0
    try:
        ignore = settings(Path.cwd()) if options.ignore is None else options.ignore
        if unknown := [code for code in ignore if code not in (*CODES, *RETIRED)]:
            raise ValueError(f"There is no rule {unknown[0]}: `rules` lists them.")
        return examine_files(options, ignore, machine)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130  # as shells tell it


def _seconds(text):
    if not 1 <= float(text) <= 3600:
        raise argparse.ArgumentTypeError(f"{text} is not from 1 to 3600")
    return float(text)


def settings(folder: Path) -> list[str]:
    """The codes that the nearest pyproject.toml at or above a folder switches off.

    Raises ValueError where its table has anything else than a list of codes.
    """
    for place in (folder, *folder.parents):
        file = place / "pyproject.toml"
        if not file.is_file():
            continue
        try:
            project = tomllib.loads(file.read_text("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{file} is no TOML: {error}.") from None
        tools = project.get("tool", {})
        table = tools.get(TABLE, {}) if isinstance(tools, dict) else {}
        codes = table.get("ignore", []) if isinstance(table, dict) else None
        if not isinstance(codes, list) or set(table) - {"ignore"}:
            raise ValueError(
                f'{file}: [tool.{TABLE}] knows one entry, ignore = ["MP010", ...].'
            )
        return list(map(str, codes))
    return []


def examine_files(
    options: argparse.Namespace, ignore: Collection[str], machine: str = ""
) -> int:
    """Examine the files that the options name, print the findings, and return the exit
    status.

    Why something cannot be examined, and all that is no finding, goes to stderr.
    """
    status = 0
    results = []
    for path in options.files:
        result = examine_file(path, options.run, options.seconds, ignore, machine)
        results.append(result)
        for text in filter(None, (result["problem"], result["note"])):
            print(text, file=sys.stderr)
        if options.format != "json":
            formats.show(result, options.format, len(options.files) > 1)
        status = max(status, result["status"])
    if options.format == "json":
        print(json.dumps({"files": results}, indent=1))
    return status


def examine_file(
    path: Path,
    execute: bool = False,
    seconds: float = 60,
    ignore: Collection[str] = (),
    machine: str = "",
) -> dict[str, Any]:
    """What is to be said of a .keras file, of the source of a script, or of each model
    that it builds when it is executed for some seconds.

    A dict: "file", "status" (as `main`'s), "problem" and "note" (sentences, or "") and
    "models", a list of {"name", "class", "findings"}.

    >>> examine_file(Path("missing.keras"))["problem"]
    'There is no file missing.keras.'
    """
    result: dict[str, Any] = {"file": str(path), "status": 2, "problem": refusal(path)}
    result |= {"note": "", "models": []}
    if result["problem"]:
        return result
    if path.suffix == ".py":
        try:
            findings = [each for each in script.read(path) if each.code not in ignore]
        except (SyntaxError, ValueError) as error:
            result["problem"] = f"{path} is no Python that can be run: {error}."
            return result
        except (OSError, RecursionError, MemoryError) as error:
            kind = type(error).__name__
            result["problem"] = (
                f"{path} could not be read ({kind}): examine a smaller part."
            )
            return result
        if not execute:
            result["note"] = (
                f"Nothing was executed: `examine --run {shlex.quote(str(path))}` runs it and "
                "examines the models it builds."
            )
            read = script.described(path, findings) | {"class": ""}
            return result | _judged([read])
    print(f"Examining {path}, at most {seconds:g} s ...", file=sys.stderr)
    kind = "script:run" if path.suffix == ".py" else "command:saved"
    arguments = {"path": str(path), "seconds": seconds, "ignore": list(ignore)}
    outcome = isolated.call(
        f"{__package__}.{kind}", arguments | {"machine": machine}, seconds + LOADING
    )
    answer = outcome.result or {"problem": outcome.problem, "models": []}
    if answer["problem"]:
        result["problem"] = f"{path}: {answer['problem'].strip()}"
    return result | (_judged(answer["models"]) if answer["models"] else {})


def _judged(models):
    """What follows for the status from models' findings."""
    severities = {f["severity"] for model in models for f in model["findings"]}
    return {"models": models, "status": int(bool(severities - {"advice"}))}


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
    if not path.is_file():
        return f"{path} is no file: name a .keras file or a script (.py)."
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


def saved(
    path: str, seconds: float, ignore: Collection[str] = (), machine: str = ""
) -> dict[str, Any]:
    """In a process of its own: examine the model in a .keras file.

    Gives {"problem", "models"} as `script.run` does. Only a script has to stop by
    itself after some seconds.
    """
    import keras  # late, as all that reading a script need not wait for

    from mixed_precision_lint.layers import walk
    from mixed_precision_lint.rules import examine

    try:
        model = keras.saving.load_model(path, compile=False, safe_mode=True)
    except Exception as error:  # whatever Keras and the layers in the file raise
        # The innermost reason comes last, after the configuration.
        reason = str(error).rpartition("Exception encountered: ")[2]
        problem = (
            f"Keras cannot load it ({one_line(reason)}): call "
            "mixed_precision_lint.examine(model) on the model itself."
        )
        return {"problem": problem, "models": []}
    # A file does not hold the policy of the model itself: take that of most layers.
    policies = [place.layer.dtype_policy.name for place in walk(model)]
    model.dtype_policy = statistics.mode(policies or ["float32"])
    here = pkgutil.resolve_name(machine) if machine else None
    findings = examine(model, ignore=ignore, machine=here)
    return {"problem": "", "models": [script.described(model, findings)]}
