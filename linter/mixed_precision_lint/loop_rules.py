"""Rules about training loops, MP002, MP014 to MP022 and MP034: what they do wrong in 16
bits.

A right loop takes the same step at every loss scale, and none if a gradient is not
finite.
"""

import math
import re
from collections.abc import Iterator

from numpy.linalg import norm

from mixed_precision_lint.bias_rules import CURE, follows_length
from mixed_precision_lint.case import names
from mixed_precision_lint.finding import Finding, in_order
from mixed_precision_lint.watched import EXACT, cosine

ALIKE = 0.1  # updates that differ by a smaller share of their length are the same
MILD = "MP019", "MP020", "MP035"  # a training may go wrong; with the others it does
APPLY = "optimizer.apply(gradients, weights)  # as the tape gives them, in two lists, at each step"
SCALE = "scaled = optimizer.scale_loss(loss)  # in the tape; then tape.gradient(scaled, weights)"
CLIP = "keras.optimizers.LossScaleOptimizer(SGD(0.1, global_clipnorm=1.0))  # clips after unscaling"
WATCH = "tf.debugging.enable_check_numerics()  # stops where inf or NaN comes from"
F32 = 'Dense(..., dtype="float32")  # that layer; or scale what it is given'
KEEP = 'keras.config.set_dtype_policy("mixed_bfloat16")  # weights, and the rule, in float32'
LARGER = (
    "keras.optimizers.LossScaleOptimizer(optimizer, initial_scale=2.0**15)  # or larger"
)


def findings(w) -> list[Finding]:
    """What the rules find in a `Watched` loop, errors first.

    A rule yields codes and messages, with a fix unless it is `APPLY`.
    """
    problems: list[tuple]
    if w.raised:
        problems = [("MP021", f"The step raises {w.raised}.", cure(w.raised))]
    elif not w.natural.moved:
        problems = [still(w)]
    elif w.natural.spoiled and not w.natural.calls:
        text = "Gradients that are not finite move the weights: skip such a step."
        problems = [("MP018", text)]
    elif not (w.natural.calls and w.natural.updates):
        text = "The weights move without `tape.gradient`, or without the optimizer"
        problems = [("MP021", f"{text}: nothing more can be told.")]
    elif not w.natural.finite:
        text = (
            "The gradients are finite, and the weights are not after the step: the update rule "
            "itself makes NaN or infinity of them."
        )
        problems = [("MP021", text, KEEP)]
    else:
        rules = (
            hidden,
            added_up,
            scaling,
            meets_scaled_gradients,
            infinity,
            scale_stands,
            loss_returned,
            turned,
        )
        problems = [each for rule in rules for each in rule(w)]
    results = []
    for code, message, *fix in problems:
        severity = "warning" if code in MILD else "error"
        results.append(
            Finding(code, severity, w.loop.model.name, message, *fix or [APPLY])
        )
    return in_order(results)


def still(w) -> tuple:
    """Why no step moves a weight, as far as its gradients tell."""
    steps = f"{w.natural.steps} steps move no weight"
    if w.first.spoiled:
        layer, why = w.overflow
        where = "The layers' outputs are finite: it is the loss, or the way back"
        if layer:
            where = f"What {layer} puts out is not finite{why}"
        return (
            "MP021",
            f"{steps}: their gradients are inf or NaN. {where}.",
            F32 if layer else WATCH,
        )
    if w.natural.calls and not w.natural.left.any():
        fix = [LARGER] if w.float16 else []  # no other format needs a scale
        return "MP021", f"{steps}: their gradients are all zero.", *fix
    return "MP021", f"{steps}, though their gradients are finite."


def hidden(w) -> Iterator[tuple]:
    """A layer puts out what is not finite, and neither loss nor gradients tell."""
    layer, why = w.hidden
    if layer:
        text = (
            f"What {layer} puts out is not finite{why}, and neither the loss nor the gradients "
            "show it: a max pooling, for one, drops NaN."
        )
        yield "MP034", text, F32


def added_up(w) -> Iterator[tuple]:
    """A part of a bias's gradient is missing, as bfloat16 added it up."""
    if w.missing and follows_length(w.loop.rule):
        part = max(w.missing.values())
        text = (
            f"Up to {part:.0%} of the gradient of {names(w.missing)} is missing on this batch: a "
            "CPU adds up the gradient of a bias in bfloat16."
        )
        yield "MP035", text, CURE


