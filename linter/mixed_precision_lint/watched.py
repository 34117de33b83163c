"""What a training loop does at two loss scales, in float32, and with gradients of
infinity.
"""

import contextlib
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.linalg import norm

from mixed_precision_lint.bias_rules import bias_sums_stop
from mixed_precision_lint.finding import NARROW, WHOLE
from mixed_precision_lint.instrumented_loop import Build, InstrumentedLoop, Shared
from mixed_precision_lint.instruments import StepReading
from mixed_precision_lint.one_line import one_line

APART = 16.0  # the factor between the two scales
# sizes of gradients, beside the usual: no limit clips, any does
SMALL = 2.0**-20
LARGE = 2.0**10
LOST = 0.1  # of a bias's gradient, from which on it is told
SPOILS = "spoils the steps that follow"
MOVES = "moves the weights, or what the optimizer keeps"
FOLLOWS = (
    0.01  # the part of the gradients that may fail to follow the scale of the loss
)
EXACT = 2e-3  # factors that differ by a smaller share are the same


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    """Of the angle between two vectors; 0 if one of them is zero."""
    return float(one @ other / (norm(one) * norm(other) or 1.0))


class Response:
    """What reaches the update rule for gradients of several sizes in place of the
    tape's own.
    """

    def __init__(self, take: Callable[..., StepReading], usual: float):
        sizes = (LARGE, 2 * SMALL, SMALL)
        self.readings = {size: take(size=size * usual) for size in sizes}
        one = self.readings[SMALL]
        two = self.readings[2 * SMALL]
        # A decay of the weights, or the like, is in both and not in the difference.
        self.rule_gradients = two.rule_gradients - one.rule_gradients
        self.tape_gradients = two.tape_gradients - one.tape_gradients
        # What small gradients are divided by; NaN where the update does not grow with
        # them.
        self.divisor = math.nan
        before = float(norm(self.tape_gradients))
        after = float(norm(self.rule_gradients))
        if before and after > 0.2 * norm(one.rule_gradients):
            self.divisor = before / after


