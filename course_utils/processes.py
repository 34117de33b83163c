"""Processes: started, watched, and ended for certain.

A process started here is the head of a group of its own, so Ctrl-C in the notebook does
not reach it: whoever starts it stops it. If the one who started it dies, however
suddenly, a Python script or function started here ends as well: a pipe between the two
breaks, and a thread sees that.
"""

import collections
import contextlib
import gc
import json
import os
import pkgutil
import queue
import runpy
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from course_utils.errors import OneLineError, last_error

CHILD = (
    "import sys; from course_utils import processes; processes._child(*sys.argv[1:])"
)
# a printed line that begins so hands back a process's result, as JSON
RESULT = "RESULT "
LINES = 400  # of an error stream that are kept


class ProcessError(OneLineError, RuntimeError):
    """A process did not do what it was started for."""


class Interrupted(OneLineError, KeyboardInterrupt):
    """The person interrupted, and every process was stopped."""


@dataclass(frozen=True)
class Outcome:
    """What `run` or `call` came to."""

    # what the function returned or the script handed back; None if it did not
    result: Any
    printed: str  # to its standard output, native code included
    problem: str  # one sentence on why it failed, else ""


def call(
    function: Callable[..., object] | str,
    arguments: dict[str, Any] | None = None,
    variables: Mapping[str, str | None] | None = None,
    timeout: float = 120,
) -> Outcome:
    """Call a function of a module, or "module:function", in a process of its own; see
    `run`.

    Its arguments, by name, and what it returns have to fit into JSON. A function of a
    notebook cannot be imported: put it into a file.

    Example:
        >>> call("platform:python_implementation").result
        'CPython'
    """
    return run(_calling(function, arguments or {}), variables, timeout)


def run(
    command: list[str],
    variables: Mapping[str, str | None] | None = None,
    timeout: float = 120,
) -> Outcome:
    """Run a command to its end, or end it; what goes wrong is told and not raised.

    `variables` are set in its environment, or unset if None; after `timeout` seconds it
    is killed, with all that it has started.

    Example: `run(script("train.py", 3), timeout=60).result`.
    """
    try:
        process = start(command, variables)
    except ProcessError as error:
        return Outcome(None, "", str(error))
    printed = []
    problem = ""
    deadline = time.monotonic() + timeout
    try:
        for _, line in watch([process]):
            if time.monotonic() > deadline:
                problem = f"It was stopped after {timeout:g} seconds."
                break
            if line is not None:
                printed.append(f"{line}\n")
    finally:
        stop([process], grace=0)
    if process.returncode and not problem:
        problem = f"Its process {ending(process)}."
    return Outcome(None if problem else process.result, "".join(printed), problem)


def script(path: str | os.PathLike[str], *arguments: object) -> list[str]:
    """The command that runs a Python script, which can import `course_utils`."""
    return _calling(run_script, {"arguments": [str(path), *map(str, arguments)]})


class Process(subprocess.Popen):
    """A process with its `result` and the last lines of its errors."""

    # `communicate` would close it. It is open as long as somebody keeps the object.
    lifeline: Any
    result: Any = None
    errors: collections.deque


def start(
    command: list[str], variables: Mapping[str, str | None] | None = None
) -> Process:
    """Start a process, its output and errors piped as text; ProcessError if that cannot
    be.
    """
    own = {**os.environ, "PYTHONUNBUFFERED": "1", **(variables or {})}
    try:
        process = Process(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            env={name: str(value) for name, value in own.items() if value is not None},
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # Windows
        )
    except OSError as error:
        raise ProcessError(
            f"{command[0]} could not be started ({error.strerror}): check its name and the folder."
        ) from None
    process.lifeline, process.stdin = process.stdin, None
    process.errors = collections.deque(maxlen=LINES)
    return process


def thread(function: Callable[..., object], *arguments: object) -> threading.Thread:
    """Start a thread that ends with this process."""
    new = threading.Thread(target=function, args=arguments, daemon=True)
    new.start()
    return new


