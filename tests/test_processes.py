"""Processes that are stopped for certain, whatever they do and whoever dies."""

import _thread
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from course_utils import paths, processes
from course_utils.errors import last_error

posix = pytest.mark.skipif(
    os.name != "posix", reason="needs signals and process groups"
)

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
WAIT = "print(os.getpid(), flush=True); time.sleep(300)"
# A process that ignores SIGTERM and has started another one that does so too.
FAMILY = f"""
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import os, time;" {STUBBORN + WAIT!r}])
time.sleep(0.3)
{WAIT}
"""


def alive(pid):
    """Whether a process still runs; dead ones that nobody waits for do not."""
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True
    )
    return bool(state.stdout.strip()) and not state.stdout.strip().startswith("Z")


def all_gone(pids, seconds=5):
    """Whether processes end; a test that fails leaves none behind."""
    deadline = time.monotonic() + seconds
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    left = [pid for pid in pids if alive(pid)]
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return not left


@pytest.fixture
def family(tmp_path):
    """A process and its child, started as a script."""
    path = tmp_path / "family.py"
    path.write_text(FAMILY)
    process = processes.start(processes.script(path))
    pids = [int(process.stdout.readline()) for _ in range(2)]
    assert process.pid in pids and all(map(alive, pids))
    yield process, pids
    all_gone(pids, seconds=0)
    process.wait()


@posix
def test_what_ignores_sigterm_is_killed_with_all_it_started(family):
    process, pids = family
    assert processes.stop([process], grace=0.3) == [process]
    assert process.returncode == -signal.SIGKILL and all_gone(pids)
    assert processes.stop([process]) == []  # again, and nothing happens
    assert processes.ending(process) == "was ended by SIGKILL"


