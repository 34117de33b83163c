"""How long a single operation takes: several cases in turns, each waited for, and the median."""

import statistics
import time

from course_utils import stepping

SAMPLE = 0.005  # seconds that one timing lasts at the least: far more than a launch and the clock
MOST = 200  # calls in one timing


def in_turns(cases: dict, seconds: float = 3, label: str = "operations in turns") -> dict:
    """Times several calls against each other: {name: median milliseconds of one call}.

    Each is called a few times before it counts. Then all take turns until the time is up, at
    least five times, so that what else the machine does meets all of them alike. Calls of less
    than 5 ms are timed together. Each timing ends when a number of the last result is back, so
    that the device has finished. An interrupt of the kernel keeps what was measured.

    Args:
        cases: {name: function without arguments that returns a tensor}.
        seconds: time for all of it, the warm-up apart.
        label: what the progress bar says.

    Example:
        in_turns({"add": lambda: a + a, "multiply": lambda: a * a}, seconds=1)
    """
    together, times = {}, {name: [] for name in cases}
    try:
        for name, run in cases.items():
            _seconds(run, 1)  # traces, loads kernels
            _seconds(run, 1)
            once = max(_seconds(run, 1), SAMPLE / MOST)
            together[name] = max(1, round(SAMPLE / once))
        for _ in stepping.rounds(seconds, label, at_least=5):
            for name, run in cases.items():
                times[name].append(1e3 * _seconds(run, together[name]))
    except KeyboardInterrupt:
        print("Interrupted: the medians are of what was measured until then.")
    return {name: statistics.median(found) if found else float("nan")
            for name, found in times.items()}  # fmt: skip


def _seconds(run, count):
    """Seconds of one call, with `count` calls timed together and one number read back."""
    import keras

    start = time.perf_counter()
    for _ in range(count):
        result = run()
    first = keras.ops.reshape(keras.ops.convert_to_tensor(result), (-1,))[0]
    float(keras.ops.cast(first, "float32"))
    return (time.perf_counter() - start) / count
