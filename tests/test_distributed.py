"""Workers, the choice of a strategy, the way to a TPU, and costs on paper; no TensorFlow runs."""

import json
import os
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from fractions import Fraction

import numpy as np
import pytest
from test_processes import FAMILY, all_gone, posix

from course_utils import distributed, processes
from course_utils.accelerators import Accelerator
from course_utils.distributed import (
    Interrupted,
    Link,
    ProcessError,
    Workers,
    ports,
    run_workers,
    tpu,
    workers,
)
from course_utils.hardware import Hardware

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
    assert text.endswith(".") and ". " not in text and "\n" not in text and len(text) < 400
    return text


# Workers


def test_lines_come_with_the_number_of_their_worker_and_results_in_order(script):
    path = script(
        "print('I am', rank, sys.argv[1:]); time.sleep(0.2 * (1 - rank))\n"
        "print('RESULT', json.dumps({'rank': rank, 'loss': float('nan')}))\n"
        "print('RESULT is no JSON'); print('é', file=sys.stderr)"
    )
    with Workers(path, 2, ["a", 3]) as started:
        lines = list(started)
    for rank in range(2):
        own = [line for who, line in lines if who == rank]
        assert own == [f"I am {rank} ['a', '3']", "RESULT is no JSON"]
        assert started.results[rank]["rank"] == rank and np.isnan(started.results[rank]["loss"])
        assert started.errors(rank) == "é"
    assert started.endings == ["ended with exit code 0"] * 2 and started.stubborn == []
    assert all_gone(started.pids)


def test_results_are_handed_back_and_lines_are_labelled(script):
    shown = []
    path = script("print('here'); print('RESULT', rank + 1) if rank != 1 else None")
    assert run_workers(path, 3, show=shown.append) == [1, None, 3]
    assert sorted(shown) == [f"worker {rank} · here" for rank in range(3)]
    assert run_workers(path, 1, show=None) == [1]


def test_each_worker_knows_who_it_is_and_where_the_others_are(script):
    path = script("print('RESULT', os.environ['TF_CONFIG'])")
    found = run_workers(path, 3, show=None)
    assert [f["task"] for f in found] == [{"type": "worker", "index": rank} for rank in range(3)]
    addresses = found[0]["cluster"]["worker"]
    assert all(f["cluster"]["worker"] == addresses for f in found) and len(set(addresses)) == 3
    assert all(a.startswith("127.0.0.1:") for a in addresses)


