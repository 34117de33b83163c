"""What a step spends its time on, and why it got no faster under another policy."""

import math
import re
import statistics
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pandas as pd

from course_utils.profiling.ops import BACKWARD, find_ops, op_times
from course_utils.profiling.trace import Event, record, windows
from course_utils.progress import pace

INPUT = ("IteratorGetNext", "EagerLocalExecute: IteratorGetNext")
PRODUCTS = ("convolution", "matrix product")
PASSES = ("forward", "backward", "update")
SPANS = ["lane", "part", "op", "start", "end"]
# What limits a step, by the part of its budget that is the longest.
LIMITS = {
    "input": "input",
    "launch": "launch",
    "products": "compute",
    "other": "memory",
}
FASTER = 1.05  # from how many times as fast on a part counts as faster
# What works where a step is limited by work, and why it may be no faster in 16 bits.
WORK = {
    "compute": (
        "Products",
        ": this device, or TensorFlow on it, has no fast way for this dtype or these"
        " shapes",
    ),
    "memory": ("Other operations", ": casts, or operations in a slow dtype"),
}


class Diagnosis(NamedTuple):
    """What limits a step: "input", "launch", "compute" or "memory", in a word and in a
    sentence.

    Or "fused", where XLA hides which operations ran. `shares` is what each limit takes
    of the step, and `gains` how many times as fast products and other operations run
    in it as in float32: {"compute": …, "memory": …}.
    """

    name: str
    sentence: str
    shares: dict[str, float]
    gains: dict[str, float]


def step_times(trace: Sequence[Event]) -> pd.DataFrame:
    """How each step spent its time: step (0, 1, …), step_ms, input_ms, ops_ms,
    overhead_ms.

    Input is waiting for tf.data; ops is at least one operation running and no waiting;
    overhead the rest: Python, launching, waiting for threads.

    Example:
        profiling.step_times(trace).median()
    """
    waits = _waits(trace)
    either = sorted([*waits, *((op.start, op.end) for op in find_ops(trace))])
    rows = []
    for number, (start, end) in enumerate(windows(trace)):
        step_ms = end - start
        input_ms = _covered(waits, start, end)
        busy_ms = _covered(either, start, end)
        ops_ms = busy_ms - input_ms
        rows.append((number, step_ms, input_ms, ops_ms, step_ms - busy_ms))
    return pd.DataFrame(
        rows, columns=["step", "step_ms", "input_ms", "ops_ms", "overhead_ms"]
    )


def budget(trace: Sequence[Event]) -> dict[str, float]:
    """The time budget of a median step, in ms: {"input", "launch", "products",
    "other"}.

    For `figures.time_budget`. The time in which operations run is shared out among them
    in proportion to their time on all threads.

    Example:
        figures.time_budget({"measured": profiling.budget(trace)})
    """
    step = step_times(trace).median()
    kinds = op_times(trace).groupby("kind")["share"].sum()
    products = float(kinds.reindex(PRODUCTS).sum())
    ops = float(step["ops_ms"])
    waits = {"input": float(step["input_ms"]), "launch": float(step["overhead_ms"])}
    return {**waits, "products": products * ops, "other": (1 - products) * ops}


def spans(trace: Sequence[Event], steps: int = 1) -> pd.DataFrame:
    """What ran where and when in a typical step and those after it, for
    notebook 05's timeline.

    A row for each run: lane ("input pipeline", "Python" with the waiting for input,
    "thread 1", …; without those that are hardly busy), part (of the time budget), op
    (its type), start and end in ms since the first step's start. Typical is the step
    nearest to the median of those that have enough steps after them. Of a single step
    the lanes "forward", "backward" and "update" hold one row each, a "pass", where the
    operations' names tell.

    Example:
        profiling.spans(trace)
    """
    every = windows(trace)
    lengths = pd.Series([end - start for start, end in every])
    first = (lengths - lengths.median()).abs()[: len(every) - steps + 1].idxmin()
    begin = every[first][0]
    end = every[first + steps - 1][1]
    rows = [
        ("Python", "step", f"step {n + 1}", *w)
        for n, w in enumerate(every[first:][:steps])
    ]
    rows += [("Python", "input", "waiting", *wait) for wait in _waits(trace)]
    pipeline = find_ops(trace, pipeline=True)
    parts = dict.fromkeys(PRODUCTS, "products")
    rows += [("input pipeline", "input", op.type, op.start, op.end) for op in pipeline]
    ops = sorted(find_ops(trace), key=lambda op: op.start)
    if steps == 1:
        within = [op for op in ops if begin <= op.start < end]
        rows += [(name, "pass", name, *span) for name, *span in _passes(within)]
    rows += [
        (op.line, parts.get(op.kind, "other"), op.type, op.start, op.end) for op in ops
    ]
    table = pd.DataFrame(rows, columns=SPANS)
    table[["start", "end"]] = table[["start", "end"]].clip(begin, end) - begin
    table = table[table["end"] > table["start"]]
    busy = (table["end"] - table["start"]).groupby(table["lane"]).transform("sum")
    table = table[busy > 0.005 * (end - begin)]
    threads = [
        lane
        for lane in table["lane"].unique()
        if lane not in ("Python", "input pipeline", *PASSES)
    ]
    names = {lane: f"thread {number + 1}" for number, lane in enumerate(threads)}
    return table.replace({"lane": names}).reset_index(drop=True)


