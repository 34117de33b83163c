"""Prediction and exercises of notebook 04.

Example: `exercises.load("04")[3].check(116)`
"""

import random
import statistics

import numpy as np

from .engine import Exercise, Prediction, call, describe, missing_key, near, number, shorten

TITLE = "The MNIST CNN, three ways"

# The CNN, counted by hand; the tests count it again from the layers.
WEIGHTS = 1_011_466
OUTPUTS = 34_922  # numbers per image that the layers put out


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

# --- 1: images for the model --------------------------------------------------------------------


def check_model_input(function):
    """Compare the learner's function with `images / 255` on random images.

    >>> check_model_input(lambda images: images[..., None] / 255)[:21]
    'The dtype is float64:'
    """
    if not callable(function):
        return f"You gave {describe(function)}: give the function itself, without parentheses."
    source = random.Random(4)
    for n in (1, 5):
        # The top value is below 255 here, as in a batch of dim images.
        images = np.frombuffer(source.randbytes(n * 28 * 28), np.uint8).reshape(n, 28, 28) // 2
        result, problem = call(function, images.copy())
        problem = problem or _input_problem(result, images)
        if problem:
            return problem
    return None


def _input_problem(result, images):
    if result is None:
        return "Your function returns None: end it with `return`."
    try:
        result = np.asarray(result)
        values = result.astype(np.float64)
    except Exception:  # whatever the learner's object does when NumPy reads it
        return f"Your function returns {describe(result)}: an array is needed."
    n = len(images)
    if result.shape == (n, 28, 28):
        return "The channel axis is missing: Conv2D reads (n, height, width, channels)."
    if result.shape == (n, 1, 28, 28):
        return "The channel axis comes second; Conv2D reads it last: (n, 28, 28, 1)."
    if result.shape != (n, 28, 28, 1):
        return (
            f"Your function returns shape {shorten(str(result.shape))}; ({n}, 28, 28, 1) is needed."
        )
    right = (images / 255)[..., np.newaxis]
    if not np.allclose(values, right, rtol=0, atol=0.001):
        return _value_problem(values, images[..., np.newaxis], right)
    if result.dtype == np.float64:
        return "The dtype is float64: MNIST's 60,000 images take 359 MiB instead of 179 MiB."
    if result.dtype != np.float32:
        return f"The dtype is {result.dtype}. Give float32: the model casts its input itself."
    if not np.allclose(values, right, rtol=0, atol=1e-6):
        return "The values are close, but not to float32's precision. Do not round in between."
    return None


def _value_problem(values, images, right):
    if not values.any():
        return "Every value below 255 becomes 0, as `//` does. Divide with `/`."
    if np.array_equal(values, images):
        return "The values still go up to 255. Divide by 255 to get numbers between 0 and 1."
    if np.allclose(values, images / images.max(), atol=0.001):
        return "You divide by the batch's largest value; the next batch has another. Take 255."
    if values.min() < 0:
        return "Some values are negative, and 0 is to stay 0: do not shift the values."
    if np.allclose(values, images / 256, atol=1e-6):
        return "You divide by 256. The largest pixel is 255 and is to become 1."
    return "Some values differ from images / 255. Is each pixel still in its place?"


# --- 2: a speedup from measured times -----------------------------------------------------------


def _speedup(baseline_times, times):
    """The slow and obvious reference: sort what follows the first step, take the middle."""

    def middle(steps):
        steps = sorted(steps[1:])
        half = len(steps) // 2
        return steps[half] if len(steps) % 2 else (steps[half - 1] + steps[half]) / 2

    return middle(baseline_times) / middle(times)


def _ratio(summary, first=1):
    return lambda baseline_times, times: summary(baseline_times[first:]) / summary(times[first:])


NOT_THE_RATIO = [
    (lambda a, b: 1 / _speedup(a, b), "That is upside down: a faster run gives less than 1."),
    (_ratio(statistics.mean), "Those are means, and one slow step moves a mean. Take the median."),
    (_ratio(statistics.median, 0), "The first step, with its tracing, is still in your medians."),
    (_ratio(statistics.mean, 0), "Those are means, and the first step is still in them."),
    (_ratio(statistics.median_high), "The median of an even number lies between the middle two."),
    (_ratio(min), "That compares the fastest steps. Take the typical one, the median."),
]