def watch(
    processes: Sequence[Process],
) -> Iterator[tuple[Process | None, str | None]]:
    """What processes from `start` print, until all have ended.

    Yields (process, line) for a line, (process, None) once it has ended, with all that
    it left behind, and (None, None) every 0.2 s of silence. Lines of error streams go
    into `process.errors`; what `print("RESULT", json.dumps(...))` hands back is
    `process.result`.
    """
    # an interrupt of its wait stays one
    news = queue.SimpleQueue()
    running = len(processes)
    for each in processes:
        thread(_follow, each, news)
    while running:
        try:
            # In short waits: on some systems an interrupt does not end a wait.
            process, line = news.get(timeout=0.2)
        except queue.Empty:
            process, line = None, None
        if process is not None and line is None:
            running -= 1
        yield process, line


def stop(
    processes: Sequence[subprocess.Popen], grace: float = 5.0
) -> list[subprocess.Popen]:
    """End processes, and what they have started: SIGTERM, and after `grace` seconds
    SIGKILL.

    An interrupt cuts this time short. Returns those that SIGTERM did not end.
    """
    alive = [p for p in processes if p.poll() is None]
    try:
        for process in alive:
            process.terminate()
        deadline = time.monotonic() + grace
        while any(p.poll() is None for p in alive) and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        stubborn = [p for p in alive if p.poll() is None]
        for process in stubborn:
            process.kill()
            process.wait()
            _kill_group(process)
    return stubborn


def ending(process: Process) -> str:
    """How a process ended: "ended with exit code 1 (ValueError: no data)"."""
    code = process.returncode
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    why = last_error("".join(process.errors))
    return f"ended with exit code {code}" + (f" ({why})" if why else "")


def _calling(function, arguments):
    """The command that calls a function with this Python."""
    if not isinstance(function, str):
        function = f"{function.__module__}:{function.__qualname__}"
    return [sys.executable, "-c", CHILD, function, json.dumps(arguments)]


def _child(name, arguments):
    """In the process started: calls the function, and prints what it returns."""
    # The parent never writes to this process's standard input, so its end is the
    # parent's end.
    pipe = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    thread(_end_with_parent, pipe)
    # Most of what it makes are imports, which hold no garbage: search them seldom, and
    # not once more at the end. TensorFlow's import and end took two thirds of the time.
    gc.set_threshold(50_000, 20, 20)
    try:
        result = pkgutil.resolve_name(name)(**json.loads(arguments))
        if result is not None:
            # native code may have begun a line
            print(f"\n{RESULT}{json.dumps(result)}")
        gc.freeze()
    except Exception:
        # End at once: leaving TensorFlow in good order waits for the other workers of a
        # cluster.
        traceback.print_exc()
        os._exit(1)


def run_script(arguments: list[str]) -> None:
    """Run a Python script in this process, as Python does: its path, its arguments."""
    sys.argv = arguments
    sys.path[:0] = [os.path.dirname(os.path.abspath(arguments[0]))]
    runpy.run_path(arguments[0], run_name="__main__")


def _end_with_parent(pipe):
    while os.read(pipe, 1):
        pass
    if os.name == "posix" and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


def _follow(process, news):
    """In a thread: what a process prints, and its end, go into a queue."""
    readers = [
        thread(_read_lines, process, news),
        thread(process.errors.extend, process.stderr),
    ]
    process.wait()
    _kill_group(process)  # or what it left behind keeps the pipes open
    for reader in readers:
        reader.join(2)
    process.lifeline.close()
    news.put((process, None))


def _read_lines(process, news):
    for line in process.stdout:
        if line.startswith(RESULT):
            with contextlib.suppress(ValueError):  # printed by somebody else
                process.result = json.loads(line.removeprefix(RESULT))
                continue
        news.put((process, line.rstrip("\n")))


def _kill_group(process):
    """Kill what a process has left behind, before its number is given again."""
    if os.name == "posix":
        # macOS answers PermissionError for a group whose last members are not waited
        # for.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
