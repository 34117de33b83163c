"""How long a step will take, from how long operations like its own took.

A small network that holds every common type of operation is recorded at several batch
sizes. An operation of another step takes as many times its bound (what its arithmetic and
its bytes need at the best pace that was seen) as those of its type and dtype that are
most like it in size. What a step takes while no operation runs grows with the number of
its operations: a second, tiny network tells how.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import keras
import numpy as np
import pandas as pd
from keras import layers

from course_utils import paths
from course_utils.profiling.ops import find_ops
from course_utils.profiling.recordings import step_times
from course_utils.profiling.trace import Event, record
from course_utils.progress import pace, tqdm
from course_utils.roofline import Work, count
from course_utils.training import dtype_policy

BATCHES = (2, 32, 256)
STEPS = 6  # recorded of each, fewer where they take long
# In powers of e: an operation of half the size counts, one of a tenth does not.
LIKE = 0.7
# A mean of roots: among many that are alike one that was disturbed counts for little, and
# one that took no time counts.
ROOT = 1 / 4
BRANCH = re.compile(r"^.*/(then|else)/_\d+/")  # how a trace calls what a branch holds


@dataclass(frozen=True, eq=False)
class Calibration:
    """How fast this device ran operations.

    The table, a DataFrame, has a row for each: type, dtype, product, flops, bytes, ms.
    """

    table: pd.DataFrame
    # The milliseconds of a step in which no operation runs: for the step, and for each
    # of its operations.
    launch: tuple[float, float]


def calibrate(policies: Sequence[str], seconds: float = 15) -> Calibration:
    """Records a small network under each policy at three batch sizes.

    It holds convolutions, pooling, dense layers, attention, normalizations, GELU and
    Adam. An interrupt ends it with an error, because a part of the types would be
    missing. Where `pace()` is below 1 it takes every second size and half of the steps.

    Example:
        calibration = profiling.calibrate(("float32", "mixed_bfloat16"))
    """
    in_haste = pace() < 1
    batches = BATCHES[::2] if in_haste else BATCHES
    steps = STEPS // 2 if in_haste else STEPS
    cases = [(_sampler, policy, batch) for policy in policies for batch in batches]
    cases += [(_tiny, policies[0], 1)]
    tables = []
    idle = []  # how many operations a step has, and the ms in which none runs
    for build, policy, batch in tqdm(cases, desc="types of operations"):
        with dtype_policy(policy):
            model = build()
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile("adam", loss, jit_compile=False, auto_scale_loss=False)
        # Else TensorFlow traces the step twice.
        model.optimizer.build(model.trainable_variables)
        x = np.random.default_rng(0).random((batch, 28, 28, 1), dtype="float32")
        y = np.arange(batch) % 10
        step = partial(model.train_on_batch, x, y)
        trace = record(step, steps=steps, seconds=seconds / len(cases))
        work = count(model.train_step, (x, y))
        table = measured(work, trace)
        times = step_times(trace).median()
        # Two threads run two operations at a time: each gets its share of the step.
        tables.append(
            table.assign(ms=table["ms"] * times["ops_ms"] / table["ms"].sum())
        )
        idle.append((len(table), times["overhead_ms"]))
    # What the library left out, or did inside of another operation, took no time.
    table = pd.concat(tables, ignore_index=True).fillna({"ms": 0})
    numbers, milliseconds = np.transpose(idle)
    per_operation, per_step = np.polyfit(numbers, milliseconds, 1).clip(0)
    return Calibration(table, (float(per_step), float(per_operation)))


def measured(work: Work, trace: Sequence[Event]) -> pd.DataFrame:
    """The table of a count with what a trace of the same step measured: ms.

    That is the time on the thread that called the operation, in a median step; NaN for
    an operation that the trace does not hold, such as one that TensorFlow's graph
    optimizer took out.

    Example:
        measured(count(model.train_step, (x, y)), trace)
    """
    runs = pd.DataFrame(
        [(BRANCH.sub("", op.name), op.own) for op in find_ops(trace)],
        columns=["name", "ms"],
    )
    times = runs.groupby("name")["ms"].median()  # one run that was disturbed is no rule
    # A bias and a ReLU are in the time of their product, or have a time of their own.
    ms = pd.Series(
        times.reindex([row.name, *row.riders]).sum(min_count=1)
        for row in work.table[["name", "riders"]].itertuples(index=False)
    )
    return work.table.assign(ms=ms)


def forecast(work: Work, calibration: Calibration) -> dict[str, float]:
    """What a step will take, in ms: {"launch", "products", "other"}, as in `budget`.

    A type that the calibration has not met is compared with all products, or with all
    others, of its dtype.

    Example:
        sum(forecast(roofline.count(model.train_step, (x, y)), calibration).values())
    """
    table = work.table
    seen = calibration.table
    bound = _bound(seen)
    seen = seen.assign(times=(seen["ms"] / bound(seen)) ** ROOT)
    groups = {
        key: (_size(group), group["times"])
        for first in ("type", "product")
        for key, group in seen.groupby([first, "dtype"])
    }
    times = []
    for size, row in zip(_size(table), table.itertuples(), strict=True):
        keys = (row.type, row.dtype), (row.product, row.dtype), (row.product, "float32")
        sizes, like = next(groups[key] for key in keys if key in groups)
        apart = ((sizes - size) ** 2).sum(axis=1)
        weights = np.exp((apart.min() - apart) / (2 * LIKE**2))
        times.append(np.average(like, weights=weights))
    ms = bound(table) * np.array(times) ** (1 / ROOT)
    per_step, per_operation = calibration.launch
    return {
        "launch": per_step + per_operation * len(table),
        "products": float(ms[table["product"]].sum()),
        "other": float(ms[~table["product"]].sum()),
    }


def recorded_forecasts() -> pd.DataFrame:
    """What was predicted and measured on other machines: device, case, policy,
    bound_ms, predicted_ms, measured_ms, slower_ms, ratio (predicted / measured).

    Each step was timed twice, and slower_ms is the other time. The file is that of
    `python -m tools.record forecasts`.

    Example:
        recorded_forecasts()["ratio"]
    """
    record = paths.read(paths.data("forecasts.json"))
    table = pd.json_normalize(record["machines"], "rows", ["device", "date"])
    table["ratio"] = table["predicted_ms"] / table["measured_ms"]
    return table


def _bound(seen):
    """Of operations the ms at the best pace seen: to start, for each flop, for each byte."""
    seen = seen[seen["ms"] > 0]
    products = seen[seen["product"]]
    others = seen[~seen["product"] & (seen["bytes"] > 0)]
    start = seen["ms"].min()
    flop = (products["ms"] / products["flops"]).min()
    byte = (others["ms"] / others["bytes"]).min()
    return lambda table: (
        start + flop * table["flops"] * table["product"] + byte * table["bytes"]
    )


def _size(table):
    return np.log1p(table[["flops", "bytes"]].to_numpy(float))


def _sampler():
    """A small network that holds every common type of operation, one after the other."""
    images = keras.Input((28, 28, 1))
    x = layers.Conv2D(32, 3, activation="relu")(images)
    x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(64, 3, activation="relu")(x)
    x = layers.BatchNormalization()(layers.DepthwiseConv2D(3, padding="same")(x))
    tokens = layers.Dense(128)(layers.Reshape((121, 64))(x))
    x = layers.LayerNormalization()(tokens)
    x = layers.Add()([tokens, layers.MultiHeadAttention(4, 32)(x, x)])
    y = layers.LayerNormalization()(x)
    y = layers.Dense(512, activation="gelu")(y)
    x = layers.Add()([x, layers.Dense(128)(y)])
    x = layers.Dense(64, activation="relu")(layers.Flatten()(x))
    return keras.Model(images, layers.Dense(10, dtype="float32")(x))


def _tiny():
    """A network of one layer: next to nothing but starting operations."""
    head = [layers.Flatten(), layers.Dense(10, dtype="float32")]
    return keras.Sequential([keras.Input((28, 28, 1)), *head])
