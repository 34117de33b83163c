"""What a step spends its time on: waiting for input, operations, or neither."""

from typing import NamedTuple

import pandas as pd

from course_utils.profiling.ops import find_ops, op_times

INPUT = ("IteratorGetNext", "EagerLocalExecute: IteratorGetNext")
MARK = "input"  # what a step marks by itself


class Bottleneck(NamedTuple):
    """What limits a step.

    Attributes:
        name: "input", "overhead", "arithmetic", "memory", or "operations" where XLA fused them
            so that the last two cannot be told apart.
        share: its share of the step's time, 0 to 1.
        sentence: the same in words, and what to try.
    """

    name: str
    share: float
    sentence: str


def windows(trace) -> list[tuple[float, float]]:
    """Start and end of every step, in ms.

    The marks that `record` sets count. Without them, as in a trace of Keras's TensorBoard
    callback, every outermost call of a compiled function opens a step that lasts until the next
    one. Without those, the whole trace is one step.
    """
    host = [event for event in trace.events if event.device.startswith("/host:")]
    marked = [(e.start, e.end) for e in host if "step_num" in e.stats]
    if marked:
        return marked
    calls = []
    for event in host:
        if "tf_function_call" in event.stats and (not calls or event.start >= calls[-1][1]):
            calls.append((event.start, event.end))
    if calls:
        starts = [start for start, _ in calls[1:]]
        return list(zip((start for start, _ in calls), [*starts, calls[-1][1]], strict=True))
    return [(0.0, max(event.end for event in trace.events))]


def step_times(trace) -> pd.DataFrame:
    """How each step spent its time.

    Returns:
        A DataFrame with a row per step: step (0, 1, …), step_ms, input_ms (waiting for tf.data,
        or in what the step marked as "input"), ops_ms (at least one operation running, and not
        waiting), overhead_ms (the rest: Python, launching operations, waiting for threads).

    Example:
        profiling.step_times(trace).median()
    """
    waits = _union((e.start, e.end) for e in trace.events if _is_input(e))
    busy = _union((op.start, op.end) for op in find_ops(trace))
    rows = []
    for number, (start, end) in enumerate(windows(trace)):
        waited = _clip(waits, start, end)
        either = _union([*waited, *_clip(busy, start, end)])
        parts = end - start, _length(waited), _length(either) - _length(waited)
        rows.append((number, *parts, end - start - _length(either)))
    return pd.DataFrame(rows, columns=["step", "step_ms", "input_ms", "ops_ms", "overhead_ms"])


def bottleneck(trace) -> Bottleneck:
    """What most of a step's time goes to, over all steps of a trace.

    While operations run, the bottleneck is called "arithmetic" if matrix products and
    convolutions take most of their time, else "memory": most other operations move more bytes
    than they compute. The roofline tells it from the model's numbers; this tells it from a trace.

    Example:
        print(profiling.bottleneck(trace).sentence)
    """
    total = step_times(trace).sum()
    shares = {part: total[f"{part}_ms"] / total["step_ms"] for part in ("input", "ops", "overhead")}
    part = max(shares, key=shares.get)
    share = float(shares[part])
    said = f"{share:.0%} of a step"
    if part == "input":
        sentence = (
            f"{said} waits for input: make the input pipeline faster, or let it work ahead with "
            "`prefetch`; the model's precision changes nothing until then."
        )
        return Bottleneck("input", share, sentence)
    if part == "overhead":
        sentence = (
            f"In {said} no operation runs: Python and the launching of operations take it; "
            "give each step more work (a larger batch) or compile it."
        )
        return Bottleneck("overhead", share, sentence)
    kinds = op_times(trace).groupby("kind")["share"].sum()
    products = kinds.get("matrix product", 0) + kinds.get("convolution", 0)
    if products >= 0.5:
        sentence = (
            f"{said} runs operations, {products:.0%} of it matrix products and convolutions: "
            "a device that multiplies faster in 16 bits makes it faster."
        )
        return Bottleneck("arithmetic", share, sentence)
    if kinds.get("fused by XLA", 0) >= 0.5:
        sentence = (
            f"{said} runs operations that XLA fused into one another: record a step without "
            "jit_compile to see whether products or the moving of bytes take the time."
        )
        return Bottleneck("operations", share, sentence)
    sentence = (
        f"{said} runs operations, {1 - products:.0%} of it neither matrix products nor "
        "convolutions: they move bytes, so that half the bytes is what 16 bits can save."
    )
    return Bottleneck("memory", share, sentence)


def _is_input(event):
    return event.name == MARK or event.name.startswith(INPUT)


def _union(spans):
    """Overlapping spans merged, sorted by start."""
    merged = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _clip(spans, start, end):
    return [(max(a, start), min(b, end)) for a, b in spans if b > start and a < end]


def _length(spans):
    return sum(end - start for start, end in spans)
