"""Processes that are stopped for certain, whatever they do and whoever dies."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest

from course_utils import processes

posix = pytest.mark.skipif(os.name != "posix", reason="needs signals and process groups")

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
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return bool(state.stdout.strip()) and not state.stdout.strip().startswith("Z")


def all_gone(pids, seconds=5):
    deadline = time.monotonic() + seconds
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(map(alive, pids))


def end(pids):
    """Whatever a test that fails leaves behind."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def family(tmp_path):
    """A process and its child, started as a script."""
    path = tmp_path / "family.py"
    path.write_text(FAMILY)
    process = processes.start(processes.script(path))
    pids = [int(process.stdout.readline()) for _ in range(2)]
    assert process.pid in pids and all(map(alive, pids))
    yield process, pids
    end(pids)
    process.wait()


@posix
def test_what_ignores_sigterm_is_killed_with_all_it_started(family):
    process, pids = family
    assert processes.stop([process], grace=0.3) == [process]
    assert process.returncode == -signal.SIGKILL and all_gone(pids)
    assert processes.stop([process]) == []  # again, and nothing happens
    assert processes.ending(process) == "was ended by SIGKILL"


@posix
def test_what_heeds_sigterm_is_not_called_stubborn():
    process = processes.start([sys.executable, "-c", f"import os, time; {WAIT}"])
    process.stdout.readline()
    start = time.monotonic()
    assert processes.stop([process], grace=30) == []
    assert process.returncode == -signal.SIGTERM and time.monotonic() - start < 15


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
    with subprocess.Popen([sys.executable, "-c", parent], cwd=processes.ROOT, **pipes) as starter:
        pids = []
        while len(pids) < 2:
            pids += map(int, starter.stdout.readline().split())
        assert all(map(alive, pids))
        starter.kill()
    try:
        assert all_gone(pids)
    finally:
        end(pids)


def test_a_script_runs_as_from_the_command_line(tmp_path):
    (tmp_path / "neighbor.py").write_text("value = 7")
    (tmp_path / "my script.py").write_text(
        "import sys, neighbor, course_utils\n"
        "assert __name__ == '__main__'\n"
        "print(neighbor.value, sys.argv, repr(sys.stdin.read()), flush=True)\n"
        "raise SystemExit(3)"
    )
    path = tmp_path / "my script.py"
    process = processes.start(processes.script(path, "a b", 4))
    printed, errors = process.communicate(timeout=60)
    assert printed.strip() == f"7 {[str(path), 'a b', '4']} ''" and process.returncode == 3
    assert errors == "" and processes.ending(process, errors) == "ended with exit code 3"


def test_an_error_ends_a_script_at_once_with_its_traceback(tmp_path):
    path = tmp_path / "fails.py"
    path.write_text(
        "import threading, time\n"
        "threading.Thread(target=time.sleep, args=(300,)).start()\n"
        "raise ValueError('no data')"
    )
    process = processes.start(processes.script(path))
    _, errors = process.communicate(timeout=60)
    assert processes.ending(process, errors) == "ended with exit code 1 (ValueError: no data)"
    assert "fails.py" in errors


def test_variables_are_set_and_removed(monkeypatch):
    monkeypatch.setenv("COURSE_OLD", "1")
    code = "import os; print(os.environ.get('COURSE_OLD'), os.environ.get('COURSE_NEW'))"
    process = processes.start([sys.executable, "-c", code], {"COURSE_OLD": None, "COURSE_NEW": 2})
    assert process.communicate(timeout=60)[0].strip() == "None 2"


def test_a_program_that_is_not_there_is_named():
    with pytest.raises(processes.ProcessError, match=r"^no-such-program could not be started"):
        processes.start(["no-such-program"])


GRAPH_ERROR = """Traceback (most recent call last):
  File "train.py", line 3, in <module>
tensorflow.python.framework.errors_impl.UnavailableError: Graph execution error:

Detected at node adam/CollectiveReduceV2 defined at (most recent call last):
  File "<frozen runpy>", line 88, in _run_code

Collective ops is aborted by: Connection reset by peer
The error could be from a previous operation. Restart your program to reset.
"""


@pytest.mark.parametrize(
    ("errors", "told"),
    [
        ("", ""),
        ("W0000 some warning\n", ""),
        ("Traceback …\nKeyError: 'x'\n", "KeyError: 'x'"),
        (
            "Traceback …\na.b.UnknownError: Could not start\nI0000 later\n",
            "UnknownError: Could not start",
        ),
        ("KeyError: 1\nduring that\nValueError: 2\n\n", "ValueError: 2"),
        (GRAPH_ERROR, "UnavailableError: Collective ops is aborted by: Connection reset by peer"),
        ("ValueError: in user code:\n\n    File 'a'\n    KeyError: 'y'\n", "KeyError: 'y'"),
        ("ValueError: " + "x" * 1000, "ValueError: " + "x" * 200),
    ],
)
def test_the_reason_is_the_last_error_in_one_line(errors, told):
    assert processes.reason(errors) == told


def test_a_notebook_shows_one_sentence():
    for kind in (processes.ProcessError, processes.Interrupted):
        assert kind("Do this.")._render_traceback_() == ["Do this."]
    assert issubclass(processes.Interrupted, KeyboardInterrupt)
