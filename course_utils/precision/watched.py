"""What a training loop does at two loss scales, in float32, and with gradients of infinity."""

import contextlib
import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from course_utils.precision.loop import Loop

APART = 16.0  # the factor between the two scales
SMALL, LARGE = 2.0**-20, 2.0**10  # sizes of gradients, beside the usual: no limit clips, any does
OVERFLOWS = {
    "−∞": (None, -math.inf),
    "∞ in one": (0, math.inf),
    "NaN in one": (-1, math.nan),
}
EXACT = 2e-3  # factors that differ by a smaller share are the same


def length(arrays):
    """The length of some arrays, taken as one vector."""
    return math.sqrt(sum(float(np.sum(np.square(a, dtype="float64"))) for a in arrays))


def minus(ones, others):
    """The differences of some arrays and others."""
    return [one - other for one, other in zip(ones, others, strict=True)]


def cosine(ones, others):
    """Of the angle between two lists of arrays, taken as vectors; 0 if one of them is zero."""
    pairs = zip(ones, others, strict=True)
    product = sum(float(np.sum(np.multiply(a, b, dtype="float64"))) for a, b in pairs)
    return product / (length(ones) * length(others) or 1.0)


class Response:
    """What reaches the update rule for gradients of several sizes in place of the tape's own."""

    def __init__(self, take, usual, *larger):
        self.readings = {size: take(size * usual) for size in (SMALL, 2 * SMALL, *larger)}
        one, two = self.readings[SMALL], self.readings[2 * SMALL]
        # A decay of the weights, or the like, is in both and not in the difference.
        self.got, self.left = minus(two.got, one.got), minus(two.left, one.left)
        grows = length(self.got) > 0.2 * length(one.got)
        # What small gradients are divided by; NaN where the update does not grow with them.
        self.divisor = length(self.left) / length(self.got) if grows else math.nan


@dataclass(frozen=True)
class Overflow:
    """What a gradient does that is not finite."""

    moved: bool = False  # whether the weights move, or what the optimizer remembers of gradients
    raised: str = ""
    recovers: bool = True  # whether the next finite gradients move the weights
    reaction: float = math.nan  # the scale after it, over that before


