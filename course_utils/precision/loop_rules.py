"""Rules about training loops, MP002 and MP014 to MP022: what they do wrong in 16
bits.

A right loop takes the same step at every loss scale, and none if a gradient is not
finite.
"""

import math

from numpy.linalg import norm

from course_utils.precision.case import Finding, names
from course_utils.precision.watched import EXACT, SMALL, cosine

ALIKE = 0.1  # updates that differ by a smaller share of their length are the same
MILD = "MP019", "MP020"  # a training may go wrong; with the others it does
APPLY = "optimizer.apply(gradients, weights)  # as the tape gives them, in two lists, at each step"
SCALE = "scaled = optimizer.scale_loss(loss)  # in the tape; then tape.gradient(scaled, weights)"
CLIP = "keras.optimizers.LossScaleOptimizer(SGD(0.1, global_clipnorm=1.0))  # clips after unscaling"
CAST = "loss = tf.cast(loss, 'float32')  # before it is scaled, and whatever else is done to it"
WATCH = "tf.debugging.enable_check_numerics()  # stops where inf or NaN comes from"
LARGER = (
    "keras.optimizers.LossScaleOptimizer(optimizer, initial_scale=2.0**15)  # or larger"
)


def findings(w) -> list[Finding]:
    """What the rules find in a `Watched` loop, errors first.

    A rule yields codes and messages, with a fix unless it is `APPLY`.
    """
    found: list[tuple]
    if w.raised:
        found = [("MP021", f"The step raises {w.raised}.", SCALE)]
    elif not w.natural.moved:
        found = [still(w)]
    elif w.natural.spoiled and not w.natural.calls:
        found = [
            (
                "MP018",
                "Gradients that are not finite move the weights: skip such a step.",
            )
        ]
    elif not w.natural.calls:
        found = [
            (
                "MP021",
                "The weights move without `tape.gradient`: nothing more can be told.",
            )
        ]
    else:
        rules = (
            scaling,
            meets_scaled_gradients,
            infinity,
            scale_stands,
            loss_returned,
            turned,
        )
        found = [each for rule in rules for each in rule(w)] or list(unlike_float32(w))
    made = []
    for code, message, *fix in found:
        severity = "warning" if code in MILD else "error"
        made.append(
            Finding(code, severity, w.loop.model.name, message, *fix or [APPLY])
        )
    return sorted(made, key=lambda finding: (finding.severity, finding.code))


def still(w):
    """Why no step moves a weight, as far as its gradients tell."""
    steps = f"{w.natural.steps} steps move no weight"
    if w.first.spoiled:
        return "MP021", f"{steps}: their gradients are inf or NaN.", WATCH
    if w.natural.calls and not w.natural.left.any():
        fix = [LARGER] if w.float16 else []  # no other format needs a scale
        return "MP021", f"{steps}: their gradients are all zero.", *fix
    return "MP021", f"{steps}, though their gradients are finite."


def scaling(w):
    """What multiplies the loss is not what divides the gradients; at most one finding.

    It is measured at two scales, as powers of them: in the gradients of the tape, and
    in what divides them on their way to the update rule. Factors that stay are seen in
    the loss returned.
    """
    times, over = w.powers
    divisor = w.one.divisor
    sums = w.sums
    # of the update, beside the gradient of the loss returned
    excess = w.factor / divisor
    many = f"1/{1 / w.length:,.0f}" if 0 < w.length < 0.1 else f"{w.length:,.3g} times"
    far = f"an update is {many} as long as in float32"
    if sums < 0.99:
        yield "MP022", f"Each gradient updates the weights {1 / sums:.2g} times."
    elif over > times and (times or _whole(divisor / w.scale)):
        yield "MP014", f"The gradients are unscaled twice: {far}."
    elif over > times and _whole(w.factor):
        told = f"The loss scale is frozen at {w.factor:,.6g}, and what divides the gradients"
        yield "MP017", f"{told} moves: multiply by the scale of each step.", SCALE
    elif over > times:
        yield (
            "MP015",
            f"The loss is not scaled, and the gradients are unscaled: {far}.",
            SCALE,
        )
    elif times > over and _whole(divisor):
        yield (
            "MP016",
            f"The scale of the loss moves, and what divides is fixed: {divisor:,.6g}.",
        )
    elif times > over:
        yield "MP016", f"Gradients that are still scaled reach the update rule: {far}."
    elif times and w.noise < EXACT and w.part > 0.01:
        yield "MP015", "A part of the loss is not scaled.", SCALE
    elif w.float16 and not times and w.undivided and _whole(w.factor):
        yield (
            "MP016",
            f"The loss is multiplied by {w.factor:,.4g}, and nothing divides by it.",
        )
    elif w.float16 and not times and w.undivided:
        yield (
            "MP002",
            "Nothing scales the loss, and gradients go through float16.",
            SCALE,
        )
    elif w.loop.by_hand:  # in what divides the gradients is the learning rate too
        return
    elif _whole(excess):
        yield (
            "MP016",
            f"The update is {excess:,.4g} times the gradient of the loss returned.",
        )


