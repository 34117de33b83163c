"""The blocks of memory that a trace saw allocated and freed."""

import math
from dataclasses import dataclass
from typing import NamedTuple

CHANGES = ("MemoryAllocation", "MemoryDeallocation")


@dataclass(eq=False)
class Block:
    """One allocation.

    Attributes:
        op: the operation that asked for it, "" where none is known.
        line: the thread it was made on.
        start, end: ms since the trace's first event; `end` is infinite if it was not freed.
        bytes: what was asked for.
        rounding: what the allocator gave on top, because it had a block of that size.
        region: "output" of the operation, "temp" (working space), or "".
        shape, dtype: of the tensor in it, for example "[256,26,26,32]" and "float32", or "".
    """

    op: str
    line: str
    start: float
    bytes: int
    rounding: int
    region: str
    shape: str
    dtype: str
    end: float = math.inf


class Change(NamedTuple):
    """When the memory in use changed (ms), what it was before and after (bytes), by which block."""

    at: float
    before: int
    in_use: int
    block: Block | None


def read(trace) -> tuple[str, list[Change]]:
    """The allocator with most in use, and every change of its memory in time order.

    A change has no block where one was freed that is older than the trace.
    """
    events = [e for e in trace.events if e.name in CHANGES]
    allocators = {}
    for event in events:
        name = event.stats.get("allocator_name", "")
        most = max(allocators.get(name, 0), event.stats.get("bytes_allocated", 0))
        allocators[name] = most
    # What the host keeps for a GPU is not the GPU's memory.
    gpus = [name for name in allocators if name.startswith("GPU_")]
    chosen = max(gpus or allocators, key=allocators.get, default="")
    live, changes = {}, []
    for event in events:
        stats = event.stats
        if stats.get("allocator_name", "") != chosen:
            continue
        size, in_use = stats.get("allocation_bytes", 0), stats.get("bytes_allocated", 0)
        if event.name == "MemoryAllocation":
            block = live[stats.get("addr")] = _block(event)
            before = in_use - size
        else:
            block = live.pop(stats.get("addr"), None)
            before = in_use + size
            if block:
                block.end = event.start
        changes.append(Change(event.start, before, in_use, block))
    return chosen, changes


def _block(event):
    import tensorflow as tf

    stats, number = event.stats, event.stats.get("data_type", 0)
    asked = stats.get("requested_bytes", 0)
    return Block(
        op=str(stats.get("tf_op", "")).removeprefix("StatefulPartitionedCall/"),
        line=event.line,
        start=event.start,
        bytes=asked,
        rounding=stats.get("allocation_bytes", 0) - asked,
        region=str(stats.get("region_type", "")),
        shape=str(stats.get("shape", "")),
        dtype=tf.as_dtype(number).name if number else "",
    )
