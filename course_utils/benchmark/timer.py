"""The one timer: rounds until the time is up, and calls timed in turns."""

import statistics
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import keras
import tensorflow as tf

from course_utils.progress import pace, tqdm

Name = TypeVar("Name")  # of a case: a text, or several
Case = TypeVar("Case")
# seconds that one timing lasts at the least: far more than a launch and the clock
SAMPLE = 0.005
MOST = 200  # calls in one timing
SECONDS = "{l_bar}{bar}| {n:.1f} of {total:.1f} s"  # a bar's text; it has no rate


def rounds(seconds: float, label: str, at_least: int = 1) -> Iterator[int]:
    """Counts 0, 1, 2, … until the time is up, with a progress bar of that label.

    The round under way is finished. `pace()` shortens the time, and takes of the rounds
    that there are at least as many as its share, three or more.

    Example:
        >>> list(rounds(0, "demo", at_least=2))
        [0, 1]
    """
    seconds *= pace()
    at_least = max(min(at_least, 3), round(at_least * pace()))
    start = time.perf_counter()
    number = 0
    with tqdm(desc=label, total=round(seconds, 1), bar_format=SECONDS) as bar:
        while (elapsed := time.perf_counter() - start) < seconds or number < at_least:
            bar.update(min(round(elapsed, 1), bar.total) - bar.n)
            yield number
            number += 1
        bar.update(bar.total - bar.n)  # one that is not full turns red


def turns(cases: dict[Name, Case], number: int) -> Iterator[tuple[Name, Case]]:
    """Gives all cases in turn, (name, case), that many times, with a progress bar.

    `pace()` takes its share of the times, as in `rounds`.

    Example:
        >>> list(turns({"a": 1, "b": 2}, 2))
        [('a', 1), ('b', 2), ('a', 1), ('b', 2)]
    """
    for _ in rounds(0, "in turns", number):
        yield from cases.items()


def timings(
    cases: dict[Name, Callable[[], tf.Tensor | float]],
    seconds: float,
    label: str,
    at_least: int = 5,
) -> dict[Name, list[float]]:
    """Times functions that return a tensor against each other: {name: seconds of one
    call, a list}.

    Each is called three times before it counts, twice where `pace()` is below 1. Then
    all take turns until the time is up, so that what else the machine does meets all of
    them alike. Calls of less than 5 ms are timed together. An interrupt of the kernel
    keeps what was measured.
    """
    together = {}
    times = {name: [] for name in cases}
    try:
        for name, run in cases.items():
            # the first traces and loads kernels
            calls = 3 if pace() == 1 else 2
            once = min(_seconds(run, 1) for _ in range(calls))
            together[name] = max(1, round(SAMPLE / max(once, SAMPLE / MOST)))
        for _ in rounds(seconds, label, at_least):
            for name, run in cases.items():
                times[name].append(_seconds(run, together[name]))
    except KeyboardInterrupt:
        print("Interrupted: you get what was measured until then.")
    return times


def in_turns(
    cases: dict[Name, Callable[[], tf.Tensor | float]],
    seconds: float = 3,
    label: str = "operations in turns",
) -> dict[Name, float]:
    """The median milliseconds of one call of each case, timed in turns: {name: ms}.

    NaN for what an interrupt left untimed.

    Example:
        in_turns({"add": lambda: a + a, "multiply": lambda: a * a}, seconds=1)
    """
    times = timings(cases, seconds, label)
    return {
        name: 1e3 * statistics.median(t) if t else float("nan")
        for name, t in times.items()
    }


def _seconds(run, count):
    """Seconds of one call, `count` timed together; a number read back says that all is
    done.
    """
    start = time.perf_counter()
    for _ in range(count):
        result = run()
    # a number that is here needs no reading, which takes longer
    if not isinstance(result, float):
        first = keras.ops.reshape(keras.ops.convert_to_tensor(result), (-1,))[0]
        float(keras.ops.cast(first, "float32"))
    return (time.perf_counter() - start) / count
