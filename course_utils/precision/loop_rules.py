"""Rules about training loops, MP002 and MP014 to MP022: what they do wrong in 16 bits.

A right loop takes the same step at every loss scale, and none if a gradient is not finite.
"""

import math

import numpy as np

from course_utils.precision.case import Finding, names
from course_utils.precision.watched import EXACT, SMALL, cosine, length

ALIKE = 0.1  # updates that differ by a smaller share of their length are the same
SCALE = "scaled = optimizer.scale_loss(loss)  # in the tape; then tape.gradient(scaled, weights)"
APPLY = "optimizer.apply(gradients, weights)  # as they come from the tape"
CLIP = "keras.optimizers.LossScaleOptimizer(SGD(0.1, global_clipnorm=1.0))  # clips after unscaling"


def does_nothing(w):
    """MP021: the step raises, or moves no weight."""
    if w.raised:
        yield "MP021", f"The step raises {w.raised}.", SCALE
    elif not w.natural.moved:
        message = f"{w.natural.steps} steps with finite gradients move no weight."
        yield "MP021", message, f"{APPLY}: two lists, not a zip"


def scaling(w):
    """MP002, MP014 to MP016, MP022: what multiplies the loss is not what divides the gradients.

    It is measured at two scales, as powers of them: in the gradients of the tape, and in what
    divides them on their way to the update rule. Factors that stay are seen in the loss returned.
    """
    times, over = w.powers
    excess = w.factor / w.one.divisor  # of the update, beside the gradient of the loss returned
    many = f"1/{1 / w.length:,.0f}" if 0 < w.length < 0.1 else f"{w.length:,.3g} times"
    far = f"an update is {many} as long as in float32"
    if w.natural.updates > 1.01 * w.natural.calls:
        often = w.natural.updates / w.natural.calls
        yield "MP022", f"Each gradient updates the weights {often:.2g} times.", APPLY
    elif over > times:
        if times or _whole(w.one.divisor / w.scale):
            yield "MP014", f"The gradients are unscaled twice: {far}.", APPLY
        elif _whole(w.factor):
            message = f"The loss has the fixed factor {w.factor:,.6g}, and what divides moves."
            yield "MP017", message, SCALE
        else:
            message = f"The loss is not scaled, and the gradients are unscaled: {far}."
            yield "MP015", message, SCALE
    elif times > over:
        message = f"Gradients that are still scaled reach the update rule: {far}."
        if _whole(w.one.divisor):
            message = (
                f"The scale of the loss moves, and what divides is fixed: {w.one.divisor:,.6g}."
            )
        yield "MP016", message, APPLY
    elif times and w.noise < EXACT and w.part > 0.01:
        yield "MP015", "A part of the loss is not scaled.", SCALE
    elif w.float16 and not times and w.undivided:
        if _whole(w.factor):
            message = f"The loss is multiplied by {w.factor:,.4g} and no gradient is divided by it."
            yield "MP016", message, APPLY
        else:
            yield "MP002", "Nothing scales the loss, and gradients go through float16.", SCALE
    elif w.loop.by_hand:  # in what divides the gradients is the learning rate too
        return
    elif _whole(excess) and _near(excess, w.sums):
        message = f"The update is the sum of {excess:.0f} gradients, and not their mean."
        yield "MP022", message, f"gradients = [g / {excess:.0f} for g in gradients]"
    elif _whole(excess):
        message = f"The update is {excess:,.4g} times the gradient of the loss that is returned."
        yield "MP016", message, APPLY
    elif _whole(1 / excess) and not _near(w.factor, 1) and not _near(1 / excess, w.sums):
        message = f"The gradients are divided by {1 / excess:,.4g} too much."
        yield "MP014", message, APPLY


def meets_scaled_gradients(w):
    """MP017: a limit, a decay or the like stands before the unscaling, or some are not unscaled."""
    times, over = w.powers
    if w.other is None or times != over or not w.steady or w.natural.updates > w.natural.calls:
        return
    pairs = [(one, w.other.readings[size]) for size, one in w.one.readings.items()]
    if w.grown and w.natural.steps == 1:  # the scale moves between scaling and unscaling
        pairs.append((w.grown, w.one.readings[1.0]))
    changed = {
        weight.path: None
        for one, other in pairs
        for weight, a, b in zip(w.loop.weights, one.got, other.got, strict=True)
        if one.moved and other.moved and length([a - b]) > ALIKE * max(length([a]), length([b]))
    }
    if changed:
        what = "The update" if len(changed) == len(w.loop.weights) else f"That of {names(changed)}"
        message = (
            f"{what} changes with the loss scale: a limit, a decay or the like meets gradients "
            "that are still scaled, or not all are unscaled."
        )
        yield "MP017", message, CLIP


