"""What a step of two workers takes: a layer's gradient, computed and exchanged.

`measure_exchange` starts this file as the program of two workers on this computer.
"""

import json
import time

from course_utils.distributed.workers import run_workers

SIDE = 1000
BATCH = 512
ROUNDS = 24
# What computes and what travels.
KINDS = {
    "float32": ("float32", "float32"),
    "mixed": ("bfloat16", "float32"),
    "mixed, bfloat16 sent": ("bfloat16", "bfloat16"),
}


def measure_exchange() -> dict:
    """Milliseconds (lower quartiles) of two workers, each with the gradient of a
    million weights.

    {"compute": {kind: its products alone}, "exchange": {dtype: an all-reduce of as many
    numbers alone}, "step": {kind: both}}, for each of `KINDS`. What is timed takes
    turns. "alone" is "compute" of one worker that has the whole computer, measured
    before.
    """
    (alone,) = run_workers(__file__, 1, timeout=150)
    return run_workers(__file__, 2, timeout=150)[0] | {"alone": alone["compute"]}


def _work():
    import numpy as np
    import tensorflow as tf

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    rows = tf.random.normal((BATCH, SIDE))
    weights = tf.random.normal((SIDE, SIDE))

    def all_reduce(numbers):
        return tf.distribute.get_replica_context().all_reduce(
            "SUM", tf.identity(numbers)
        )

    def gradient(dtype, sent_dtype):  # two of the three products of a dense layer
        a = tf.cast(rows, dtype)
        w = tf.cast(weights, dtype)
        return tf.cast(tf.matmul(a, tf.matmul(a, w), transpose_a=True), sent_dtype)

    def run(function, *arguments):
        call = tf.function(lambda: strategy.run(lambda: function(*arguments)[:1]))
        # what is read has been computed
        return lambda: tf.cast(call(), tf.float32).numpy()

    calls = {
        ("compute", kind): run(gradient, *dtypes) for kind, dtypes in KINDS.items()
    }
    for kind, dtypes in KINDS.items():
        calls["step", kind] = run(lambda *both: all_reduce(gradient(*both)), *dtypes)
        calls["exchange", dtypes[1]] = run(all_reduce, tf.cast(weights, dtypes[1]))
    times = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append(1e3 * (time.perf_counter() - start))
    work = {part: {} for part, _ in calls}
    for (part, kind), several in times.items():
        # others may use the cores
        work[part][kind] = float(np.percentile(several[2:], 25))
    print("RESULT", json.dumps(work))


if __name__ == "__main__":
    _work()
