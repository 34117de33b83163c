"""The judge of a measurement: the learner's function runs on devices with a clock of their own."""

import random
import re
import statistics

from .answers import call, describe, near, number
from .functions import Function

LAUNCH = 0.0002  # seconds until a call returns
MANY = 20_000


class Stop(SystemExit):
    """Ends a function that goes on and on; `except Exception` does not hold it up."""


class Result:
    """What a call returns: ready when the device has come to it."""

    def __init__(self, device, done):
        self._device, self._done = device, done

    def numpy(self):
        """Wait for the result, as a tensor does."""
        self._device.now = max(self._device.now, self._done)
        self._device.waited += 1
        return 1.0

    def __array__(self, dtype=None, copy=None):
        import numpy as np

        return np.array(self.numpy(), dtype)

    __float__ = block_until_ready = numpy

    def __bool__(self):
        return bool(self.numpy())


class Device:
    """A device with its own clock: as on an accelerator, `f()` returns before its work is done.

    Args:
        first, typical: seconds of the first call and of the others.
        slow: how many times as long every fourth call takes.
    """

    def __init__(self, first, typical, slow=1):
        self._source = random.Random(5)
        self._first, self._typical, self._slow = first, typical, slow
        self.now = self._busy = self.ready = 0.0
        self.took, self.waited, self.read, self.endless = [], 0, 0, False

    def clock(self):
        """Seconds, as `time.perf_counter()` gives them."""
        self.read += 1
        self._count(self.read)
        return self.now

    def f(self):
        """Start a piece of work."""
        self._count(len(self.took))
        work = self._typical * self._source.uniform(0.99, 1.01)
        work *= self._slow if len(self.took) % 4 == 3 else 1
        work = work if self.took else self._first
        self.now += LAUNCH
        self._busy = max(self.now, self._busy) + work
        self.ready = self.ready or self._busy  # of the first call
        self.took.append(LAUNCH + work)
        return Result(self, self._busy)

    def _count(self, so_far):
        if so_far > MANY:
            self.endless = True
            raise Stop


TRIALS = (((1.5, 0.02, 4), 1.0), ((2.0, 0.3), 1.0))  # what the device is like, and `seconds`
ENDLESS = {  # what a function that goes on and on never did
    "read": "Your function goes on and on. Read `clock` to see when `seconds` have passed.",
    "took": "Your function reads the clock again and again and never calls `f`.",
    "waited": "Your function goes on and on. Wait for each result, with `.numpy()`.",
}


def measure(function, trial):
    """What is wrong with how the learner's function measures a device, or None."""
    kind, seconds = trial
    device = Device(*kind)
    result, problem = call(function, device.f, seconds, device.clock, end="`return`")
    return _form(device, result, problem) or _value(device, number(result), seconds)


def _form(device, result, problem):
    """What is wrong with how the function ends."""
    if device.endless:
        never = (message for name, message in ENDLESS.items() if not getattr(device, name))
        return next(never, "Your function goes on when `seconds` have passed on `clock`.")
    empty = ("empty", "ZeroDivisionError", "IndexError")
    value = number(result, finite=False)
    none = any(word in problem for word in empty) if problem else value != value  # or NaN
    if none and len(device.took) == 1:
        return (
            "Your function measures no call: the first one alone takes longer than `seconds`. Count"
            " the seconds from the end of the warm-up."
        )
    if problem and re.search("not callable|positional argument", problem):
        order = "It is called with `f`, `seconds` and `clock`, in this order."
        return f"{problem.rstrip('.')}. {order}"
    if problem:
        return problem
    if number(result) is None:
        return f"Your function returns {describe(result)}: one number is needed."
    if not device.took:
        return "Your function never calls `f`."
    if not device.read:
        return "Your function never reads `clock`. The check has a clock of its own."
    return None


