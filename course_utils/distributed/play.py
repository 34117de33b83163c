"""One weight on several replicas: one gradient overflows, and what each replica does is noted.

`play` runs in this process. `play_on_workers` starts this file as the program of two workers, and
follows them until they have ended, or until nothing more comes of either.
"""

import json
import sys
import threading

from course_utils.distributed.workers import Workers

STEPS = 6
SILENCE = 6  # seconds after a step, which takes a few milliseconds, before a worker says so


def play(strategy, kind, culprit, when, steps=STEPS):
    """Train a weight with an optimizer of this `kind`; for each step a list of notes.

    Every gradient is 1, but for infinity on the replica `culprit` in step `when`. There is a note
    for each replica of this process: a dict with "step", "replica", "overflow" (its own gradient),
    "taken", "finite" (the weight after the step), "scale" (after the step), and "sums", the
    all-reduces that it took part in, "flag" and "gradients" in their order.

    Example: `list(play(strategy, keras.optimizers.LossScaleOptimizer, 1, 2))`.
    """
    import keras
    import numpy as np
    import tensorflow as tf

    with strategy.scope():
        weight, optimizer = keras.Variable([1.0]), kind(keras.optimizers.SGD(0.01), 2.0**15)
        optimizer.build([weight])

    def one_replica(culprit):
        rank = tf.distribute.get_replica_context().replica_id_in_sync_group
        gradient = tf.where(tf.equal(rank, culprit), [float("inf")], [1.0])
        optimizer.apply([optimizer.scale_loss(gradient)], [weight])

    def held(variable):
        values = strategy.experimental_local_results(variable.value)
        return [float(v.numpy().ravel()[0]) for v in values]

    own = keras.optimizers.LossScaleOptimizer
    asks = kind.check_finite is not own.check_finite
    first = not asks and kind.apply is not own.apply  # the gradients are added up, then looked at
    step = tf.function(lambda culprit: strategy.run(one_replica, args=(culprit,)))
    for number in range(steps):
        before, spoiled = held(optimizer.iterations), culprit if number == when else -1
        step(tf.constant(spoiled))
        counts = held(optimizer.iterations)  # a step that is skipped does not count
        ranks = range(len(counts))
        if len(counts) < strategy.num_replicas_in_sync:
            ranks = [strategy.cluster_resolver.task_id]
        values = zip(
            ranks, before, counts, held(weight), held(optimizer.dynamic_scale), strict=True
        )
        yield [
            {
                "step": number,
                "replica": rank,
                "overflow": rank == spoiled,
                "taken": after > count,
                "finite": bool(np.isfinite(value)),
                "scale": scale,
                "sums": ["flag"] * asks + ["gradients"] * (first or after > count),
            }
            for rank, count, after, value, scale in values
        ]


def play_on_workers(kind: str, culprit: int, when: int = 2):
    """`play` with one replica in each of two processes: (all notes, the `Workers`).

    `kind`: "own", Keras's `LossScaleOptimizer`, or "safe", the course's. What the workers do is
    printed as it comes. When both have said nothing for some seconds they are stopped.
    """
    print("Two processes start TensorFlow, which takes some seconds.")
    notes, last = [], {}
    arguments = (kind, culprit, when)
    with Workers(__file__, 2, arguments, timeout=90, grace=1) as workers:
        for rank, line in workers:
            last[rank] = said = line
            if line != "silence":
                (note,) = json.loads(line)
                notes.append(note)
                what = "taken" if note["taken"] else "skipped"
                said = f"step {note['step']} {what}, scale {note['scale']:,.0f}"
            print(f"worker {rank} · {said}")
            if list(last.values()) == ["silence", "silence"]:
                break
    return notes, workers


def _work(kind, culprit, when):
    import keras
    import tensorflow as tf

    from course_utils import training

    own, safe = keras.optimizers.LossScaleOptimizer, training.ReplicaSafeLossScaleOptimizer
    strategy, kinds = tf.distribute.MultiWorkerMirroredStrategy(), {"own": own, "safe": safe}
    for notes in play(strategy, kinds[kind], int(culprit), int(when)):
        print(json.dumps(notes), flush=True)
        silence = threading.Timer(SILENCE, print, ["silence"], {"flush": True})
        silence.daemon = True
        silence.start()


if __name__ == "__main__":
    _work(*sys.argv[1:])
