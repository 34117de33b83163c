"""What a training loop does at two loss scales, in float32, and with gradients of
infinity.
"""

import contextlib
import math
from functools import partial
from typing import Any

import numpy as np
from numpy.linalg import norm

from mixed_precision_lint.bias_rules import stops
from mixed_precision_lint.finding import NARROW, WHOLE
from mixed_precision_lint.loop import Loop, Shared

APART = 16.0  # the factor between the two scales
# sizes of gradients, beside the usual: no limit clips, any does
SMALL = 2.0**-20
LARGE = 2.0**10
LOST = 0.1  # of a bias's gradient, from which on it is told
SPOILS = "spoils the steps that follow"
MOVES = "moves the weights, or what the optimizer keeps"
EXACT = 2e-3  # factors that differ by a smaller share are the same


def cosine(one, other) -> float:
    """Of the angle between two vectors; 0 if one of them is zero."""
    return float(one @ other / (norm(one) * norm(other) or 1.0))


class Response:
    """What reaches the update rule for gradients of several sizes in place of the
    tape's own.
    """

    def __init__(self, take, usual):
        sizes = (SMALL, 2 * SMALL, LARGE)
        self.readings = {size: take(size * usual) for size in sizes}
        one = self.readings[SMALL]
        two = self.readings[2 * SMALL]
        # A decay of the weights, or the like, is in both and not in the difference.
        self.got = two.got - one.got
        self.left = two.left - one.left
        grows = norm(self.got) > 0.2 * norm(one.got)
        # What small gradients are divided by; NaN where the update does not grow with
        # them.
        self.divisor = norm(self.left) / norm(self.got) if grows else math.nan


