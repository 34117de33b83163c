"""A device that exists only here, for exercise 6 of notebook 05.

It keeps its own clock. A call returns at once with a result that is ready later, as on an
accelerator; the first call is slow, and every few calls one is.
"""

import random

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
    """A clock, and a function `f` that takes time on it.

    Args:
        first, typical: seconds of the first call and of the others.
        slow: how many times as long every fourth call takes.

    >>> device = Device(first=2.0, typical=0.3)
    >>> _ = device.f()
    >>> device.clock(), device.f().numpy(), round(device.clock(), 1)
    (0.0002, 1.0, 2.3)
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