def infinity(w):
    """MP018: an infinite gradient moves something, ends the training, or is never got over."""
    bad = {name: each for name, each in w.overflows.items() if each.raised or each.moved}
    stuck = [name for name, each in w.overflows.items() if not each.recovers]
    if bad:
        name, each = next(iter(bad.items()))
        does = (
            f"raises {each.raised}"
            if each.raised
            else "moves the weights, or what the optimizer keeps"
        )
        yield "MP018", f"A gradient that is not finite ({name}) {does}: skip such a step.", APPLY
    elif stuck:
        message = f"After a gradient that is not finite ({stuck[0]}) no finite one moves a weight."
        yield "MP018", message, APPLY


def scale_stands(w):
    """MP019: the scale does not fall at an overflow, or not rise after enough good steps."""
    reaction = max((o.reaction for o in w.overflows.values()), key=lambda r: r == r, default=0)
    if reaction > 0.9 and not w.undivided:
        message = "An overflow leaves the loss scale as it is: every step that follows may be lost."
        yield "MP019", message, f"{APPLY}: for each step, skipped ones too"
    elif w.powers == (1, 1) and not w.grows:
        yield "MP019", "The loss scale never grows: good steps are not counted.", APPLY


def loss_returned(w):
    """MP020: the loss is float16, or the step returns it scaled, or as 0."""
    times, over = w.powers
    if w.loop.narrow:
        message = "The loss is float16: scaled, it overflows from 65,520 on."
        yield "MP020", message, "loss = tf.cast(loss, 'float32')  # before it is scaled"
    if w.natural.loss == 0 and w.natural.target:
        fix = "self._loss_tracker.update_state(loss)  # fit shows the metrics, not what is returned"
        yield "MP020", "The step returns a loss of 0, and trains another one.", fix
    elif _near(w.factor, 1) and (times or not (over or w.undivided or w.loop.by_hand)):
        yield "MP020", "The step returns the scaled loss.", "return loss  # as it was before"


def turned(w):
    """MP008, MP022: the update does not follow the gradient, follows large ones only, or is cut."""
    if w.natural.rounded:
        message = "The weights are float16 after a step: small updates are rounded away."
        yield "MP008", message, "weight.assign_sub(update)  # of float32"
    pairs = list(zip(w.loop.weights, w.one.got, w.one.left, strict=True))
    aside = [v.path for v, a, b in pairs if length([a]) and cosine([a], [b]) < 0.5]
    one, two = (w.one.readings[size] for size in (SMALL, 1.0))
    gone = [
        np.where((a == 0) & (b != 0), g, 0)
        for a, b, g in zip(one.got, two.got, one.left, strict=True)
    ]
    if length(gone) > ALIKE * length(one.left):
        message = "Small gradients become zero on their way to the update: a cast to 16 bits?"
        yield "MP022", message, "tf.cast(gradient, weight.dtype)  # and only then divide"
    elif aside and not math.isnan(w.one.divisor):
        uphill = cosine(w.one.got, w.one.left) < -0.5
        way = "goes uphill" if uphill else f"of {names(aside)} does not follow the gradient"
        yield "MP022", f"The update {way}.", APPLY


def unlike_float32(w):
    """MP022: the update has another direction or length than in float32."""
    far = abs(w.length - 1) > max(0.25, 3 * w.noise) or w.cosine < 0.9 - w.noise
    if far and math.isfinite(w.length):
        message = f"An update is {w.length:.2g} times as long as float32's (cosine {w.cosine:.2f})."
        yield "MP022", message, "loss = tf.cast(loss, 'float32')  # and what is done to it"


RULES = (scaling, meets_scaled_gradients, infinity, scale_stands, loss_returned, turned)


def findings(w) -> list[Finding]:
    """What the rules find in a `Watched` loop, errors first."""
    rules = (does_nothing,) if w.raised or not w.natural.moved else RULES
    found = [each for rule in rules for each in rule(w)] or list(unlike_float32(w))
    mild = "MP019", "MP020"
    name = w.loop.model.name
    made = [Finding(c, "warning" if c in mild else "error", name, m, f) for c, m, f in found]
    return sorted(made, key=lambda finding: (finding.severity, finding.code))


def _near(value, other):
    return abs(value - other) <= EXACT * abs(other)


def _whole(factor):
    """Whether a factor is a whole number from 2 on, and so no accident."""
    return math.isfinite(factor) and factor > 1.5 and _near(factor, round(factor))
