"""Policies compared honestly: interleaved, warmed up, median and spread.

Each comparison is bounded by seconds, not by a count of steps, so that it ends in
time on any hardware. An interrupt of the kernel keeps what was measured so far.
"""

import time
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from tqdm.auto import tqdm

from course_utils.stepping import Trainee, batches, device, rounds

POLICIES = ("float32", "mixed_bfloat16", "mixed_float16")
WARM_UP_STEPS = 2  # The first traces the graph, the second still fills caches.


@dataclass(frozen=True, eq=False)
class Comparison:
    """What `compare_policies` measured.

    Attributes:
        table: one row per policy: step_ms (median), step_ms_q1 and step_ms_q3
            (quartiles), speedup (median of float32 / median), peak_mb (weights,
            optimizer and the median peak of a step above them), memory_ratio
            (against float32), accuracy and accuracy_se (standard error) on the
            same test images, loss_scale, steps. NaN where something is unknown.
        steps: every timed step: policy, round, seconds, peak_bytes, loss.
        batch_size, jit_compile, device: the conditions.
        notes: sentences on what could not be measured, and why.
    """

    table: pd.DataFrame
    steps: pd.DataFrame
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
            is called once under each policy.
        x, y: NumPy arrays of shape (n, ...) and (n,), in the dtype that the model is fed.
        policies: names of Keras dtype policies.
        batch_size: samples in a step; at most n.
        seconds: time for the steps after the warm-up. At least three rounds are made.
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
    rows, accuracy, interrupted = [], {}, False
    try:
        for xb, yb in (next(source) for _ in range(WARM_UP_STEPS)):
            for trainee in tqdm(trainees, desc="warm-up", leave=False):
                trainee.step(xb, yb)
        for number in rounds(seconds, "interleaved steps", at_least=3):
            xb, yb = next(source)
            turn = number % len(trainees)  # Nobody always goes first.
            done = [(t, t.step(xb, yb)) for t in trainees[turn:] + trainees[:turn]]
            rows += [_row(number, trainee, step) for trainee, step in done]
        if validation_data:
            accuracy = _accuracy(trainees, *validation_data, batch_size, seconds / 4)
    except KeyboardInterrupt:
        interrupted = True
    steps = pd.DataFrame(rows, columns=["policy", "round", "seconds", "peak_bytes", "loss"])
    table = _table(trainees, steps, accuracy)
    return Comparison(
        table=table,
        steps=steps,
        batch_size=batch_size,
        jit_compile=bool(trainees[0].model.jit_compile),
        device=device(),
        notes=_notes(table, interrupted),
    )


def _row(number, trainee, step):
    return trainee.policy, number, step.seconds, step.peak_bytes, step.loss


def _accuracy(trainees, x, y, batch_size, seconds):
    """Share of right labels and its standard error, per policy, on the same images."""
    right = dict.fromkeys((t.policy for t in trainees), 0)
    deadline = time.perf_counter() + seconds
    seen = 0
    for start in range(0, len(x), batch_size):
        xb, yb = x[start : start + batch_size], y[start : start + batch_size]
        for trainee in trainees:
            right[trainee.policy] += trainee.correct(xb, yb)
        seen += len(xb)
        if time.perf_counter() > deadline:
            break
    shares = {policy: count / seen for policy, count in right.items()}
    return {policy: (p, np.sqrt(p * (1 - p) / seen)) for policy, p in shares.items()}


def _table(trainees, steps, accuracy):
    rows = []
    for trainee in trainees:
        mine = steps[steps["policy"] == trainee.policy]
        ms = mine["seconds"] * 1e3
        peak = pd.to_numeric(mine["peak_bytes"], errors="coerce").median()
        share, error = accuracy.get(trainee.policy, (np.nan, np.nan))
        rows.append(
            {
                "policy": trainee.policy,
                "step_ms": ms.median(),
                "step_ms_q1": ms.quantile(0.25),
                "step_ms_q3": ms.quantile(0.75),
                "peak_mb": (peak + trainee.resident_bytes) / 1e6,
                "accuracy": share,
                "accuracy_se": error,
                "loss_scale": trainee.loss_scale if trainee.loss_scale else np.nan,
                "steps": len(mine),
            }
        )
    table = pd.DataFrame(rows).set_index("policy")
    baseline = table.reindex(["float32"]).iloc[0]
    table.insert(3, "speedup", baseline["step_ms"] / table["step_ms"])
    table.insert(5, "memory_ratio", table["peak_mb"] / baseline["peak_mb"])
    return table


def _notes(table, interrupted):
    notes = []
    if interrupted:
        notes.append("You interrupted the comparison: it holds the rounds completed until then.")
    if len(table) and table["peak_mb"].isna().all():
        notes.append("This device's allocator does not count memory, so there is no peak to show.")
    return tuple(notes)
