"""A function in a process of its own: started, waited for, ended, and its result read."""

import importlib
import json
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_utils import processes

CHILD = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from course_utils.legs import process; process.child(*sys.argv[2:])"
)
LONGEST = 200  # characters of somebody else's message in a sentence


@dataclass(frozen=True)
class Outcome:
    """What a call in a process of its own came to.

    Attributes:
        result: what the function returned, as JSON keeps it; None if it did not return.
        printed: what the process wrote to its standard output, native code included.
        problem: one sentence on why there is no result, else "".
        seconds: how long the process took, its imports included.
    """

    result: Any
    printed: str
    problem: str
    seconds: float


def call(function, arguments=None, variables=None, timeout: float = 120) -> Outcome:
    """Calls a function in a new process and ends that process, whatever happens.

    Args:
        function: a function of a module, or its name as "module:function". What it returns has
            to fit into JSON. A function of a notebook cannot be imported: put it into a file.
        arguments: its arguments by name, such as JSON can hold.
        variables: environment variables of the process: text, or None to unset one.
        timeout: seconds after which the process is ended.

    Raises:
        ValueError: the function has no module to import it from.
        processes.ProcessError: Python could not be started.

    Example:
        >>> call("platform:python_implementation").result
        'CPython'
    """
    with tempfile.TemporaryDirectory(prefix="leg-") as folder:
        result, printed, errors = (Path(folder, name) for name in ("result", "printed", "errors"))
        command = [sys.executable, "-c", CHILD, str(processes.ROOT), _name(function)]
        command += [json.dumps(arguments or {}), str(result)]
        start = time.perf_counter()
        with open(printed, "wb") as out, open(errors, "wb") as err:
            process = processes.start(command, variables, stdout=out, stderr=err)
            problem = ""
            try:
                process.wait(timeout)
            except subprocess.TimeoutExpired:
                problem = f"It was stopped after {timeout:g} seconds."
            finally:
                processes.kill(process)
        seconds = time.perf_counter() - start
        found = _read(result)
        if not found:
            problem = problem or f"Its process {processes.ending(process, _text(errors))}."
        problem = problem or found.get("problem", "")
        return Outcome(None if problem else found["result"], _text(printed), problem, seconds)


def sentence(error: Exception) -> str:
    """One sentence on an exception; of TensorFlow's long ones the part that says why.

    Example:
        >>> sentence(ValueError("so not"))
        'It raised ValueError: so not'
    """
    text = " ".join(str(error).split())
    why = re.search(r"message: (.+?)(?:\. |, in file|$)", text)  # oneDNN's, in the middle
    text = why[1] if why else text
    return f"It raised {type(error).__name__}: {text[:LONGEST]}{'…' * (len(text) > LONGEST)}"


def child(name: str, arguments: str, path: str):
    """The other side of `call`: calls the function and leaves its result in a file."""
    processes.end_with_parent()
    try:
        module, function = name.split(":")
        value = importlib.import_module(module)
        for part in function.split("."):
            value = getattr(value, part)
        text = json.dumps({"result": value(**json.loads(arguments))})
    except Exception as error:
        text = json.dumps({"problem": sentence(error)})
    Path(path).write_text(text, encoding="utf-8")


def _name(function):
    if isinstance(function, str) and re.fullmatch(r"[\w.]+:[\w.]+", function):
        return function
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    if not callable(function) or module in (None, "__main__") or not name or "<" in name:
        raise ValueError(
            f"{function!r} cannot be called in another process: give a function of a module, "
            'or its name as "module:function".'
        )
    return f"{module}:{name}"


def _read(path):
    try:
        return json.loads(_text(path))
    except ValueError:
        return {}


def _text(path):
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
