"""What has to be in memory while a training step runs, counted from its traced graph.

An array is alive from the operation that makes it to the last one that reads it.
Nothing here knows a layer or an optimizer by name, so it counts any model that
TensorFlow can trace. What a CPU library or a GPU takes beside the arrays is no array of
the graph: `profiling.peaks` measures it.
"""

import random
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from heapq import heappop, heappush
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from course_utils.benchmark.timed_model import TimedModel
from course_utils.roofline.counting import VIEWS, trace

# These may write their result into an input that nobody reads after them.
IN_PLACE = {
    *("Relu", "BiasAdd", "AddV2", "Mul", "Sub", "ReluGrad", "Sqrt", "Neg", "Maximum"),
    *("RealDiv", "Square", "Rsqrt", "Tanh", "TanhGrad", "Softmax", "AddN", "Erf"),
    *("SquaredDifference", "Exp", "Log", "Pow"),
}
# How long an operation runs, in bytes that it reads and makes: matrix work takes long.
STARTING = 20_000
MATRIX_WORK = 20
WORKERS = 2


class Operation(NamedTuple):
    """One operation of a graph, in the order in which the graph was built."""

    name: str
    type: str  # such as "MatMul"
    reads: tuple[str, ...]  # the arrays that it reads, a view by what it shows
    makes: dict[str, int]  # the arrays that it makes, with their bytes
    after: frozenset[int]  # the numbers of the operations that have to end before


def operations(
    build_model: Callable[[], keras.Model],
    policy: str,
    x: np.ndarray | tf.Tensor,
    y: np.ndarray | tf.Tensor,
) -> list[Operation]:
    """The operations of one training step on a batch, two arrays, under a policy.

    `build_model()` returns a compiled model, else ValueError. The model's variables are
    not among the arrays, and the batch is not: they stay. A branch (the loss scale's
    `cond`) counts by what it hands out, an array whose shape is open as nothing.

    Example:
        >>> import keras, numpy as np
        >>> def build_model():
        ...     model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4)])
        ...     model.compile("sgd", "mse", jit_compile=False)
        ...     return model
        >>> x, y = np.ones((2, 8), "float32"), np.ones((2, 4), "float32")
        >>> step = operations(build_model, "float32", x, y)
        >>> [list(op.makes.values()) for op in step if op.type == "MatMul"]
        [[32], [128]]
    """
    graph = trace(TimedModel(build_model, policy).model.train_step, (x, y))
    numbers = {op.name: n for n, op in enumerate(graph.get_operations())}
    shows = {}
    result = []
    for op in graph.get_operations():
        reads = tuple(shows.get(t.name, t.name) for t in op.inputs)
        before = [t.op for t in op.inputs] + list(op.control_inputs)
        after = frozenset(numbers[each.name] for each in before)
        if op.type in VIEWS:
            shows.update(zip((t.name for t in op.outputs), reads, strict=False))
            result.append(Operation(op.name, op.type, (), {}, after))
            continue
        makes = {t.name: _size(t) for t in op.outputs if _size(t)}
        result.append(Operation(op.name, op.type, reads, makes, after))
    return result


def _size(tensor):
    """Bytes of a tensor of a graph; 0 where its shape is open or it is a handle."""
    if tensor.dtype.size is None or not tensor.shape.is_fully_defined():
        return 0
    return tensor.shape.num_elements() * tensor.dtype.size


def peak(step: list[Operation], seed: int = 0, least: int = 0) -> int:
    """Bytes of the arrays that are alive at the worst moment of a step.

    Two operations run at the same time, as on TensorFlow's threads. Each thread goes on
    with what its last operation has made ready, else with what waits longest. How long
    an operation runs is drawn anew for each seed, so that the seeds together show what
    the order of independent operations does. Arrays of fewer than `least` bytes count
    nothing.

    Example:
        >>> make = Operation("a", "MatMul", (), {"a:0": 100}, frozenset())
        >>> use = Operation("b", "Relu", ("a:0",), {"b:0": 100}, frozenset({0}))
        >>> peak([make, use]), peak([make, use._replace(type="MatMul")])
        (100, 200)
    """
    rng = random.Random(seed)
    readers = Counter(array for op in step for array in set(op.reads))
    sizes = {array: size for op in step for array, size in op.makes.items()}
    waits = [len(op.after) for op in step]
    followers = defaultdict(list)
    for number, op in enumerate(step):
        for before in op.after:
            followers[before].append(number)
    alive = {}
    queue = deque(number for number, count in enumerate(waits) if not count)
    running = []
    now = 0.0
    most = 0
    while queue or running:
        while queue and len(running) < WORKERS:
            number = queue.popleft()
            op = step[number]
            _reuse(op, alive, readers)
            alive |= {a: size for a, size in op.makes.items() if size >= least}
            most = max(most, sum(alive.values()))
            byte_count = sum(sizes.get(array, 0) for array in (*op.reads, *op.makes))
            slow = MATRIX_WORK if "Conv" in op.type or "MatMul" in op.type else 1
            # A view takes no time. It is drawn for all the same, so that the numbers
            # drawn for the other operations do not depend on it.
            duration = (STARTING + byte_count * slow) * rng.uniform(0.5, 2)
            if op.type in VIEWS:
                duration = 0
            heappush(running, (now + duration, number))
        now, number = heappop(running)
        op = step[number]
        readers.subtract(set(op.reads))
        for array in {*op.reads, *op.makes}:
            if readers[array] <= 0:
                alive.pop(array, None)
        for each in followers[number]:
            waits[each] -= 1
        ready = [each for each in followers[number] if not waits[each]]
        queue.extendleft(ready[:1])
        queue.extend(ready[1:])
    return most


def _reuse(op, alive, readers):
    """Takes the inputs out of `alive` that an operation writes its results over."""
    if op.type in IN_PLACE:
        for size in op.makes.values():
            for array in dict.fromkeys(op.reads):
                if readers[array] == 1 and alive.get(array) == size:
                    del alive[array]
                    break
