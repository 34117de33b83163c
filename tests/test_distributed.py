"""Workers, the choice of a strategy, the way to a TPU, and costs on paper."""

import json
import os
import signal
import socket
import subprocess
import sys

import numpy as np
import pytest
from test_processes import FAMILY, all_gone, posix

from course_utils import distributed, paths, processes
from course_utils.distributed import (
    Interrupted,
    ProcessError,
    Workers,
    workers,
)
from course_utils.distributed.strategies import Choice

pytestmark = pytest.mark.slow
HEAD = "import json, os, sys, time; rank = json.loads(os.environ['TF_CONFIG'])['task']['index']\n"


@pytest.fixture
def script(tmp_path):
    def write(text):
        path = tmp_path / "worker.py"
        path.write_text(HEAD + text)
        return path

    return write


def one_sentence(error):
    """The message, which is one sentence without a line break that says what to do."""
    text = str(error.value)
    assert (
        text.endswith(".") and ". " not in text and "\n" not in text and len(text) < 400
    )
    return text


def pids(workers):
    return [process.pid for process in workers._processes]


# Workers


def test_each_worker_knows_the_others_and_its_lines_and_result_come_with_its_number(
    script, monkeypatch
):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    path = script(
        "print('I am', rank, sys.argv[1:]); time.sleep(0.2 * (1 - rank))\n"
        "own = [os.environ[name] for name in ('TF_CONFIG', 'CUDA_VISIBLE_DEVICES')]\n"
        "print('RESULT', json.dumps([*own, float('nan')]))\n"
        "print('RESULT is no JSON')"
    )
    with Workers(path, 2, ["a", 3]) as started:
        lines = list(started)
    configs = [json.loads(config) for config, _, _ in started.results]
    addresses = configs[0]["cluster"]["worker"]
    assert len(set(addresses)) == 2 and all(
        a.startswith("127.0.0.1:") for a in addresses
    )
    for rank, (_, hidden_gpus, number) in enumerate(started.results):
        own = [line for who, line in lines if who == rank]
        assert own == [f"I am {rank} ['a', '3']", "RESULT is no JSON"]
        task = {"type": "worker", "index": rank}
        assert configs[rank] == {"cluster": {"worker": addresses}, "task": task}
        assert hidden_gpus == "-1" and np.isnan(number)
    assert started.endings == ["ended with exit code 0"] * 2 and started.stubborn == []
    assert all_gone(pids(started))


NO_DATA = f"if rank == 1: raise ValueError('no data here')\n{FAMILY}"
FIRST = "time.sleep(0.5 * (1 - rank)); raise ValueError(f'of {rank}')"
CRASH_OF_ONE = "os.kill(os.getpid(), 11) if rank == 0 else time.sleep(300)"
STUBBORN = f"if rank == 1: raise SystemExit\n{FAMILY}"
ENDLESS = "while True: print('again and again')"
# the script, how many run it, for how long and with which grace, the sentence, whom
# SIGTERM did not end (on a busy machine an ordinary end takes more than half a second)
FAILURES = [
    (NO_DATA, 3, 120, 0.5, "^Worker 1 of 3 ended .* no data here", None),
    (FIRST, 2, 120, 30, r"^Worker 1 of 2 ended .*\(ValueError: of 1\)", []),
    (CRASH_OF_ONE, 2, 120, 5, "^Worker 0 of 2 was ended by SIGSEGV, so", []),
    (STUBBORN, 3, 1.5, 0.5, "^Of 3 workers 0 and 2 had not ended after 1.5 s", [0, 2]),
    (ENDLESS, 1, 1, 30, "^Of 1 workers 0 had not ended after 1 s", []),
]


@posix
@pytest.mark.parametrize(
    ("text", "count", "seconds", "grace", "told", "stubborn"), FAILURES
)
def test_a_worker_that_fails_is_named_and_none_is_left(
    text, count, seconds, grace, told, stubborn, script
):
    started = Workers(script(text), count, timeout=seconds, grace=grace)
    printed = []
    with pytest.raises(ProcessError, match=told) as error, started:
        printed += (int(line) for _, line in started if line.isdigit())
    one_sentence(error)
    assert all_gone(printed + pids(started)) and None not in started.endings
    if stubborn is not None:  # else one of a family may not have come to ignore it
        assert started.stubborn == stubborn
        assert all(started.endings[rank] == "was ended by SIGKILL" for rank in stubborn)


