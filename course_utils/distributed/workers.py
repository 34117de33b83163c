"""Worker processes on this computer: the same program several times, as on several
machines.

    with Workers("train.py", 2) as workers:
        for rank, line in workers:
            print(f"worker {rank}: {line}")
    workers.results

Each process gets TF_CONFIG, from which `tf.distribute.MultiWorkerMirroredStrategy`
reads who it is and where the others are. GPUs and TPUs are hidden from them. Not run on
Windows and macOS.
"""

import contextlib
import json
import random
import socket
import time
from collections.abc import Iterable
from pathlib import Path

from course_utils import processes
from course_utils.hardware.accelerators import CPU_ALONE
from course_utils.processes import Interrupted, ProcessError

# below those that Linux, macOS and Windows give to connections
PORTS = range(20000, 32000)


class Workers:
    """`count` processes of one Python file, which never outlive the `with` block.

    Iterate over it for the lines that the workers print, as pairs (rank, text), until
    all have ended. A worker hands back its result with `print("RESULT",
    json.dumps(...))`; `sys.argv[1:]` are the `arguments`. After `timeout` seconds all
    are stopped. Workers have `grace` seconds to end by themselves when another has
    failed, and again after SIGTERM, before SIGKILL. `endings` says how each ended, None
    while it runs, and `last` {rank: the last line that it printed}; `stubborn` are the
    ranks of those that SIGTERM could not end.

    Raises a ProcessError with one sentence where a worker ends with an error (the first
    one is told), or the time is up; Interrupted, a
    KeyboardInterrupt, when the person interrupts.
    """

    def __init__(
        self,
        script: str | Path,
        count: int = 2,
        arguments: Iterable[object] = (),
        *,
        timeout: float = 120,
        grace: float = 4,
    ):
        self._command = processes.script(script, *arguments)
        self._ports = free_ports(count)
        self.count = count
        self.timeout = timeout
        self.grace = grace
        self.endings: list[str | None] = [None] * count
        self.stubborn = []
        self.last: dict[int, str] = {}
        self._processes = []
        self._killed = set()

    def __enter__(self):
        self._deadline = time.monotonic() + self.timeout
        try:
            for rank in range(self.count):
                own = {**CPU_ALONE, "TF_CONFIG": tf_config(self._ports, rank)}
                self._processes.append(processes.start(self._command, own))
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        self._watching = processes.watch(self._processes)
        return self

    def __exit__(self, kind, error, trace):
        self.stop()
        if kind is KeyboardInterrupt:
            raise Interrupted(
                f"Interrupted: the {self.count} workers were stopped and none is left."
            ) from None

    def __iter__(self):
        """Pairs (rank, line printed), until all workers have ended."""
        first_failure = None
        deadline = self._deadline
        for process, line in self._watching:
            alive = any(each.poll() is None for each in self._processes)
            # A worker that prints without end would keep this loop alive.
            if alive and time.monotonic() > deadline:
                break
            if process is None:  # nothing new: a chance to look at the clock
                continue
            rank = self._processes.index(process)
            if line is not None:
                self.last[rank] = line
                yield rank, line
                continue
            self.endings[rank] = processes.ending(process)
            if process.returncode != 0 or rank in self._killed:
                # The others wait for it in vain: they get `grace` seconds.
                if first_failure is None:
                    first_failure = rank
                deadline = min(deadline, time.monotonic() + self.grace)
        late = [str(rank) for rank, ending in enumerate(self.endings) if ending is None]
        self.stop()
        if first_failure is None and late:
            raise ProcessError(
                f"Of {self.count} workers {' and '.join(late)} had not ended after "
                f"{self.timeout:g} s, so all were stopped: see what they printed last, or give "
                "them more time with timeout."
            )
        if first_failure is not None and not self._killed:
            raise ProcessError(
                f"Worker {first_failure} of {self.count} {self.endings[first_failure]}, so all "
                "were stopped: mend its script and start the workers again."
            )

    @property
    def results(self) -> list:
        """What each worker handed back, in their order; None from those that did not."""
        return [process.result for process in self._processes]

    def kill(self, rank: int) -> None:
        """Kill one worker, as a machine that is taken away: SIGKILL, at once."""
        self._killed.add(rank)
        self._processes[rank].kill()

    def stop(self) -> None:
        """End all workers that are left: SIGTERM, after `grace` seconds SIGKILL."""
        stubborn = processes.stop(self._processes, self.grace)
        self.stubborn += [self._processes.index(p) for p in stubborn]
        for rank, process in enumerate(self._processes):
            self.endings[rank] = self.endings[rank] or processes.ending(process)


def run_workers(
    script: str | Path,
    count: int = 2,
    arguments: Iterable[object] = (),
    **options: float,
) -> list:
    """Run a script in several `Workers`; a list of the results, None where one handed
    back none.

    Each line that a worker prints is printed with the worker's number before it.

    Example: `run_workers("train.py", 2, ["mixed_float16"])`.
    """
    with Workers(script, count, arguments, **options) as workers:
        for rank, line in workers:
            print(f"worker {rank} · {line}")
    return workers.results


def tf_config(ports: list[int], rank: int) -> str:
    """TF_CONFIG for one of several workers on this computer, as JSON.

    Example:
        >>> tf_config([23456], 0)
        '{"cluster": {"worker": ["127.0.0.1:23456"]}, "task": {"type": "worker", "index": 0}}'
    """
    cluster = {"worker": [f"127.0.0.1:{port}" for port in ports]}
    return json.dumps({"cluster": cluster, "task": {"type": "worker", "index": rank}})


def free_ports(count: int) -> list[int]:
    """Ports that no program on this computer uses now."""
    ports: list[int] = []
    for port in random.SystemRandom().sample(PORTS, len(PORTS)):
        if len(ports) == count:
            break
        with socket.socket() as probe, contextlib.suppress(OSError):
            # TensorFlow's server listens on all addresses of the computer, as this
            # does.
            probe.bind(("", port))
            ports.append(port)
    return ports
