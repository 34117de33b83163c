"""Prediction and exercises of notebook 04.

Example: `exercises.load("04")[3].check(116)`
"""

import statistics

from . import checks04 as checks
from .answers import describe
from .engine import Exercise, Prediction

TITLE = "The MNIST CNN, three ways"


def read_guess(value):
    """Keep a share of float32's memory; 10 to 150 is read as percent.

    >>> read_guess(50.0)
    (0.5, 'Read as 50 %: you expect 0.5 times the memory of float32. The measurement comes below.')
    """
    share = value / 100 if 10 <= value <= 150 else value
    if not 0 < share <= 1.5:
        return (
            None,
            f"You gave {describe(value)}: give a share between 0 and 1.5, such as 0.9 for 90 %.",
        )
    read = "You expect" if share == value else f"Read as {value:g} %: you expect"
    return share, f"{read} {share:g} times the memory of float32. The measurement comes below."


PREDICTION = Prediction(
    task="""\
`mixed_float16` and `mixed_bfloat16` compute in 16 bits instead of 32. Take one training step of
this CNN with the batch of section 4 (256 images on a CPU). Its peak memory under the 16-bit policy
that needs less is what share of its peak memory under `float32`?

1.0 means the same memory, 0.25 a quarter of it. Guess before you measure.""",
    stub="guess = ...  # a share: 1.0 = the same memory, 0.25 = a quarter\nq.predict(guess)",
    solution="guess = 0.5\nq.predict(guess)",
    read=read_guess,
)

