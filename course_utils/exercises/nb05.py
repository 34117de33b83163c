"""Prediction and exercises of notebook 05."""

from . import measurement
from .engine import Exercise, Prediction, percentage
from .functions import parts, stub
from .judges import Fields, Number, nearly
from .limits import LIMITS

TITLE = "Find out where time and memory go"

PREDICTION = Prediction(
    task="""\
A profiler records one training step of the CNN in `float32`: which operation ran, and for how long.
Some of them are convolutions and matrix products, forward and backward. These are the ones that
16-bit units make faster. The others add, pool, compare, copy, or update the weights.

Take the time in which operations run. How many percent of it go to convolutions and matrix
products? Guess before you run any code; section 2 measures it.""",
    comment="percent of the operations' time, 100 = all",
    example=50,
    read=percentage(
        "You expect that they take {value:g} % of that time.", ", such as 50 for one half"
    ),
)

# --- 1: a step that waits -----------------------------------------------------------------------


def waiting(right, wrong, takes):
    """The judge of one of the two speedups."""
    return Number(
        right,
        wrong,
        rules=(nearly(right + 0.05, right, 0.06),),
        otherwise=f"You gave {{value:.4g}}, and from one batch to the next it takes {takes} ms in"
        " float32. How long does it take in 16 bits?",
        asked="give one number, as 2 for twice",
        close=0.006,
    )


WITH_PREFETCH = {
    2: "The step alone is twice as fast. The next batch still takes 30 ms to come.",
    1.25: "That is the one without prefetch. With it the batch is made during the step.",
    0: "0 % gained is a speedup of 1.",
    1.5: "That is 30 over 20. Compare the time from step to step before with that after.",
    (5 / 3, 4 / 3): "That is what prefetch gains. Compare the two precisions, both with prefetch.",
}
WITHOUT_PREFETCH = {
    2: "The step alone is twice as fast. The 30 ms for the batch come on top.",
    1: "That is with prefetch. Without it the 30 ms come before each step.",
    0.8: "That is upside down: divide the time before by the time after.",
    25: "That is the gain in percent. Give how many times as fast, as 2 for twice.",
    0.25: "That is the gain. Give how many times as fast, as 2 for twice.",
    5 / 3: "That is what prefetch gains in float32. Neither step has prefetch here.",
    4 / 3: "That is what prefetch gains in 16 bits. Neither step has prefetch here.",
    (1.5, 3): "The batch and the step come one after the other: add them.",
}
INPUT = Fields(
    {
        "with prefetch": waiting(1.0, WITH_PREFETCH, "the longer of step and input: 30"),
        "without prefetch": waiting(1.25, WITHOUT_PREFETCH, "the sum of step and input: 50"),
    },
    wrong={
        (1.25, 1.0): "The two are swapped. With prefetch the batch is made during the step.",
        (2, 2): "Twice as fast is the step alone, and each step needs a batch that takes 30 ms.",
    },
)

# --- 2: one layer under two roofs ---------------------------------------------------------------

SPEEDUP = 0.32 * 100 / 8.1  # float16 reaches what memory allows, float32 its peak
ROOFLINE = Number(
    SPEEDUP,
    {
        65 / 8.1: "That is the ratio of the peaks. In float16 the layer does 100 operations per"
        " byte, and it takes 203 to reach the peak.",
        16 / 8.1: "That leaves 50 operations per byte. In float16 the bytes are halved, so it is"
        " 100.",
        2.0: "Half the bytes make it twice as fast where memory is the limit in both dtypes. In"
        " float32 arithmetic is.",
        65 / 16: "That takes the wrong limit twice. In each dtype the lower one counts: in float32"
        " it is 8.1, and memory allows 16.",
        8 / 8.1: "That halves the operations per byte. Half the bytes make it twice as many: 100.",
        1.0: "In float32 the arithmetic is the limit, and float16 has a higher peak. So it gains.",
        1 / SPEEDUP: "That is upside down: divide what float16 reaches by what float32 reaches.",
        65 / 32: "That is how far float16 stays below its peak. Divide 32 by what float32 reaches.",
        32: "That is what float16 reaches, in TFLOP/s. Divide by that of float32.",
        SPEEDUP - 1: "That is the gain. Give how many times as fast it is, as 2 for twice.",
    },
    rules=(nearly(4, SPEEDUP, 0.02),),
    otherwise="You gave {value:.4g}. In float32 the layer reaches 8.1 TFLOP/s; how many numbers"
    " does memory bring in float16?",
    asked="give one number, without quotes or units",
    close=0.005,
)