def _timing_trials():
    source = random.Random(4)
    for steps, other in ((5, 6), (6, 4), (7, 8)):
        # Once the first step is not the slowest: leaving out the largest is not the task.
        first = source.uniform(2, 4) if steps != 6 else 0.001
        yield tuple(
            [first]
            + [round(source.choice((1, 1, 3)) * source.uniform(0.01, 0.09), 4) for _ in range(n)]
            for n in (steps, other)
        )


def check_speedup(function):
    """Compare the learner's function with the ratio of medians on random times.

    >>> check_speedup(lambda a, b: min(a[1:]) / min(b[1:]))[:38]
    'That compares the fastest steps. Take '
    """
    if not callable(function):
        return f"You gave {describe(function)}: give the function itself, without parentheses."
    trials, results = list(_timing_trials()), []
    for baseline_times, times in trials:
        result, problem = call(function, list(baseline_times), list(times))
        if problem:
            return problem
        if result is None:
            return "Your function returns None: end it with `return`."
        if number(result) is None:
            return f"Your function returns {describe(result)}: one number is needed."
        results.append(number(result))

    def agrees(reference):
        return all(
            near(result, reference(*trial), 1e-5)
            for result, trial in zip(results, trials, strict=True)
        )

    if agrees(_speedup):
        return None
    for mistake, message in NOT_THE_RATIO:
        if agrees(mistake):
            return message
    if all(
        abs(result - _speedup(*trial)) <= 0.051
        for result, trial in zip(results, trials, strict=True)
    ):
        return "That is right up to rounding. Return the ratio as it is."
    baseline_times, times = [3.0, 0.04, 0.09, 0.05], [2.0, 0.02, 0.02, 0.08]
    result = number(call(function, list(baseline_times), list(times))[0])
    given = "no number" if result is None else f"{result:.4g}"
    return f"For {baseline_times} and {times} your function gives {given}; 2.5 is needed."


# --- 3: where fixed arrays and activations meet -------------------------------------------------

NOT_THE_BATCH = [
    (232, "That is the answer for outputs of 2 bytes. Under float32 each number takes 4."),
    (29, "That counts the weights alone. Gradients and Adam's two slots count too."),
    (58, "That counts two arrays. Adam keeps two more, one for each moment."),
    (87, "That counts three arrays. Adam has two slots for each weight."),
    (463, "You count an output as one byte. Under float32 it takes 4, like a weight."),
]


def check_batch(answer):
    """Accept 116, or the fraction 115.85.

    >>> check_batch(29)
    "That counts the weights alone. Gradients and Adam's two slots count too."
    """
    value = number(answer)
    if value is None:
        return f"You gave {describe(answer)}: give one number of images, without quotes."
    if 115.8 <= value <= 116:
        return None
    if value <= 0:
        return f"You gave {value:g}. A batch has at least one image."
    for batch, message in NOT_THE_BATCH:
        if abs(value - batch) < 1:
            return message
    if 115 <= value < 115.8:
        return f"You gave {value:g}. Round to the nearest image: the two meet at 115.85."
    megabytes = value * 4 * OUTPUTS / 1e6
    return f"At batch {value:g} the outputs take {megabytes:.4g} MB and the four arrays 16.18 MB."


# --- 4: the ideal memory ratio ------------------------------------------------------------------


def _memory_ratio(batch, copies=2, output=2):
    fixed, images = 4 * 4 * WEIGHTS, batch * OUTPUTS
    return (fixed + copies * WEIGHTS + output * images) / (fixed + 4 * images)


BATCHES = (128, 1024)
RATIOS = {batch: _memory_ratio(batch) for batch in BATCHES}
NOT_THE_RATIOS = [
    ({128: 0.5, 1024: 0.5}, "Only the layer outputs halve. The four arrays stay in float32."),
    (
        {128: 0.74, 1024: 0.55},
        "Either the 16-bit copy of the weights is missing, 2 bytes for each, or you halved the"
        " gradients, which stay in float32.",
    ),
    (
        {128: 0.68, 1024: 0.54},
        "The float32 weights stay, and the 16-bit copy is added to them.",
    ),
    ({128: 80, 1024: 56}, "Those are percentages. Give shares, such as 0.9 for 90 %."),
    ({128: 1.25, 1024: 1.77}, "That is float32 divided by the 16-bit policy. Turn it around."),
    ({128: 0.2, 1024: 0.44}, "That is the share that is saved. The ratio is what remains."),
    ({128: 0.56, 1024: 0.8}, "The two are swapped: the larger batch has more that halves."),
    ({128: 1.06, 1024: 1.01}, "You add the 16-bit weights, but the outputs still take 4 bytes."),
]


