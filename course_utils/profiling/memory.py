"""What is in memory during a step, and what its peak is made of."""

import math
from dataclasses import dataclass

import ml_dtypes  # noqa: F401  (teaches NumPy the name "bfloat16")
import numpy as np
import pandas as pd

from course_utils.profiling.ops import PIPELINE, find_ops
from course_utils.profiling.trace import Event, windows

PARTS = (
    *("weights", "optimizer", "weight_copies", "activations", "gradients"),
    *("batch", "temporary", "rounding", "other"),
)
BACKWARD = "gradient_tape/"  # in the name of an operation
# mb in use from ms on; op asked for what came or went
TIMELINE = ["ms", "mb", "op", "part"]
TENSORS = ["op", "part", "mb", "shape", "dtype"]
UNSEEN = (
    "This trace does not tell what is in memory: of TensorFlow's allocators, oneDNN's and a GPU's "
    "write into a trace, and the plain one for CPUs does not."
)


@dataclass(frozen=True, eq=False)
class Memory:
    """The memory of the step with the highest peak: times in ms since its start, sizes
    in MB.
    """

    # a row per change, the first at the step's start: `TIMELINE`
    timeline: pd.DataFrame
    backward_ms: float  # when the backward pass began, or NaN
    peak_ms: float
    peak_mb: float  # NaN where the trace does not tell
    parts: pd.Series  # what the peak is made of, for each of `PARTS`; NaN where unknown
    # made while the trace ran and in memory at the peak, largest first
    tensors: pd.DataFrame
    notes: tuple[str, ...] = ()  # what could not be told, and why


class _Block:
    """An allocation: its event in the trace, and when it was freed, in ms."""

    def __init__(self, event: Event):
        self.event = event
        self.start = event.start
        self.end = math.inf
        # "": unknown
        self.op = self.told("tf_op").removeprefix("StatefulPartitionedCall/")

    def told(self, name):
        return str(self.event.stats.get(name, ""))


def memory(trace, model) -> Memory:
    """Memory over one step of the compiled Keras model that was trained, and its peak
    explained.

    The parts are those of `roofline.account` (activations: made by the forward pass and
    still there when the backward pass begins), the batch, and what is temporary:
    gradients of activations, working space. "rounding" is what the allocator gives
    beyond what was asked for, and "other" is older than the trace and none of these. A
    step that runs eagerly or is compiled by XLA does not tell its backward pass: all it
    made counts as temporary. oneDNN's allocator tells of tensors of 256 KiB and more. A
    block that one operation hands on to the next keeps the name of the first.

    Example:
        profiling.memory(trace, model).parts
    """
    import tensorflow as tf

    changes = _changes(trace)
    steps = {(a, b): [c for c in changes if a <= c[0] < b] for a, b in windows(trace)}
    (start, end), within = max(
        steps.items(), key=lambda s: max((c[2] for c in s[1]), default=-1)
    )
    if not within:
        timeline, tensors = (
            pd.DataFrame(columns=names) for names in (TIMELINE, TENSORS)
        )
        parts = pd.Series(math.nan, index=PARTS, name="mb")
        return Memory(timeline, math.nan, math.nan, math.nan, parts, tensors, (UNSEEN,))
    peak_at, _, peak, _ = max(within, key=lambda change: change[2])
    backward = _backward(trace, start, end)
    shapes = {f"[{','.join(map(str, v.shape))}]" for v in model.trainable_variables}
    rows = [(0.0, within[0][1] / 1e6, "", "")]
    for at, _, in_use, block in within:
        op = block.op if block else ""
        rows.append(
            (at - start, in_use / 1e6, op, _part(block, (start, end), backward, shapes))
        )
    made = dict.fromkeys(block for *_, block in changes if block)  # each once
    live = [block for block in made if block.start <= peak_at < block.end]
    tensors = []
    given = sum(block.event.stats.get("allocation_bytes", 0) for block in live) / 1e6
    for block in live:
        asked = block.event.stats.get("requested_bytes", 0) / 1e6
        part = _part(block, (start, end), backward, shapes)
        dtype = block.event.stats.get("data_type")
        dtype = tf.as_dtype(dtype).name if dtype else ""
        tensors.append((block.op, part, asked, block.told("shape"), dtype))
    tensors = pd.DataFrame(tensors, columns=TENSORS)
    return Memory(
        pd.DataFrame(rows, columns=TIMELINE),
        backward_ms=backward - start,
        peak_ms=peak_at - start,
        peak_mb=peak / 1e6,
        parts=_parts(tensors, given - tensors["mb"].sum(), peak / 1e6, model),
        tensors=tensors.sort_values("mb", ascending=False, ignore_index=True),
    )


