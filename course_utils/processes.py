"""Processes that are started, and stopped for certain.

A process started here is the head of a group of its own, so Ctrl-C in the notebook does not reach
it: whoever starts it stops it, with `stop`. If the one who started it dies, however suddenly, a
Python script started here ends as well: a pipe between the two breaks, and a thread sees that.
"""

import contextlib
import os
import re
import runpy
import signal
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHILD = (
    "import sys; sys.path.insert(0, sys.argv.pop(1));"
    "from course_utils import processes; processes._run_script()"
)
ERROR = re.compile(r"(?:[a-zA-Z_]\w*\.)*([A-Z]\w*(?:Error|Exception|Interrupt|Exit)): (.*)")
NOT_TOLD = ("Detected at node", "File ", "in ", "The above exception")


class ProcessError(RuntimeError):
    """A process did not do what it was started for; one sentence says what to do.

    A notebook shows the sentence without a traceback.
    """

    def _render_traceback_(self):
        return [str(self)]


class Interrupted(KeyboardInterrupt):
    """The person interrupted, and every process was stopped; one sentence says so."""

    def _render_traceback_(self):
        return [str(self)]


def script(path, *arguments) -> list[str]:
    """The command that runs a Python script with this Python, and ends it when this process ends.

    The script can import `course_utils`.

    Example:
        >>> script("train.py", 3)[-2:]
        ['train.py', '3']
    """
    return [sys.executable, "-c", CHILD, str(ROOT), str(path), *map(str, arguments)]


def start(command: list[str], environment: dict | None = None, **options) -> subprocess.Popen:
    """Start a process in a group of its own, with its output and errors piped as text.

    Args:
        command: the program and its arguments, for example from `script`.
        environment: variables to set beside those of this process; None removes one.
        options: passed on to `subprocess.Popen`; leave its `stdin` alone.

    Raises:
        ProcessError: the program cannot be started.
    """
    variables = {**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})}
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    if os.name == "posix":
        group = {"start_new_session": True}
    else:
        group = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    try:
        process = subprocess.Popen(
            command,
            env={name: str(value) for name, value in variables.items() if value is not None},
            **{**pipes, "encoding": "utf-8", "errors": "replace", **group, **options},
        )
    except OSError as error:
        raise ProcessError(
            f"{command[0]} could not be started ({error.strerror}): check its name and the folder."
        ) from None
    # `communicate` would close it. It is open as long as somebody keeps the process's object.
    process.lifeline, process.stdin = process.stdin, None
    return process


def stop(processes, grace: float = 5.0) -> list[subprocess.Popen]:
    """End processes, and what they have started: SIGTERM, and after some seconds SIGKILL.

    Args:
        processes: from `start`; nothing is done to those that have ended.
        grace: seconds that they have to end after SIGTERM. An interrupt cuts this time short.

    Returns:
        Those that SIGTERM did not end.
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
        for process in alive:
            kill(process)
    return stubborn


def kill(process: subprocess.Popen):
    """Kill a process from `start` and its group at once, and wait for its end."""
    if process.poll() is None:
        process.kill()
        process.wait()
        kill_group(process)


def kill_group(process: subprocess.Popen):
    """Kill what a process has left behind; call it right after its end.

    Later on its number could be that of another one.
    """
    if os.name == "posix":
        # The group is there as long as somebody is in it; macOS answers PermissionError for one
        # whose last members are dead and not waited for.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def ending(process: subprocess.Popen, errors: str = "") -> str:
    """How a process ended, in a few words.

    Args:
        process: one that has ended.
        errors: what it wrote to its error stream.

    Example: "ended with exit code 1 (ValueError: no data)", "was ended by SIGKILL".
    """
    code = process.returncode
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"was ended by {signal.Signals(-code).name}"
    why = reason(errors)
    return f"ended with exit code {code}" + (f" ({why})" if why else "")


def reason(errors: str) -> str:
    """The error at the end of a traceback, in one line; "" if there is none.

    TensorFlow says "Graph execution error:" or "in user code:" and comes to the point some lines
    below, in the second case with an error of its own.

    Example:
        >>> reason("Traceback (most recent call last):\\n  File ...\\nKeyError: 'x'\\n")
        "KeyError: 'x'"
    """
    lines = errors.rstrip().splitlines()
    for number in range(len(lines) - 1, -1, -1):
        found = ERROR.fullmatch(lines[number].strip())
        if not found:
            continue
        kind, what = found.groups()
        if what.startswith("Graph execution error"):
            below = (line.strip() for line in lines[number + 1 :])
            what = next((w for w in below if w and not w.startswith(NOT_TOLD)), what)
        return f"{kind}: {what.strip()[:200]}"
    return ""


def end_with_parent():
    """For a process from `start`: call it first, and this process ends when its parent does.

    The parent never writes to the pipe that is this process's standard input, so an end of that
    pipe is the end of the parent. Afterwards standard input is empty.
    """
    pipe, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    threading.Thread(target=_watch, args=(pipe,), daemon=True).start()


def _watch(pipe):
    while os.read(pipe, 1):
        pass
    if os.name == "posix" and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


def _run_script():
    """The other side of `script`."""
    end_with_parent()
    sys.argv = sys.argv[1:]
    sys.path[:0] = [os.path.dirname(os.path.abspath(sys.argv[0]))]
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except Exception:
        # End at once: leaving TensorFlow in good order waits for the other workers of a cluster.
        traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)
