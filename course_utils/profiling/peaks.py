"""The peak of a training step in its parts: counted, and measured on fresh models."""

import gc
from collections.abc import Callable, Sequence

import keras
import numpy as np
import pandas as pd
import tensorflow as tf

from course_utils.benchmark.keras_device import device_kind, start_peak
from course_utils.benchmark.timed_model import TimedModel
from course_utils.benchmark.timer import rounds
from course_utils.profiling.trace import record
from course_utils.roofline import liveness

ORDERS = 10  # in which a step is counted for each build
SMALL = 2**18  # bytes: TensorFlow's allocator for CPUs does not count smaller blocks
PEAKS = ["policy", "batch", "variables", "counted", "working", "asked", "given"]


def peaks(
    build_model: Callable[[], keras.Model],
    x: np.ndarray,
    y: np.ndarray,
    batches: Sequence[int],
    policies: Sequence[str],
    seconds: float = 20,
) -> pd.DataFrame:
    """Counts and measures the peak of a step for each batch size and policy, in MB.

    `build_model()` returns a compiled model; `x` and `y` are arrays of shape (n, ...).
    A row for each fresh build, with its own initial weights: `variables` (weights and
    optimizer), `counted` (they and the arrays that are alive at the worst moment, the
    median of ten orders of `roofline.liveness`), `working` (measured: what the routines
    asked for beside the arrays), `asked` (measured: all that the step asked for, and
    the variables), `given` (measured: the same for the blocks that the allocator gave,
    which may be larger). NaN where the allocator of this device tells nothing. The
    batch is not counted, and on a CPU no array below 256 KiB is. XLA, which asks for all
    in one block, is off if it can be. There are three builds of each at least, as many
    as fit into `seconds`.

    ValueError where `build_model` returns no compiled model, and for a batch that is
    larger than `x`.

    Example:
        peaks(build_model, x, y, (64, 256), ("float32", "mixed_bfloat16"))
    """
    cases = [(policy, batch) for batch in batches for policy in policies]
    least = SMALL if device_kind() == "CPU" else 0
    rows = []
    try:
        for policy, batch in cases:
            if batch > len(x):
                raise ValueError(
                    f"A batch of {batch} needs as many samples and there are {len(x)}."
                )
            here = tf.convert_to_tensor(x[:batch]), tf.convert_to_tensor(y[:batch])
            step = liveness.operations(build_model, policy, *here)
            label = f"{policy}, batch {batch}"
            for seed in rounds(seconds / len(cases), label, at_least=3):
                gc.collect()  # a former model that dies in a step would hide a part
                fresh = TimedModel(build_model, policy, seed)
                fresh.model.jit_compile = fresh.needs_xla
                own = fresh.resident_bytes
                first = ORDERS * seed
                counts = [liveness.peak(step, first + n, least) for n in range(ORDERS)]
                working, requested, allocated = _measure(fresh.model, here)
                counted = own + np.median(counts)
                parts = own, counted, working, own + requested, own + allocated
                rows.append((policy, batch, *np.divide(parts, 1e6)))
    except KeyboardInterrupt:
        print("Interrupted: the table holds what was measured until then.")
    return pd.DataFrame(rows, columns=PEAKS)


def _measure(model, batch):
    """Bytes at the worst moment of the second step of a model: working space, what was
    asked for, and what was given at most.
    """
    model.train_on_batch(*batch)
    if start_peak() is None:
        return np.nan, np.nan, np.nan
    trace = record(lambda: model.train_on_batch(*batch), steps=1, warm_up=0)
    live = {}
    requested = allocated = 0  # now
    working = most_requested = most_allocated = 0  # at the worst moment
    for event in _allocations(trace):
        size = event.stats.get("allocation_bytes", 0)
        address = event.stats.get("addr")
        if event.name == "MemoryAllocation":
            live[address] = event.stats
            requested += event.stats["requested_bytes"]
            allocated += size
        else:
            block = live.pop(address, None)
            # one that is older than the trace: a variable that got a new block
            requested -= block["requested_bytes"] if block else size
            allocated -= size
        most_allocated = max(most_allocated, allocated)
        if requested > most_requested:
            most_requested = requested
            working = sum(map(_working, live.values()))
    return working, most_requested, most_allocated


def _allocations(trace):
    """What came and went at the allocator with most in use: the trace's events with
    `requested_bytes`, `allocation_bytes` and `bytes_allocated` in their `stats`.
    """
    kinds = ("MemoryAllocation", "MemoryDeallocation")
    events = [event for event in trace if event.name in kinds]
    most = {}
    for event in events:
        name = event.stats.get("allocator_name", "")
        most[name] = max(most.get(name, 0), event.stats.get("bytes_allocated", 0))
    # What the host keeps for a GPU is not the GPU's memory.
    gpus = [name for name in most if name.startswith("GPU_")]
    allocator = max(gpus or most, key=lambda name: most[name], default="")
    return [e for e in events if e.stats.get("allocator_name", "") == allocator]


def _working(block):
    """Bytes that a routine keeps for itself: no output, or an output of bytes that is
    no array of the graph (where oneDNN notes the maxima of a pooling window).
    """
    own = block.get("region_type") != "output"
    if own or block.get("data_type") == tf.uint8.as_datatype_enum:
        return block["requested_bytes"]
    return 0