def test_gpus_are_hidden_unless_asked_for(script, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    path = script("print('RESULT', json.dumps(os.environ['CUDA_VISIBLE_DEVICES']))")
    assert run_workers(path, 1, show=None) == ["-1"]
    assert run_workers(path, 1, show=None, environment={"CUDA_VISIBLE_DEVICES": "1"}) == ["1"]


@posix
@pytest.mark.parametrize("waiting", ["time.sleep(300)", FAMILY])
def test_a_worker_that_dies_at_start_is_named_and_the_others_are_stopped(waiting, script):
    path = script(f"if rank == 1: raise ValueError('no data here')\n{waiting}")
    started = Workers(path, 3, grace=0.5)
    with pytest.raises(ProcessError, match=r"^Worker 1 of 3 ended .* no data here") as error:
        with started:
            list(started)
    one_sentence(error)
    assert all_gone(started.pids) and None not in started.endings


@posix
def test_of_two_workers_that_fail_the_first_is_told(script):
    path = script("time.sleep(0.5 * (1 - rank)); raise ValueError(f'of {rank}')")
    with pytest.raises(ProcessError, match=r"^Worker 1 of 2 ended .*\(ValueError: of 1\)"):
        run_workers(path, 2, grace=30)


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
def test_a_worker_that_crashes_is_named_with_its_signal(script):
    path = script("os.kill(os.getpid(), 11) if rank == 0 else time.sleep(300)")
    with pytest.raises(ProcessError, match=r"^Worker 0 of 2 was ended by SIGSEGV, so") as error:
        run_workers(path, 2, grace=0.2)
    one_sentence(error)


@posix
def test_a_hung_worker_that_ignores_sigterm_is_killed_when_the_time_is_up(script):
    path = script(f"if rank == 1: raise SystemExit\n{FAMILY}")
    started = Workers(path, 3, timeout=1.5, grace=0.3)
    printed = []
    with pytest.raises(ProcessError, match=r"Workers 0 and 2 of 3 .* 1.5 s .* SIGTERM") as error:
        with started:
            for _, line in started:
                printed.append(int(line))
    one_sentence(error)
    assert len(printed) == 4 and all_gone(printed + started.pids)
    assert started.stubborn == [0, 2]
    assert started.endings == ["was ended by SIGKILL", "ended with exit code 0"] + [
        "was ended by SIGKILL"
    ]


def test_a_worker_that_prints_without_end_is_stopped_in_time(script):
    path = script("while True: print('again and again')")
    start = time.monotonic()
    with pytest.raises(ProcessError, match=r"^Worker 0 of 1 had not ended after 1 s .* stopped"):
        run_workers(path, 1, show=None, timeout=1, grace=1)
    assert time.monotonic() - start < 30


@posix
def test_leaving_the_block_early_stops_the_workers(script):
    with Workers(script("print(1); time.sleep(300)"), 2) as started:
        assert next(iter(started))[1] == "1"
    assert all_gone(started.pids)
    with pytest.raises(ZeroDivisionError):  # an error of the learner's own stays as it is
        with started.__class__(script("time.sleep(300)"), 2, grace=0.2) as started:
            raise ZeroDivisionError
    assert all_gone(started.pids)


@posix
def test_a_worker_killed_on_purpose_is_no_error(script):
    path = script("print('step'); time.sleep(0.1)\nif rank == 1: time.sleep(300)")
    with Workers(path, 2, grace=0.5) as started:
        for rank, _ in started:
            if rank == 1:
                started.kill(1)
    assert started.endings == ["ended with exit code 0", "was ended by SIGKILL"]
    assert started.results == [None, None] and all_gone(started.pids)


# A test run that was itself started in the background ignores Ctrl-C, and hands that on.
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


IN_BACKGROUND = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]  # as a shell without jobs starts it


@posix
@pytest.mark.parametrize("started_by", [[], IN_BACKGROUND], ids=["directly", "in background"])
def test_ctrl_c_ends_in_one_sentence_and_leaves_no_orphan(started_by, script):
    """A real one, as a terminal sends it: to the whole group of the process in front."""
    command = [*started_by, sys.executable, "-c", INTERRUPTED, str(script(FAMILY))]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(
        command, cwd=processes.ROOT, start_new_session=True, **options
    ) as process:
        pids = [int(process.stdout.readline()) for _ in range(4)]
        os.killpg(process.pid, signal.SIGINT)
        printed, errors = process.communicate(timeout=60)
    assert (
        printed.strip() == "Interrupted Interrupted: the 2 workers were stopped and none is left."
    )
    assert errors == "" and all_gone(pids)


def test_an_interrupt_on_any_line_of_the_wait_stays_an_interrupt(script):
    """Python's own code for a queue turns some into errors about a lock."""
    files = {workers.__file__, queue.__file__, threading.__file__}
    seen, number = [], 0

    def interrupt(frame, event, _):
        if frame.f_code.co_filename not in files:
            return None
        if event == "line":
            seen.append((frame.f_code, frame.f_lineno))
            if len(seen) == number:
                raise KeyboardInterrupt
        return interrupt

    before = sys.gettrace()
    while len(set(seen)) == len(seen):  # until the wait comes round again
        started = Workers(script(""), 1)
        started._deadline = time.monotonic() + 60
        number += 1
        seen.clear()
        with pytest.raises(KeyboardInterrupt):
            sys.settrace(interrupt)
            try:
                next(iter(started))
            finally:
                sys.settrace(before)
    assert number > 5