EXERCISES = [
    Exercise(
        number=1,
        title="images for the model",
        task="""\
MNIST's images arrive as unsigned 8-bit integers of shape (n, 28, 28), from 0 to 255.
Write `as_model_input(images)`: it returns float32 numbers of shape (n, 28, 28, 1),
where 0 stays 0 and 255 becomes 1. The check tries it on random images.""",
        stub="""\
import numpy as np


def as_model_input(images):
    ...  # uint8 (n, 28, 28) -> float32 (n, 28, 28, 1) from 0 to 1


q[1].check(as_model_input)""",
        solution="""\
import numpy as np


def as_model_input(images):
    return images[..., np.newaxis].astype(np.float32) / 255


q[1].check(as_model_input)""",
        checker=checks.check_model_input,
        hints=[
            "`images[..., np.newaxis]` adds an axis of length 1 at the end.",
            "NumPy divides integers in float64. Cast with `.astype` first: the quotient keeps it.",
        ],
        wrong=[
            (lambda images: images[..., None] / 255, "359 MiB"),
            (lambda images: images.astype("f4") / 255, "channel axis is missing"),
            (lambda images: images[:, None].astype("f4") / 255, "comes second"),
            (lambda images: images.reshape(len(images), 784) / 255, "returns shape (1, 784)"),
            (lambda images: (images[..., None] // 255).astype("f4"), "becomes 0"),
            (lambda images: images[..., None].astype("f4"), "up to 255"),
            (lambda images: images[..., None].astype("f4") / images.max(), "largest value"),
            (lambda images: images[..., None].astype("f4") / 256, "divide by 256"),
            (lambda images: images[..., None].astype("f4") / 127.5 - 1, "do not shift"),
            (lambda images: images[..., None].astype("f2") / 255, "dtype is float16"),
            (lambda images: (images[..., None] / 255).astype("f2").astype("f4"), "Do not round"),
            (lambda images: (images[:, ::-1, :, None] / 255).astype("f4"), "in its place"),
            (lambda images: print(end=""), "returns None"),
            (None, "the function itself"),
        ],
        right="float32 in, whatever the policy: the model casts its input itself.",
    ),
    Exercise(
        number=2,
        title="a speedup from measured times",
        task="""\
Write `speedup(baseline_times, times)`: how many times as fast the second run is as the baseline.
Each argument is a list of seconds per training step; the lists may differ in length.
The first step of each includes tracing, so leave it out. Then divide the **median** of the
baseline by the median of the other. The check tries it on random times.""",
        stub="""\
import numpy as np


def speedup(baseline_times, times):
    ...  # a ratio: above 1 if the second run is faster


q[2].check(speedup)""",
        solution="""\
import numpy as np


def speedup(baseline_times, times):
    return np.median(baseline_times[1:]) / np.median(times[1:])


q[2].check(speedup)""",
        checker=checks.check_speedup,
        hints=[
            "`times[1:]` is the list without its first item.",
            "`np.median` takes a list and returns one number.",
        ],
        wrong=[
            *checks.NOT_THE_RATIO,
            (
                lambda baseline_times, times: round(checks.true_speedup(baseline_times, times), 2),
                "rounding",
            ),
            (
                lambda a, b: statistics.median(sorted(a)[:-1]) / statistics.median(sorted(b)[:-1]),
                "2.5 is needed",
            ),
            (lambda baseline_times, times: print(end=""), "returns None"),
            (lambda baseline_times, times: baseline_times, "a list of 6 items"),
            (lambda baseline_times, times: baseline_times / times, "raises TypeError"),
            (1.5, "the function itself"),
        ],
        right="Warm-up stays out, and the median ignores a step that the machine was busy in.",
    ),
    Exercise(
        number=3,
        title="where the layer outputs catch up",
        task="""\
Training this CNN with Adam keeps four arrays of 1,011,466 numbers each: the weights, their
gradients and two slots. They do not grow with the batch. The outputs of the layers do, and the
backward pass needs them:

| layer | numbers it puts out per image |
|---|---|
| convolution, 32 filters | 26 × 26 × 32 = 21,632 |
| max pooling | 13 × 13 × 32 = 5,408 |
| convolution, 64 filters | 11 × 11 × 64 = 7,744 |
| flatten | none: the same bytes in another shape |
| dense, 128 units | 128 |
| dense, 10 units | 10 |
| **together** | **34,922** |

Everything is float32. At which batch size do the layer outputs take as many bytes as the four
arrays? Round to the nearest image.""",
        stub="answer = ...  # images per batch\nq[3].check(answer)",
        solution="answer = round(4 * 1_011_466 * 4 / (34_922 * 4))\nq[3].check(answer)",
        checker=checks.check_batch,
        hints=[
            "The four arrays take 4 × 1,011,466 × 4 bytes = 16.18 MB.",
            "One image takes 34,922 × 4 = 139,688 bytes. How many images fill 16.18 MB?",
        ],
        wrong=[
            *checks.NOT_THE_BATCH,
            (100, "13.97 MB"),
            (115, "nearest image"),
            (0, "at least one image"),
            ("116", "without quotes"),
        ],
        right="Below 116 images the four arrays take more memory, above it the layer outputs do.",
    ),
    Exercise(
        number=4,
        title="the ideal memory ratio",
        task="""\
Now the same CNN under a 16-bit policy. The four arrays of 1,011,466 numbers stay in float32. The
34,922 layer outputs per image take 2 bytes each instead of 4. One thing is new: the layers compute
with a 16-bit copy of the weights, 2 bytes for each. Count the last layer like the others.

Counting these alone, what is the memory under the 16-bit policy divided by the memory under
`float32`, for a batch of 128 and of 1024? Two decimals are enough.""",
        stub="answer = {128: ..., 1024: ...}\nq[4].check(answer)",
        solution="""\
def ratio(batch):
    fixed = 4 * 4 * 1_011_466
    outputs = batch * 34_922
    return (fixed + 2 * 1_011_466 + 2 * outputs) / (fixed + 4 * outputs)


answer = {128: ratio(128), 1024: ratio(1024)}
q[4].check(answer)""",
        checker=checks.check_ratios,
        hints=[
            "At batch 128 under float32: 16.18 MB in the four arrays and 17.88 MB of outputs.",
            "Under the 16-bit policy: 16.18 MB + 2.02 MB of copied weights + half of 17.88 MB.",
        ],
        wrong=[
            *checks.NOT_THE_RATIOS,
            ({128: 0.8, 1024: 0.6}, "Batch 1024: 0.6"),
            ({128: 0.8}, "key 1024 is missing"),
        ],
        right="Only the layer outputs halve, so the ratio nears one half where they dominate.",
    ),
    Exercise(
        number=5,
        title="is it more accurate",
        task="""\
On 10,000 test images the `float32` model reaches 98.0 % and the `mixed_bfloat16` model 98.1 %.
What is the standard error of the difference, in percentage points, if you treat the two results
as independent? Two decimals are enough. And which model is better: `"float32"`,
`"mixed_bfloat16"` or `"cannot tell"`?""",
        stub='answer = {"standard error": ..., "better": ...}\nq[5].check(answer)',
        solution="""\
variance = 0.980 * 0.020 / 10_000 + 0.981 * 0.019 / 10_000
answer = {"standard error": 100 * variance**0.5, "better": "cannot tell"}
q[5].check(answer)""",
        checker=checks.check_verdict,
        hints=[
            "An accuracy p measured on n images has the variance p (1 - p) / n.",
            "The variances of independent results add up. The standard error is the root.",
        ],
        wrong=[
            ({"standard error": 0.2, "better": "mixed_bfloat16"}, "10 images"),
            ({"standard error": 0.2, "better": "float32"}, "lower accuracy"),
            ({"standard error": 0.14, "better": "cannot tell"}, "of one accuracy"),
            ({"standard error": 0.28, "better": "cannot tell"}, "Add their squares"),
            ({"standard error": 0.00196, "better": "cannot tell"}, "is a fraction"),
            ({"standard error": 0.1, "better": "cannot tell"}, "0.1 does not fit"),
            ({"standard error": 0.2, "better": "bfloat16"}, "choose from"),
        ],
        right="10 images are half a standard error: 10,000 other images may reverse the order.",
    ),
]
