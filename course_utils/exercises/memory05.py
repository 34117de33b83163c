"""Exercises 4 to 6 of notebook 05: what fits, what limits, and how to measure.

Example: `memory05.EXERCISES[0].checker(batch05.largest_batch)` is None.
"""

from . import batch05 as batch
from . import limits05 as limits
from . import measure05 as measure
from . import wrong05 as wrong
from . import wrongtimes05 as wrongtimes
from .engine import Exercise

EXERCISES = [
    Exercise(
        number=4,
        title="the largest batch that fits",
        task="""\
A training step needs `fixed` bytes whatever the batch, and `per_image` bytes for each image. The
device has `budget_mib` MiB for it; 1 MiB is `2**20` bytes. Write
`largest_batch(budget_mib, fixed, per_image)`: it returns the largest number of images that fits,
and 0 if not even one does. The budget may be used to the last byte.""",
        stub="""\
def largest_batch(budget_mib, fixed, per_image):
    ...  # return a whole number of images


q[4].check(largest_batch)""",
        solution="""\
def largest_batch(budget_mib, fixed, per_image):
    room = budget_mib * 2**20 - fixed
    return max(0, room // per_image)


q[4].check(largest_batch)""",
        checker=batch.check_batch,
        hints=[
            "Bring all three to bytes. What is left of the budget after `fixed`?",
            "`//` rounds down. It makes a negative number of a negative room: `max(0, …)` mends"
            " that.",
        ],
        wrong=wrong.BATCHES,
        right="Halve `per_image`, as 16-bit activations do, and twice as many images fit, whatever"
        " `fixed` is.",
    ),
    Exercise(
        number=5,
        title="four steps, four limits",
        task="""\
Four training steps in `float32`, each recorded on a CPU. Milliseconds of one step:

| step | waits for input | convolutions and matrix products | other operations | nothing runs |
|---|---|---|---|---|
| A | 0 | 7.5 | 132.8 | 5.5 |
| B | 0 | 0.7 | 1.1 | 4.0 |
| C | 0 | 33.4 | 6.8 | 2.6 |
| D | 140.1 | 81.3 | 24.8 | 6.6 |

**First**, name what takes most of each step, each name once: `"input"`, `"arithmetic"` (products),
`"memory"` (other operations, which move many bytes and compute little) or `"overhead"` (Python and
launching, while nothing runs).

**Then** a 16-bit policy: on some device, products take a quarter of their time and the other
operations half. Waiting and the time in which nothing runs stay. How many times as fast is the
step that gains most, and the one that gains least? One decimal is enough.""",
        stub="""\
answer = {
    "A": ...,
    "B": ...,
    "C": ...,
    "D": ...,
    "largest speedup": ...,
    "smallest speedup": ...,
}
q[5].check(answer)""",
        solution="""\
answer = {
    "A": "memory",
    "B": "overhead",
    "C": "arithmetic",
    "D": "input",
    "largest speedup": 42.8 / (33.4 / 4 + 6.8 / 2 + 2.6),  # C
    "smallest speedup": 5.8 / (0.7 / 4 + 1.1 / 2 + 4.0),  # B
}
q[5].check(answer)""",
        checker=limits.check_limits,
        hints=[
            "The largest number of each row names the limit.",
            "Step A takes 145.8 ms now, and 7.5 / 4 + 132.8 / 2 + 5.5 afterwards. Do the same for"
            " the others.",
        ],
        wrong=wrong.LIMITS,
        right="A becomes 2.0 times as fast, B 1.2, C 3.0 and D 1.4. B wants a larger batch, D a"
        " faster pipeline.",
    ),
    Exercise(
        number=6,
        title="measure it honestly",
        task="""\
Write `call_ms(f, seconds, clock)`: it measures a call of `f` and returns the median, in
milliseconds. `clock()` gives the time in seconds, as `time.perf_counter()` does. `f()` takes no
arguments and returns at once, as an operation on a GPU does: `f().numpy()` waits for the result.
The first call is slow, because TensorFlow traces.

- Call `f` before you measure, and wait for the result.
- From then on, measure one call after another until `seconds` have passed, at least one.
- Wait for each result before you read the clock again.

The check hands over an `f` and a clock of its own, so that no time is lost.""",
        stub="""\
import statistics
import time


def call_ms(f, seconds, clock=time.perf_counter):
    ...  # return the median in milliseconds


q[6].check(call_ms)""",
        solution="""\
import statistics
import time


def call_ms(f, seconds, clock=time.perf_counter):
    f().numpy()
    times, start = [], clock()
    while not times or clock() - start < seconds:
        before = clock()
        f().numpy()
        times.append(clock() - before)
    return 1000 * statistics.median(times)


q[6].check(call_ms)""",
        checker=measure.check_median,
        hints=[
            "Warm up with `f().numpy()`, then keep `start = clock()` and go on while"
            " `clock() - start < seconds`.",
            "In the loop: read the clock, `f().numpy()`, read it again, and append the difference"
            " to a list.",
        ],
        wrong=wrongtimes.MEASURED,
        right="Warm-up, waiting, a median and a limit: with a TensorFlow function of your own it"
        " needs no `clock`.",
    ),
]