def record_in_turns(
    cases: dict[str, Callable[[], object]], **options: Any
) -> dict[str, tuple[Event, ...]]:
    """Records each of {name: step} three times, in turn, and keeps the fastest: {name:
    trace}.

    It was least disturbed by what else the machine does. Where `pace()` is below 1, each
    is recorded once. `options` are those of `record`.

    Example:
        traces = profiling.record_in_turns({"float32": before, "mixed_bfloat16": after})
    """
    traces = {name: [] for name in cases}
    for name, step in [*cases.items()] * (3 if pace() == 1 else 1):
        traces[name].append(record(step, **options))

    def step_ms(trace):
        return step_times(trace)["step_ms"].median()

    return {name: min(three, key=step_ms) for name, three in traces.items()}


def diagnose(before: Sequence[Event], after: Sequence[Event]) -> Diagnosis:
    """What limits a step in 16 bits, and which of its parts gained by them.

    Takes two traces of one step, in float32 and under the policy. The longest part of
    the second names the limit.

    Example:
        print(profiling.diagnose(in_float32, in_mixed).sentence)
    """
    diagnosis = explain(budget(before), budget(after))
    kinds = op_times(after).groupby("kind")["share"].sum()
    is_fused = kinds.get("fused by XLA", 0) >= 0.5
    if is_fused and diagnosis.name in diagnosis.gains:
        sentence = (
            "XLA fused the operations: record steps without jit_compile to see why."
        )
        return diagnosis._replace(name="fused", sentence=sentence)
    return diagnosis


def explain(before: dict[str, float], after: dict[str, float]) -> Diagnosis:
    """The same from two budgets: of a step in float32, and of it in 16 bits.

    Example:
        >>> explain({"products": 6, "other": 2}, {"products": 3, "other": 2}).name
        'compute'
    """
    step_ms = sum(after.values())
    shares = {name: after.get(part, 0.0) / step_ms for part, name in LIMITS.items()}
    gains = {
        LIMITS[part]: before[part] / after[part] if after[part] else math.inf
        for part in ("products", "other")
    }
    name = max(shares, key=shares.__getitem__)
    share = f"{shares[name]:.0%}"
    if name == "input":
        sentence = (
            f"{share} of a step waits for input, whatever the precision: make the"
            " pipeline faster, or let it work ahead with `prefetch`."
        )
    elif name == "launch":
        sentence = (
            f"In {share} of a step no operation runs, whatever the precision: enlarge the"
            " batch, let one call make several steps (`steps_per_execution`), or compile"
            " with XLA (`jit_compile`)."
        )
    else:
        what, slow = WORK[name]
        gain = gains[name]
        rest_ms = step_ms - after["products"]
        most = step_ms / rest_ms if rest_ms else math.inf
        sentence = (
            f"{what} take {share} of a step, and run {gain:.2g} times as fast as in"
            f" float32{'' if gain >= FASTER else slow}. Faster products alone could make"
            f" this step at most {most:.2g} times as fast."
        )
    return Diagnosis(name, sentence, shares, gains)


def _passes(ops):
    """(name, start, end) of each of `PASSES` of one step, by its operations in order.

    Forward and backward go from the first to the last product of the layers; the update
    is what the optimizer's scope runs after the backward pass began.
    """
    products = [op for op in ops if op.kind in PRODUCTS]
    backward = [op for op in products if op.name.startswith(BACKWARD)]
    if not backward:
        return []
    turn = backward[0].start
    forward = [op for op in products if op.start < turn]
    # the scope of the optimizer: most of what is assigned
    scopes = [
        _scope(op)
        for op in ops
        if "/" in op.name and re.match("Assign|ResourceApply", op.type)
    ]
    optimizer = statistics.mode(scopes) if scopes else None
    update = [op for op in ops if _scope(op) == optimizer and op.start >= turn]
    return [
        (name, runs[0].start, max(op.end for op in runs))
        for name, runs in zip(PASSES, (forward, backward, update), strict=True)
        if runs
    ]


def _scope(op):
    return op.name.split("/")[0]


def _waits(trace):
    """(start, end) of every wait for tf.data, in order; one inside another is left out."""
    waits = []
    for start, end in sorted(
        (e.start, -e.end) for e in trace if e.name.startswith(INPUT)
    ):
        if not waits or start >= waits[-1][1]:
            waits.append((start, -end))
    return waits


def _covered(spans, start, end):
    """How much of the time from start to end lies in one of the spans, sorted by start."""
    total = 0.0
    for a, b in spans:
        total += max(min(b, end) - max(a, start), 0.0)
        start = max(start, b)
    return total
