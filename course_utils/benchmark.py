"""Policies compared honestly: interleaved, warmed up, median and spread.

Each comparison is bounded by seconds, not by a count of steps, so that it ends in
time on any hardware. An interrupt of the kernel keeps what was measured so far.
"""

import gc
import time
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from tqdm.auto import tqdm

from course_utils.stepping import Trainee, batches, counts_memory, device, rounds

POLICIES = ("float32", "mixed_bfloat16", "mixed_float16")
WARM_UP_STEPS = 2  # The first traces the graph, the second still fills caches.
MEMORY_SHARE = 0.4  # Of the time; the rest is for timing steps.


@dataclass(frozen=True, eq=False)
class Comparison:
    """What `compare_policies` measured.

    Attributes:
        table: one row per policy: step_ms (median), step_ms_q1 and step_ms_q3
            (quartiles), speedup (median of float32 / median), peak_mb (mean of the
            builds in `peaks`), memory_ratio (against float32), accuracy and
            accuracy_se (standard error) on the same test images, loss_scale, steps.
            NaN where something is unknown.
        steps: every timed step: policy, round, seconds, loss.
        peaks: one row per fresh build: policy, build, peak_mb (weights, optimizer,
            and the peak of a step above them). Empty where the allocator does not count.
        batch_size, jit_compile, device: the conditions.
        notes: sentences on what could not be measured, and why.
    """

    table: pd.DataFrame
    steps: pd.DataFrame
    peaks: pd.DataFrame
    batch_size: int
    jit_compile: bool
    device: str
    notes: tuple[str, ...] = field(default_factory=tuple)


def compare_policies(
    build_model,
    x,
    y,
    policies=POLICIES,
    batch_size: int = 128,
    seconds: float = 20,
    validation_data=None,
    seed: int = 0,
) -> Comparison:
    """Trains one model per policy in turn, step by step, on the same batches.

    Args:
        build_model: function without arguments that returns a compiled model; it
            is called under each policy, and again for every build in `peaks`.
        x, y: NumPy arrays of shape (n, ...) and (n,), in the dtype that the model is fed.
        policies: names of Keras dtype policies.
        batch_size: samples in a step; at most n.
        seconds: time after the warm-up, for timing steps and for measuring memory. At
            least three rounds of each are made.
        validation_data: (x, y) for the accuracy after the last step, or None. It is
            measured on as many images as a quarter of `seconds` allows, at least one batch.
        seed: sets initial weights and the order of the batches.

    Returns:
        A `Comparison`. All policies have made the same number of steps.

    Raises:
        ValueError: a model is not compiled, or there are fewer samples than `batch_size`.

    Example:
        compare_policies(build_model, x, y, batch_size=256, seconds=20).table
    """
    source = batches(x, y, batch_size, seed)
    trainees = [Trainee(build_model, policy, seed) for policy in policies]
    rows, accuracy, peaks, interrupted = [], {}, [], False
    try:
        for xb, yb in (next(source) for _ in range(WARM_UP_STEPS)):
            for trainee in tqdm(trainees, desc="warm-up", leave=False):
                trainee.step(xb, yb)
        share = MEMORY_SHARE if counts_memory() else 0
        for number in rounds(seconds * (1 - share), "interleaved steps", at_least=3):
            xb, yb = next(source)
            turn = number % len(trainees)  # Nobody always goes first.
            done = [(t, t.step(xb, yb)) for t in trainees[turn:] + trainees[:turn]]
            rows += [(t.policy, number, step.seconds, step.loss) for t, step in done]
        if validation_data:
            accuracy = _accuracy(trainees, *validation_data, batch_size, seconds / 4)
        if share:
            for number in rounds(seconds * share, "memory of fresh models", at_least=3):
                peaks += [(p, number, _peak_mb(build_model, p, number, xb, yb)) for p in policies]
    except KeyboardInterrupt:
        interrupted = True
    steps = pd.DataFrame(rows, columns=["policy", "round", "seconds", "loss"])
    peaks = pd.DataFrame(peaks, columns=["policy", "build", "peak_mb"])
    table = _table(trainees, steps, peaks, accuracy)
    return Comparison(
        table=table,
        steps=steps,
        peaks=peaks,
        batch_size=batch_size,
        jit_compile=bool(trainees[0].model.jit_compile),
        device=device(),
        notes=_notes(interrupted),
    )


def _peak_mb(build_model, policy, seed, x, y):
    """The peak of the first step of a fresh model, in MB.

    TensorFlow runs independent operations in an order that differs from build to build, and
    the peak depends on it: hence several builds. Their peaks fall into two or three heaps, so
    that a median jumps from run to run where a mean does not.
    """
    gc.collect()  # a former model that dies during the step would hide part of the peak
    trainee = Trainee(build_model, policy, seed)
    return (trainee.resident_bytes + trainee.step(x, y).peak_bytes) / 1e6


def _accuracy(trainees, x, y, batch_size, seconds):
    """Share of right labels and its standard error, per policy, on the same images."""
    right = dict.fromkeys((t.policy for t in trainees), 0)
    deadline, seen = None, 0
    for start in range(0, len(x), batch_size):
        xb, yb = x[start : start + batch_size], y[start : start + batch_size]
        for trainee in trainees:
            right[trainee.policy] += trainee.correct(xb, yb)
        seen += len(xb)
        deadline = deadline or time.perf_counter() + seconds  # the first batch traces
        if time.perf_counter() > deadline:
            break
    shares = {policy: count / seen for policy, count in right.items()}
    return {policy: (p, np.sqrt(p * (1 - p) / seen)) for policy, p in shares.items()}


def _table(trainees, steps, peaks, accuracy):
    rows = []
    for trainee in trainees:
        mine = steps[steps["policy"] == trainee.policy]
        ms = mine["seconds"] * 1e3
        share, error = accuracy.get(trainee.policy, (np.nan, np.nan))
        rows.append(
            {
                "policy": trainee.policy,
                "step_ms": ms.median(),
                "step_ms_q1": ms.quantile(0.25),
                "step_ms_q3": ms.quantile(0.75),
                "peak_mb": peaks.loc[peaks["policy"] == trainee.policy, "peak_mb"].mean(),
                "accuracy": share,
                "accuracy_se": error,
                "loss_scale": np.nan if trainee.loss_scale is None else trainee.loss_scale,
                "steps": len(mine),
            }
        )
    table = pd.DataFrame(rows).set_index("policy")
    baseline = table.reindex(["float32"]).iloc[0]
    table.insert(3, "speedup", baseline["step_ms"] / table["step_ms"])
    table.insert(5, "memory_ratio", table["peak_mb"] / baseline["peak_mb"])
    return table


def _notes(interrupted):
    notes = []
    if interrupted:
        notes.append("You interrupted the comparison: it holds the rounds completed until then.")
    if not counts_memory():
        notes.append("This device's allocator does not count memory, so there is no peak to show.")
    return tuple(notes)
