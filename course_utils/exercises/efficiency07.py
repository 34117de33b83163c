"""How exercise 6 of notebook 07 is judged: which share of a step is computing."""

import math

from .answers import call, describe, number

SHOWN = (100, 40, 4, 1)  # the task's
TRIALS = [SHOWN, (50, 100, 2, 10), (200, 4, 64, 0.5), (30, 250, 16, 25), (80, 15, 1024, 0.125)]
ONE = (100, 40, 1, 1)  # one device: nothing is sent


def efficiency(compute_ms, megabytes, devices, gb_per_s):
    """The slow and obvious reference: the rounds of the ring, one after the other.

    >>> efficiency(100, 40, 4, 1), efficiency(100, 40, 1, 1)
    (0.625, 1.0)
    """
    milliseconds = compute_ms
    for _ in range(2):  # once around to add up, once around to hand out the sums
        for _ in range(devices - 1):
            milliseconds += (megabytes / devices) / gb_per_s
    return compute_ms / milliseconds


def _with(exchange):
    """An efficiency with another time of the exchange, in milliseconds."""
    return lambda c, m, n, b: c / (c + exchange(m, n, b))


def _ring(m, n, b):
    return 2 * (n - 1) / n * m / b


NOT_THE_SHARE = [  # what a mistaken function gives, and what to say
    (
        _with(lambda m, n, b: _ring(m, n, b) / 2),
        "you go around the ring once. It is twice: to add up, and to hand out the sums.",
    ),
    (_with(lambda m, n, b: m / b), "you send the size once. A ring sends 2 (N − 1) / N of it."),
    (_with(lambda m, n, b: 2 * m / b), "you send twice the size, and 2 (N − 1) / N is less."),
    (
        _with(lambda m, n, b: 2 * (n - 1) * m / b),
        "you send everything in each round, or divide `compute_ms` by the devices. A device sends"
        " one of N parts, and computes as long as one device alone.",
    ),
    (
        _with(lambda m, n, b: (n - 1) * m / b),
        "you send everything to each of the others. A ring sends 2 (N − 1) / N of the size.",
    ),
    (_with(lambda m, n, b: n * m / b), "you send the size N times, and not 2 (N − 1) / N times."),
    (
        _with(lambda m, n, b: 2 * (n + 1) / n * m / b),
        "you take N + 1. It is N − 1: a device has one part of its own.",
    ),
    (
        _with(lambda m, n, b: 2 * (n - 1) / n * m * b),
        "you multiply by `gb_per_s`. The faster the link, the less time: divide.",
    ),
    (
        _with(lambda m, n, b: 1000 * _ring(m, n, b)),
        "your exchange is 1,000 times too long. MB divided by GB/s are milliseconds.",
    ),
    (
        _with(lambda m, n, b: _ring(m, n, b) / 1000),
        "your exchange is 1,000 times too short. MB divided by GB/s are milliseconds.",
    ),
    (
        _with(lambda m, n, b: 8 * _ring(m, n, b)),
        "you take GB for gigabits. A GB is 10⁹ bytes, as a MB is 10⁶.",
    ),
    (
        _with(lambda m, n, b: 4 * _ring(m, n, b)),
        "you count 4 bytes for each number, and `megabytes` has them already.",
    ),
    (
        lambda c, m, n, b: c / max(c, _ring(m, n, b)),
        "you let the exchange run during the computing. Nothing overlaps here: add them.",
    ),
    (
        lambda c, m, n, b: n * efficiency(c, m, n, b),
        "that is how many times as fast as one device. The share is one N-th of it.",
    ),
    (lambda c, m, n, b: 100 * efficiency(c, m, n, b), "that is in percent. Give a share, 0 to 1."),
    (
        lambda c, m, n, b: 1 - efficiency(c, m, n, b),
        "that is the share of the exchange. Give that of the computing.",
    ),
    (
        lambda c, m, n, b: 1 / efficiency(c, m, n, b),
        "that is the step over `compute_ms`. Turn it around.",
    ),
    (
        lambda c, m, n, b: c / _ring(m, n, b),
        "that is computing over exchange. The step is the sum of both.",
    ),
    (
        lambda c, m, n, b: _ring(m, n, b) / c,
        "that is exchange over computing. Divide `compute_ms` by the sum of both.",
    ),
    (lambda c, m, n, b: c + _ring(m, n, b), "that is the step in ms. Divide `compute_ms` by it."),
    (lambda c, m, n, b: _ring(m, n, b), "that is the exchange in ms. Which share is computing?"),
]


def check_efficiency(function):
    """Compare the learner's function with `efficiency`.

    >>> check_efficiency(lambda c, m, n, b: c / (c + m / b))[-37:]
    'ce. A ring sends 2 (N − 1) / N of it.'
    """
    if not callable(function):
        return f"You gave {describe(function)}: give the function itself, without parentheses."
    results = []
    for trial in TRIALS:
        result, problem = _one(function, trial)
        if problem:
            return problem
        results.append(result)
    for trial, result in zip(TRIALS, results, strict=True):
        if not _near(result, efficiency(*trial)):
            return f"{_said(trial, result)}: {_mistake(results)}"
    result, problem = _one(function, ONE)
    if problem:
        by_zero = "With one device nothing is sent, and you divide by 0."
        return by_zero if "ZeroDivisionError" in problem else problem
    return None if _near(result, 1) else f"{_said(ONE, result)}: one device sends nothing."


def _one(function, trial):
    """One result as a float, or what is wrong with it."""
    result, problem = call(function, *trial)
    if problem:
        return None, problem
    if result is None:
        return None, "Your function returns None: end it with `return`."
    if number(result) is None:
        said = f"Your function returns {describe(result)}: one number from 0 to 1 is needed."
        return None, said
    return number(result), None


def _near(one, other):
    return math.isclose(one, other, rel_tol=1e-3)


def _mistake(results):
    for mistake, message in NOT_THE_SHARE:
        if all(
            math.isclose(mistake(*trial), result, rel_tol=1e-4)
            for trial, result in zip(TRIALS, results, strict=True)
        ):
            return message
    if _near(results[0], efficiency(*SHOWN)):
        return "the example of the task is right. Does each argument count?"
    return "divide `compute_ms` by the sum of computing and exchange."


def _said(trial, result):
    c, m, n, b = trial
    count = f"{n:,} device" + "s" * (n > 1)
    return (
        f"With {c} ms, {m} MB, {count} and {b:g} GB/s your function gives {result:.4g}, and"
        f" {efficiency(*trial):.4g} is needed"
    )