class Watched:
    """What `probe`'s rules look at, measured on a few loops that `build` makes.

    `length` and `cosine` are those of the first update beside float32's at the scale 1.
    """

    other = None  # the `Response` at another scale
    grown = None  # the `Reading` of the step that is to double the scale
    grows = True
    raised = ""

    def __init__(self, build, x, y):
        self.loop = loop = Loop(build, x, y)
        self._make = lambda **how: Loop(build, x, y, like=loop, **how)
        layers = loop.model._flatten_layers()
        self.float16 = any(la.compute_dtype == "float16" and la.trainable_weights for la in layers)
        self.scale = _scale(loop) if loop.scalers else None
        self.overflows = {}
        try:
            with np.errstate(all="ignore"):
                self._measure()
        except (Exception, SystemExit) as error:  # whatever the loop raises
            self.raised = type(error).__name__
            with contextlib.suppress(Exception):  # an error of one's own may not tell
                self.raised += f": {' '.join(str(error).split())[:120]}"

    def _measure(self):
        loop = self.loop
        self.natural = loop.cycle()
        while self.scale and self.natural.spoiled and self.scale > 2.0**-60:
            self.scale /= 4
            self.natural = loop.cycle(scale=self.scale)
        loop.by_hand = self.natural.moved and not self.natural.updates
        again = loop.cycle(scale=self.scale, dice=True).got
        self.noise = length(minus(again, self.natural.got)) / (length(again) or 1.0)
        twin = self._make(policy="float32")
        once, often = twin.cycle(scale=1.0), twin.cycle(scale=256.0)
        self.part = length(minus(often.left, [256 * g for g in once.left])) / length(
            often.left or [1]
        )
        self.length = length(self.natural.got) / (length(once.got) or 1.0)
        self.cosine = cosine(self.natural.got, once.got)
        if not self.natural.moved or not self.natural.calls:
            return
        # As large as the tape's own, with the scale that they ought to have, and nowhere zero.
        self.usual = (
            length(once.left) * self.scale if self.scale else length(self.natural.left)
        ) or 1
        self.usual /= length(loop.pattern)
        self.one = Response(self._settled, self.usual, 1.0, LARGE)
        small = self.one.readings[SMALL].got
        repeated = minus(self._settled(SMALL * self.usual).got, small)
        self.steady = length(repeated) <= 0.1 * length(small)
        if self.scale:
            how = {"scale": self.scale / APART, "steps": self.natural.steps}
            self.less = loop.cycle(scale=how["scale"])
            self.other = Response(
                lambda s: loop.cycle(size=s, **how), self.usual / APART, 1.0, LARGE
            )
            self._grow()
        for name, poison in OVERFLOWS.items() if self.float16 or self.scale else ():
            self.overflows[name] = self._overflow(*poison)

    def _settled(self, size):
        """A reading at the scale of the natural step; of a new loop where nobody can set that."""
        if self.scale or not self.float16:
            return self.loop.cycle(scale=self.scale, size=size, steps=self.natural.steps)
        return self._after((), size)

    def _after(self, poison, size):
        """A reading of a new loop, after a good step and perhaps a bad one."""
        loop, how = self._make(), {"steps": self.natural.steps, "again": True}
        loop.cycle(scale=self.scale)
        if poison:
            loop.cycle(poison=poison, **how)
        return loop.cycle(size=size, **how)

    def _grow(self):
        """Count good steps, and take the one that is to double the scale."""
        loop, scaler = self.loop, self.loop.scalers[0]
        how = {"scale": self.scale, "size": self.usual, "steps": self.natural.steps}
        loop.cycle(**how)
        counted = int(scaler.step_counter.numpy()) > 0 or scaler.dynamic_growth_steps < 2
        self.grown = loop.cycle(good=scaler.dynamic_growth_steps - 1, **how)
        self.grows = counted and _scale(loop) > 1.5 * self.scale

    def _overflow(self, place, value):
        """What an infinity does to a new loop after a good step."""
        loop, how = self._make(), {"steps": self.natural.steps, "again": True}
        loop.cycle(scale=self.scale)
        reached = [n for n, g in enumerate(self.one.readings[1.0].left) if np.any(g)]
        poison = dict.fromkeys(reached if place is None else [reached[place]], value)
        kept = [v for v in getattr(loop.rule, "variables", ()) if v.shape]
        former, scale = [v.numpy() for v in kept], _scale(loop)
        try:
            bad = loop.cycle(poison=poison, **how)
        except Exception as error:
            return Overflow(raised=type(error).__name__)
        if bad.moved or any(np.any(v.numpy() != f) for v, f in zip(kept, former, strict=True)):
            return Overflow(moved=True)
        reaction = _scale(loop) / scale
        if place is None and not reaction < 0.9:
            reaction = Response(partial(self._after, poison), self.usual).divisor / self.one.divisor
            if not self.scale and reaction < 1:
                usual = self.usual * reaction
                self.other = Response(partial(self._after, poison), usual, 1.0, LARGE)
        good = loop.cycle(size=self.usual, again=True)
        finite = all(np.isfinite(one).all() for one in good.change)
        return Overflow(recovers=good.moved and finite, reaction=reaction)

    @property
    def powers(self):
        """Of the loss scale: in the tape's gradients, and in what divides them; 0 if unknown."""
        if not self.scale:
            return 0, 0
        times = round(math.log(length(self.natural.left) / length(self.less.left), APART))
        over = self.one.divisor / self.other.divisor
        return times, round(math.log(over, APART)) if over == over else times

    @property
    def factor(self):
        """What the loss was multiplied by, as far as the step returns it; else NaN."""
        reading = self.one.readings[SMALL]
        return reading.target / (reading.loss or math.nan)

    @property
    def sums(self):
        """How many gradients make an update."""
        return self.natural.calls / max(self.natural.updates, 1)

    @property
    def undivided(self):
        """Whether the gradients of the tape, their sum or mean are what updates the weights."""
        if self.loop.by_hand:
            return abs(self.factor - 1) < EXACT
        return any(abs(self.one.divisor * n - 1) < EXACT for n in (1, self.sums))

    @property
    def clipped(self):
        """The length in which a gradient reaches the update rule that is too long for any limit."""
        return length(self.one.readings[LARGE].got)

    @property
    def moves(self):
        """Whether a gradient that is not finite moves the weights, or what the optimizer keeps."""
        return any(each.moved for each in self.overflows.values())


def _scale(loop):
    """The dynamic scale of the outer optimizer; NaN where there is none."""
    return float(loop.scalers[0].dynamic_scale.numpy()) if loop.scalers else math.nan
