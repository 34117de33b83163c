"""The overflow drill: in one step of a training loop on two replicas the batch of one of
them is infinite.

No weight may be lost, all replicas have to skip that step and go on with the same
weights and the same loss scale, and none may wait. Each replica is tried in turn, and
before them none, in two fresh processes on this computer, or in one with two devices.
Run as a script, it is one of these processes.
"""

import json
import math
import pkgutil
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from course_utils.distributed.strategies import split_cpu
from course_utils.distributed.workers import Workers
from course_utils.processes import ProcessError

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

STEPS = 6
WHEN = 2  # the step with the infinite batch
RUNS = ("no overflow", "one on 0", "one on 1")
START = 300  # seconds that the processes of one run may take in all


def steps(
    strategy: "tf.distribute.Strategy",
    weights: "list[keras.Variable]",
    optimizer: "keras.optimizers.LossScaleOptimizer",
    step: Callable[..., object],
    batch: "Sequence[tf.Tensor]",
    culprit: int,
    when: int = WHEN,
) -> Iterator[list[dict]]:
    """Train six steps, and give a note of each replica of this process for each of them.

    `step` takes the arrays of a batch and gives them to `strategy.run`. `batch` is what
    one replica trains on. Its first array has to be of floats: on replica 1 it is
    divided by 2, so that the gradients differ, and on the replica `culprit` (-1: on
    none) it is multiplied by infinity in step `when`.

    A note is a dict: "step", "replica", "overflow" (whether its batch is infinite),
    "taken", "finite" (the weights after the step), "weights" (their absolute values,
    added up), "scale" (the loss scale after it), and "optimizer" (its class).
    """
    import tensorflow as tf

    first, *rest = map(tf.convert_to_tensor, batch)
    own = tf.distribute.cluster_resolver.TFConfigClusterResolver().task_id or 0

    def part_of(context):
        rank = max(own, context.replica_id_in_sync_group)
        return [first * (math.inf if rank == bad else 1 / (1 + rank)), *rest]

    def values(variable):
        local = strategy.experimental_local_results(variable.value)
        return [value.numpy() for value in local]

    for number in range(STEPS):
        bad = culprit if number == when else -1
        before = values(optimizer.iterations)
        step(*strategy.experimental_distribute_values_from_function(part_of))
        watched = optimizer.iterations, optimizer.dynamic_scale, *weights
        after = zip(before, *map(values, watched), strict=True)
        notes = []
        for rank, (old, new, scale, *arrays) in enumerate(after, own):
            size = sum(float(abs(array).sum(dtype="float64")) for array in arrays)
            notes.append(
                {
                    "step": number,
                    "replica": rank,
                    "overflow": rank == bad,
                    "taken": bool(new > old),
                    "finite": math.isfinite(size),
                    "weights": size,
                    "scale": float(scale),
                    "optimizer": type(optimizer).__name__,
                }
            )
        yield notes


def print_as_they_come(notes_of_steps: Iterator[list[dict]], limit: float) -> None:
    """Print the notes of each step as a line of JSON, and "silence" where no more come
    for so many seconds.
    """
    silence = None
    for notes in notes_of_steps:
        if silence is not None:
            silence.cancel()  # two that end together would print into one line
        print(json.dumps(notes), flush=True)
        silence = threading.Timer(limit, print, ["silence"], {"flush": True})
        silence.daemon = True
        silence.start()


def play(
    program: str | Path,
    arguments: Sequence[object],
    processes: int = 2,
    tell: bool = False,
    patient: bool = False,
) -> tuple[list[dict], Workers]:
    """Run a program that prints as `print_as_they_come` does, in processes of its own:
    (all notes, the `Workers`).

    Each line is printed if `tell`. When all are silent they are stopped, unless
    `patient`: then an error of TensorFlow's is waited for. An error is printed.
    """
    notes = []
    workers = Workers(program, processes, arguments, timeout=START, grace=1)
    try:
        with workers:
            for rank, line in workers:
                text = line
                if line.startswith('[{"step": '):
                    note, *_ = new = json.loads(line)
                    notes += new
                    what = "taken" if note["taken"] else "skipped"
                    text = f"step {note['step']} {what}, scale {note['scale']:,.0f}"
                if tell:
                    print(f"worker {rank} · {text}")
                if {*workers.last.values()} == {"silence"} and not patient:
                    break
                if line.startswith("DeadlineExceeded"):
                    break  # TensorFlow can crash in the other, which gives up too
    except ProcessError as error:
        print(error, file=sys.stderr)
    return notes, workers


def run(
    script: Path, processes: int, seconds: float
) -> Iterator[tuple[str, list[dict]]]:
    """Drill a file in processes of its own: the name and the notes of each run, which
    are none where it cannot be drilled.
    """
    for culprit, name in enumerate(RUNS, -1):
        print(f"{name}: two replicas start TensorFlow.", flush=True)
        arguments = script.resolve(), culprit, processes, seconds
        yield name, play(__file__, arguments, processes)[0]


def judge(notes: list[dict], culprit: int, seconds: float) -> dict[str, bool]:
    """What a certificate says of the notes of one run: {sentence: whether it holds}.

    Example:
        >>> judge([], -1, 10)["nobody waits for more than 10 s"]
        False
    """

    def same(key):
        return len({(note["step"], note[key]) for note in notes}) == STEPS

    verdict = {
        f"nobody waits for more than {seconds:g} s": len(notes) == 2 * STEPS,
        "all weights are finite": all(note["finite"] for note in notes),
        "all copies of the weights are equal": same("weights"),
        "all loss scales are equal": same("scale"),
    }
    taken = [note["taken"] for note in notes if note["step"] == WHEN]
    sentence = (
        "all skip the infinite batch" if culprit >= 0 else f"all take step {WHEN}"
    )
    return verdict | {sentence: taken == [culprit < 0] * 2}


def _work(script, culprit, processes, seconds):
    path = Path(script)
    sys.path[0] = str(path.parent)
    split_cpu(2 // int(processes))
    drill = pkgutil.resolve_name(f"{path.stem}:drill")
    strategy, model, optimizer, step, batch = drill()
    weights = model.trainable_variables
    notes = steps(strategy, weights, optimizer, step, batch, int(culprit))
    print_as_they_come(notes, float(seconds))


if __name__ == "__main__":
    _work(*sys.argv[1:])
