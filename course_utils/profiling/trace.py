"""Recording what TensorFlow does, and reading the file back.

A trace is a folder `plugins/profile/<run>` with one file per host, `*.xplane.pb`: what
TensorBoard's Profile tab shows. It is read here with TensorFlow alone.
"""

import contextlib
import math
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

STEP = "train"  # XProf knows a step by this mark and its number.


class Event(NamedTuple):
    """Something that TensorFlow's profiler saw."""

    device: str  # "/host:CPU", "/device:GPU:0", …
    line: str  # the thread, or the stream of a GPU
    name: str  # what ran, for example "dense/MatMul:MatMul" (operation and its type)
    start: float  # in ms since the trace's first thread began, as is `end`
    end: float
    stats: dict  # what else is known about it: {"step_num": 3}, …


def record(
    step: Callable[[], object],
    steps: int = 5,
    warm_up: int = 2,
    folder: str | Path | None = None,
    seconds: float = math.inf,
) -> tuple[Event, ...]:
    """Calls `step()` under TensorFlow's profiler, `steps` times after `warm_up`
    unrecorded calls: what happened, each `Event` by its start.

    It records fewer, at least one, where by the last warm-up they would take longer
    than `seconds`. Each call is marked as one step. On an accelerator it has to read a
    result back, as `train_on_batch` does, else it ends before the device has. Give each
    recording a folder of its own, or None for a temporary one: TensorFlow names a run
    after the second it is made in.

    Raises:
        ValueError: another trace is being recorded.

    Example:
        trace = profiling.record(lambda: model.train_on_batch(x, y))
    """
    import tensorflow as tf

    folder = Path(folder or tempfile.mkdtemp(prefix="trace-"))
    folder.mkdir(parents=True, exist_ok=True)
    for _ in range(warm_up):
        start = time.perf_counter()
        step()
        duration = time.perf_counter() - start
    if warm_up:
        steps = max(1, int(min(steps, seconds / duration)))
    is_recording = False
    try:
        tf.profiler.experimental.start(str(folder))
        is_recording = True
        for number in range(steps):
            with tf.profiler.experimental.Trace(STEP, step_num=number, _r=1):
                step()
        tf.profiler.experimental.stop()
    except BaseException as error:
        if isinstance(error, tf.errors.AlreadyExistsError) and not is_recording:
            raise ValueError(
                "Another trace is being recorded: end it with `tf.profiler.experimental.stop()`, "
                "then record again."
            ) from None
        # However it ended, TensorFlow believes that its profiler still runs.
        with contextlib.suppress(tf.errors.UnavailableError):
            tf.profiler.experimental.stop(save=False)
        raise
    return read(folder)


def read(folder: str | Path) -> tuple[Event, ...]:
    """The newest trace below a folder, whoever recorded it, as `record` gives it;
    ValueError where there is none.

    Example:
        keras.callbacks.TensorBoard("logs", profile_batch=(3, 8))  # in fit, and then
        profiling.read("logs")
    """
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    files = [*Path(folder).rglob("*.xplane.pb")]
    if not files:
        raise ValueError(f"No trace lies below {folder}: give the folder of one.")
    run = max(files, key=lambda path: (path.stat().st_mtime, path)).parent
    planes = []
    for file in sorted(run.glob("*.xplane.pb")):
        planes += xplane_pb2.XSpace.FromString(file.read_bytes()).planes
    first = min(line.timestamp_ns for plane in planes for line in plane.lines)
    events = [event for plane in planes for event in _events(plane, first)]
    return tuple(sorted(events, key=lambda e: (e.start, -e.end)))


def windows(trace: Sequence[Event]) -> list[tuple[float, float]]:
    """Start and end of every step that `record` marked, in ms."""
    host = (event for event in trace if event.device.startswith("/host:"))
    return [(event.start, event.end) for event in host if "step_num" in event.stats]


def _events(plane, first):
    names = {key: stat.name for key, stat in plane.stat_metadata.items()}
    for line in plane.lines:
        label = line.name or line.display_name
        for event in line.events:
            name = plane.event_metadata[event.metadata_id].name
            if name.startswith(("ThreadpoolListener::", "end: ")):
                continue  # most of the file, and nothing that takes time
            start = (line.timestamp_ns - first) / 1e6 + event.offset_ps / 1e9
            stats = {
                names.get(s.metadata_id, ""): _value(s, names) for s in event.stats
            }
            yield Event(
                plane.name, label, name, start, start + event.duration_ps / 1e9, stats
            )


def _value(stat, names):
    kind = stat.WhichOneof("value")
    value = getattr(stat, kind) if kind else None
    return names.get(value, value) if kind == "ref_value" else value
