"""Recording what TensorFlow does, and reading the file back.

A trace is a folder `plugins/profile/<run>` with one file per host, `*.xplane.pb`: what
TensorBoard's Profile tab shows. It is read here with TensorFlow alone, so that the tables of
this package are the same with XProf and without it.
"""

import contextlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

STEP = "train"  # XProf knows a step by this mark and its number.


class Event(NamedTuple):
    """Something that TensorFlow's profiler saw.

    Attributes:
        device: "/host:CPU", "/device:GPU:0", …
        line: the thread, or the stream of a GPU.
        name: what ran, for example "dense/MatMul:MatMul" (operation and its type).
        start, end: milliseconds since the trace's first event.
        stats: what else is known about it: {"step_num": 3}, …
    """

    device: str
    line: str
    name: str
    start: float
    end: float
    stats: dict


@dataclass(frozen=True, eq=False)
class Trace:
    """A recorded trace.

    Attributes:
        folder: where its files are; `tensorboard --logdir` takes this folder or one above it.
        events: every `Event`, sorted by start.
    """

    folder: Path
    events: tuple[Event, ...]

    def __repr__(self):
        return f"<trace of {len(self.events):,} events in {self.folder}>"


def record(step, steps: int = 5, warm_up: int = 2, folder: str | Path | None = None) -> Trace:
    """Runs `step` a few times under TensorFlow's profiler.

    Each call is marked as one step. What it reads by itself, not through tf.data, is known as
    input only if it says so: `with tf.profiler.experimental.Trace("input"): batch = read()`.

    Args:
        step: function without arguments that makes one training step, or anything else. On an
            accelerator it has to read a result back (`float(loss)`), as `train_on_batch` does;
            else it ends before the device has.
        steps: calls to record. A few are enough, and they keep the file small.
        warm_up: calls before, which trace the graph and fill caches.
        folder: where to write, for TensorBoard to look at; a new temporary folder if None. Give
            each recording one of its own: TensorFlow names a run after the second it is made in.

    Raises:
        ValueError: `step` cannot be called, there is nothing to record, the folder cannot be made,
            or another trace is being recorded.

    Example:
        trace = profiling.record(lambda: model.train_on_batch(x, y))
    """
    import tensorflow as tf

    if not callable(step):
        raise ValueError(
            f"step is {type(step).__name__}: give a function without arguments, "
            "for example `lambda: model.train_on_batch(x, y)`."
        )
    if steps < 1:
        raise ValueError(f"steps is {steps}: record at least 1 step.")
    folder = Path(folder or tempfile.mkdtemp(prefix="trace-"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(
            f"A trace cannot be written into {folder} ({type(error).__name__}): "
            "give a folder that you may write to."
        ) from None
    for _ in range(warm_up):
        step()
    try:
        with _not_left_running():
            tf.profiler.experimental.start(str(folder))
    except tf.errors.AlreadyExistsError:
        raise ValueError(
            "Another trace is being recorded: end it with `tf.profiler.experimental.stop()`, "
            "then record again."
        ) from None
    try:
        for number in range(steps):
            with tf.profiler.experimental.Trace(STEP, step_num=number, _r=1):
                step()
    finally:
        with _not_left_running():
            tf.profiler.experimental.stop()
    return open_trace(folder)


def open_trace(folder: str | Path) -> Trace:
    """Reads the newest trace in a folder or below it.

    `record` writes such a folder, and so does `keras.callbacks.TensorBoard(profile_batch=...)`.

    Raises:
        ValueError: there is no such folder, no trace in it, or one that cannot be read.

    Example:
        profiling.open_trace("logs")
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(
            f"There is no folder {folder}: give the one that was recorded into, "
            "or record a trace with `profiling.record`."
        )
    files = sorted(folder.rglob("*.xplane.pb"), key=lambda path: (path.stat().st_mtime, path))
    if not files:
        raise ValueError(
            f"The folder {folder} holds no trace (no *.xplane.pb file below it): "
            "record one into it with `profiling.record`."
        )
    run = files[-1].parent
    planes = [plane for file in sorted(run.glob("*.xplane.pb")) for plane in _planes(file)]
    first = min((line.timestamp_ns for plane in planes for line in plane.lines), default=0)
    events = [event for plane in planes for event in _events(plane, first)]
    if not events:
        raise ValueError(
            f"The trace in {run} is empty: nothing ran while it was recorded, or another version "
            "of TensorFlow wrote it; record it again here."
        )
    start = min(event.start for event in events)
    moved = (e._replace(start=e.start - start, end=e.end - start) for e in events)
    return Trace(run, tuple(sorted(moved, key=lambda e: (e.start, -e.end))))


@contextlib.contextmanager
def _not_left_running():
    """Ends the profiler when an interrupt comes while it starts or writes its file.

    TensorFlow then believes that it still runs, and the next recording would be refused.
    """
    import tensorflow as tf

    try:
        yield
    except KeyboardInterrupt:
        with contextlib.suppress(tf.errors.UnavailableError):
            tf.profiler.experimental.stop(save=False)
        raise


def _planes(file):
    from google.protobuf.message import DecodeError
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space = xplane_pb2.XSpace()
    try:
        space.ParseFromString(file.read_bytes())
    except DecodeError:
        raise ValueError(
            f"{file} is not a trace that this version of TensorFlow can read: "
            "it is damaged or comes from another version; record it again here."
        ) from None
    return space.planes


def _events(plane, first):
    names = {key: stat.name for key, stat in plane.stat_metadata.items()}

    def value(stat):
        kind = stat.WhichOneof("value")
        if kind is None:
            return None
        number = getattr(stat, kind)
        return names.get(number, number) if kind == "ref_value" else number

    for line in plane.lines:
        label = line.name or line.display_name
        for event in line.events:
            name = plane.event_metadata[event.metadata_id].name
            if name.startswith(("ThreadpoolListener::", "end: ")):
                continue  # most of the file, and nothing that takes time
            start = (line.timestamp_ns - first) / 1e6 + event.offset_ps / 1e9
            stats = {names.get(s.metadata_id, ""): value(s) for s in event.stats}
            yield Event(plane.name, label, name, start, start + event.duration_ps / 1e9, stats)
