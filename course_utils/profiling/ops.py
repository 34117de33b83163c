"""Which operations took the time."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from course_utils.profiling.trace import Event, windows

# "dense/MatMul:MatMul"
OP = re.compile(r"(?:StatefulPartitionedCall/)?([^: ]+):([A-Za-z_]\w*)")
NUMBER = re.compile(r"([._]\d+)+$")  # "fusion.2"
EAGER = "EagerLocalExecute: "
# operations that only wait for a batch
WAITS = ("IteratorGetNext", "IteratorGetNextSync")
BACKWARD = "gradient_tape/"  # in the name of an operation
PIPELINE = "tf_data"  # what tf.data calls its threads

# What is in an operation's type tells its kind; the first that fits counts.
KINDS = (
    ("convolution", r"Conv\dD|DepthwiseConv|[Cc]onvolution"),
    ("matrix product", r"MatMul|Einsum|[Gg]emm|^dot"),
    ("fused by XLA", r"fusion|^__inference"),
    ("cast", r"^Cast$|^convert"),
    ("Python", r"PyFunc"),
)


@dataclass
class Op:
    """One run of one operation: its name, type, thread, start, end and own time in ms."""

    name: str
    type: str
    line: str
    start: float
    end: float
    own: float

    @property
    def kind(self) -> str:
        """The kind of its type, by `KINDS`, or "other"."""
        return next(
            (kind for kind, pattern in KINDS if re.search(pattern, self.type)), "other"
        )


def op_times(trace: Sequence[Event]) -> pd.DataFrame:
    """How long each operation of the steps ran, slowest first: op, kind, calls and ms
    per step, share of all.

    An operation goes by its type, such as "MatMul". The time of operations called from
    another is theirs. On a CPU it is that of TensorFlow's operations on all threads; an
    accelerator's own events count instead where a trace holds them. A compiled step
    shows XLA's operations.

    Example:
        profiling.op_times(trace).head()
    """
    rows = [(op.type, op.kind, op.own) for op in find_ops(trace)]
    runs = pd.DataFrame(rows, columns=["op", "kind", "ms"])
    each = runs.groupby(["op", "kind"], sort=False)["ms"]
    table = each.agg(calls="size", ms="sum").reset_index()
    table[["calls", "ms"]] /= len(windows(trace))
    table["share"] = table["ms"] / table["ms"].sum()
    return table.sort_values("ms", ascending=False, ignore_index=True)


def find_ops(trace: Sequence[Event], pipeline: bool = False) -> list[Op]:
    """Every run of every operation of the steps, or of tf.data's own; each line by
    start.
    """
    device = not pipeline and any(e.device.startswith("/device:") for e in trace)
    lines = {}
    for event in trace:
        here = event.device.startswith("/device:" if device else "/host:")
        if here and event.line.startswith(PIPELINE) == pipeline:
            lines.setdefault((event.device, event.line), []).append(event)
    return [op for events in lines.values() for op in _line(events, device)]


def _line(events, device):
    """The operations of one thread; the time of one that runs inside another is taken
    off it.
    """
    ops = []
    open_: list[Op] = []  # each runs inside the one before it
    eager = None
    for event in events:
        if event.name.startswith(EAGER):
            name = event.name.removeprefix(EAGER)
            eager = None if name.startswith("__") else event._replace(name=name)
        names = _device_name(event) if device else _host_name(event, eager)
        if names is None or names[1] in WAITS:
            continue
        start, end = event.start, event.end
        op = Op(names[0], names[1], event.line, start, end, own=end - start)
        while open_ and open_[-1].end <= event.start:
            open_.pop()
        if open_:
            open_[-1].own -= op.own
        open_.append(op)
        ops.append(op)
    return ops


def _host_name(event, eager):
    """(name, type) of an operation, or None for other events."""
    if "hlo_op" in event.stats:
        return event.name, NUMBER.sub("", event.name)
    if event.name == "KernelAndDeviceFunc::Run" and eager and event.end <= eager.end:
        return eager.name, eager.name
    match = OP.fullmatch(event.name)
    return match and match.groups()


def _device_name(event):
    """A GPU's streams hold kernels, which say what operation they belong to."""
    if not event.line.startswith("Stream"):
        return None
    match = OP.fullmatch(str(event.stats.get("tf_op", "")))
    kernel = event.name.split("<")[0]  # of a C++ template's name, which can fill a page
    return match.groups() if match else (kernel, NUMBER.sub("", kernel))
