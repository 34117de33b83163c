"""What the course needs of this machine, looked at in under 20 s: `python -m
course_utils check`.

It loads nothing but Python itself, so that it can say what is missing.
"""

import contextlib
import importlib.metadata
import importlib.util
import os
import platform
import re
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

from course_utils import hardware, processes, session
from course_utils.hardware.accelerators import CPU_ALONE
from course_utils.records import SWITCHES

COURSE = "mixed-precision-measured"  # as pip calls it
SECONDS = 17  # for what may hang: TensorFlow, a GPU
MEMORY = 3e9  # bytes: notebook 07 with its workers takes 1.8 GB, a browser the rest
# the course's own
PYTHON = r".venv\Scripts\python" if os.name == "nt" else ".venv/bin/python"
INSTALL = (
    "`make lab` (on Windows as docs/platforms.md says), then "
    f"`{PYTHON} -m course_utils check`"
)
Rows = Iterator[tuple[str, str, str]]  # rows of the table, without the name
LINE = "{:5} │ {:10} │ {:40} │ {}"


def run() -> int:
    """Prints a table of what is here, each row once it is known, with a fix for each
    fault; 1 if there is one, else 0.
    """
    rows = {probe: [] for probe in (python, packages, tensorflow, machine, memory)}
    deadline = time.monotonic() + SECONDS
    threads = [processes.thread(_ask, *each) for each in rows.items()]
    _show("", "", "found here", "what to do")
    faults = 0
    for thread, (probe, results) in zip(threads, rows.items(), strict=True):
        thread.join(max(0, deadline - time.monotonic()))
        if thread.is_alive():
            state = f"slow to start: no answer in {SECONDS} s"
            results = [("note", state, "try again: the second start is faster")]
        for mark, finding, way in results:
            _show(mark, probe.__name__, finding, way)
            if mark == "fault":
                faults += 1
    if faults:
        print(f"{faults} to mend, from the top.")
        return 1
    print("All that the course needs is here.")
    return 0


def _show(mark, what, finding, way):
    for part in textwrap.wrap(finding, 40):
        print(LINE.format(mark, what, part, way).rstrip(" │"), flush=True)
        mark = what = way = ""


def _ask(probe, rows):
    """Each probe yields (mark, what was found, what to do) for one thing or for
    several.
    """
    try:
        rows.extend(probe())
    except Exception as error:  # a broken machine breaks in ways that nobody thought of
        rows.append(
            ("fault", f"{type(error).__name__}: {error}", "mend what this says")
        )


def python() -> Rows:
    """Its version, and where it lies."""
    fits = (3, 11) <= sys.version_info[:2] <= (3, 13)
    state = f"{platform.python_version()}, {sys.executable}"
    if fits:
        yield "ok", state, ""
    else:
        way = "`make lab PYTHON=/path/to/python`, with one from 3.11 to 3.13"
        yield "fault", state, way


def packages() -> Rows:
    """Those of requirements.txt that are missing or out of their range."""
    if not importlib.util.find_spec("packaging"):  # which Keras needs too
        return (yield "fault", "the packages are missing", INSTALL)
    from packaging.requirements import Requirement

    try:
        requirements = [
            Requirement(text) for text in importlib.metadata.requires(COURSE) or []
        ]
    except importlib.metadata.PackageNotFoundError:
        return (yield "fault", "the course is not installed in this Python", INSTALL)
    have = {each.name: _version(each.name) for each in requirements}
    bad = [each for each in requirements if have[each.name] not in each.specifier]
    missing = [each.name for each in bad if not have[each.name]]
    if len(missing) > len(requirements) / 2:  # of another Python than the course's
        state = f"{len(missing)} of {len(requirements)} are missing, {missing[0]} among them"
        return (yield "fault", state, INSTALL)
    yield (
        "ok",
        f"{len(requirements) - len(bad)} of {len(requirements)} as requirements.txt wants them",
        "",
    )
    for each in bad:
        state = have[each.name] or "is missing"
        mark, way = "fault", f'{sys.executable} -m pip install "{each}"'
        if session.on_colab() and each.name in missing:
            mark, way = "note", "notebooks run without it, or install it"
        yield mark, f"{each.name} {state}", way


def _version(package):
    """The version of an installed package, or ""; TensorFlow goes by several names."""
    names = {"tensorflow": ["tensorflow", "tensorflow-tpu", "tensorflow-cpu"]}
    for name in names.get(package, [package]):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(name)
    return ""


def tensorflow() -> Rows:
    """TensorFlow imported, and a product computed, in a process of its own."""
    if not importlib.util.find_spec("tensorflow"):
        return (yield "fault", "it is not installed", INSTALL)
    # Long enough for `run` to say first that TensorFlow is slow to start.
    patience = 2 * SECONDS
    outcome = processes.call(_product, variables=CPU_ALONE, timeout=patience)
    state, backend = outcome.result or (outcome.problem, "tensorflow")
    way = f"{sys.executable} -m pip install --force-reinstall -r requirements.txt"
    if backend != "tensorflow":
        state = f"Keras computes with {backend}"
        way = "unset KERAS_BACKEND, or mend `backend` in ~/.keras/keras.json"
    good = not outcome.problem and backend == "tensorflow"
    yield "ok" if good else "fault", state, "" if good else way


def _product():
    import tensorflow as tf

    ones = tf.ones((8, 8))
    if float(tf.matmul(ones, ones)[0, 0]) != 8:
        raise ArithmeticError("a product of matrices is wrong")
    return (
        f"{tf.__version__} and Keras {tf.keras.__version__} compute",
        tf.keras.backend.backend(),
    )


def machine() -> Rows:
    """CPU, GPUs and TPU cores, and settings that change what they do."""
    here = hardware.detect()
    yield "ok", f"{here.cpu}, {hardware.counted(here.cores)}", ""
    for each in here.accelerators:
        yield "ok" if each.works else "note", f"{each.kind} {each.name}", each.problem
    if not here.accelerators:
        yield "ok", "no GPU: every notebook runs without one", ""
    for name in filter(os.environ.get, SWITCHES):
        state = f"{name}={os.environ[name]}"
        if name.endswith("ISA") and hardware.bfloat16_ends_the_process(here):
            yield "fault", state, "unset it: bfloat16 ends the kernel"
        else:
            yield "note", state, "it changes what you will measure"


def memory() -> Rows:
    """What is free, in the machine or in the container around this process."""
    free = []
    with contextlib.suppress(OSError, ValueError):  # no Linux, or a container's "max"
        text = Path("/proc/meminfo").read_text()
        free += [1024 * int(kib) for kib in re.findall(r"MemAvailable: *(\d+)", text)]
        group = Path("/sys/fs/cgroup")
        limit = int((group / "memory.max").read_text())
        free.append(limit - int((group / "memory.current").read_text()))
    enough = free and min(free) >= MEMORY
    way = (
        ""
        if enough
        else f"{MEMORY / 1e9:g} GB should be: close programs and other kernels"
    )
    size = f"{min(free) / 1e9:.1f} GB free" if free else "this system does not tell"
    yield "ok" if enough else "note", size, way