def cure(text: str) -> str:
    """What may help against an error that a step raised, by its text."""
    if "has no attribute" in text and "scale" in text:
        return SCALE
    if "list containing a tensor" in text:
        return 'self.add_loss(keras.ops.cast(penalty, "float32"))  # a loss in 16 bits; see examine'
    if re.search("half|float16", text):
        return "keras.ops.cast(tensor, other.dtype)  # two dtypes met; see examine"
    return "step(x, y)  # alone, for the whole error: it may have nothing to do with dtypes"


def scaling(w) -> Iterator[tuple]:
    """What multiplies the loss is not what divides the gradients; at most one finding.

    It is measured at two scales, as powers of them: in the gradients of the tape, and
    in what divides them on their way to the update rule. Factors that stay are seen in
    the loss returned.
    """
    times, over = w.powers
    many = f"1/{1 / w.length:,.0f}" if 0 < w.length < 0.1 else f"{w.length:,.3g} times"
    far = f"an update is {many} as long as in float32"
    if over > times and (times or _whole(w.one.divisor / w.scale)):
        yield "MP014", f"The gradients are unscaled twice: {far}."
    elif over > times and _whole(w.factor):
        text = (
            f"The loss is always multiplied by {w.factor:,.6g}, and the number that "
            "divides the gradients changes."
        )
        yield "MP015", text, SCALE
    elif over > times:
        text = f"The loss is not scaled, and the gradients are unscaled: {far}."
        yield "MP015", text, SCALE
    elif times > over:
        yield "MP016", f"Gradients that are still scaled reach the update rule: {far}."
    elif times and w.part > 0.01:
        yield "MP015", "A part of the loss is not scaled.", SCALE
    elif w.float16 and not times and w.undivided and not _whole(w.factor):
        text = "Nothing scales the loss, and gradients go through float16."
        yield "MP002", text, SCALE
    elif _whole(excess := w.factor / w.one.divisor) and not _near(excess, w.samples):
        text = f"The update is {excess:,.4g} times the gradient of the loss returned."
        yield "MP016", text


def meets_scaled_gradients(w) -> Iterator[tuple]:
    """A limit, a decay or the like stands before the unscaling, or some are not
    unscaled.
    """
    if w.other is None or w.powers[0] != w.powers[1]:
        return
    pairs = ((one, w.other.readings[size]) for size, one in w.one.readings.items())
    if any(
        norm(a - b) > ALIKE * max(norm(a), norm(b))
        for one, other in pairs
        for a, b in zip(*map(w.loop.parts, (one.got, other.got)), strict=True)
        if one.moved and other.moved
    ):
        why = "a limit, a decay or the like meets gradients that are still scaled"
        yield (
            "MP017",
            f"The update changes with the loss scale: {why}, or not all are unscaled.",
            CLIP,
        )


def infinity(w) -> Iterator[tuple]:
    """An infinite gradient moves something, ends the training, or is never got over."""
    if w.harm:
        yield "MP018", f"A gradient that is not finite {w.harm}."


def scale_stands(w) -> Iterator[tuple]:
    """The scale does not fall at an overflow, or not rise after enough good steps."""
    if w.reaction > 0.9 and not w.undivided:
        text = "An overflow leaves the loss scale as it is"
        yield "MP019", f"{text}: every step that follows may be lost."
    elif w.powers == (1, 1) and not w.grows:
        yield "MP019", "The loss scale never grows: good steps are not counted."


def loss_returned(w) -> Iterator[tuple]:
    """The step returns the loss scaled."""
    times, over = w.powers
    if _near(w.factor, 1) and (times or not (over or w.undivided)):
        fix = "return loss  # as it was before"
        yield "MP020", "The step returns the scaled loss.", fix


def turned(w) -> Iterator[tuple]:
    """The update does not follow the gradient."""
    along = cosine(w.one.got, w.one.left)
    if along < 0.5 and not math.isnan(w.one.divisor):
        way = "goes uphill" if along < -0.5 else "does not follow the gradient"
        yield "MP022", f"The update {way}."


def _near(value, other):
    return abs(value - other) <= EXACT * abs(other)


def _whole(factor):
    """Whether a factor is a whole number from 2 on, and so no accident."""
    return math.isfinite(factor) and factor > 1.5 and _near(factor, round(factor))
