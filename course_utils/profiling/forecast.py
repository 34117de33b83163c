"""How long a step will take, from how fast each type of operation ran in other steps.

A small network that holds every common type of operation is recorded at several batch
sizes. For each type and dtype that gives a line: milliseconds = to start one + per
operation of arithmetic + per byte. The lines tell what the operations of any other step
will take.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import nnls

from course_utils import paths
from course_utils.profiling.ops import op_times
from course_utils.profiling.recordings import step_times
from course_utils.profiling.trace import record
from course_utils.progress import tqdm
from course_utils.roofline import Work, count
from course_utils.training import dtype_policy

BATCHES = (4, 32, 128)
STEPS = 8  # recorded of each, fewer where they take long
BRANCH = re.compile(r"^.*/(then|else)/_\d+/")  # how a trace calls what a branch holds


@dataclass(frozen=True, eq=False)
class Calibration:
    """How fast this device runs each type of operation.

    The table, a DataFrame, has a row for each type and dtype: start (ms), flop (ms per
    operation of arithmetic), byte (ms per byte). launch is the milliseconds in which
    nothing runs, for each operation of a step.
    """

    table: Any  # a DataFrame, by (type, dtype)
    launch: float


def calibrate(policies, seconds: float = 15) -> Calibration:
    """Records a small network under each policy at three batch sizes.

    It holds convolutions, pooling, dense layers, attention, normalization, GELU and
    Adam. An interrupt ends it with an error, because a part of the types would be
    missing.

    Example:
        calibration = profiling.calibrate(("float32", "mixed_bfloat16"))
    """
    cases = [(policy, batch) for policy in policies for batch in BATCHES]
    rows = []
    launches = []
    for policy, batch in tqdm(cases, desc="types of operations"):
        model = _sampler(policy)
        rng = np.random.default_rng(0)
        x = rng.random((batch, 28, 28, 1), dtype="float32")
        y = rng.integers(0, 10, batch)
        work = count(model.train_step, (x, y))
        trace = record(
            lambda model=model, x=x, y=y: model.train_on_batch(x, y),
            steps=STEPS,
            seconds=seconds / len(cases),
        )
        rows.append(measured(work, trace))
        launches.append(step_times(trace)["overhead_ms"].median() / len(work.table))
    table = pd.concat(rows, ignore_index=True).dropna(subset="ms")
    lines = {key: _line(group) for key, group in table.groupby(["type", "dtype"])}
    for (product, dtype), group in table.groupby(["product", "dtype"]):
        lines[product, dtype] = _line(group)  # for types that the network lacks
    columns = ["start", "flop", "byte"]
    return Calibration(
        pd.DataFrame(lines.values(), lines, columns), float(np.median(launches))
    )


def measured(work: Work, trace) -> pd.DataFrame:
    """The table of a count with what a trace of the same step measured: ms.

    The time in which operations run is shared out among them in proportion to their
    time on all threads, as in `budget`; NaN for an operation that the trace does not
    hold, such as one that TensorFlow's graph optimizer took out.

    Example:
        measured(count(model.train_step, (x, y)), trace)
    """
    times = op_times(trace, by="name").groupby("op")["ms"].sum()
    times.index = [BRANCH.sub("", name) for name in times.index]
    ms = work.table["name"].map(times[~times.index.duplicated()])
    busy = step_times(trace)["ops_ms"].median()
    return work.table.assign(ms=ms * busy / ms.sum())


def forecast(work: Work, calibration: Calibration) -> dict:
    """What a step will take, in ms: {"launch", "products", "other"}, as in `budget`.

    A type that the calibration has not met takes the line of all products, or of all
    others, of its dtype.

    Example:
        sum(forecast(roofline.count(model.train_step, (x, y)), calibration).values())
    """
    table = work.table
    lines = calibration.table
    known = set(lines.index)
    keys = []
    for row in table.itertuples():
        own = (row.type, row.dtype)
        general = (row.product, row.dtype)
        pooled = general if general in known else (row.product, "float32")
        keys.append(own if own in known else pooled)
    found = lines.loc[keys].to_numpy()
    amounts = np.column_stack([np.ones(len(table)), table["flops"], table["bytes"]])
    ms = (found * amounts).sum(axis=1)
    product = table["product"].to_numpy()
    return {
        "launch": calibration.launch * len(table),
        "products": float(ms[product].sum()),
        "other": float(ms[~product].sum()),
    }


def recorded_forecasts() -> pd.DataFrame:
    """What was predicted and measured on other machines: device, case, policy,
    predicted_ms, measured_ms, ratio.

    The file is that of `python -m tools.record forecasts`.

    Example:
        figures.forecasts(recorded_forecasts())
    """
    found = json.loads(paths.data("forecasts.json").read_text(encoding="utf-8"))
    table = pd.json_normalize(found["machines"], "rows", ["device", "date"])
    table["ratio"] = table["predicted_ms"] / table["measured_ms"]
    return table


def _line(group):
    """Start, ms per flop and ms per byte, none below 0, by the least relative errors."""
    amounts = np.column_stack([np.ones(len(group)), group["flops"], group["bytes"]])
    relative = amounts / group["ms"].to_numpy()[:, None]
    size = np.maximum(relative.max(axis=0), 1e-30)
    return nnls(relative / size, np.ones(len(group)))[0] / size


def _sampler(policy):
    """A small network that holds every common type of operation, compiled."""
    import keras
    from keras import layers

    with dtype_policy(policy):
        images = keras.Input((28, 28, 1))
        x = layers.Conv2D(32, 3, activation="relu")(images)
        x = layers.MaxPooling2D()(x)
        x = layers.Conv2D(64, 3, strides=2, activation="relu")(x)
        x = layers.Conv2D(64, 3, activation="relu")(x)
        tokens = layers.Reshape((16, 64))(x)
        x = layers.LayerNormalization()(tokens)
        x = layers.Add()([tokens, layers.MultiHeadAttention(4, 16)(x, x)])
        y = layers.LayerNormalization()(x)
        y = layers.Dense(256, activation="gelu")(y)
        x = layers.Add()([x, layers.Dense(64)(y)])
        x = layers.Dense(512, activation="relu")(layers.Flatten()(x))
        outputs = layers.Dense(10, dtype="float32")(x)
        model = keras.Model(images, outputs)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, jit_compile=False, auto_scale_loss=False)
    return model