class Watched:
    """What `probe`'s rules look at, measured on a few loops that `build` makes.

    `length` is that of the first update beside float32's at the scale 1.
    """

    other: Any = None  # the `Response` at another scale
    grows = True
    raised = ""
    harm = ""  # what a gradient does that is not finite
    reaction = 0.0  # the scale after it, over that before; the largest
    part = 0.0  # of the tape's gradients, that does not follow the scale of the loss
    # {bias: the part of its gradient that is missing beside float32's}
    missing: dict[str, float] = {}
    overflow = hidden = ("", "")  # see `Loop.not_finite`

    def __init__(self, build, x, y):
        self.loop = loop = Loop(build, x, y)
        layers = loop.model._flatten_layers()
        self.float16 = any(
            la.compute_dtype == "float16" and la.trainable_weights for la in layers
        )
        self.narrow = any(la.compute_dtype in NARROW for la in layers)
        self.bfloat16 = any(la.compute_dtype == "bfloat16" for la in layers)
        self.scale = loop.scale if loop.scalers else None
        try:
            with np.errstate(all="ignore"):
                self._measure(partial(Loop, build, x, y, twin_of=loop))
        except Shared:
            raise
        except (Exception, SystemExit) as error:  # whatever the loop raises
            self.raised = type(error).__name__
            with contextlib.suppress(Exception):  # an error of one's own may not tell
                self.raised += f": {' '.join(str(error).split())[:120]}"

    def _measure(self, make_twin):
        loop = self.loop
        self.first = self.natural = loop.cycle()  # at the loop's own scale
        while self.scale and self.natural.spoiled and self.scale > 2.0**-60:
            self.scale = min(self.scale / 4, loop.scale)
            self.natural = loop.cycle(scale=self.scale)
        if self.narrow:
            with contextlib.suppress(
                Exception
            ):  # only its loop may know how to call it
                self.overflow, self.hidden = loop.not_finite()
        if not (self.natural.moved and self.natural.calls and self.natural.updates):
            return
        if not self.natural.finite:
            return
        twin = make_twin()
        if self.bfloat16:
            self.missing = self._missing(twin.cycle(scale=1.0))
        if loop.fewer():
            self._settle_on_few()
            twin.batch = loop.batch
        once, again, often = (twin.cycle(scale=scale) for scale in (1.0, 1.0, 256.0))
        if np.array_equal(once.left, again.left):  # no other noise moves the gradients
            self.part = norm(often.left - 256 * once.left) / (norm(often.left) or 1.0)
        self.length = norm(self.natural.got) / (norm(once.got) or 1.0)
        # As large as the tape's own, with the scale that they ought to have, and
        # nowhere zero.
        self.usual = (
            norm(once.left) * self.scale if self.scale else norm(self.natural.left)
        )
        self.usual = (self.usual or 1.0) / math.sqrt(len(once.left))
        self.one = Response(self._settled, self.usual)
        if self.scale:
            smaller = partial(loop.cycle, scale=self.scale / APART)
            self.less = smaller()
            settled = partial(smaller, steps=self.natural.steps)
            self.other = Response(lambda size: settled(size=size), self.usual / APART)
            self._grow()
        if self.float16 or self.scale:
            self._overflow()

    def _missing(self, right):
        """Biases whose gradients are shorter than in float32, where those of kernels are
        as they should be.
        """
        scaled = self.scale or 1.0
        lost, apart = {}, []
        biases = self._long_biases()
        pairs = map(self.loop.parts, (self.natural.left / scaled, right.left))
        for weight, here, there in zip(self.loop.weights, *pairs, strict=True):
            if id(weight) in biases:
                lost[weight.path] = 1 - norm(here) / (norm(there) or 1.0)
            else:
                apart.append(norm(here - there) / (norm(there) or 1.0))
        if not apart or np.median(apart) > 0.03:  # something else differs, as Dropout
            return {}
        return {path: part for path, part in lost.items() if part > LOST}

    def _long_biases(self):
        """The ids of the biases whose gradients this device may stop adding up here."""
        ids = set()
        for layer in self.loop.model._flatten_layers():
            shape = getattr(
                getattr(layer, "_inbound_nodes", None) and layer.output, "shape", ()
            )
            positions = math.prod(n or 1 for n in shape[1:-1]) * self.samples
            if layer.compute_dtype == "bfloat16" and positions >= WHOLE["bfloat16"]:
                ids |= {id(w) for w in layer._trainable_variables if w.name == "bias"}
        return ids if ids and stops() else set()

    @property
    def samples(self) -> int:
        """How many the batch has that the loop takes now; 0 if nobody knows."""
        x = self.loop.batch[0]
        return len(x) if np.ndim(x) else 0

    def _settle_on_few(self):
        """Take the natural step with a few samples, each of which weighs more, so that
        the scale may have to be smaller; else stay with the whole batch.
        """
        eager = self.loop.model.run_eagerly
        for scale in [self.scale / 4**n for n in range(3)] if self.scale else [None]:
            try:
                few = self.loop.cycle(scale=scale, steps=1)
            except Exception:  # the loop needs its batch
                break
            if few.moved and few.finite and not few.spoiled:
                self.natural, self.scale = few, scale
                return
        self.loop.whole(eager)

    def _settled(self, size):
        """A reading at the scale of the natural step."""
        return self.loop.cycle(scale=self.scale, size=size, steps=self.natural.steps)

    def _grow(self):
        """Take the good step that is to double the scale."""
        loop = self.loop
        last = loop.scalers[0].dynamic_growth_steps - 1
        steps = self.natural.steps
        loop.cycle(scale=self.scale, good=last, size=self.usual, steps=steps)
        self.grows = loop.scale > 1.5 * self.scale

    def _overflow(self):
        """What infinities do to a loop after a good step."""
        parts = self.loop.parts(self.one.readings[SMALL].left)
        reached = [n for n, part in enumerate(parts) if part.any()]
        poisons = {
            "−∞": dict.fromkeys(reached, -math.inf),
            "NaN in one": dict.fromkeys(reached[-1:], math.nan),
        }
        self.harm = self._harm(poisons)
        if SPOILS in self.harm:  # by which of them?
            alone = (self._harm({name: poison}) for name, poison in poisons.items())
            self.harm = next(filter(None, alone), self.harm)

    def _harm(self, poisons):
        """What some poisons do, one step after another: "" if nothing that lasts."""
        loop = self.loop
        loop.cycle(scale=self.scale)
        if self.scale and loop.scalers[0].dynamic_growth_steps > 1:
            self.grows = self.grows and int(loop.scalers[0].step_counter.numpy()) > 0
        for name, poison in poisons.items():
            scale = loop.scale
            bad = loop.cycle(poison=poison, steps=self.natural.steps, again=True)
            if bad.moved:
                return f"({name}) {MOVES}: skip such a step"
            if self.scale:
                self.reaction = max(self.reaction, loop.scale / scale)
        good = loop.cycle(size=self.usual, again=True)
        return "" if good.moved and good.finite else f"({name}) {SPOILS}"

    @property
    def powers(self) -> tuple[int, int]:
        """Of the loss scale: in the tape's gradients, and in what divides them; 0 if
        unknown.
        """
        if not self.scale:
            return 0, 0
        times = round(math.log(norm(self.natural.left) / norm(self.less.left), APART))
        over = self.one.divisor / self.other.divisor
        return times, round(math.log(over, APART)) if over == over else times

    @property
    def factor(self) -> float:
        """What the loss was multiplied by, as far as the step returns it; else NaN."""
        reading = self.one.readings[SMALL]
        return reading.target / (reading.loss or math.nan)

    @property
    def sums(self) -> float:
        """How many gradients make an update."""
        return self.natural.calls / max(self.natural.updates, 1)

    @property
    def undivided(self) -> bool:
        """Whether the gradients of the tape, their sum or mean are what updates the
        weights.
        """
        return any(abs(self.one.divisor * n - 1) < EXACT for n in (1, self.sums))

    @property
    def clipped(self) -> float:
        """The length in which a gradient reaches the update rule that is too long for
        any limit.
        """
        return float(norm(self.one.readings[LARGE].got))
