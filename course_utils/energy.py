"""Energy of a piece of work, where the device reports it.

NVIDIA's GPUs count it (through NVML, with the optional package nvidia-ml-py), or at least tell
their power at the moment. Linux tells what x86 CPUs count (RAPL), mostly to the administrator
alone. Everything that the device spends meanwhile is counted, also what it spends when idle.
"""

import os
import re
import threading
import time
from dataclasses import dataclass
from pathlib import Path

RAPL = Path("/sys/class/powercap")
SAMPLE = 0.02  # seconds between two readings of the power


@dataclass(frozen=True)
class Energy:
    """What a piece of work took.

    Attributes:
        joules: of one run.
        watts: the mean power meanwhile.
        runs: how many runs that is the mean of.
        source: what reported it.
    """

    joules: float
    watts: float
    runs: int
    source: str


@dataclass(frozen=True, eq=False)
class Meter:
    """Something that reports energy or power.

    Attributes:
        source: what it is, in words.
        read: function that returns joules that only grow, or watts at the moment.
        counts: whether `read` returns joules.
    """

    source: str
    read: object
    counts: bool


def meter(kind: str) -> Meter | None:
    """What reports the energy of the device in use, or None where nothing does.

    Args:
        kind: "GPU", "TPU" or "CPU", as in `stepping.device()`.

    Example:
        >>> meter("TPU") is None
        True
    """
    return {"GPU": _nvml, "CPU": _rapl}.get(kind, lambda: None)()


def per_run(run, kind: str, seconds: float = 3) -> Energy | None:
    """The energy of one call of `run`, or None where the device does not report it.

    Args:
        run: function without arguments that waits for the device, as `train_on_batch` does;
            call it before, so that it is warm.
        kind: as for `meter`.
        seconds: how long to go on. Counters move some ten times a second: less than one second
            tells little.

    Example:
        found = energy.per_run(lambda: model.train_on_batch(x, y), "GPU")
        print(energy.sentence(found))
    """
    found = meter(kind)
    if found is None:
        return None
    with _Reading(found) as reading:
        start, runs = time.perf_counter(), 0
        while not runs or time.perf_counter() - start < seconds:
            run()
            runs += 1
    if not reading.joules > 0:
        return None  # a counter that stands still reports nothing
    watts = reading.joules / reading.seconds
    return Energy(reading.joules / runs, watts, runs, found.source)


def sentence(found: Energy | None) -> str:
    """What `per_run` found, in one sentence.

    Example:
        >>> sentence(None)
        'This device reports no energy to this process, so there is none to show.'
    """
    if found is None:
        return "This device reports no energy to this process, so there is none to show."
    return (
        f"{found.joules:.3g} J a run, at {found.watts:.3g} W, mean of {found.runs} runs, "
        f"by {found.source}."
    )


class _Reading:
    """Reads a meter before and after a `with` block, and one of power all the while."""

    def __init__(self, meter):
        self._meter, self._done = meter, threading.Event()
        self._samples = []

    def __enter__(self):
        self._sample()
        if not self._meter.counts:
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *exception):
        self._done.set()
        if not self._meter.counts:
            self._thread.join()
        self._sample()
        times, values = zip(*self._samples, strict=True)
        self.seconds = times[-1] - times[0]
        if self._meter.counts:
            self.joules = values[-1] - values[0]
            return
        pairs = zip(self._samples, self._samples[1:], strict=False)
        self.joules = sum((u - t) * (v + w) / 2 for (t, v), (u, w) in pairs)

    def _watch(self):
        while not self._done.wait(SAMPLE):
            self._sample()

    def _sample(self):
        value = self._meter.read()
        self._samples.append((time.perf_counter(), value))


def _nvml():
    """The first GPU that this process may use, through NVIDIA's management library."""
    try:
        import pynvml

        pynvml.nvmlInit()
        handle = _handle(pynvml, os.environ.get("CUDA_VISIBLE_DEVICES", "0"))
        name = pynvml.nvmlDeviceGetName(handle)
        name = name.decode() if isinstance(name, bytes) else name
    except Exception:  # no package, no driver, no GPU, or one without a name
        return None
    for source, function, counts in (
        (f"the energy counter of {name}", pynvml.nvmlDeviceGetTotalEnergyConsumption, True),
        (f"the power samples of {name}", pynvml.nvmlDeviceGetPowerUsage, False),
    ):
        try:
            function(handle)
        except pynvml.NVMLError:
            continue
        return Meter(source, lambda f=function: f(handle) / 1e3, counts)  # mJ, mW
    return None


def _handle(pynvml, visible):
    first = visible.split(",")[0].strip()
    if re.fullmatch(r"\d+", first):
        return pynvml.nvmlDeviceGetHandleByIndex(int(first))
    if first.startswith(("GPU-", "MIG-")):
        return pynvml.nvmlDeviceGetHandleByUUID(first)
    raise LookupError(first)  # none may be used


def _rapl():
    """The packages of this machine's CPUs, through Linux's powercap files."""
    packages = []
    for folder in sorted(RAPL.glob("intel-rapl:*")):  # AMD's have the same name
        if re.fullmatch(r"intel-rapl:\d+", folder.name):
            try:
                packages.append((folder / "energy_uj", int(_text(folder / "max_energy_range_uj"))))
                int(_text(packages[-1][0]))
            except (OSError, ValueError):
                return None  # the administrator's alone
    if not packages:
        return None
    last, above = [None] * len(packages), [0] * len(packages)

    def read():
        for i, (path, most) in enumerate(packages):
            now = int(_text(path))
            if last[i] is not None and now < last[i]:
                above[i] += most  # the counter began again
            last[i] = now
        return 1e-6 * (sum(last) + sum(above))

    return Meter("the CPU package's energy counter (RAPL)", read, True)


def _text(path):
    return path.read_text(encoding="ascii")
