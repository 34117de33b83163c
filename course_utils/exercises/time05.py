"""Exercises 1 to 3 of notebook 05: where the time goes.

Example: `time05.EXERCISES[0].checker(3.95)` is None.
"""

from . import checks05 as checks
from . import steptime05 as steptime
from . import wrong05 as wrong
from .engine import Exercise

EXERCISES = [
    Exercise(
        number=1,
        title="what a T4 makes of a layer",
        task="""\
A T4, a GPU, does at most 8.1 TFLOP/s (10¹² operations a second) in `float32` and 65 TFLOP/s in
`float16`. Its memory moves at most 320 GB/s, which is 0.32 TB/s. A layer does 50 operations for
each byte that it moves in `float32`. In `float16` it does the same operations and moves half the
bytes.

In each dtype, either arithmetic or memory sets the limit, whichever allows less. How many times as
fast is the layer in `float16` at best? Give two decimals.""",
        stub="answer = ...\nq[1].check(answer)",
        solution="""\
in_float32 = min(8.1, 0.32 * 50)  # TFLOP/s: the peak, or what memory allows
in_float16 = min(65, 0.32 * 100)
answer = in_float16 / in_float32
q[1].check(answer)""",
        checker=checks.check_roofline,
        hints=[
            "Memory allows bytes per second times operations per byte. Compare that with the peak,"
            " once for each dtype.",
            "In `float32` the layer reaches 8.1 TFLOP/s. In `float16` it does 100 operations per"
            " byte, and memory allows 0.32 × 100.",
        ],
        wrong=wrong.ROOFLINE,
        right="In float32 arithmetic is the limit, in float16 memory: half of the 8 is out of"
        " reach.",
    ),
    Exercise(
        number=2,
        title="a step that waits",
        task="""\
A batch takes 30 ms to load and decode. A training step takes 20 ms in `float32` and 10 ms under a
16-bit policy, once its batch is there. Without prefetch, loading and step come one after the
other. With prefetch, the next batch is loaded during the step.

Count the time from one batch to the next, after the first few. How many times as fast is the
training under the 16-bit policy, once with prefetch in both trainings, and once with prefetch in
neither? Give numbers, such as 2 for twice as fast.""",
        stub="""\
answer = {"with prefetch": ..., "without prefetch": ...}
q[2].check(answer)""",
        solution="""\
answer = {
    "with prefetch": max(30, 20) / max(30, 10),  # the longer of loading and step
    "without prefetch": (30 + 20) / (30 + 10),
}
q[2].check(answer)""",
        checker=checks.check_input,
        hints=[
            "Without prefetch 30 + 20 ms pass from one batch to the next. How many under the 16-bit"
            " policy?",
            "With prefetch two things happen at the same time, and the longer one counts.",
        ],
        wrong=wrong.INPUT,
        right="With prefetch the training is faster in both precisions, and the policy adds"
        " nothing to it.",
    ),
    Exercise(
        number=3,
        title="a typical step",
        task="""\
Without a profiler, a loop reads a clock. `times` is a list of its readings in seconds: one before
the first step, and one at the end of each step. So 8 readings tell of 7 steps. Write
`step_ms(times)`: it returns how long a typical step lasts, in milliseconds. In the first step
TensorFlow traces the graph: leave that step out, and take the median of the others.

For `[5.0, 5.412, 5.483, 5.553, 5.622, 5.762, 5.832, 5.902]` the steps last 412, 71, 70, 69, 140, 70
and 70 ms, and the answer is 70.""",
        stub="""\
import statistics


def step_ms(times):
    ...  # return the median in milliseconds


q[3].check(step_ms)""",
        solution="""\
import statistics
from itertools import pairwise


def step_ms(times):
    steps = [after - before for before, after in pairwise(times)]
    return 1000 * statistics.median(steps[1:])


q[3].check(step_ms)""",
        checker=steptime.check_step_ms,
        hints=[
            "A step lasts from one reading to the next: `itertools.pairwise(times)` gives pairs.",
            "`statistics.median(steps[1:])` leaves the first step out. Mind the unit.",
        ],
        wrong=wrong.STEP_MS,
        right="For the seven steps of the task the mean with tracing is 129 ms, nearly twice the"
        " typical step.",
    ),
]