def check_ratios(answer):
    """Compare a dictionary batch -> ratio with 0.80 and 0.56, to two decimals.

    >>> check_ratios({128: 0.8, 1024: 0.56}), check_ratios({128: 0.5, 1024: 0.5})[:26]
    (None, 'Only the layer outputs hal')
    """
    if problem := missing_key(answer, list(BATCHES)):
        return problem
    given = {batch: number(answer[batch]) for batch in BATCHES}
    for batch, value in given.items():
        if value is None:
            return f"Batch {batch}: you gave {describe(answer[batch])}; give a share, such as 0.9."
    if all(-0.008 <= given[b] - RATIOS[b] <= 0.006 for b in BATCHES):  # rounded or cut off
        return None
    for wrong, message in NOT_THE_RATIOS:
        if all(abs(given[b] - wrong[b]) <= 0.006 * max(1, wrong[b]) for b in BATCHES):
            return message
    wrong = next(b for b in BATCHES if not -0.008 <= given[b] - RATIOS[b] <= 0.006)
    return f"Batch {wrong}: {given[wrong]:g} does not fit. Add up the bytes for each policy first."


# --- 5: which accuracy is better ----------------------------------------------------------------

VERDICTS = ("float32", "mixed_bfloat16", "cannot tell")


def check_verdict(answer):
    """Expect a standard error of 0.20 points and the verdict "cannot tell".

    >>> check_verdict({"standard error": 0.2, "better": "mixed_bfloat16"})
    'They differ by 10 images, 0.10 points; the standard error is 0.20. Chance alone does that.'
    """
    if problem := missing_key(answer, ["standard error", "better"]):
        return problem
    error, better = number(answer["standard error"]), answer["better"]
    if error is None:
        return f"Standard error: you gave {describe(answer['standard error'])}; give a number."
    if isinstance(better, str):
        better = better.strip().lower()
    if better not in VERDICTS:
        return f"Better: you gave {describe(better)}; choose from {', '.join(map(repr, VERDICTS))}."
    if near(error, 0.0014, 0.05) or near(error, 0.00196, 0.05):
        return "That standard error is a fraction. Multiply it by 100 to get points."
    if near(error, 0.14, 0.05):
        return "That is the standard error of one accuracy. A difference carries that of both."
    if near(error, 0.28, 0.05):
        return "You add the two standard errors. Add their squares and take the root."
    if not 0.19 <= error <= 0.205:
        return f"Standard error: {error:g} does not fit. For one accuracy p: root of p (1 - p) / n."
    if better == "mixed_bfloat16":
        return (
            "They differ by 10 images, 0.10 points; the standard error is 0.20. "
            "Chance alone does that."
        )
    if better == "float32":
        return "float32 has the lower accuracy here. Compare their distance with its error."
    return None


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
        checker=check_model_input,
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
        checker=check_speedup,
        hints=[
            "`times[1:]` is the list without its first item.",
            "`np.median` takes a list and returns one number.",
        ],
        wrong=[
            *NOT_THE_RATIO,
            (lambda baseline_times, times: round(_speedup(baseline_times, times), 2), "rounding"),
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
        checker=check_batch,
        hints=[
            "The four arrays take 4 × 1,011,466 × 4 bytes = 16.18 MB.",
            "One image takes 34,922 × 4 = 139,688 bytes. How many images fill 16.18 MB?",
        ],
        wrong=[
            *NOT_THE_BATCH,
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
        checker=check_ratios,
        hints=[
            "At batch 128 under float32: 16.18 MB in the four arrays and 17.88 MB of outputs.",
            "Under the 16-bit policy: 16.18 MB + 2.02 MB of copied weights + half of 17.88 MB.",
        ],
        wrong=[
            *NOT_THE_RATIOS,
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
        checker=check_verdict,
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