EXERCISES = [
    Exercise(
        id=2,
        title="a step that waits",
        minutes=4,
        task="""\
A batch takes 30 ms to load and decode. A training step takes 20 ms in `float32` and 10 ms under a
16-bit policy, once its batch is there. Without prefetch, loading and step come one after the
other. With prefetch, the next batch is loaded during the step.

Count the time from one batch to the next, after the first few. How many times as fast is the
training under the 16-bit policy, once with prefetch in both trainings, and once with prefetch in
neither? Give numbers, such as 2 for twice as fast.""",
        stub="""\
answer = {"with prefetch": ..., "without prefetch": ...}""",
        solution="""\
answer = {
    "with prefetch": max(30, 20) / max(30, 10),  # the longer of loading and step
    "without prefetch": (30 + 20) / (30 + 10),
}""",
        answer=INPUT,
        hints=[
            "Without prefetch 30 + 20 ms pass from one batch to the next. How many under the 16-bit"
            " policy?",
            "With prefetch two things happen at the same time, and the longer one counts.",
        ],
        right="With prefetch the training is faster in both precisions, and the policy adds"
        " nothing to it.",
    ),
    Exercise(
        id=1,
        title="what a T4 makes of a layer",
        minutes=4,
        task="""\
A T4, a GPU, does at most 8.1 TFLOP/s (10¹² operations a second) in `float32` and 65 TFLOP/s in
`float16`. Its memory moves at most 320 GB/s, which is 0.32 TB/s. A layer does 50 operations for
each byte that it moves in `float32`. In `float16` it does the same operations and moves half the
bytes.

In each dtype, either arithmetic or memory sets the limit, whichever allows less. How many times as
fast is the layer in `float16` at best? Give two decimals.""",
        stub="answer = ...",
        solution="""\
in_float32 = min(8.1, 0.32 * 50)  # TFLOP/s: the peak, or what memory allows
in_float16 = min(65, 0.32 * 100)
answer = in_float16 / in_float32""",
        answer=ROOFLINE,
        hints=[
            "Memory allows bytes per second times operations per byte. Compare that with the peak,"
            " once for each dtype.",
            "In `float32` the layer reaches 8.1 TFLOP/s. In `float16` it does 100 operations per"
            " byte, and memory allows 0.32 × 100.",
        ],
        right="In float32 arithmetic is the limit, in float16 memory: half of the 8 is out of"
        " reach.",
    ),
    Exercise(
        id=5,
        title="four steps, four limits",
        minutes=6,
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
        stub=parts(dict.fromkeys(LIMITS.judges, "...")),
        solution="""\
answer = {
    "A": "memory",
    "B": "overhead",
    "C": "arithmetic",
    "D": "input",
    "largest speedup": 42.8 / (33.4 / 4 + 6.8 / 2 + 2.6),  # C
    "smallest speedup": 5.8 / (0.7 / 4 + 1.1 / 2 + 4.0),  # B
}""",
        answer=LIMITS,
        hints=[
            "The largest number of each row names the limit.",
            "Step A takes 145.8 ms now, and 7.5 / 4 + 132.8 / 2 + 5.5 afterwards. Do the same for"
            " the others.",
        ],
        right="A becomes 2.0 times as fast, B 1.2, C 3.0 and D 1.4. B wants a larger batch, D a"
        " faster pipeline.",
    ),
    Exercise(
        id=6,
        title="measure it honestly",
        minutes=8,
        task="""\
Write `call_ms(f, seconds, clock)`: it measures a call of `f` and returns the median, in
milliseconds. `clock()` gives the time in seconds, as `time.perf_counter()` does. `f()` takes no
arguments and returns at once, as an operation on a GPU does: `f().numpy()` waits for the result.
The first call is slow, because TensorFlow traces.

- Call `f` before you measure, and wait for the result.
- From then on, measure one call after another until `seconds` have passed, at least one.
- Wait for each result before you read the clock again.

The check hands over an `f` and a clock of its own, so that no time is lost.""",
        stub=stub(measurement.CODE, "return the median in milliseconds"),
        solution=measurement.CODE,
        name="call_ms",
        answer=measurement.judge,
        slips=measurement.SLIPS,
        hints=[
            "Warm up with `f().numpy()`, then keep `start = clock()` and go on while"
            " `clock() - start < seconds`.",
            "In the loop: read the clock, `f().numpy()`, read it again, and append the difference"
            " to a list.",
        ],
        right="Warm-up, waiting, a median and a limit: with a TensorFlow function of your own it"
        " needs no `clock`.",
    ),
]
