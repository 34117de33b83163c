"""Policies compared honestly: interleaved, warmed up, median and spread.

Each comparison is bounded by seconds, not by a count of steps, so that it ends in
time on any hardware. An interrupt of the kernel keeps what was measured so far.
"""

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import keras
import numpy as np
import pandas as pd

from course_utils import hardware
from course_utils.benchmark.batching import batches
from course_utils.benchmark.keras_device import counts_memory, device
from course_utils.benchmark.rates import likely_dtypes
from course_utils.benchmark.ratios import paired
from course_utils.benchmark.timed_model import TimedModel
from course_utils.benchmark.timer import rounds
from course_utils.progress import pace, tqdm

POLICIES = ("float32", "mixed_bfloat16", "mixed_float16")
WARM_UP_STEPS = 2  # The first traces the graph, the second still fills caches.
MEMORY_SHARE = 0.4  # Of the time; the rest is for timing steps.
SEEDS = 3  # of `loss_curves`


def device_policies(machine: hardware.Hardware | None = None) -> tuple[str, ...]:
    """As many policies as a machine has formats, this machine by default.

    Where a GPU has TF32, "tf32" is float32 through its units, as TensorFlow does
    unless it is told otherwise, and "float32" is without them. GPUs without units for
    bfloat16 do not try it.

    Example:
        >>> device_policies(hardware.Hardware("Linux x86_64", "some CPU", 2, ()))
        ('float32', 'mixed_bfloat16', 'mixed_float16')
    """
    dtypes = likely_dtypes(machine)
    names = {"bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}
    return tuple(names.get(dtype, dtype) for dtype in dtypes)


@dataclass(frozen=True, eq=False)
class Comparison:
    """What `compare_policies` measured.

    Attributes:
        table: one row per policy: step_ms (median), speedup (against float32, the median of
            paired ratios), speedup_low and speedup_high (its interval, see `ratios.paired`),
            verdict (`float32`, the policy, "the same within x %" or "cannot tell"), peak_mb
            (weights, optimizer, and the peak of a step above them, mean of several fresh
            builds), memory_ratio (against float32), accuracy on the same test images, gap_se
            (standard error of its distance to float32's, from the images that only one of
            the two labels right), steps. NaN where something is unknown.
        steps: every timed step: policy, round, seconds, loss.
        right: whether each test image was labelled right, a column for each policy.
        batch_size, device: the conditions.
        notes: sentences on what could not be measured, or was measured otherwise, and why.
        interrupted: whether a person ended it before its time.
    """

    table: pd.DataFrame
    steps: pd.DataFrame
    right: pd.DataFrame
    batch_size: int
    device: str
    notes: tuple[str, ...]
    interrupted: bool


def compare_policies(
    build_model: Callable[[], keras.Model],
    x: np.ndarray,
    y: np.ndarray,
    policies: Sequence[str] | None = None,
    batch_size: int = 128,
    seconds: float = 20,
    validation_data: tuple[np.ndarray, np.ndarray] | None = None,
) -> Comparison:
    """Trains one model per policy in turn, step by step, on the same batches, equally
    often.

    Without `policies` they are the `device_policies`.

    `build_model()` returns a compiled model; it is called under each policy, and again
    for every peak of memory. `x` and `y` are NumPy arrays of shape (n, ...) and (n,),
    in the dtype that the model is fed. `seconds` come after the warm-up, for timing
    steps and for measuring memory, at least three rounds of each (fewer where `pace()`
    is below 1). `validation_data` is (x, y) for the accuracy after the last step, on as
    many images as a quarter of `seconds` allows, at least one batch.

    Raises:
        ValueError: a model is not compiled, or there are fewer samples than `batch_size`.

    Example:
        compare_policies(build_model, x, y, batch_size=256, seconds=20).table
    """
    policies = device_policies() if policies is None else policies
    source = batches(x, y, batch_size, seed=0)
    models: list[TimedModel] = []
    rows = []
    peaks = []
    interrupted = False
    right = pd.DataFrame(columns=policies, dtype=bool)
    has_counter = counts_memory()
    share = MEMORY_SHARE if has_counter else 0
    try:
        for policy in policies:
            models.append(TimedModel(build_model, policy))
        for xb, yb in (next(source) for _ in range(WARM_UP_STEPS)):
            for model in tqdm(models, desc="warm-up"):
                model.step(xb, yb)
        for number in rounds(seconds * (1 - share), "interleaved steps", at_least=3):
            xb, yb = next(source)
            turn = []  # counts once all have taken their step
            first = number % len(models)  # Nobody always goes first.
            for model in models[first:] + models[:first]:
                step = model.step(xb, yb)
                turn.append((model.policy, number, step.seconds, step.loss))
            rows += turn
        if validation_data:
            right = _right(models, *validation_data, batch_size, seconds / 4)
        if has_counter:
            least = 3 if pace() == 1 else 1  # a fresh model may be compiled for seconds
            for number in rounds(seconds * share, "memory of fresh models", least):
                peaks += [
                    (p, _peak_mb(build_model, p, number, xb, yb)) for p in policies
                ]
    except KeyboardInterrupt:
        interrupted = True
    steps = pd.DataFrame(rows, columns=["policy", "round", "seconds", "loss"])
    table = _table(list(policies), steps, peaks, right)
    under_xla = [model.policy for model in models if model.needs_xla]
    notes = tuple(_notes(interrupted, has_counter, under_xla))
    return Comparison(table, steps, right, batch_size, device(), notes, interrupted)


def _peak_mb(build_model, policy, seed, x, y):
    """The peak of the first step of a fresh model, in MB.

    TensorFlow runs independent operations in an order that differs from build to build,
    and the peak depends on it: hence several builds. Their peaks fall into two or three
    heaps, so that a median jumps from run to run where a mean does not.
    """
    gc.collect()  # a former model that dies during the step would hide part of the peak
    model = TimedModel(build_model, policy, seed)
    peak = model.step(x, y).peak_bytes
    if peak is None:
        return np.nan
    return (model.resident_bytes + peak) / 1e6


def _right(models, x, y, batch_size, seconds):
    """Whether the label of an image was right: a row for each image, a column for each
    policy.
    """
    right = {model.policy: [] for model in models}
    for number in rounds(seconds, "accuracy", at_least=1):
        batch = slice(number * batch_size, (number + 1) * batch_size)
        if batch.start >= len(x):
            break
        for model in models:
            right[model.policy].extend(model.right(x[batch], y[batch]))
    return pd.DataFrame(right, dtype=bool)


def _table(policies, steps, peaks, right):
    names = list(dict.fromkeys(["float32", *policies]))
    turns = steps.pivot(index="round", columns="policy", values="seconds")
    turns = turns.reindex(columns=names).astype(float)
    peaks = pd.DataFrame(peaks, columns=["policy", "mb"]).groupby("policy")["mb"].mean()
    rows = {}
    for policy in policies:
        ratio = paired(turns[policy], turns["float32"])
        peak = peaks.get(policy, np.nan)
        gap_se = np.nan
        verdict = None
        if policy != "float32":
            verdict = ratio.verdict(policy, "float32")
            if "float32" in right and len(right):
                # b of n images are labelled right by the policy alone, c by float32
                # alone: √(b + c) / n is the standard error of their distance.
                apart = (right[policy] != right["float32"]).sum()
                gap_se = apart**0.5 / len(right)
        rows[policy] = {
            "step_ms": 1e3 * turns[policy].median(),
            "speedup": ratio.median,
            "speedup_low": ratio.low,
            "speedup_high": ratio.high,
            "verdict": verdict,
            "peak_mb": peak,
            "memory_ratio": peak / peaks.get("float32", np.nan),
            "accuracy": right[policy].mean(),
            "gap_se": gap_se,
            "steps": turns[policy].count(),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("policy")


def _notes(interrupted, has_counter, under_xla):
    if interrupted:
        yield "You interrupted the comparison: it holds the rounds completed until then."
    if not has_counter:
        yield "This device's allocator does not count memory, so there is no peak to show."
    if under_xla:
        yield (
            f"{' and '.join(under_xla)} is compiled with XLA, so time and peak are XLA's: without "
            "XLA this TensorFlow has only slow routines for the gradients of float16 convolutions "
            "on this CPU, and a step of the MNIST CNN took 30 to 190 times as long as in float32."
        )


def loss_curves(
    build_model: Callable[[], keras.Model],
    x: np.ndarray,
    y: np.ndarray,
    seconds: float = 20,
) -> pd.DataFrame:
    """The loss of every step under each policy, for three seeds: policy, seed, step,
    loss.

    The first seed sets how many steps fit into its share of the time; the others follow
    with as many. A seed sets the initial weights; all runs see the same batches, of 128
    samples.

    Example:
        loss_curves(build_model, x, y, seconds=15)
    """
    rows = []
    count = 0
    try:
        models = [TimedModel(build_model, policy) for policy in POLICIES]
        for seed in range(SEEDS):
            source = batches(x, y, 128, seed=0)
            label = f"seed {seed}"
            for model in models:
                model.restart(seed)
            if seed == 0:
                turns = rounds(seconds / SEEDS, label, at_least=3)
            else:
                turns = tqdm(range(count), desc=label)
            for number in turns:
                xb, yb = next(source)
                rows += [(m.policy, seed, number, m.step(xb, yb).loss) for m in models]
            count = number + 1
    except KeyboardInterrupt:
        print("Interrupted: the curves show what was trained until then.")
    return pd.DataFrame(rows, columns=["policy", "seed", "step", "loss"])
