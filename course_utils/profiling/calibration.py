"""How long a step will take, from how fast each type of operation ran in other steps.

A small network that holds every common type of operation is recorded at several batch
sizes. For each type and dtype that gives a line: milliseconds = to start one + per
operation of arithmetic + per byte. The lines tell what the operations of any other step
will take. What a step takes while no operation runs grows with the number of its
operations: a second, tiny network tells how.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import keras
import numpy as np
import pandas as pd
from keras import layers
from scipy.optimize import nnls

from course_utils import paths
from course_utils.profiling.ops import find_ops
from course_utils.profiling.recordings import step_times
from course_utils.profiling.trace import Event, record
from course_utils.progress import pace, tqdm
from course_utils.roofline import Work, count
from course_utils.training import dtype_policy

BATCHES = (2, 16, 64)
STEPS = 6  # recorded of each, fewer where they take long
BRANCH = re.compile(r"^.*/(then|else)/_\d+/")  # how a trace calls what a branch holds


@dataclass(frozen=True, eq=False)
class Calibration:
    """How fast this device runs each type of operation.

    The table, a DataFrame, has a row for each type and dtype: start (ms), flop (ms per
    operation of arithmetic), byte (ms per byte).
    """

    table: pd.DataFrame  # by (type, dtype)
    # The milliseconds of a step in which no operation runs: for the step, and for each
    # of its operations.
    launch: tuple[float, float]


def calibrate(policies: Sequence[str], seconds: float = 15) -> Calibration:
    """Records a small network under each policy at three batch sizes.

    It holds convolutions, pooling, dense layers, attention, normalization, GELU and
    Adam. An interrupt ends it with an error, because a part of the types would be
    missing. Where `pace()` is below 1 it takes two batch sizes and half of the steps.

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
    table = pd.concat(tables, ignore_index=True).dropna(subset="ms")
    # Nothing multiplies faster than the fastest product that was seen.
    products = table[table["product"]]
    peaks = (products["flops"] / products["ms"]).groupby(products["dtype"]).max()
    lines = {}
    for keys in (["type", "dtype"], ["product", "dtype"]):  # a type, else its kind
        for key, group in table.groupby(keys):
            least = 1 / peaks[key[1]] if group["product"].all() else 0.0
            lines[key] = _line(group, least)
    each = pd.DataFrame(lines.values(), lines, ["start", "flop", "byte"])
    numbers, milliseconds = np.transpose(idle)
    per_operation, per_step = np.polyfit(numbers, milliseconds, 1)
    return Calibration(
        each, (max(float(per_step), 0.0), max(float(per_operation), 0.0))
    )


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

    A type that the calibration has not met takes the line of all products, or of all
    others, of its dtype.

    Example:
        sum(forecast(roofline.count(model.train_step, (x, y)), calibration).values())
    """
    table = work.table
    lines = calibration.table
    types = set(lines.index)
    keys = []
    for row in table.itertuples():
        own = (row.type, row.dtype)
        general = (row.product, row.dtype)
        if own in types:
            keys.append(own)
        elif general in types:
            keys.append(general)
        else:
            keys.append((row.product, "float32"))
    rates = lines.loc[keys].to_numpy()
    amounts = np.column_stack([np.ones(len(table)), table["flops"], table["bytes"]])
    ms = (rates * amounts).sum(axis=1)
    product = table["product"].to_numpy()
    per_step, per_operation = calibration.launch
    return {
        "launch": per_step + per_operation * len(table),
        "products": float(ms[product].sum()),
        "other": float(ms[~product].sum()),
    }


def recorded_forecasts() -> pd.DataFrame:
    """What was predicted and measured on other machines: device, case, policy,
    predicted_ms, measured_ms, ratio.

    The file is that of `python -m tools.record forecasts`.

    Example:
        recorded_forecasts()["ratio"]
    """
    record = paths.read(paths.data("forecasts.json"))
    table = pd.json_normalize(record["machines"], "rows", ["device", "date"])
    table["ratio"] = table["predicted_ms"] / table["measured_ms"]
    return table


def _line(group, least_flop=0.0):
    """Start, ms per flop (no less than this) and ms per byte, none below 0.

    Least squares with weights between those for relative and for absolute errors: a
    step has many short operations, and the long ones decide how long it takes.
    """
    amounts = np.column_stack([np.ones(len(group)), group["flops"], group["bytes"]])
    ms = group["ms"].to_numpy()
    rest = np.maximum(ms - least_flop * amounts[:, 1], 0.0)
    weights = ms**-0.75
    weighted = amounts * weights[:, None]
    size = np.maximum(weighted.max(axis=0), 1e-30)
    line = nnls(weighted / size, rest * weights)[0] / size
    return line + [0.0, least_flop, 0.0]


def _sampler():
    """A small network that holds every common type of operation, one after the other."""
    images = keras.Input((28, 28, 1))
    x = layers.Conv2D(32, 3, activation="relu")(images)
    x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(64, 3, activation="relu")(x)
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
