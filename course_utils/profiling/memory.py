"""What is in memory during a step, and what its peak is made of."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import ml_dtypes  # noqa: F401  (teaches NumPy the name "bfloat16")
import numpy as np
import pandas as pd
import tensorflow as tf

from course_utils.profiling.ops import PIPELINE, find_ops
from course_utils.profiling.trace import Event, windows

PARTS = (
    *("weights", "optimizer", "weight_copies", "activations", "gradients"),
    *("batch", "temporary", "rounding", "other"),
)
BACKWARD = "gradient_tape/"  # in the name of an operation
TIMELINE = ["ms", "mb", "part"]  # mb in use from ms on; the part of what came or went
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
    peak_mb: float  # NaN where the trace does not tell
    parts: pd.Series  # what the peak is made of, for each of `PARTS`; NaN where unknown
    # made while the trace ran and in memory at the peak, largest first
    tensors: pd.DataFrame
    notes: tuple[str, ...] = ()  # what could not be told, and why


class _Block:
    """An allocation: its event in the trace, and when it was freed, in ms."""

    def __init__(self, event: Event):
        self.event = event
        self.end = math.inf
        # "": unknown
        self.op = self.told("tf_op").removeprefix("StatefulPartitionedCall/")

    def told(self, name):
        return str(self.event.stats.get(name, ""))


class _Change(NamedTuple):
    """Something came or went; block is None for one that is older than the trace."""

    ms: float
    before: int  # bytes in use
    after: int
    block: _Block | None


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
    changes = _changes(trace)
    steps = {
        (start, end): [change for change in changes if start <= change.ms < end]
        for start, end in windows(trace)
    }
    step = max(steps, key=lambda each: max((c.after for c in steps[each]), default=-1))
    within = steps[step]
    if not within:
        timeline = pd.DataFrame(columns=TIMELINE)
        parts = pd.Series(math.nan, index=PARTS, name="mb")
        tensors = pd.DataFrame(columns=TENSORS)
        return Memory(timeline, math.nan, math.nan, parts, tensors, (UNSEEN,))
    backward = _backward(trace, *step)
    shapes = {f"[{','.join(map(str, v.shape))}]" for v in model.trainable_variables}

    def part(block):
        return _part(block, step, backward, shapes)

    rows = [(0.0, within[0].before / 1e6, "")]
    rows += [(c.ms - step[0], c.after / 1e6, part(c.block)) for c in within]
    peak = max(within, key=lambda change: change.after)
    made = dict.fromkeys(change.block for change in changes if change.block)
    tensors = []
    rounding = 0.0
    for block in made:
        if block.event.start <= peak.ms < block.end:
            asked = block.event.stats.get("requested_bytes", 0) / 1e6
            rounding += block.event.stats.get("allocation_bytes", 0) / 1e6 - asked
            code = block.event.stats.get("data_type")
            dtype = tf.as_dtype(code).name if code else ""
            tensors.append((block.op, part(block), asked, block.told("shape"), dtype))
    tensors = pd.DataFrame(tensors, columns=TENSORS)
    return Memory(
        pd.DataFrame(rows, columns=TIMELINE),
        backward_ms=backward - step[0],
        peak_mb=peak.after / 1e6,
        parts=_parts(tensors, rounding, peak.after / 1e6, model),
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
    """Every `_Change` of the allocator with most in use."""
    live, changes = {}, []
    for event in allocations(trace):
        size = event.stats.get("allocation_bytes", 0)
        in_use = event.stats.get("bytes_allocated", 0)
        address = event.stats.get("addr")
        if event.name == "MemoryAllocation":
            live[address] = block = _Block(event)
            before = in_use - size
        else:
            block = live.pop(address, None)
            before = in_use + size
            if block:
                block.end = event.start
        changes.append(_Change(event.start, before, in_use, block))
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
    if block.event.start < step[0] or (of_weight and block.end > step[1]):
        return "other"
    if BACKWARD in block.op:
        return "gradients" if of_weight and output else "temporary"
    if output and block.event.start < backward:
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
