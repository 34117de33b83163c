"""How exercise 3 of notebook 05 is judged: a typical step from the readings of a clock."""

import random
import statistics

from .answers import call, describe, near, number

SHOWN = [5.0, 5.412, 5.483, 5.553, 5.622, 5.762, 5.832, 5.902]  # in the task


def durations(times):
    """Milliseconds between one reading and the next.

    >>> [round(ms) for ms in durations(SHOWN)]
    [412, 71, 70, 69, 140, 70, 70]
    """
    return [1000 * (after - before) for before, after in zip(times, times[1:], strict=False)]


def step_ms(times):
    """The slow and obvious reference: leave the first step out, sort, take the middle.

    >>> round(step_ms(SHOWN))
    70
    """
    steps = sorted(durations(times)[1:])
    half = len(steps) // 2
    return steps[half] if len(steps) % 2 else (steps[half - 1] + steps[half]) / 2


def _of(summary, first=1):
    return lambda times: summary(durations(times)[first:])


def _without_the_slowest(times):
    return statistics.median(sorted(durations(times))[:-1])


NOT_THE_STEP = [  # what a mistaken function gives, and what to say
    (lambda t: step_ms(t) / 1000, "That is in seconds. A second is 1000 ms."),
    (lambda t: step_ms(t) * 1000, "That is in microseconds. A second is 1000 ms."),
    (lambda t: -step_ms(t), "It is negative: subtract the earlier reading from the later one."),
    (
        _of(statistics.median, 0),
        "The first step, with its tracing, is still in your median. Leave it out.",
    ),
    (
        _of(statistics.mean, 0),
        "That is the mean of all steps, the first with its tracing too. Take the median without"
        " it.",
    ),
    (_of(statistics.mean), "That is the mean, and one slow step moves a mean. Take the median."),
    (
        lambda t: 1000 * (t[-1] - t[0]) / len(t),
        "That divides by the readings, tracing included. Take the median of the steps.",
    ),
    (
        lambda t: 1000 * statistics.median(t),
        "That is the median of the readings. A step lasts from one reading to the next.",
    ),
    (
        lambda t: statistics.median(t),
        "That is the median of the readings, in seconds. A step lasts from one to the next.",
    ),
    (
        lambda t: 1000 * statistics.median(t[1:]),
        "That is the median of the readings without the first one. A step lasts from one to the"
        " next.",
    ),
    (_of(statistics.median, 2), "You leave out two steps. Only the first one is traced."),
    (
        _without_the_slowest,
        "You leave out the slowest step. Leave out the first, whether it is the slowest or not.",
    ),
    (
        lambda t: statistics.median(durations(t)[1:-1]),
        "You leave out the last step too. From n readings there are n - 1 steps.",
    ),
    (
        lambda t: statistics.median(durations(t)[:-1]),
        "You leave out the last step. The first one is traced.",
    ),
    (
        _of(statistics.median_high),
        "That is the upper of the middle two. The median of an even number lies between them.",
    ),
    (
        _of(statistics.median_low),
        "That is the lower of the middle two. The median of an even number lies between them.",
    ),
    (_of(min), "That is the fastest step. Take the typical one, the median."),
    (_of(max), "That is the slowest step. Take the typical one, the median."),
    (_of(max, 0), "That is the slowest step of all. Take the typical one, the median."),
    (_of(sum), "That is the sum of the steps. Take the typical one, the median."),
    (lambda t: 1000 * (t[-1] - t[0]), "That is the whole time. Take the median of the steps."),
]


def trials():
    """Lists of readings: an even and an odd number of steps, the first not always the slowest.

    >>> [len(times) - 1 for times in trials()]
    [7, 8, 6, 9]
    """
    source = random.Random(5)
    yield list(SHOWN)
    for steps, first in ((8, 0.6), (6, 0.03), (9, 0.45)):
        times = [round(source.uniform(1, 9), 4)]
        for number_ in range(steps):
            slow = 3 if number_ in (2, steps - 2) else 1
            lasts = first if number_ == 0 else slow * source.uniform(0.04, 0.09)
            times.append(round(times[-1] + lasts, 5))
        yield times


def check_step_ms(function):
    """Compare the learner's function with `step_ms` on lists of readings.

    >>> check_step_ms(lambda times: 1000 * (times[-1] - times[0]))[-48:]
    'is the whole time. Take the median of the steps.'
    """
    if not callable(function):
        return f"You gave {describe(function)}: give the function itself, without parentheses."
    lists, results = list(trials()), []
    for times in lists:
        result, problem = call(function, list(times))
        if problem:
            return problem
        if result is None:
            return "Your function returns None: end it with `return`."
        if number(result) is None:
            return f"Your function returns {describe(result)}: one number is needed."
        results.append(number(result))
    right = [step_ms(times) for times in lists]
    if _agree(results, right):
        return None
    for mistake, message in NOT_THE_STEP:
        if _agree(results, [mistake(times) for times in lists]):
            return message
    for mistake, _ in NOT_THE_STEP:  # two mistakes: the unit first
        if _agree(results, [mistake(times) / 1000 for times in lists]):
            return "That is in seconds, and not yet the median of the right steps."
    if all(abs(result - value) <= 0.51 for result, value in zip(results, right, strict=True)):
        return "Your function is right up to rounding. Return the median as it is."
    times, result, value = max(
        zip(lists, results, right, strict=True), key=lambda each: abs(each[1] / each[2] - 1)
    )
    return (
        f"Your function gives {result:.4g} for steps of {_listed(durations(times))} ms, the first"
        f" one traced; {value:.4g} is needed."
    )


def _agree(results, values):
    return all(near(result, value, 1e-3) for result, value in zip(results, values, strict=True))


def _listed(steps):
    return ", ".join(f"{step:.3g}" for step in steps)
