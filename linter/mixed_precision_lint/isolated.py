"""A function called in a process of its own, which may crash or hang there."""

import json
import os
import pkgutil
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path
from typing import Any, NamedTuple

from mixed_precision_lint.one_line import one_line

CHILD = (
    "import sys; from mixed_precision_lint.isolated import child; child(*sys.argv[1:])"
)
# No log, no windows, and of a GPU no more memory than is needed.
VARIABLES = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "MPLBACKEND": "agg",
    "TF_FORCE_GPU_ALLOW_GROWTH": "true",
}
ERROR = re.compile(r"(?:[a-zA-Z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit): .*")


class Outcome(NamedTuple):
    """What a call came to."""

    result: Any  # what the function returned; None if it did not
    problem: str  # one sentence on why it did not, else ""


def call(function: str, arguments: dict, seconds: float) -> Outcome:
    """Call "module:function" with arguments by name; after some seconds it is killed,
    with all that it has started.

    The arguments and the result have to fit into JSON. What it prints is dropped.

    >>> call("platform:python_implementation", {}, seconds=60).result
    'CPython'
    """
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "answer.json")
        command = [sys.executable, "-P", "-c", CHILD, function, json.dumps(arguments)]
        with open(Path(folder, "errors.txt"), "w+", errors="replace") as errors:
            process = subprocess.Popen(
                [*command, str(answer)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env={**os.environ, **VARIABLES},
                start_new_session=True,
            )
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                return Outcome(None, f"It was stopped after {seconds:g} seconds.")
            finally:
                _kill(process)
            errors.seek(0)
            text = errors.read()
        if answer.exists():
            return Outcome(json.loads(answer.read_text("utf-8")), "")
        return Outcome(None, _ending(process.returncode, text))


def reason(errors: str) -> str:
    """The error at the end of a traceback, in one line, or "".

    >>> reason("Traceback (most recent call last):\\n  File ...\\nKeyError: 'x'\\n")
    "KeyError: 'x'"
    """
    lines = (line.strip() for line in reversed(errors.splitlines()))
    return next((one_line(line) for line in lines if ERROR.fullmatch(line)), "")


def _ending(code, errors):
    if code < 0:
        return f"Its process was ended by {signal.Signals(-code).name}."
    if code == 0:
        return "It ended its process."
    why = reason(errors)
    return f"Its process ended with exit code {code}" + (f" ({why})." if why else ".")


def _kill(process):
    """End a process, and on POSIX what it has started."""
    if os.name == "posix":
        try:
            os.killpg(process.pid, signal.SIGKILL)
        # macOS answers PermissionError for a group whose last members have ended.
        except (ProcessLookupError, PermissionError):
            pass
    process.kill()
    process.wait()


def child(name: str, arguments: str, answer: str) -> None:
    """In the process started: call the function, and write what it returns to a file."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    try:
        result = pkgutil.resolve_name(name)(**json.loads(arguments))
        Path(answer).write_text(json.dumps(result), encoding="utf-8")
    except Exception:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)  # with whatever threads a script has left


def _end_with(parent):
    """End this process when the one that started it is gone."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
