"""What is in memory during a step, and what its peak is made of."""

import math
from dataclasses import dataclass

import pandas as pd

from course_utils.profiling import blocks
from course_utils.profiling.ops import PIPELINE, find_ops
from course_utils.profiling.steps import windows

PARTS = (
    "weights",
    "optimizer",
    "weight_copies",
    "activations",
    "gradients",
    "batch",
    "temporary",
    "rounding",
    "other",
)
TIMELINE = ["ms", "mb", "op", "part"]
TENSORS = ["op", "part", "mb", "shape", "dtype"]
UNSEEN = (
    "This trace does not tell what is in memory: of TensorFlow's allocators, oneDNN's and a GPU's "
    "write into a trace, and the plain one for CPUs does not."
)
NO_BACKWARD = (
    "No backward pass of a compiled function was found in this step, so that all it made counts "
    "as temporary: a step that runs eagerly or is compiled by XLA does not tell."
)
NO_MODEL = (
    "Without the model, its weights and optimizer count as other, and the gradients of weights as "
    "temporary: give it as `memory(trace, model)`."
)


@dataclass(frozen=True, eq=False)
class Memory:
    """The memory of the step with the highest peak.

    Attributes:
        timeline: one row per change: ms (since the step's start), mb (in use from then on), op
            (what asked for the block that came or went), part. The first row is the step's start.
        backward_ms: when the backward pass began, in ms since the step's start, or NaN.
        peak_ms, peak_mb: the highest point; NaN where the trace does not tell.
        parts: what the peak is made of, in MB, for each of `PARTS`; NaN where unknown.
        tensors: what was made while the trace ran and was in memory at the peak, largest first:
            op, part, mb, shape, dtype.
        allocator: whose memory this is, "mklcpu" or "GPU_0_bfc", or "".
        notes: sentences on what could not be told, and why.
    """

    timeline: pd.DataFrame
    backward_ms: float
    peak_ms: float
    peak_mb: float
    parts: pd.Series
    tensors: pd.DataFrame
    allocator: str
    notes: tuple[str, ...] = ()


def memory(trace, model=None) -> Memory:
    """Memory over one step, and its peak explained.

    The parts are those of `course_utils.memory.account`: weights, optimizer, 16-bit
    weight_copies, activations (made by the forward pass and still there when the backward pass
    begins) and gradients (of the weights). On top come the batch and what is temporary: gradients
    of activations, working space. "rounding" is what the allocator gives beyond what was asked for,
    and "other" is older than the trace and none of these.

    oneDNN's allocator tells of tensors of 256 KiB and more; smaller ones are not in a trace.
    A block that one operation hands on to the next keeps the name of the first.

    Args:
        trace: what `record` or `open_trace` returned.
        model: the compiled Keras model that was trained, or None.

    Example:
        profiling.memory(trace, model).parts
    """
    allocator, changes = blocks.read(trace)
    within = {step: [c for c in changes if step[0] <= c.at < step[1]] for step in windows(trace)}
    step = max(within, key=lambda step: max((c.in_use for c in within[step]), default=-1))
    if not within[step]:
        return _unknown(allocator)
    top = max(within[step], key=lambda change: change.in_use)
    backward = _backward(trace, *step)
    shapes = {_shape(v) for v in model.trainable_variables} if model else set()

    def part(block):
        return _part(block, step[0], backward, shapes)

    made = dict.fromkeys(c.block for c in changes if c.block)  # each once
    live = [b for b in made if b.start <= top.at < b.end]
    tensors = pd.DataFrame(
        [(b.op, part(b), b.bytes / 1e6, b.shape, b.dtype) for b in live], columns=TENSORS
    )
    rounding = sum(b.rounding for b in live) / 1e6
    rows = [(0.0, within[step][0].before / 1e6, "", "")]
    for change in within[step]:
        op = change.block.op if change.block else ""
        rows.append((change.at - step[0], change.in_use / 1e6, op, part(change.block)))
    notes = (() if model else (NO_MODEL,)) + ((NO_BACKWARD,) if math.isnan(backward) else ())
    return Memory(
        timeline=pd.DataFrame(rows, columns=TIMELINE),
        backward_ms=backward - step[0],
        peak_ms=top.at - step[0],
        peak_mb=top.in_use / 1e6,
        parts=_parts(tensors, rounding, top.in_use / 1e6, model),
        tensors=tensors.sort_values("mb", ascending=False, ignore_index=True),
        allocator=allocator,
        notes=notes,
    )


def _unknown(allocator):
    return Memory(
        timeline=pd.DataFrame(columns=TIMELINE),
        backward_ms=math.nan,
        peak_ms=math.nan,
        peak_mb=math.nan,
        parts=pd.Series(math.nan, index=PARTS, name="mb"),
        tensors=pd.DataFrame(columns=TENSORS),
        allocator=allocator,
        notes=(UNSEEN,),
    )


def _backward(trace, start, end):
    """When the backward pass of a step begins, in ms, or NaN.

    It begins with its first product: some of its small operations need nothing of the forward
    pass and run before it.
    """
    ops = [o for o in find_ops(trace) if start <= o.start < end and _is_backward(o.name)]
    products = [o for o in ops if "MatMul" in o.type or "Conv" in o.type]
    return min((o.start for o in products or ops), default=math.nan)


def _is_backward(op):
    return "gradient_tape/" in op


def _part(block, start, backward, shapes):
    """Which of `PARTS` a block is, in a step that starts at `start`; None: one before the trace."""
    if block is None:
        return "other"
    if not block.op or block.line.startswith(PIPELINE):
        return "batch"
    if block.start < start:
        return "other"
    of_weight = block.shape in shapes
    if _is_backward(block.op):
        return "gradients" if of_weight and block.region == "output" else "temporary"
    if block.region != "output" or not block.start < backward:
        return "temporary"
    if of_weight and "Cast" in block.op:
        return "weight_copies"
    return "activations" if block.end > backward else "temporary"


def _parts(tensors, rounding, peak, model):
    """MB of each part at the peak; what is older than the step goes to the model's variables."""
    parts = tensors.groupby("part")["mb"].sum().reindex(PARTS, fill_value=0.0).rename("mb")
    parts["rounding"] = rounding
    # A variable that an earlier step of this trace made anew is "other" so far: it is the model's.
    parts["other"] = 0.0
    before = max(peak - parts.sum(), 0.0)
    if model:
        of_model = list(model.variables)
        known = {id(v) for v in of_model}
        optimizer = [v for v in model.optimizer.variables if id(v) not in known]
        for part, variables in (("weights", of_model), ("optimizer", optimizer)):
            parts[part] = min(sum(map(_bytes, variables)) / 1e6, before)
            before -= parts[part]
    parts["other"] += before
    return parts


def _shape(variable):
    return f"[{','.join(map(str, variable.shape))}]"


def _bytes(variable):
    import tensorflow as tf

    return math.prod(variable.shape) * tf.as_dtype(variable.dtype).size
