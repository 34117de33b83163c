"""What a step spends its time on, and why it got no faster under another policy."""

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
# From where on an answer of the tree is yes: shares of a step, and of what the products
# saved.
WAITING = 0.25
IDLE = 0.4
FEW = 0.2
FASTER = 1.05
EATEN = 0.5
QUESTIONS = {
    "input": "Does the step wait for input?",
    "launch": "Are the gaps between operations long?",
    "few products": "Are the products a small part?",
    "slow routine": "Do the 16-bit products take as long?",
    "casts": "Does other work use up the gain?",
}


class Diagnosis(NamedTuple):
    """Where the tree stops: "input", "launch", "few products", "slow routine", "casts"
    or "done".

    Or "fused", where XLA hides which operations ran. The walk is what was asked on the
    way: (a question, the number that answers it in words, whether it is a yes); only
    the last may be one.
    """

    name: str
    sentence: str
    walk: tuple[tuple[str, str, bool], ...]


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
    """Why a step gained what it gained under a 16-bit policy: the first yes of the
    tree.

    Takes two traces of one step, in float32 and under the policy. The questions in
    turn: does the step wait for input, are the gaps between operations long, are the
    products a small part, did they get no faster, does other work use up what they
    saved? After five times no it is done: what is left is the device's pace.

    Example:
        print(profiling.diagnose(in_float32, in_mixed).sentence)
    """
    budget_before = budget(before)
    budget_after = budget(after)
    before_ms = sum(budget_before.values())
    after_ms = sum(budget_after.values())
    walk: list[tuple[str, str, bool]] = []

    def ask(name: str, number: str, yes: bool) -> bool:
        walk.append((QUESTIONS[name], number, bool(yes)))
        return yes

    def answer(name: str, sentence: str) -> Diagnosis:
        return Diagnosis(name, sentence, tuple(walk))

    waits = budget_after["input"] / after_ms
    if ask("input", f"{waits:.0%}", waits >= WAITING):
        sentence = (
            f"{waits:.0%} of a step waits for input, whatever the precision: make the"
            " pipeline faster, or let it work ahead with `prefetch`."
        )
        return answer("input", sentence)

    idle = budget_after["launch"] / after_ms
    if ask("launch", f"{idle:.0%}", idle >= IDLE):
        sentence = (
            f"In {idle:.0%} of a step no operation runs: enlarge the batch, or compile"
            " the step."
        )
        return answer("launch", sentence)

    kinds = op_times(before).groupby("kind")["share"].sum()
    if kinds.get("fused by XLA", 0) >= 0.5:
        sentence = (
            "XLA fused the operations: record steps without jit_compile to see why."
        )
        return answer("fused", sentence)

    share = budget_before["products"] / before_ms
    if ask("few products", f"{share:.0%}", share < FEW):
        sentence = (
            f"Products and convolutions are {share:.0%} of a step: if they took no time,"
            f" it would be {1 / (1 - share):.2g} times as fast, and no more."
        )
        return answer("few products", sentence)

    products_before = budget_before["products"]
    products_after = budget_after["products"]
    times = products_before / products_after if products_after else float("inf")
    if ask("slow routine", f"{times:.2g}×", times < FASTER):
        sentence = (
            "Products and convolutions themselves got no faster: this device, or"
            " TensorFlow on it, has no fast way for this dtype or these shapes."
        )
        return answer("slow routine", sentence)

    saved_ms = products_before - products_after
    lost_ms = budget_after["other"] - budget_before["other"]
    part = lost_ms / saved_ms if saved_ms > 0 else 0
    if ask("casts", f"{part:.0%}", lost_ms > EATEN * saved_ms):
        sentence = (
            f"Products and convolutions saved {saved_ms:.2g} ms, and other operations took"
            f" {lost_ms:.2g} ms more: casts, or element-wise operations in a slow dtype."
        )
        return answer("casts", sentence)

    ratio = before_ms / after_ms
    return answer("done", f"{ratio:.2g} times as fast, and none of the usual reasons.")


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
