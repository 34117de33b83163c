"""Which operations took the time."""

import re
from typing import NamedTuple

import pandas as pd

OP = re.compile(r"[^: ]+:([A-Za-z_]\w*)")  # "dense/MatMul:MatMul"
EAGER = "EagerLocalExecute: "
WAITS = ("IteratorGetNext", "IteratorGetNextSync")  # operations that only wait for a batch
PIPELINE = "tf_data"  # what tf.data calls its threads

# What is in an operation's type tells its kind; the first that fits counts.
KINDS = (
    ("convolution", r"Conv\dD|DepthwiseConv|[Cc]onvolution"),
    ("matrix product", r"MatMul|Einsum|[Gg]emm|^dot"),
    ("fused by XLA", r"fusion|^__inference"),
    ("cast", r"^Cast$|^convert"),
    ("Python", r"PyFunc"),
)


class Op(NamedTuple):
    """One run of one operation: its name, type, device, line, start, end and own time in ms."""

    name: str
    type: str
    device: str
    line: str
    start: float
    end: float
    own: float


def op_times(trace, by: str = "type", where: str = "step") -> pd.DataFrame:
    """How long each operation ran, slowest first.

    On a CPU this is the time of TensorFlow's operations on all threads; where the trace holds an
    accelerator's own events, those are counted instead (the course was not run on one). A
    compiled step (`jit_compile=True`) shows XLA's operations.

    Args:
        trace: what `record` or `open_trace` returned.
        by: "type" sums over all operations of a type ("MatMul"), "name" over all runs of one
            operation ("dense_1/MatMul"), which names the layer.
        where: "step" for the operations of the steps, "input" for those that tf.data runs on
            threads of its own, for example in `map`.

    Returns:
        A DataFrame with the columns op, kind (one of `KINDS`, or "other"), calls (per step), ms
        (per step; the time of operations called from this one is theirs), share (of all
        operations). Empty where the trace holds no operation.

    Raises:
        ValueError: `by` or `where` is something else.

    Example:
        profiling.op_times(trace).head()
    """
    from course_utils.profiling.steps import windows

    if by not in ("type", "name"):
        raise ValueError(f'by is {by!r}: choose "type" or "name".')
    if where not in ("step", "input"):
        raise ValueError(f'where is {where!r}: choose "step" or "input".')
    ops = find_ops(trace, pipeline=where == "input")
    rows = [(getattr(op, by), _kind(op.type), op.own) for op in ops]
    table = pd.DataFrame(rows, columns=["op", "kind", "ms"])
    table = table.groupby(["op", "kind"], as_index=False, sort=False).agg(
        calls=("ms", "size"), ms=("ms", "sum")
    )
    table[["calls", "ms"]] /= len(windows(trace))
    table["share"] = table["ms"] / table["ms"].sum()
    table = table.sort_values("ms", ascending=False, ignore_index=True)
    return table[["op", "kind", "calls", "ms", "share"]]


def find_ops(trace, pipeline: bool = False) -> list[Op]:
    """Every run of every operation of the steps, or of tf.data's own; each line by start."""
    device = not pipeline and any(e.device.startswith("/device:") for e in trace.events)
    lines = {}
    for event in trace.events:
        here = event.device.startswith("/device:" if device else "/host:")
        if here and event.line.startswith(PIPELINE) == pipeline:
            lines.setdefault((event.device, event.line), []).append(event)
    return [op for events in lines.values() for op in _line(events, device)]


def _line(events, device):
    """The operations of one thread; the time of one that runs inside another is taken off it."""
    found, open_, eager = [], [], None
    for event in events:
        if event.name.startswith(EAGER):
            name = event.name.removeprefix(EAGER)
            eager = None if name.startswith("__") else event._replace(name=name)
        named = _device_name(event) if device else _host_name(event, eager)
        if named is None or named[1] in WAITS:
            continue
        own = event.end - event.start
        op = [*named, event.device, event.line, event.start, event.end, own]
        while open_ and open_[-1][5] <= event.start:
            open_.pop()
        if open_:
            open_[-1][6] -= own
        open_.append(op)
        found.append(op)
    return [Op(*op) for op in found]


def _host_name(event, eager):
    """(name, type) of an operation, or None for other events."""
    if "hlo_op" in event.stats:
        return event.name, re.sub(r"([._]\d+)+$", "", event.name)
    if event.name == "KernelAndDeviceFunc::Run" and eager and event.end <= eager.end:
        return eager.name, eager.name
    match = OP.fullmatch(event.name)
    if not match:
        return None
    return event.name[: -len(match[1]) - 1].removeprefix("StatefulPartitionedCall/"), match[1]


def _device_name(event):
    """A GPU's streams hold kernels, which say what operation they belong to."""
    if not event.line.startswith("Stream"):
        return None
    match = OP.fullmatch(str(event.stats.get("tf_op", "")))
    if match:
        return event.stats["tf_op"][: -len(match[1]) - 1], match[1]
    return event.name, re.sub(r"([._]\d+)+$", "", event.name)


def _kind(op):
    return next((kind for kind, pattern in KINDS if re.search(pattern, op)), "other")