class Watched:
    """What `probe`'s rules look at, measured on a few loops that `build` makes.

    `length` is that of the first update beside float32's at the scale 1.
    """

    response: Response  # at the scale of the natural step
    smaller_response: Response | None = None  # at a smaller scale
    grows = True
    raised = ""
    harm = ""  # what a gradient does that is not finite
    reaction = 0.0  # the scale after it, over that before; the largest
    times = 1  # the power of the loss scale in the tape's gradients
    part = 0.0  # of the tape's gradients, that does not follow the scale of the loss
    # {bias: the part of its gradient that is missing beside float32's}
    missing: Mapping[str, float] = {}
    # see `InstrumentedLoop.not_finite`
    overflow = ("", "")
    hidden = ("", "")

    def __init__(self, build: Build, x: Any, y: Any):
        self.loop = loop = InstrumentedLoop(build, x, y)
        layers = loop.model._flatten_layers()
        self.float16 = any(
            la.compute_dtype == "float16" and la.trainable_weights for la in layers
        )
        self.narrow = any(la.compute_dtype in NARROW for la in layers)
        self.bfloat16 = any(la.compute_dtype == "bfloat16" for la in layers)
        self.scale = loop.scale if loop.scalers else None
        try:
            with np.errstate(all="ignore"):
                self._measure(partial(InstrumentedLoop, build, x, y, twin_of=loop))
        except Shared:
            raise
        except (Exception, SystemExit) as error:  # whatever the loop raises
            self.raised = f"{type(error).__name__}: {one_line(error, 120)}".rstrip(": ")

    def _measure(self, make_twin):
        loop = self.loop
        # Keras's own step keeps nothing that is not set back, so one at a time will do.
        steps = 1 if loop.eager else None
        self.first = self.natural = loop.cycle(steps=steps)  # at the loop's own scale
        while self.scale and self.natural.spoiled_calls and self.scale > 2.0**-60:
            self.scale = min(self.scale / APART, loop.scale)
            self.natural = loop.cycle(scale=self.scale, steps=steps)
        if steps and not self.natural.weights_moved:
            self.natural = loop.cycle(scale=self.scale)
        if self.narrow:
            # only its loop may know how to call it
            with contextlib.suppress(Exception):
                self.overflow, self.hidden = loop.not_finite()
        if not self.natural.weights_moved or not self.natural.weights_finite:
            return
        if not self.natural.tape_calls or not self.natural.updates:
            return
        twin = make_twin()
        if self.bfloat16:
            self.missing = self._missing(twin.cycle(scale=1.0))
        if loop.fewer():
            self._settle_on_few()
            twin.batch = loop.batch
        once = twin.cycle(scale=1.0)
        tape = once.tape_gradients
        if self.scale:
            large = max(self.scale, 256.0)
            often = twin.cycle(scale=large).tape_gradients
            part = norm(often - large * tape) / (norm(often) or 1.0)
            if tape.any() and often.any():
                self.times = round(math.log(norm(often) / norm(tape), large))
            # else they are noisy, as with Dropout
            if part > FOLLOWS and np.array_equal(
                twin.cycle(scale=1.0).tape_gradients, tape
            ):
                self.part = float(part)
        length = norm(once.rule_gradients) or 1.0
        self.length = float(norm(self.natural.rule_gradients) / length)
        # As large as the tape's own, with the scale that they ought to have, and
        # nowhere zero.
        usual = norm(self.natural.tape_gradients)
        if self.scale:
            usual = norm(tape) * self.scale
        self.usual = float(usual or 1.0) / math.sqrt(len(tape))
        take = partial(loop.cycle, steps=self.natural.steps)
        self.response = Response(partial(take, scale=self.scale), self.usual)
        if self.scale:
            smaller = partial(take, scale=self.scale / APART)
            self.smaller_response = Response(smaller, self.usual / APART)
            scaler = loop.scalers[0]
            if scaler.dynamic_growth_steps > 1:  # after the smallest gradients
                self.grows = int(scaler.step_counter.numpy()) > 0
        if self.float16 or self.scale:
            self._overflow()

    def _missing(self, right):
        """Biases whose gradients are shorter than in float32, where those of kernels are
        as they should be.
        """
        lost = {}
        distances = []
        biases = self._long_biases()
        here = self.loop.parts(self.natural.tape_gradients / (self.scale or 1.0))
        there = self.loop.parts(right.tape_gradients)
        for weight, one, other in zip(self.loop.weights, here, there, strict=True):
            length = norm(other) or 1.0
            if id(weight) in biases:
                lost[weight.path] = float(1 - norm(one) / length)
            else:
                distances.append(norm(one - other) / length)
        # Else something differs that is no bias, as with Dropout.
        if distances and np.median(distances) <= 0.03:
            return {path: part for path, part in lost.items() if part > LOST}
        return {}

    def _long_biases(self):
        """The ids of the biases whose gradients this device may stop adding up here."""
        ids = set()
        for layer in self.loop.model._flatten_layers():
            if layer.compute_dtype != "bfloat16":
                continue
            shape = ()
            if getattr(layer, "_inbound_nodes", None):  # else nothing tells it
                shape = getattr(layer.output, "shape", ())
            positions = math.prod(n or 1 for n in shape[1:-1]) * self.samples
            if positions >= WHOLE["bfloat16"]:
                ids |= {id(w) for w in layer._trainable_variables if w.name == "bias"}
        return ids if ids and bias_sums_stop() else set()

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
        for divisor in (1, 4, 16):
            scale = self.scale and self.scale / divisor
            try:
                few = self.loop.cycle(scale=scale, steps=1)
            except Exception:  # the loop needs its batch
                break
            if few.weights_moved and few.weights_finite and not few.spoiled_calls:
                self.natural = few
                self.scale = scale
                return
        self.loop.whole(eager)

    def _overflow(self):
        """What infinities do to a loop after a good step."""
        small = self.response.readings[SMALL]
        parts = self.loop.parts(small.tape_gradients)
        reached = [n for n, part in enumerate(parts) if part.any()]
        additions = {
            "−∞": dict.fromkeys(reached, -math.inf),
            "NaN in one": dict.fromkeys(reached[-1:], math.nan),
        }
        self.harm = self._harm(additions)
        if SPOILS in self.harm:  # by which of them?
            alone = (self._harm({name: added}) for name, added in additions.items())
            self.harm = next(filter(None, alone), self.harm)

    def _harm(self, additions):
        """What some additions do, one step after another: "" if nothing that lasts."""
        loop = self.loop
        # The good step is the one that doubles the scale.
        last: Any = self.scale and loop.scalers[0].dynamic_growth_steps - 1
        loop.cycle(
            scale=self.scale,
            good_steps=last,
            size=self.usual,
            steps=self.natural.steps,
        )
        if self.scale:
            self.grows = self.grows and loop.scale > 1.5 * self.scale
        for name, added in additions.items():
            scale = loop.scale
            bad = loop.cycle(
                size=self.usual, added=added, steps=self.natural.steps, go_on=True
            )
            if bad.weights_moved:
                return f"({name}) {MOVES}: skip such a step"
            if self.scale:
                self.reaction = max(self.reaction, loop.scale / scale)
        good = loop.cycle(size=self.usual, go_on=True)
        if good.weights_moved and good.weights_finite:
            return ""
        return f"({name}) {SPOILS}"

    @property
    def powers(self) -> tuple[int, int]:
        """Of the loss scale: in the tape's gradients, and in what divides them; 0 if
        unknown.
        """
        if self.smaller_response is None:
            return 0, 0
        over = self.response.divisor / self.smaller_response.divisor
        if math.isnan(over):
            return self.times, self.times
        return self.times, round(math.log(over, APART))

    @property
    def factor(self) -> float:
        """What the loss was multiplied by, as far as the step returns it; else NaN."""
        reading = self.response.readings[SMALL]
        return reading.target / (reading.loss or math.nan)

    @property
    def undivided(self) -> bool:
        """Whether the gradients of the tape, their sum or mean are what updates the
        weights.
        """
        # how many gradients make an update
        sums = self.natural.tape_calls / max(self.natural.updates, 1)
        return any(abs(self.response.divisor * n - 1) < EXACT for n in (1, sums))

    @property
    def clipped(self) -> float:
        """The length in which a gradient reaches the update rule that is too long for
        any limit.
        """
        return float(norm(self.response.readings[LARGE].rule_gradients))
