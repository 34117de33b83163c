"""How the answers to the exercises of notebook 04 are judged."""

import random
import statistics

import numpy as np

from .answers import call, describe, missing_key, near, number, shorten

# The CNN, counted by hand; the tests count it again from the layers.
WEIGHTS = 1_011_466
OUTPUTS = 34_922  # numbers per image that the layers put out


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


def true_speedup(baseline_times, times):
    """The slow and obvious reference: sort what follows the first step, take the middle."""

    def middle(steps):
        steps = sorted(steps[1:])
        half = len(steps) // 2
        return steps[half] if len(steps) % 2 else (steps[half - 1] + steps[half]) / 2

    return middle(baseline_times) / middle(times)


def _ratio(summary, first=1):
    return lambda baseline_times, times: summary(baseline_times[first:]) / summary(times[first:])


NOT_THE_RATIO = [
    (lambda a, b: 1 / true_speedup(a, b), "That is upside down: a faster run gives less than 1."),
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

    if agrees(true_speedup):
        return None
    for mistake, message in NOT_THE_RATIO:
        if agrees(mistake):
            return message
    if all(
        abs(result - true_speedup(*trial)) <= 0.051
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
