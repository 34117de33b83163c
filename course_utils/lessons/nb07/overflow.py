"""One weight on several replicas: one gradient overflows, and what each replica does is
noted.

Run as a script it is one of two workers.
"""

import json
import re
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from course_utils.distributed.workers import Workers

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

# seconds after a step, which takes a few milliseconds, before a worker says so
SILENCE = 6


def train_through_overflow(
    strategy: "tf.distribute.Strategy",
    kind: "type[keras.optimizers.LossScaleOptimizer]",
    culprit: int,
    when: int,
) -> Iterator[list[dict]]:
    """Train a weight for six steps with an optimizer of this `kind`; for each a note of each
    replica here.

    Every gradient is 1, but for infinity on the replica `culprit` in step `when`. A
    note is a dict: "step", "replica", "overflow" (its own), "taken", "finite" (the
    weight after it), "scale" (after it), and "sums", the all-reduces that it took part
    in: "flag", "gradients".

    Example: `list(train_through_overflow(strategy, LossScaleOptimizer, 1, 2))`.
    """
    import keras
    import numpy as np
    import tensorflow as tf

    with strategy.scope():
        weight = keras.Variable([1.0])
        optimizer = kind(keras.optimizers.SGD(0.01), 2.0**15)
        optimizer.build([weight])

    def one_replica(culprit):
        rank = tf.distribute.get_replica_context().replica_id_in_sync_group
        gradient = tf.where(tf.equal(rank, culprit), [float("inf")], [1.0])
        optimizer.apply([optimizer.scale_loss(gradient)], [weight])

    def local_values(variable):
        values = strategy.experimental_local_results(variable.value)
        return [float(v.numpy().ravel()[0]) for v in values]

    own = keras.optimizers.LossScaleOptimizer
    asks = kind.check_finite is not own.check_finite
    sums_first = not asks and kind.apply is not own.apply
    step = tf.function(lambda culprit: strategy.run(one_replica, args=(culprit,)))
    for number in range(6):
        before = local_values(optimizer.iterations)
        overflowing = culprit if number == when else -1
        step(tf.constant(overflowing))
        # a step that is skipped does not count
        counts = local_values(optimizer.iterations)
        ranks = [*range(len(counts))]
        if len(counts) < strategy.num_replicas_in_sync:
            ranks = [strategy.cluster_resolver.task_id]
        weights = local_values(weight)
        scales = local_values(optimizer.dynamic_scale)
        flags = ["flag"] if asks else []
        notes = []
        for place, rank in enumerate(ranks):
            applied = counts[place] > before[place]
            sums = ["gradients"] if applied or sums_first else []
            notes.append(
                {
                    "step": number,
                    "replica": rank,
                    "overflow": rank == overflowing,
                    "taken": applied,
                    "finite": bool(np.isfinite(weights[place])),
                    "scale": scales[place],
                    "sums": flags + sums,
                }
            )
        yield notes


def train_on_workers(
    kind: str, culprit: int, timeout: float = 0, tell: bool = True
) -> tuple[list[dict], Workers]:
    """`train_through_overflow` in two worker processes: (all notes, the `Workers`).

    Each line is printed if `tell`. `kind`: "own" is Keras's, "safe" the course's. The
    worker `culprit` overflows in step 2. When nothing more comes they are stopped. With a
    `timeout` in seconds, no all-reduce waits longer: it raises, and all are stopped.
    """
    print("Two processes start TensorFlow, which takes some seconds.")
    notes = []
    arguments = kind, culprit, timeout
    with Workers(__file__, 2, arguments, timeout=90, grace=1) as workers:
        for rank, line in workers:
            text = line
            if line.startswith("["):
                (note,) = json.loads(line)
                notes.append(note)
                what = "taken" if note["taken"] else "skipped"
                text = f"step {note['step']} {what}, scale {note['scale']:,.0f}"
            if tell:
                print(f"worker {rank} · {text}")
            if list(workers.last.values()) == ["silence", "silence"] and not timeout:
                break
            if line.startswith("DeadlineExceeded"):
                break  # TensorFlow can crash in the other, which gives up too
    return notes, workers


def _work(kind, culprit, timeout):
    import keras
    import tensorflow as tf

    from course_utils import training

    own = keras.optimizers.LossScaleOptimizer
    safe = training.ReplicaSafeLossScaleOptimizer
    options = tf.distribute.experimental.CommunicationOptions(
        timeout_seconds=float(timeout) or None
    )
    strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
    kinds = {"own": own, "safe": safe}
    try:
        notes = train_through_overflow(strategy, kinds[kind], int(culprit), when=2)
        print_as_they_come(notes)
    except tf.errors.OpError as error:  # its message begins with names of nodes
        why = re.sub(r"{{.*?}}", "", error.message).strip().splitlines()[0]
        print(f"{type(error).__name__}: {why}", flush=True)


def print_as_they_come(steps: Iterator[list[dict]]) -> None:
    """Print the notes of each step as a line of JSON, and "silence" where no more come."""
    silence = None
    for notes in steps:
        if silence is not None:
            silence.cancel()  # two that end together would print into one line
        print(json.dumps(notes), flush=True)
        silence = threading.Timer(SILENCE, print, ["silence"], {"flush": True})
        silence.daemon = True
        silence.start()


if __name__ == "__main__":
    _work(*sys.argv[1:])
