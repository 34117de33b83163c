"""Wrong answers to exercise 6 of notebook 05 that people give, and a part of what each is told.

Example: `measure05.check_median(wrongtimes05.MEASURED[0][0])` holds `wrongtimes05.MEASURED[0][1]`.
"""

import statistics


def measure(
    summary=statistics.median,
    warm=lambda f: f().numpy(),
    one=lambda f: f().numpy(),
    late=lambda result: None,
    unit=1000,
    calls=None,
    early=False,
):
    """A right `call_ms`, or one that is wrong in the way that the arguments say.

    Args:
        summary: of the list of seconds.
        warm: what comes before.
        one: what is measured; `late` gets its result after the clock is read.
        unit: factor to seconds.
        calls: how many to make, whatever the time.
        early: whether the limit counts from before the warm-up.

    Example: `measure(statistics.mean)` takes the mean.
    """

    def call_ms(f, seconds, clock):
        times, start = [], clock()
        warm(f)
        start = start if early else clock()
        while len(times) < calls if calls else clock() - start < seconds:
            before = clock()
            result = one(f)
            times.append(clock() - before)
            late(result)
        return unit * summary(times)

    return call_ms


def _one_reading(f, seconds, clock):
    """Many calls, one wait at the end."""
    f().numpy()
    start, calls = clock(), 0
    while clock() - start < seconds and calls < 10:
        result, calls = f(), calls + 1
    result.numpy()
    return 1000 * (clock() - start) / calls


def _own_clock(f, seconds, clock):
    import time

    times = []
    for _ in range(5):
        before = time.perf_counter()
        f().numpy()
        times.append(time.perf_counter() - before)
    return 1000 * statistics.median(times)


def _never_ends(f, seconds, clock):
    while True:
        f()


def _own_limit(f, seconds, clock):
    import time

    times, start = [], time.perf_counter()
    while time.perf_counter() - start < seconds:
        before = clock()
        f().numpy()
        times.append(clock() - before)
    return 1000 * statistics.median(times)


def _none(f):
    return None


MEASURED = [
    (measure(one=lambda f: f()), "how long `f` takes to return"),
    (measure(one=lambda f: f(), late=lambda result: result.numpy()), "You wait after reading"),
    (measure(warm=_none), "The first call is measured"),
    (measure(warm=lambda f: f()), "Wait for the warm-up too"),
    (measure(early=True), "measures no call"),
    (measure(statistics.mean), "the mean, which slow calls move"),
    (_one_reading, "one wait at the end"),
    (measure(max), "the slowest call"),
    (measure(sum), "all calls together"),
    (measure(unit=1), "That is in seconds"),
    (measure(unit=-1000), "It is negative"),
    (measure(unit=10**6), "microseconds"),
    (measure(lambda times: 1 / statistics.median(times), unit=1), "calls per second"),
    (measure(calls=100), "goes on for 3."),
    (measure(calls=10), "stops 0.3"),
    (_own_clock, "never reads `clock`"),
    (_own_limit, "goes on when `seconds` have passed"),
    (_never_ends, "goes on and on. Read `clock`"),
    (measure(lambda times: times, unit=1), "a list of"),
    (measure(lambda times: None or print(end=""), unit=1), "raises TypeError"),
    (lambda f, seconds, clock: print(end=""), "returns None"),
    (lambda f, seconds, clock: f.numpy(), "raises AttributeError"),
    (lambda f, seconds: 1000 * seconds, "raises TypeError"),
    (lambda seconds, f, clock: f(), "`seconds` and `clock`, in this order"),
    (lambda f, seconds, clock: clock() + 20, "never calls `f`"),
    (20.0, "the function itself"),
]
