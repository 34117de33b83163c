"""Exercises 1 to 3 of notebook 07: replicas and workers that share one training.

Example: `replicas07.EXERCISES[0].checker(checks07.FLAGS)` is None.
"""

from . import checks07 as checks
from . import wrong07 as wrong
from .engine import Exercise

EXERCISES = [
    Exercise(
        number=1,
        title="one overflow on four replicas",
        task="""\
Four replicas train under `MirroredStrategy`, and the loss scale is 32,768. In one step the
gradients of replicas 0, 2 and 3 are finite, and those of replica 1 are not: T F T T.

How many of the four replicas change their weights in this step, and what is the loss scale after
it? Answer for Keras's own `LossScaleOptimizer`, and for the cure, `AllDecide`.""",
        stub="""\
answer = {
    "Keras steps": ...,  # replicas that change their weights
    "Keras scale": ...,
    "cure steps": ...,
    "cure scale": ...,
}
q[1].check(answer)""",
        solution="""\
answer = {
    "Keras steps": 4,  # the flag of replica 0 decides for all
    "Keras scale": 32768,
    "cure steps": 0,  # one overflow anywhere, and nobody steps
    "cure scale": 32768 / 2,
}
q[1].check(answer)""",
        checker=checks.check_flags,
        hints=[
            "In both, all four replicas do the same. Keras's own looks at one flag only: whose?",
            "Keras's own takes the flag of replica 0, which is T. The cure asks all four.",
        ],
        wrong=wrong.FLAGS,
        right="With F T T T Keras's own is right too: the overflow is on the replica that it looks"
        " at.",
    ),
    Exercise(
        number=2,
        title="bytes on the wire",
        task="""\
The CNN of notebook 04 has 1,011,466 weights. Four devices train it under `mixed_float16`, and after
each backward pass a ring all-reduce adds up the gradients that the tape gives for the weights. How
many MB (10⁶ bytes) does each device send in a step? Give two decimals.""",
        stub="answer = ...\nq[2].check(answer)",
        solution="""\
devices = 4
size = 1_011_466 * 4 / 1e6  # MB: the gradients of the variables are float32
answer = 2 * (devices - 1) / devices * size
q[2].check(answer)""",
        checker=checks.check_ring,
        hints=[
            "Which dtype do the gradients have where the variables are float32?",
            "In each of 2 (N − 1) rounds a device sends one of N parts.",
        ],
        wrong=wrong.RING,
        right="With very many devices it comes close to 8.09 MB, twice the size, and stays below.",
    ),
    Exercise(
        number=3,
        title="two workers decide alone",
        task="""\
Two workers train for ten steps, 0 to 9, under `MultiWorkerMirroredStrategy`, with Keras's own
`LossScaleOptimizer`. Each looks at its own gradients and decides alone. A worker that takes the
step adds up its gradients with those of the other; one that skips the step does not. In step 4 the
gradients of worker 1 overflow, those of worker 0 are finite.

A skipped step is finished too. Which is the last step that each worker finishes? What happens
then: `"to the end"` for training up to step 9, `"NaN"` for weights that are not finite, `"error"`,
or `"hang"`?""",
        stub="""\
answer = {"worker 0": ..., "worker 1": ..., "then": ...}
q[3].check(answer)""",
        solution="""\
answer = {
    "worker 0": 3,  # it waits in step 4
    "worker 1": 4,  # it skips step 4, and waits in step 5
    "then": "hang",
}
q[3].check(answer)""",
        checker=checks.check_workers,
        hints=[
            "The sum needs both workers. In step 4, who comes to it, and who does not?",
            "Worker 0 waits in step 4. Worker 1 skips step 4, and needs worker 0 in step 5.",
        ],
        wrong=wrong.WORKERS_WRONG,
        right="No message and no end: give workers a time limit, and SIGKILL after it.",
    ),
]