@posix
def test_an_interrupt_while_stopping_cuts_the_grace_short(family, monkeypatch):
    process, pids = family

    def interrupted(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(processes.time, "sleep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        processes.stop([process], grace=60)
    monkeypatch.undo()
    assert all_gone(pids)


@posix
def test_a_script_ends_when_the_one_who_started_it_is_killed(tmp_path):
    """Even its child, and even if it ignores SIGTERM: as when a kernel is restarted."""
    (tmp_path / "family.py").write_text(FAMILY)
    parent = (
        "from course_utils import processes;"
        f"p = processes.start(processes.script({str(tmp_path / 'family.py')!r}));"
        "print(p.stdout.readline(), p.stdout.readline(), flush=True); input()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(
        [sys.executable, "-c", parent], cwd=paths.FOLDER, **pipes
    ) as starter:
        pids = []
        while len(pids) < 2:
            pids += map(int, starter.stdout.readline().split())
        assert all(map(alive, pids))
        starter.kill()
    assert all_gone(pids)


def test_a_script_runs_as_from_the_command_line(tmp_path):
    (tmp_path / "neighbor.py").write_text("value = 7")
    path = tmp_path / "my script.py"
    path.write_text(
        "import sys, neighbor, course_utils\n"
        "print(neighbor.value, __name__, sys.argv, repr(sys.stdin.read()), flush=True)\n"
        "raise SystemExit(3)"
    )
    found = processes.run(processes.script(path, "a b", 4))
    assert found.printed.strip() == f"7 __main__ {[str(path), 'a b', '4']} ''"
    assert found.problem == "Its process ended with exit code 3."


def test_an_error_ends_a_script_at_once_with_its_traceback(tmp_path):
    path = tmp_path / "fails.py"
    path.write_text(
        "import threading, time\n"
        "threading.Thread(target=time.sleep, args=(300,)).start()\n"
        "raise ValueError('no data')"
    )
    process = processes.start(processes.script(path))
    assert [line for who, line in processes.watch([process]) if who] == [None]
    assert processes.ending(process) == "ended with exit code 1 (ValueError: no data)"
    assert any("fails.py" in line for line in process.errors)


# Run to the end: commands and functions


def test_a_call_returns_what_the_function_returns_and_what_was_printed():
    assert (
        processes.call("json:dumps", {"obj": {"a": [1, None]}}).result
        == '{"a": [1, null]}'
    )
    assert processes.call(os.getpid).result != os.getpid()
    for command, printed in (
        ("echo a; echo b", "a\nb"),
        ("printf 'half a line'", "half a line"),
    ):
        found = processes.call(os.system, {"command": command})
        assert (found.printed.rstrip(), found.result, found.problem) == (printed, 0, "")


def test_variables_are_set_and_unset(monkeypatch):
    monkeypatch.setenv("COURSE_A", "here")
    for key, variables, result in (
        ("COURSE_A", {"COURSE_A": None}, None),
        ("COURSE_A", None, "here"),
        ("COURSE_B", {"COURSE_B": 2}, "2"),
    ):
        found = processes.call(os.getenv, {"key": key}, variables)
        assert (found.result, found.problem) == (result, "")
    assert os.environ["COURSE_A"] == "here"


@pytest.mark.parametrize(
    "function, arguments, said",
    [
        ("os:abort", {}, "was ended by SIGABRT"),
        ("json:loads", {"s": "["}, "ended with exit code 1 (JSONDecodeError: Exp"),
        (
            "no_such_module:f",
            {},
            "ended with exit code 1 (ModuleNotFoundError: No module named",
        ),
        (lambda: 1, {}, "ended with exit code 1 (ValueError"),
    ],
)
def test_what_goes_wrong_is_one_sentence(function, arguments, said):
    found = processes.call(function, arguments)
    assert found.problem.startswith(f"Its process {said}")
    assert found.result is None and "\n" not in found.problem


@pytest.mark.slow
@posix
def test_time_up_ends_the_process_and_what_it_started():
    command = f"{sys.executable} -c 'import os, time; {WAIT}' & echo $$; wait"
    found = processes.run(["sh", "-c", command], timeout=2)
    assert found.problem == "It was stopped after 2 seconds." and found.result is None
    pids = [int(pid) for pid in found.printed.split()]
    assert len(pids) == 2 and all_gone(pids)


@posix
def test_an_interrupt_ends_what_was_run(monkeypatch):
    started = []
    start = processes.start
    monkeypatch.setattr(
        processes, "start", lambda *a: started.append(start(*a)) or started[0]
    )
    # a shell's & ignores it
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.5, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        processes.run(["sleep", "60"])
    signal.signal(signal.SIGINT, before)
    assert started[0].returncode < 0


def test_a_program_that_is_not_there_is_named():
    with pytest.raises(processes.ProcessError) as error:
        processes.start(["no-such-program"])
    (shown,) = error.value._render_traceback_()  # one sentence
    assert shown.startswith("no-such-program could not be started")
    assert processes.run(["no-such-program"]).problem == shown


GRAPH_ERROR = """tensorflow.python.framework.errors_impl.UnavailableError: Graph execution error:

Detected at node adam/CollectiveReduceV2 defined at (most recent call last):
  File "<frozen runpy>", line 88, in _run_code

Collective ops is aborted by: Connection reset by peer
The error could be from a previous operation. Restart your program to reset.
"""
REASONS = [
    ("", ""),
    (
        "Traceback …\na.b.UnknownError: Not found\nI0000 later\n",
        "UnknownError: Not found",
    ),
    ("KeyError: 1\nduring that\nValueError: 2\n\n", "ValueError: 2"),
    (
        GRAPH_ERROR,
        "UnavailableError: Collective ops is aborted by: Connection reset by peer",
    ),
    ("ValueError: in user code:\n\n    File 'a'\n    KeyError: 'y'\n", "KeyError: 'y'"),
    ("ValueError: " + "x" * 1000, "ValueError: " + "x" * 199 + "…"),
]


@pytest.mark.parametrize(("errors", "told"), REASONS)
def test_the_reason_is_the_last_error_in_one_line(errors, told):
    assert last_error(errors) == told