def meets_scaled_gradients(w):
    """A limit, a decay or the like stands before the unscaling, or some are not
    unscaled.
    """
    if w.other is None or w.powers[0] != w.powers[1] or not w.steady or w.sums < 0.99:
        return
    pairs = [(one, w.other.readings[size]) for size, one in w.one.readings.items()]
    # the scale moves between scaling and unscaling
    if w.grown and w.natural.steps == 1:
        pairs.append((w.grown, w.one.readings[1.0]))
    weights = w.loop.weights
    changed = {}
    for one, other in pairs:
        for v, a, b in zip(
            weights, *map(w.loop.parts, (one.got, other.got)), strict=True
        ):
            if (
                one.moved
                and other.moved
                and norm(a - b) > ALIKE * max(norm(a), norm(b))
            ):
                changed[v.path] = None
    if changed:
        what = (
            "The update"
            if len(changed) == len(weights)
            else f"That of {names(changed)}"
        )
        why = "a limit, a decay or the like meets gradients that are still scaled"
        yield (
            "MP017",
            f"{what} changes with the loss scale: {why}, or not all are unscaled.",
            CLIP,
        )


def infinity(w):
    """An infinite gradient moves something, ends the training, or is never got over."""
    if w.harm:
        yield "MP018", f"A gradient that is not finite {w.harm}."


def scale_stands(w):
    """The scale does not fall at an overflow, or not rise after enough good steps."""
    if w.reaction > 0.9 and not w.undivided:
        told = "An overflow leaves the loss scale as it is"
        yield "MP019", f"{told}: every step that follows may be lost."
    elif w.powers == (1, 1) and not w.grows:
        yield "MP019", "The loss scale never grows: good steps are not counted."


def loss_returned(w):
    """The loss is float16, or the step returns it scaled."""
    times, over = w.powers
    if w.loop.narrow:
        yield "MP020", "The loss is float16: scaled, it overflows from 65,520 on.", CAST
    if _near(w.factor, 1) and (times or not (over or w.undivided or w.loop.by_hand)):
        yield (
            "MP020",
            "The step returns the scaled loss.",
            "return loss  # as it was before",
        )


def turned(w):
    """The update does not follow the gradient, follows large ones only, or is cut."""
    parts = zip(
        w.loop.weights, *map(w.loop.parts, (w.one.got, w.one.left)), strict=True
    )
    aside = [v.path for v, got, left in parts if norm(got) and cosine(got, left) < 0.5]
    small, usual = (w.one.readings[size].got for size in (SMALL, 1.0))
    if norm(w.one.left[(small == 0) & (usual != 0)]) > ALIKE * norm(w.one.left):
        told = (
            "Small gradients become zero on their way to the update: a cast to 16 bits?"
        )
        yield "MP022", told, "tf.cast(gradient, weight.dtype)  # and only then divide"
    elif aside and not math.isnan(w.one.divisor):
        uphill = cosine(w.one.got, w.one.left) < -0.5
        way = (
            "goes uphill"
            if uphill
            else f"of {names(aside)} does not follow the gradient"
        )
        yield "MP022", f"The update {way}."


def unlike_float32(w):
    """The update has another direction or length than in float32."""
    far = abs(w.length - 1) > max(0.25, 3 * w.noise) or w.cosine < 0.9 - w.noise
    if far and math.isfinite(w.length):
        beside = f"{w.length:.2g} times as long as float32's (cosine {w.cosine:.2f})"
        yield (
            "MP022",
            f"An update is {beside}: what computes so small or large numbers?",
            CAST,
        )


def _near(value, other):
    return abs(value - other) <= EXACT * abs(other)


def _whole(factor):
    """Whether a factor is a whole number from 2 on, and so no accident."""
    return math.isfinite(factor) and factor > 1.5 and _near(factor, round(factor))