@posix
def test_what_a_worker_leaves_behind_ends_with_it(script):
    child = "import time; print('child', flush=True); time.sleep(300)"
    path = script(
        "import subprocess\n"
        f"print(subprocess.Popen([sys.executable, '-c', {child!r}]).pid); time.sleep(1)"
    )
    with Workers(path, 1) as started:
        lines = [line for _, line in started]
        assert all_gone([int(line) for line in lines if line.isdigit()])
    assert len(lines) == 2 and started.endings == ["ended with exit code 0"]


@posix
def test_leaving_the_block_early_stops_the_workers(script):
    with Workers(script("print(1); time.sleep(300)"), 2) as started:
        assert next(iter(started))[1] == "1"
    assert all_gone(pids(started))
    # an error of the learner's own stays as it is
    with pytest.raises(ZeroDivisionError):
        with Workers(script("time.sleep(300)"), 2, grace=0.2) as started:
            raise ZeroDivisionError
    assert all_gone(pids(started))


@posix
def test_a_worker_killed_on_purpose_is_no_error(script):
    path = script("print('step'); time.sleep(0.1)\nif rank == 1: time.sleep(300)")
    with Workers(path, 2, grace=0.5) as started:
        for rank, _ in started:
            if rank == 1:
                started.kill(1)
    assert started.endings == ["ended with exit code 0", "was ended by SIGKILL"]
    assert started.results == [None, None] and all_gone(pids(started))


# A test run that was itself started in the background ignores Ctrl-C, and hands that
# on.
INTERRUPTED = """
import signal, sys, time
from course_utils.distributed import Workers
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    with Workers(sys.argv[1], 2, grace=0.5) as workers:
        for _, line in workers:
            print(line, flush=True)
except KeyboardInterrupt as interrupt:
    print(type(interrupt).__name__, interrupt)
"""


@posix
def test_ctrl_c_ends_in_one_sentence_and_leaves_no_orphan(script):
    """A real one, as a terminal sends it: to the whole group of the process in front."""
    command = [sys.executable, "-c", INTERRUPTED, str(script(FAMILY))]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(
        command, cwd=paths.FOLDER, start_new_session=True, **options
    ) as process:
        pids = [int(process.stdout.readline()) for _ in range(4)]
        os.killpg(process.pid, signal.SIGINT)
        printed, errors = process.communicate(timeout=60)
    assert (
        printed
        == "Interrupted Interrupted: the 2 workers were stopped and none is left.\n"
    )
    assert errors == "" and all_gone(pids)


def test_an_interrupt_while_the_workers_are_started_stops_those_that_are(
    script, monkeypatch
):
    made = []
    path = script("time.sleep(300)")
    original = processes.start

    def second_is_interrupted(*arguments):
        if made:
            raise KeyboardInterrupt
        made.append(original(*arguments))
        return made[0]

    monkeypatch.setattr(workers.processes, "start", second_is_interrupted)
    with pytest.raises(Interrupted, match="none is left"), Workers(path, 2, grace=0.2):
        pass
    assert made[0].poll() is not None


def test_ports_in_use_are_left_out(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        monkeypatch.setattr(workers, "PORTS", [port])
        assert workers.free_ports(1) == []
    assert workers.free_ports(1) == [port]


# Strategies

KINDS = ("TPU", "GPU", "CPU")


@pytest.mark.parametrize(
    ("counts", "kind", "devices"),
    [
        ((8, 0, 1), "TPUStrategy", [f"TPU:{i}" for i in range(8)]),
        ((1, 0, 2), "MirroredStrategy", ["CPU:0", "CPU:1"]),
        ((0, 2, 4), "MirroredStrategy", ["GPU:0", "GPU:1"]),
        ((0, 1, 1), "one device", ["GPU:0"]),
        ((0, 1, 2), "MirroredStrategy", ["CPU:0", "CPU:1"]),
        ((0, 0, 1), "one device", ["CPU:0"]),
    ],
)
def test_the_strategy_follows_from_the_devices(counts, kind, devices, monkeypatch):
    listed = {name: [name] * count for name, count in zip(KINDS, counts, strict=True)}
    monkeypatch.setattr("tensorflow.config.list_logical_devices", listed.get)
    choice = distributed.choose()
    assert (choice.kind, list(choice.devices)) == (kind, devices)


def test_a_strategy_is_made_once():
    assert distributed.choose().strategy() is distributed.choose().strategy()
    mirrored = Choice("MirroredStrategy", ("CPU:0",), "")
    assert mirrored.strategy() is mirrored.strategy()