def _value(device, ms, seconds):
    """What is wrong with the number, and with when the function stopped."""
    calls = [1000 * took for took in device.took]
    later = calls[1:] or calls
    median = statistics.median(later)
    if not near(ms, median, 0.02) or len(calls) == 1:
        return _mistake(device, ms, calls, later, median) or (
            f"Your function gives {ms:.4g} ms, and the median of the calls after the first is"
            f" {median:.4g}. Read the clock before each call and after its result."
        )
    went = device.now - device.ready
    told = f"seconds after the first call, and `seconds` is {seconds:g}."
    if went > 3 * seconds + 3 * median / 1000:
        return f"Your function goes on for {went:.3g} {told} Stop when they have passed."
    if went < seconds / 2:
        return f"Your function stops {went:.2g} {told} Go on until they have passed."
    return None


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
    second = calls[0] + later[0] - 1000 * LAUNCH
    mistakes = {
        second: "The first call is still running when you begin. Wait for the warm-up too.",
        median / 1000: "That is in seconds. A second is 1000 ms.",
        -median: "It is negative: subtract the earlier reading from the later one.",
        statistics.mean(later): "That is the mean, which slow calls move. Take the median.",
        statistics.mean(calls): "That is the mean, with the slow first call. Take the median.",
        max(later): "That is the slowest call. Take the median.",
        calls[0]: "The first call is measured, and it is slow: warm up before.",
    }
    for total in (sum(calls), sum(later), sum(calls) - 1000 * LAUNCH):
        mistakes.setdefault(total, "That is the time of all calls together.")
    value = min(mistakes, key=lambda mistake: abs(ms / mistake - 1))
    return mistakes[value] if near(ms, value, 0.03) else None


LOOP = """\
    times, start = [], clock()
    while not times or clock() - start < seconds:
        before = clock()
        f().numpy()
        times.append(clock() - before)
    return 1000 * statistics.median(times)
"""
CODE = f"""\
import statistics
import time


def call_ms(f, seconds, clock=time.perf_counter):
    f().numpy()
{LOOP}
"""
WARM, BEFORE = "):\n    f().numpy()", "before = clock()\n        "
ONE, LIMIT = BEFORE + "f().numpy()", "while not times or clock() - start < seconds"
AT_THE_END = """\
    start, calls = clock(), 0
    while clock() - start < seconds and calls < 10:
        result, calls = f(), calls + 1
    result.numpy()
    return 1000 * (clock() - start) / calls
"""
SLIPS = {  # a part of what is said, and the edits that make the right measurement a wrong one
    "how long `f` takes to return": {ONE: BEFORE + "f()"},
    "You wait after reading": {ONE: BEFORE + "late = f()", "before)": "before); late.numpy()"},
    "The first call is measured": {WARM: "):"},
    "Wait for the warm-up too": {WARM: "):\n    f()"},
    "measures no call": {"start = [], clock()": "start = [], 0", "not times or ": ""},
    "the mean, which slow calls move": {"median": "mean"},
    "one wait at the end": {LOOP: AT_THE_END},
    "the slowest call": {"statistics.median": "max"},
    "all calls together": {"statistics.median": "sum"},
    "That is in seconds": {"1000 * ": ""},
    "It is negative": {"1000": "-1000"},
    "goes on for 3.": {LIMIT: "for _ in range(100)"},
    "stops 0.3": {LIMIT: "for _ in range(10)"},
    "never reads `clock`": {LIMIT: "for _ in range(5)", "clock()": "time.perf_counter()"},
    "goes on when `seconds` have passed": {"< seconds": "< seconds or True"},
    "goes on and on. Read `clock`": {LOOP: "    while True: f()\n"},
    "reads the clock again and again": {WARM: "):", ONE: BEFORE},
    "a list of": {"1000 * statistics.median(times)": "times"},
    "raises AttributeError": {WARM: "):\n    f.numpy()"},
    "`seconds` and `clock`, in this order": {"f, seconds": "seconds, f"},
    "never calls `f`": {WARM: "):", LOOP: "    return clock() + 20\n"},
}
judge = Function(measure, TRIALS)
