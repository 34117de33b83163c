"""Whether the same step got faster under another policy, and why not."""

from typing import NamedTuple

import pandas as pd

from course_utils.profiling.ops import KINDS, op_times
from course_utils.profiling.steps import step_times

PRODUCTS = ["convolution", "matrix product"]
NOTICEABLE = 1.1  # a speedup below this is called none


class Change(NamedTuple):
    """What became of a step.

    Attributes:
        table: one row per part of the step ("input", each kind of operation, "other", "overhead")
            with before_ms, after_ms and saved_ms of a median step.
        speedup: the time of the step before, divided by that after.
        sentence: in words, what saved the time, or what stood in the way.
    """

    table: pd.DataFrame
    speedup: float
    sentence: str


def compare(before, after) -> Change:
    """Compares the traces of one step before and after a change, usually of the dtype policy.

    The time in which operations run is shared out among their kinds in proportion to the time of
    each kind on all threads.

    Args:
        before, after: traces of the same step, recorded one after the other on the same device.

    Example:
        print(profiling.compare(in_float32, in_mixed).sentence)
    """
    table = pd.DataFrame({"before_ms": _parts(before), "after_ms": _parts(after)})
    table["saved_ms"] = table["before_ms"] - table["after_ms"]
    was, now, _ = table.sum()
    speedup = float(was / now)
    return Change(table, speedup, _sentence(table, was, speedup))


def _parts(trace):
    """Milliseconds of each part of a median step."""
    step = step_times(trace).median()
    kinds = op_times(trace).groupby("kind")["share"].sum()
    names = [*(kind for kind, _ in KINDS), "other"]
    ops = kinds.reindex(names, fill_value=0.0) * step["ops_ms"]
    ends = pd.Series({"input": step["input_ms"], "overhead": step["overhead_ms"]})
    return pd.concat([ends[:1], ops, ends[1:]])


def _sentence(table, was, speedup):
    saved = table["saved_ms"]
    said = f"{speedup:.2g} times as fast"
    if speedup >= NOTICEABLE:
        part = saved.idxmax()
        share = saved[part] / saved[saved > 0].sum()  # other parts may have lost some
        return f"{said}: {_name(part)} saved most, {share:.0%} of all that was saved."
    if speedup > 1:
        return f"{speedup:.2f} times as fast, so hardly a gain: {_reason(table, was)}."
    return f"{said}, so no gain: {_reason(table, was)}."


def _reason(table, was):
    saved, shares = table["saved_ms"], table["before_ms"] / was
    products = shares[PRODUCTS].sum()
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
    if saved[PRODUCTS].sum() < 0:
        return (
            "products and convolutions themselves got no faster; this device, or TensorFlow on "
            "it, has no fast way for this dtype or these shapes"
        )
    part = saved.drop(PRODUCTS).idxmin()
    if saved[part] > -0.01 * was:
        gained = saved[PRODUCTS].sum() / was
        return f"products and convolutions saved {gained:.0%} of the step, and nothing took it back"
    return (
        f"products and convolutions got faster, and {_name(part)} took {-saved[part]:.2g} ms more"
    )


def _name(part):
    words = {"input": "waiting for input", "cast": "casts", "other": "other operations"}
    plural = {"convolution": "convolutions", "matrix product": "matrix products"}
    return {**words, **plural}.get(part, part)
