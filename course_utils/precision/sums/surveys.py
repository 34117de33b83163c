"""All operations, listened to on this device, and the records of others."""

import datetime
import math
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import tensorflow as tf

from course_utils import hardware, paths, records
from course_utils.precision.sums.accumulators import NONE, TERMS, UNIT, Sound, listen
from course_utils.precision.sums.operations import MEANS, OPERATIONS
from course_utils.progress import tqdm

MODES = ("eager", "graph", "XLA")
KIND = "sums"
FOLDER = paths.data("measurements/sums")
COLUMNS = ["operation", "kind", "dtype", "mode", "verdict", "ones", "error"]


def survey(
    modes: Collection[str] = ("eager",), operations: dict | None = None
) -> pd.DataFrame:
    """Listen to each operation in both 16-bit formats, on TensorFlow's own device.

    `modes`: "eager", "graph" (a tf.function) and "XLA". `operations` is
    {kind: {name: function of 4,096 terms that returns their sum}}; without it those of
    `OPERATIONS`, eagerly some 20 s on two cores, in all modes two minutes. An interrupt
    keeps the rows that are done.

    A row for each: operation, kind, dtype, mode, verdict, `ones` (what it makes of 4,096
    ones, as a part of 4,096) and `error` (the largest of positive random terms, in
    units).

        >>> survey(operations={"my own": {"sum": tf.reduce_sum}})["verdict"][1]
        'float32'
    """
    catalog = OPERATIONS if operations is None else operations
    cases = [
        (kind, name, function, dtype, mode)
        for kind, functions in catalog.items()
        for name, function in functions.items()
        for dtype in UNIT
        for mode in modes
    ]
    rows: list[dict[str, Any]] = []
    try:
        for kind, name, function, dtype, mode in tqdm(cases, desc="sums"):
            sound = _sound(function, dtype, mode, name in MEANS)
            about = {"operation": name, "kind": kind, "dtype": dtype, "mode": mode}
            rows.append(about | sound._asdict())
    except KeyboardInterrupt:
        print(f"Interrupted: {len(rows)} of {len(cases)} rows are kept.")
    return pd.DataFrame(rows, columns=COLUMNS)


def _sound(function, dtype, mode, is_mean):
    run = function
    if mode != "eager":
        run = tf.function(function, jit_compile=mode == "XLA", autograph=False)

    def operation(terms):
        return tf.reshape(run(tf.convert_to_tensor(terms)), [-1])[0]

    try:
        return listen(operation, dtype, np.mean if is_mean else np.sum)
    except (tf.errors.OpError, NotImplementedError, TypeError, ValueError):
        return Sound(NONE, math.nan, math.nan)


def side_by_side(table: pd.DataFrame) -> pd.DataFrame:
    """A survey with a row for each operation, and a column for each dtype and mode: the
    verdict, and what the operation makes of 4,096 ones where that is not 4,096.
    """
    ones = (table["ones"] * TERMS).round()
    wrong = ones.notna() & (abs(table["ones"] - 1) > 0.01)
    words = table.assign(
        verdict=table["verdict"]
        + ones[wrong].map(" ({:,.0f})".format).reindex(table.index).fillna("")
    )
    wide = words.pivot(index="operation", columns=["dtype", "mode"], values="verdict")
    order = table[["dtype", "mode"]].drop_duplicates().itertuples(index=False)
    return wide.reindex(table["operation"].unique())[[tuple(each) for each in order]]


def record(table: pd.DataFrame, name: str | None = None) -> dict[str, Any]:
    """A survey with device, date, versions and switches, for `records.save`."""
    machine = hardware.detect()
    devices = tf.config.list_logical_devices()
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    return {
        "kind": KIND,
        "device": name or str(machine),
        "on": devices[-1].device_type,
        "cpu": str(machine),
        "date": datetime.date.today().isoformat(),
        "versions": records.versions(),
        "settings": {s: os.environ[s] for s in records.SWITCHES if s in os.environ},
        "rows": rows,
    }


def load(folder: str | Path = FOLDER) -> Iterator[tuple[str, pd.DataFrame]]:
    """(Device, its switches and its date, in words; the table) of each record in a
    folder.

    Example: `dict(load())`.
    """
    for path in sorted(Path(folder).glob("*.json")):
        content = paths.read(path)
        switches = records.label(content)
        words = [content["device"], switches, content["date"]]
        yield (
            ", ".join(filter(None, words)),
            pd.DataFrame(content["rows"], columns=COLUMNS),
        )