def allocations(trace) -> list[Event]:
    """What came and went at the allocator with most in use, of a `Trace`: its events
    with `requested_bytes`, `allocation_bytes` and `bytes_allocated` in their `stats`.

    Example:
        [event.stats["requested_bytes"] for event in allocations(trace)]
    """
    kinds = ("MemoryAllocation", "MemoryDeallocation")
    events = [event for event in trace.events if event.name in kinds]
    most = {}
    for event in events:
        name = event.stats.get("allocator_name", "")
        most[name] = max(most.get(name, 0), event.stats.get("bytes_allocated", 0))
    # What the host keeps for a GPU is not the GPU's memory.
    gpus = [name for name in most if name.startswith("GPU_")]
    chosen = max(gpus or most, key=lambda name: most[name], default="")
    return [e for e in events if e.stats.get("allocator_name", "") == chosen]


def _changes(trace):
    """Every change of the allocator with most in use: (ms, bytes before, bytes after,
    block).

    The block is None for one that is older than the trace.
    """
    live, changes = {}, []
    for event in allocations(trace):
        stats = event.stats
        size = stats.get("allocation_bytes", 0)
        in_use = stats.get("bytes_allocated", 0)
        if event.name == "MemoryAllocation":
            block = _Block(event)
            before = in_use - size
            live[stats.get("addr")] = block
        else:
            block = live.pop(stats.get("addr"), None)
            before = in_use + size
            if block:
                block.end = event.start
        changes.append((event.start, before, in_use, block))
    return changes


def _backward(trace, start, end):
    """When the backward pass of a step begins, in ms, or NaN.

    It begins with its first product: some of its small operations need nothing of the
    forward pass and run before it. The host's clock counts, by which blocks come and
    go: a GPU is late.
    """
    ops = [
        o
        for o in find_ops(trace, host=True)
        if start <= o.start < end and BACKWARD in o.name
    ]
    products = [o for o in ops if "MatMul" in o.type or "Conv" in o.type]
    return min((o.start for o in products or ops), default=math.nan)


def _part(block, step, backward, shapes):
    """Which of `PARTS` a block is, in a step (start, end)."""
    if block is None:
        return "other"
    if not block.op or block.event.line.startswith(PIPELINE):
        return "batch"
    of_weight = block.told("shape") in shapes
    output = block.told("region_type") == "output"
    # An operation may give a variable a new block, which then outlives the step.
    if block.start < step[0] or (of_weight and block.end > step[1]):
        return "other"
    if BACKWARD in block.op:
        return "gradients" if of_weight and output else "temporary"
    if output and block.start < backward:
        if of_weight and "Cast" in block.op:
            return "weight_copies"
        if block.end > backward:
            return "activations"
    return "temporary"


def _parts(tensors, rounding, peak, model):
    """MB of each part at the peak; what is older than the step goes to the model's
    variables.
    """
    parts = (
        tensors.groupby("part")["mb"].sum().reindex(PARTS, fill_value=0.0).rename("mb")
    )
    parts["rounding"] = rounding
    # A variable that a step of this trace made anew is "other" so far: it is the
    # model's.
    parts["other"] = 0.0
    before = max(peak - parts.sum(), 0.0)
    known = {id(v) for v in model.variables}
    slots = [v for v in model.optimizer.variables if id(v) not in known]
    for part, variables in (("weights", model.variables), ("optimizer", slots)):
        size = sum(
            math.prod(v.shape) * np.dtype(str(v.dtype)).itemsize for v in variables
        )
        parts[part] = min(size / 1e6, before)
        before -= parts[part]
    parts["other"] += before
    return parts