def test_an_interrupt_while_the_workers_are_started_stops_those_that_are(script, monkeypatch):
    made, path = [], script("time.sleep(300)")
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


@pytest.mark.parametrize(
    ("count", "given", "told"),
    [
        (0, {}, "count is 0: give"),
        ("2", {}, "count is '2': give"),
        (2, {"ports": [20001]}, "give 2 different numbers"),
        (2, {"ports": [20001, 20001]}, "give 2 different numbers"),
        (1, {"ports": [70000]}, "Port 70000"),
    ],
)
def test_what_cannot_be_started_is_said_before_anything_starts(count, given, told, script):
    with pytest.raises(ProcessError, match=told) as error:
        Workers(script(""), count, **given)
    one_sentence(error)


def test_a_script_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ProcessError, match=r"no file .*gone\.py"):
        Workers(tmp_path / "gone.py")


# Ports


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])
def test_a_port_in_use_is_named_and_not_chosen(address, script, monkeypatch):
    with socket.socket() as taken:
        taken.bind((address, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ProcessError, match=f"^Port {port} is in use") as error:
            Workers(script(""), 1, ports=[port])
        one_sentence(error)
        monkeypatch.setattr(ports, "PORTS", range(port, port + 1))
        with pytest.raises(ProcessError, match="only 0 are free and 1 are needed") as error:
            Workers(script(""), 1)
        one_sentence(error)
    assert distributed.free_ports(1) == [port]


def test_free_ports_are_different_and_not_those_of_connections():
    found = distributed.free_ports(20)
    assert len(set(found)) == 20 and all(20000 <= port < 32768 for port in found)


TAKEN_MEANWHILE = "import tensorflow as tf; tf.distribute.MultiWorkerMirroredStrategy()"


@pytest.mark.slow
def test_a_port_that_is_taken_meanwhile_is_named(script, monkeypatch):
    """TensorFlow's own words, "Could not start gRPC server", name neither port nor cause."""
    path = script(TAKEN_MEANWHILE)
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = taken.getsockname()[1]
        monkeypatch.setattr(ports, "free_ports", lambda count: [port])
        with pytest.raises(ProcessError, match=f"could not open port {port}, which") as error:
            run_workers(path, 1, show=None, timeout=100)
    one_sentence(error)


# Strategies

TPU = Accelerator("TPU", "v5e-1", True)


@pytest.mark.parametrize(
    ("counts", "kind", "devices"),
    [
        ((8, 0, 1), "TPUStrategy", [f"TPU:{i}" for i in range(8)]),
        ((0, 2, 1), "MirroredStrategy", ["GPU:0", "GPU:1"]),
        ((0, 2, 4), "MirroredStrategy", ["GPU:0", "GPU:1"]),
        ((0, 1, 1), "one device", ["GPU:0"]),
        ((0, 1, 2), "MirroredStrategy", ["CPU:0", "CPU:1"]),
        ((0, 0, 3), "MirroredStrategy", ["CPU:0", "CPU:1", "CPU:2"]),
        ((0, 0, 1), "one device", ["CPU:0"]),
    ],
)
@pytest.mark.parametrize("found", [(), (TPU,)])
def test_the_strategy_follows_from_the_devices(counts, kind, devices, found):
    machine = Hardware("Linux x86_64", "some CPU", 4, (), accelerators=found)
    choice = distributed.decide(*counts, machine)
    assert (choice.kind, list(choice.devices)) == (kind, devices)
    assert choice.reason.endswith(".") and choice.reason.count(". ") == 0
    assert ("find_tpu" in choice.reason) == (bool(found) and counts == (0, 0, 1))
    assert str(choice) == f"{kind} on {', '.join(devices)}, because {choice.reason}"


@pytest.mark.parametrize("count", [0, -1, 1.5, "2"])
def test_a_wrong_number_of_devices_is_refused(count):
    with pytest.raises(distributed.DeviceError, match="give a whole number of devices, 1 or more"):
        distributed.split_cpu(count)


# TPU

CRASH, RAISE = "import os; os.kill(os.getpid(), 11)", "raise ImportError('no libtpu')"
WORKS = "print('PROBE', '[8, {\"NAME\": \"value\"}]')"


@pytest.mark.parametrize(
    ("probes", "framework", "told"),
    [
        ((WORKS, CRASH), "TensorFlow", ["TensorFlow can use this TPU"]),
        ((WORKS + ";" + CRASH, WORKS), "JAX", ["TensorFlow cannot .* SIGSEGV", "Keras can"]),
        ((CRASH, WORKS), "JAX", ["TensorFlow cannot .* SIGSEGV", "Keras can use .* on JAX"]),
        ((RAISE, WORKS), "JAX", ["TensorFlow cannot .* no libtpu", "Keras can use .* on JAX"]),
        (("pass", WORKS), "JAX", ["TensorFlow cannot .* exit code 0", "Keras can use .* on JAX"]),
        (
            ("print('PROBE {')", "print('PROBE [0, {}]')"),
            None,
            ["TensorFlow cannot", "JAX cannot", "Neither .* on the CPU: run"],
        ),
    ],
)
@posix
def test_the_ways_to_a_tpu_are_tried_in_turn(probes, framework, told, monkeypatch):
    monkeypatch.setenv("TPU_ACCELERATOR_TYPE", "v5e-1")
    monkeypatch.setattr(tpu, "PROBES", dict(zip(("TensorFlow", "JAX"), probes, strict=True)))
    shown = []
    route = distributed.find_tpu(show=shown.append)
    assert (route.framework, route.cores) == (framework, 8 if framework else 0)
    assert route.environment == ({"NAME": "value"} if framework else {})
    assert route.reason == shown[-1] and len(shown) == len(told)
    for sentence, pattern in zip(shown, told, strict=True):
        assert re.search(pattern, sentence)
        assert sentence.endswith(".") and ". " not in sentence


def test_a_try_that_hangs_is_given_up(monkeypatch):
    monkeypatch.setenv("COLAB_TPU_1VM", "1")
    monkeypatch.setattr(tpu, "SECONDS", 0.5)
    monkeypatch.setattr(tpu, "PROBES", dict.fromkeys(tpu.PROBES, "import time; time.sleep(300)"))
    shown = []
    assert distributed.find_tpu(shown.append).framework is None
    assert "had not ended after 0.5 s and was stopped" in shown[0]


def test_without_signs_of_a_tpu_nothing_is_tried(monkeypatch):
    for hint in tpu.HINTS:
        monkeypatch.delenv(hint, raising=False)
    monkeypatch.setattr(tpu, "_try", None)
    shown = []
    assert distributed.find_tpu(shown.append).framework is None
    assert shown == ["This machine has no TPU, so the course runs on what TensorFlow finds."]


@pytest.mark.parametrize("framework", tpu.PROBES)
def test_the_probes_are_python(framework):
    compile(tpu.PROBES[framework], framework, "exec")


# Costs on paper


def ring(arrays):
    """An all-reduce around a ring, part by part, and how many numbers each device sent."""
    devices = len(arrays)
    parts = [np.array_split(array.copy(), devices) for array in arrays]
    sent = np.zeros(devices, int)
    for collecting in (True, False):
        for step in range(devices - 1):
            moves = []
            for device in range(devices):
                part = (device - step + (0 if collecting else 1)) % devices
                moves.append(((device + 1) % devices, part, parts[device][part].copy()))
                sent[device] += parts[device][part].size
            for to, part, values in moves:
                parts[to][part] = parts[to][part] + values if collecting else values
    return [np.concatenate(p) for p in parts], sent


@pytest.mark.parametrize("devices", [1, 2, 3, 4, 8])
def test_the_bytes_of_a_ring_are_those_that_a_ring_sends(devices):
    rng = np.random.default_rng(devices)
    arrays = [rng.integers(0, 100, 24 * 7) for _ in range(devices)]
    results, sent = ring(arrays)
    for result in results:
        assert np.array_equal(result, sum(arrays))
    assert set(sent * 4) == {round(distributed.ring_bytes(24 * 7, devices))}
    assert set(sent * 2) == {round(distributed.ring_bytes(24 * 7, devices, 2))}


def test_the_ring_of_the_course_s_network_sends_six_megabytes():
    assert distributed.ring_bytes(1_011_466, 4) == pytest.approx(6.07e6, rel=1e-3)


def test_the_step_time_model_has_the_limits_that_it_must_have():
    link, compute, n = Link(1e9, 1e-3), 0.1, 1e6
    assert distributed.step_seconds(compute, n, 1, link) == compute
    assert distributed.ring_seconds(n, 2, link) == pytest.approx(4e6 / 1e9 + 2e-3)
    assert distributed.ring_seconds(n, 1024, Link(1e9)) == pytest.approx(8e-3, rel=1e-2)
    half = distributed.ring_seconds(n, 8, Link(1e9), bytes_per_element=2)
    assert distributed.ring_seconds(n, 8, Link(1e9)) == 2 * half
    times = [distributed.step_seconds(compute, n, d, link) for d in (1, 2, 4, 32, 1024)]
    assert times == sorted(times)
    hidden = [distributed.step_seconds(compute, n, 4, link, overlap=o) for o in (0, 0.05, 1)]
    assert hidden[0] > hidden[1] > hidden[2] == compute
    assert distributed.speedup(compute, n, 1, link) == 1
    assert distributed.speedup(compute, n, 64, Link(1e15)) == pytest.approx(64)


def test_a_link_is_read_off_measured_times():
    link, sizes = Link(2e9, 5e-4), [1e4, 1e6, 8e6]
    for devices in (2, 5):
        seconds = [distributed.ring_seconds(size, devices, link) for size in sizes]
        found = distributed.fit_link(sizes, seconds, devices)
        assert found.bytes_per_second == pytest.approx(2e9) and found.latency == pytest.approx(5e-4)


@pytest.mark.parametrize(("stage", "gigabytes"), [(0, 120), (1, 31.4), (2, 16.6), (3, 1.875)])
def test_zero_s_shares_are_those_of_the_paper(stage, gigabytes):
    share = distributed.zero_share(7.5e9, 64, stage, 2, 2, 12)
    assert share.total / 1e9 == pytest.approx(gigabytes, abs=0.05)


def test_zero_sends_no_more_until_the_weights_are_shared_out():
    sent = [distributed.zero_share(1e6, 4, stage).sent for stage in range(4)]
    assert sent[0] == sent[1] == sent[2] == distributed.ring_bytes(1e6, 4)
    assert Fraction(sent[3]) / Fraction(sent[0]) == Fraction(3, 2)
    for stage in range(4):  # one device shares with nobody
        share = distributed.zero_share(1e6, 1, stage)
        assert (share.total, share.sent) == (16e6, 0)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: distributed.ring_bytes(1, 0), "devices is 0: give 1 or more"),
        (lambda: distributed.zero_share(1, 0), "devices is 0: give 1 or more"),
        (lambda: distributed.zero_share(1, 2, 4), "stage is 4: give 0, 1, 2 or 3"),
        (lambda: distributed.step_seconds(1, 1, 2, Link(1), overlap=2), "overlap is 2: give"),
        (lambda: distributed.fit_link([1, 1], [1, 1], 2), "two different sizes"),
        (lambda: distributed.fit_link([1, 2], [1, 1], 1), "two devices"),
        (lambda: distributed.fit_link([1, 2], [2, 1], 2), "did not take longer"),
    ],
)
def test_what_cannot_be_computed_is_refused_in_one_sentence(call, told):
    with pytest.raises(ValueError, match=told):
        call()


def test_tf_config_is_what_tensorflow_reads():
    config = json.loads(distributed.tf_config([20001, 20002], 1))
    assert config["task"] == {"type": "worker", "index": 1}
    assert config["cluster"]["worker"] == ["127.0.0.1:20001", "127.0.0.1:20002"]
