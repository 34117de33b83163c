"""One weight on several replicas: one gradient overflows, and what each replica does is
noted.

Run as a script it is one of two workers.
"""

import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from course_utils.distributed import drill
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

    The gradient is 1 on the first replica and 1/2 on the second, but for infinity on the
    replica `culprit` in step `when`. A note is a dict of `distributed.drill.steps`, and
    has "sums" too, the all-reduces that the replica took part in: "flag", "gradients".

    Example: `list(train_through_overflow(strategy, LossScaleOptimizer, 1, 2))`.
    """
    import keras
    import tensorflow as tf

    with strategy.scope():
        weight = keras.Variable([1.0])
        optimizer = kind(keras.optimizers.SGD(0.01), 2.0**15)
        optimizer.build([weight])

    def one_replica(gradient):
        optimizer.apply([optimizer.scale_loss(gradient)], [weight])

    own = keras.optimizers.LossScaleOptimizer
    asks = kind.check_finite is not own.check_finite
    sums_first = not asks and kind.apply is not own.apply
    flags = ["flag"] if asks else []
    step = tf.function(lambda gradient: strategy.run(one_replica, args=(gradient,)))
    loop = strategy, [weight], optimizer, step, [[1.0]]
    for notes in drill.steps(*loop, culprit, when):
        for note in notes:
            sums = ["gradients"] if note["taken"] or sums_first else []
            note["sums"] = flags + sums
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
    arguments = kind, culprit, timeout
    return drill.play(__file__, arguments, tell=tell, patient=timeout > 0)


def _work(kind, culprit, timeout):
    import keras
    import tensorflow as tf

    from course_utils import training

    optimizers = {
        "own": keras.optimizers.LossScaleOptimizer,
        "safe": training.ReplicaSafeLossScaleOptimizer,
    }
    options = tf.distribute.experimental.CommunicationOptions(
        timeout_seconds=float(timeout) or None
    )
    strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
    try:
        notes = train_through_overflow(strategy, optimizers[kind], int(culprit), when=2)
        drill.print_as_they_come(notes, SILENCE)
    except tf.errors.OpError as error:  # its message begins with names of nodes
        why = re.sub(r"{{.*?}}", "", error.message).strip().splitlines()[0]
        print(f"{type(error).__name__}: {why}", flush=True)


if __name__ == "__main__":
    _work(*sys.argv[1:])
