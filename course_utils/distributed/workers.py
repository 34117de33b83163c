"""Worker processes on this computer: the same program several times, as on several machines.

    with Workers("train.py", 2) as workers:
        for rank, line in workers:
            print(f"worker {rank}: {line}")
    workers.results

Each process gets TF_CONFIG, from which `tf.distribute.MultiWorkerMirroredStrategy` reads who it is
and where the others are. Not run on Windows and macOS.
"""

import collections
import json
import queue
import threading
import time
from pathlib import Path

from course_utils import processes
from course_utils.distributed import ports as addresses
from course_utils.processes import Interrupted, ProcessError

RESULT = "RESULT "  # a printed line that begins so holds a worker's result, as JSON
KEPT = 400  # lines of a worker's error stream
HIDDEN_GPUS = {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}


class Workers:
    """A number of worker processes that never outlive the `with` block.

    Iterate over it for the lines that the workers print, as pairs (rank, text), until all have
    ended. A worker hands back its result with `print("RESULT", json.dumps(...))`.

    Args:
        script: path of a Python file.
        count: how many processes run it.
        arguments: given to the script, the same to all: `sys.argv[1:]`.
        timeout: seconds for all of it; then the workers are stopped.
        grace: seconds that workers have to end by themselves when another has failed, and again
            after SIGTERM, before SIGKILL.
        ports: a loopback port for each; free ones are found if None.
        environment: variables for the workers. By default GPUs are hidden from them.

    Attributes:
        results: what each worker handed back, in their order; None from those that did not.
        endings: how each ended: "ended with exit code 0", "was ended by SIGKILL", None while it
            runs.
        stubborn: ranks of those that SIGTERM could not end.

    Raises:
        ProcessError: with one sentence, where a port is in use, a worker ends with an error (the
            first one is told, the others are stopped), or the time is up.
        Interrupted: a KeyboardInterrupt, when the person interrupts; the workers are stopped.

    Example: `with Workers("train.py") as workers: lines = list(workers)`.
    """

    def __init__(
        self,
        script,
        count: int = 2,
        arguments=(),
        *,
        timeout: float = 120.0,
        grace: float = 4.0,
        ports=None,
        environment=None,
    ):
        if not isinstance(count, int) or count < 1:
            raise ProcessError(f"count is {count!r}: give a whole number of workers, 1 or more.")
        if not Path(script).is_file():
            raise ProcessError(f"There is no file {str(script)!r}: write the script first.")
        self._command = processes.script(script, *arguments)
        self._environment = {**HIDDEN_GPUS, **(environment or {})}
        self._ports = addresses.checked(ports, count) if ports else addresses.free_ports(count)
        self.count, self.timeout, self.grace = count, timeout, grace
        self.results = [None] * count
        self.endings = [None] * count
        self.stubborn = []
        self._errors = [collections.deque(maxlen=KEPT) for _ in range(count)]
        self._processes, self._killed = [], set()
        self._news = queue.SimpleQueue()  # an interrupt of its wait stays one

    def __enter__(self):
        self._deadline = time.monotonic() + self.timeout
        try:
            for rank in range(self.count):
                own = {**self._environment, "TF_CONFIG": addresses.tf_config(self._ports, rank)}
                self._processes.append(processes.start(self._command, own))
                threading.Thread(target=self._follow, args=(rank,), daemon=True).start()
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(self, kind, error, trace):
        self.stop()
        if kind is KeyboardInterrupt:
            raise Interrupted(
                f"Interrupted: the {self.count} workers were stopped and none is left."
            ) from None

    def __iter__(self):
        """Pairs (rank, line printed), until all workers have ended."""
        failed, until = None, self._deadline
        while None in self.endings:
            if time.monotonic() > until and any(p.returncode is None for p in self._processes):
                break  # also where one prints without end
            try:
                # In short waits: on some systems an interrupt does not end a wait.
                rank, text, ended = self._news.get(timeout=0.2)
            except queue.Empty:
                continue
            if not ended:
                if not self._is_result(rank, text):
                    yield rank, text
                continue
            self.endings[rank] = text
            if self._processes[rank].returncode != 0 or rank in self._killed:
                failed = rank if failed is None else failed
                until = min(until, time.monotonic() + self.grace)
        if failed is None and None in self.endings:
            self._say_that_time_is_up()
        self.stop()
        if failed is not None and not self._killed:
            raise ProcessError(self._what_failed(failed))

    @property
    def pids(self) -> list[int]:
        """The number of each worker's process."""
        return [process.pid for process in self._processes]

    def kill(self, rank: int):
        """Kill one worker, as a machine that is taken away: SIGKILL, at once."""
        self._killed.add(rank)
        processes.kill(self._processes[rank])

    def stop(self):
        """End all workers that are left: SIGTERM, after `grace` seconds SIGKILL."""
        stubborn = processes.stop(self._processes, self.grace)
        self.stubborn += [self._processes.index(p) for p in stubborn]
        for rank, process in enumerate(self._processes):
            self.endings[rank] = self.endings[rank] or processes.ending(process)

    def errors(self, rank: int) -> str:
        """The last lines that a worker wrote to its error stream."""
        return "\n".join(self._errors[rank])

    def _follow(self, rank):
        """In a thread of its own: what one worker prints, and its end, go into one queue."""
        process = self._processes[rank]
        reading = [
            threading.Thread(target=read, args=(rank,), daemon=True)
            for read in (self._read_lines, self._read_errors)
        ]
        for thread in reading:
            thread.start()
        process.wait()
        processes.kill_group(process)  # or what it left behind keeps the pipes open
        for thread in reading:
            thread.join(2)
        process.lifeline.close()
        self._news.put((rank, processes.ending(process, self.errors(rank)), True))

    def _read_lines(self, rank):
        with self._processes[rank].stdout as lines:
            for line in lines:
                self._news.put((rank, line.rstrip("\n"), False))

    def _read_errors(self, rank):
        with self._processes[rank].stderr as lines:
            for line in lines:
                self._errors[rank].append(line.rstrip("\n"))

    def _is_result(self, rank, text):
        if not text.startswith(RESULT):
            return False
        try:
            self.results[rank] = json.loads(text.removeprefix(RESULT))
        except ValueError:
            return False
        return True

    def _what_failed(self, rank):
        who = f"Worker {rank} of {self.count}"
        if "Could not start gRPC server" in self.errors(rank):
            return (
                f"{who} could not open port {self._ports[rank]}, which another program uses: "
                "start the workers again, on other ports."
            )
        return (
            f"{who} {self.endings[rank]}, so all were stopped: mend its script and start the "
            "workers again."
        )

    def _say_that_time_is_up(self):
        late = [str(rank) for rank, ending in enumerate(self.endings) if ending is None]
        self.stop()
        names = f"Worker {late[0]}" if len(late) == 1 else f"Workers {' and '.join(late)}"
        how = "killed, for they ignored SIGTERM" if self.stubborn else "stopped"
        raise ProcessError(
            f"{names} of {self.count} had not ended after {self.timeout:g} s and were {how}: see "
            "what they printed last, or give them more time with timeout."
        )


def run_workers(script, count: int = 2, arguments=(), *, show=print, **options) -> list:
    """Run a script in several worker processes and hand back their results.

    Args:
        script, count, arguments, options: as for `Workers`.
        show: gets each line that a worker prints, with the worker's number before it; None: no one.

    Returns:
        A list with the result of each worker, None where a worker handed back none.

    Example: `run_workers("train.py", 2, ["mixed_float16"])`.
    """
    with Workers(script, count, arguments, **options) as workers:
        for rank, line in workers:
            if show:
                show(f"worker {rank} · {line}")
    return workers.results
