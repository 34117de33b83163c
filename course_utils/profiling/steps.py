"""What a step spends its time on, and whether it got faster under another policy."""

from typing import NamedTuple

import pandas as pd

from course_utils.profiling.ops import KINDS, find_ops, op_times
from course_utils.profiling.trace import windows

INPUT = ("IteratorGetNext", "EagerLocalExecute: IteratorGetNext")
PRODUCTS = ["convolution", "matrix product"]
NOTICEABLE = 1.1  # a speedup below this is called none
SAID = {
    "input": "{share:.0%} of a step waits for input: make the input pipeline faster, or let it "
    "work ahead with `prefetch`; the model's precision changes nothing until then.",
    "overhead": "In {share:.0%} of a step no operation runs: Python and the launching of "
    "operations take it; give each step more work (a larger batch) or compile it.",
    "arithmetic": "{share:.0%} of a step runs operations, {products:.0%} of it matrix products and "
    "convolutions: a device that multiplies faster in 16 bits makes it faster.",
    "operations": "{share:.0%} of a step runs operations that XLA fused into one another: record a "
    "step without jit_compile to see whether products or the moving of bytes take the time.",
    "memory": "{share:.0%} of a step runs operations, {others:.0%} of it neither matrix products "
    "nor convolutions: they move bytes, so that half the bytes is what 16 bits can save.",
}
NAMES = {
    "input": "waiting for input",
    "convolution": "convolutions",
    "matrix product": "matrix products",
    "cast": "casts",
    "other": "other operations",
}


class Bottleneck(NamedTuple):
    """What limits a step, its share of the time (0 to 1), and in words what to try.

    The name is "input", "overhead", "arithmetic", "memory", or "operations" where XLA fused them
    so that the last two cannot be told apart.
    """

    name: str
    share: float
    sentence: str


class Change(NamedTuple):
    """What became of a step: how many times as fast it is, and in words what made or hindered it.

    The table has before_ms, after_ms and saved_ms of a median step for each part of it: "input",
    each kind of operation, "other", "overhead".
    """

    table: pd.DataFrame
    speedup: float
    sentence: str


def step_times(trace) -> pd.DataFrame:
    """How each step spent its time: step (0, 1, …), step_ms, input_ms, ops_ms, overhead_ms.

    Input is waiting for tf.data; ops is at least one operation running and no waiting; overhead
    the rest: Python, launching, waiting for threads.

    Example:
        profiling.step_times(trace).median()
    """
    inputs = [e for e in trace.events if e.name.startswith(INPUT)]
    waits = sorted((event.start, event.end) for event in inputs)
    either = sorted([*waits, *((op.start, op.end) for op in find_ops(trace))])
    rows = []
    for number, (start, end) in enumerate(windows(trace)):
        waited, used = (_covered(spans, start, end) for spans in (waits, either))
        rows.append((number, end - start, waited, used - waited, end - start - used))
    return pd.DataFrame(rows, columns=["step", "step_ms", "input_ms", "ops_ms", "overhead_ms"])


def bottleneck(trace) -> Bottleneck:
    """What most of a step's time goes to, over all steps of a trace.

    While operations run, it is called "arithmetic" if matrix products and convolutions take most
    of their time, else "memory": most others move more bytes than they compute.

    Example:
        print(profiling.bottleneck(trace).sentence)
    """
    total = step_times(trace).sum()
    shares = {part: total[f"{part}_ms"] / total["step_ms"] for part in ("input", "ops", "overhead")}
    name, share = max(shares.items(), key=lambda part: part[1])
    kinds = op_times(trace).groupby("kind")["share"].sum()
    products = kinds.reindex(PRODUCTS).sum()
    if name == "ops":
        fused = "operations" if kinds.get("fused by XLA", 0) >= 0.5 else "memory"
        name = "arithmetic" if products >= 0.5 else fused
    said = SAID[name].format(share=share, products=products, others=1 - products)
    return Bottleneck(name, float(share), said)


def compare(before, after) -> Change:
    """Compares two traces of one step, recorded one after the other, usually under two policies.

    The time in which operations run is shared out among their kinds in proportion to the time of
    each kind on all threads.

    Example:
        print(profiling.compare(in_float32, in_mixed).sentence)
    """
    table = pd.DataFrame({"before_ms": _parts(before), "after_ms": _parts(after)})
    table["saved_ms"] = saved = table["before_ms"] - table["after_ms"]
    was, now, _ = table.sum()
    speedup = float(was / now)
    if speedup >= NOTICEABLE:
        part = saved.idxmax()
        share = saved[part] / saved[saved > 0].sum()  # other parts may have lost some
        said = f"{NAMES.get(part, part)} saved most, {share:.0%} of all that was saved."
        return Change(table, speedup, f"{speedup:.2g} times as fast: {said}")
    said = f"{speedup:.2f}" if speedup > 1 else f"{speedup:.2g}"
    gain = "so hardly a gain" if speedup > 1 else "so no gain"
    return Change(table, speedup, f"{said} times as fast, {gain}: {_reason(table, was)}.")


def _parts(trace):
    """Milliseconds of each part of a median step."""
    step = step_times(trace).median()
    kinds = op_times(trace).groupby("kind")["share"].sum()
    names = [*(kind for kind, _ in KINDS), "other"]
    ops = kinds.reindex(names, fill_value=0.0) * step["ops_ms"]
    return pd.Series({"input": step["input_ms"], **ops, "overhead": step["overhead_ms"]})


def _reason(table, was):
    """Why a step of `was` ms got no faster."""
    saved, shares = table["saved_ms"], table["before_ms"] / was
    products, gained = shares[PRODUCTS].sum(), saved[PRODUCTS].sum()
    if shares["input"] >= 0.5:
        return f"{shares['input']:.0%} of the step waited for input, whatever the precision"
    if shares["overhead"] >= 0.5:
        return f"in {shares['overhead']:.0%} of the step no operation ran; enlarge the batch"
    if shares["fused by XLA"] >= 0.5:
        return "XLA fused the operations; record steps without jit_compile to see why"
    if products < 1 - 1 / NOTICEABLE:
        return (
            f"{products:.0%} of it were products and convolutions, and even if those took no "
            f"time, the step would be {1 / (1 - products):.2g} times as fast"
        )
    if gained < 0:
        return (
            "products and convolutions themselves got no faster; this device, or TensorFlow on "
            "it, has no fast way for this dtype or these shapes"
        )
    part, lost = saved.drop(PRODUCTS).idxmin(), -saved.drop(PRODUCTS).min()
    if lost < 0.01 * was:
        gain = f"products and convolutions saved {gained / was:.0%} of the step"
        return f"{gain}, and nothing took it back"
    took = f"{NAMES.get(part, part)} took {lost:.2g} ms more"
    return f"products and convolutions got faster, and {took}"


def _covered(spans, start, end):
    """How much of the time from start to end lies in one of the spans, sorted by start."""
    covered = 0.0
    for a, b in spans:
        covered += max(min(b, end) - max(a, start), 0.0)
        start = max(start, b)
    return covered
