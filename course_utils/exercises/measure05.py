"""How exercise 6 of notebook 05 is judged: a measurement on a device with a clock of its own."""

import re
import statistics

from .answers import call, describe, near, number
from .device05 import LAUNCH, Device

TRIALS = [((1.5, 0.02, 4), 1.0), ((2.0, 0.3), 1.0)]  # what the device is like, and `seconds`


def call_ms(f, seconds, clock):
    """The reference: warm up, then measure call after call.

    >>> device = Device(first=2.0, typical=0.3)
    >>> round(call_ms(device.f, 1, device.clock), -1)
    300.0
    """
    f().numpy()
    times, start = [], clock()
    while not times or clock() - start < seconds:
        before = clock()
        f().numpy()
        times.append(clock() - before)
    return 1000 * statistics.median(times)


def check_median(function):
    """Run the learner's function on two devices and look at what it gives and does.

    >>> check_median(lambda f, seconds, clock: 1)
    'Your function never calls `f`.'
    """
    if not callable(function):
        return f"You gave {describe(function)}: give the function itself, without parentheses."
    for kind, seconds in TRIALS:
        device = Device(*kind)
        result, problem = call(function, device.f, seconds, device.clock)
        if problem := _form(device, result, problem) or _value(device, number(result), seconds):
            return problem
    return None


def _form(device, result, problem):
    """What is wrong with how the function ends."""
    if device.endless:
        if not device.read:
            return "Your function goes on and on. Read `clock` to see when `seconds` have passed."
        if not device.took:
            return "Your function reads the clock again and again and never calls `f`."
        if not device.waited:
            return "Your function goes on and on. Wait for each result, with `.numpy()`."
        return "Your function goes on when `seconds` have passed on `clock`."
    empty = ("empty", "ZeroDivisionError", "IndexError")
    none = problem and any(word in problem for word in empty) or _is_nan(result)
    if none and len(device.took) == 1:
        return (
            "Your function measures no call: the first one alone takes longer than `seconds`. Count"
            " the seconds from the end of the warm-up."
        )
    if problem and re.search("not callable|positional argument", problem):
        return (
            f"{problem.rstrip('.')}. It is called with `f`, `seconds` and `clock`, in this order."
        )
    if problem:
        return problem
    if result is None:
        return "Your function returns None: end it with `return`."
    if number(result) is None:
        return f"Your function returns {describe(result)}: one number is needed."
    if not device.took:
        return "Your function never calls `f`."
    if not device.read:
        return "Your function never reads `clock`. The check has a clock of its own."
    return None


def _is_nan(result):
    try:
        return result is not None and not isinstance(result, bool) and bool(result != result)
    except Exception:  # whatever the learner's object does
        return False


def _value(device, ms, seconds):
    """What is wrong with the number, and with when the function stopped."""
    calls = [1000 * took for took in device.took]
    later = calls[1:] or calls
    median = statistics.median(later)
    if near(ms, median, 0.02) and len(calls) > 1:
        return _time(device, seconds, median)
    return _mistake(device, ms, calls, later, median) or (
        f"Your function gives {ms:.4g} ms, and the median of the calls after the first is"
        f" {median:.4g}. Read the clock before each call and after its result."
    )


def _mistake(device, ms, calls, later, median):
    """The mistake that a number gives away, or None."""
    if near(ms, 1000 * LAUNCH, 0.05) or near(ms, LAUNCH, 0.05):
        if device.waited > len(calls) / 2:
            return "You wait after reading the clock: first `.numpy()`, then the clock."
        return "That is how long `f` takes to return. Wait for its result, with `.numpy()`."
    if near(ms, statistics.mean(later), 0.03) and device.waited < len(calls) / 2:
        return (
            "That is the mean, since one wait at the end covers all calls. Wait for each, and take"
            " the median."
        )
    sums = sum(calls), sum(later), sum(calls) - 1000 * LAUNCH
    mistakes = [
        (calls[0], "The first call is measured, and it is slow: warm up before."),
        (
            calls[0] + later[0] - 1000 * LAUNCH,
            "The first call is still running when you begin. Wait for the warm-up too.",
        ),
        (median / 1000, "That is in seconds. A second is 1000 ms."),
        (median * 1000, "That is in microseconds. A second is 1000 ms."),
        (-median, "It is negative: subtract the earlier reading from the later one."),
        (statistics.mean(later), "That is the mean, which slow calls move. Take the median."),
        (statistics.mean(calls), "That is the mean, with the slow first call. Take the median."),
        (max(later), "That is the slowest call. Take the median."),
        (1000 / median, "Those are calls per second. Give the milliseconds of one."),
    ]
    mistakes += [(total, "That is the time of all calls together.") for total in sums]
    mistakes += [(total / 1000, "That is the time of all calls, in seconds.") for total in sums]
    value, message = min(mistakes, key=lambda mistake: abs(ms / mistake[0] - 1))
    return message if near(ms, value, 0.03) else None


def _time(device, seconds, median):
    """Whether the function stopped when it was told to."""
    went = device.now - device.ready
    if went > 3 * seconds + 3 * median / 1000:
        return (
            f"Your function goes on for {went:.3g} seconds after the first call, and `seconds` is"
            f" {seconds:g}. Stop when they have passed."
        )
    if went < seconds / 2:
        return (
            f"Your function stops {went:.2g} seconds after the first call, and `seconds` is"
            f" {seconds:g}. Go on until they have passed."
        )
    return None
