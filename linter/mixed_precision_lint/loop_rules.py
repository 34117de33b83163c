"""Rules about training loops, MP002, MP014 to MP022 and MP034: what they do wrong in 16
bits.

A right loop takes the same step at every loss scale, and none if a gradient is not
finite.
"""

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from mixed_precision_lint.arrays import relative_distance
from mixed_precision_lint.bias_rules import CURE, follows_length
from mixed_precision_lint.finding import Finding, in_order
from mixed_precision_lint.inspected import names
from mixed_precision_lint.watched import EXACT, Watched, cosine

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


class Problem(NamedTuple):
    """What a rule finds."""

    code: str
    message: str
    fix: str = APPLY


def findings(watched: Watched) -> list[Finding]:
    """What the rules find in a `Watched` loop, errors first."""
    if watched.raised:
        text = f"The step raises {watched.raised}."
        problems = [Problem("MP021", text, cure_of(watched.raised))]
    elif not watched.natural.weights_moved:
        problems = [no_weight_moves(watched)]
    elif watched.natural.spoiled_calls and not watched.natural.tape_calls:
        text = "Gradients that are not finite move the weights: skip such a step."
        problems = [Problem("MP018", text)]
    elif not (watched.natural.tape_calls and watched.natural.updates):
        text = (
            "The weights move without `tape.gradient`, or without the optimizer: nothing "
            "more can be told."
        )
        problems = [Problem("MP021", text)]
    elif not watched.natural.weights_finite:
        text = (
            "The gradients are finite, and the weights are not after the step: the update rule "
            "itself makes NaN or infinity of them."
        )
        problems = [Problem("MP021", text, KEEP)]
    else:
        rules = (
            not_finite_hidden,
            bias_gradient_missing,
            unequal_scaling,
            meets_scaled_gradients,
            not_finite_does_harm,
            scale_stands_still,
            scaled_loss_returned,
            update_off_gradient,
        )
        problems = [problem for rule in rules for problem in rule(watched)]
    name = watched.loop.model.name
    results = []
    for code, message, fix in problems:
        severity = "warning" if code in MILD else "error"
        results.append(Finding(code, severity, name, message, fix))
    return in_order(results)


def no_weight_moves(watched: Watched) -> Problem:
    """Why no step moves a weight, as far as its gradients tell."""
    steps = f"{watched.natural.steps} steps move no weight"
    if watched.first.spoiled_calls:
        layer, why = watched.overflow
        where = "The layers' outputs are finite: it is the loss, or the way back"
        if layer:
            where = f"What {layer} puts out is not finite{why}"
        text = f"{steps}: their gradients are inf or NaN. {where}."
        return Problem("MP021", text, F32 if layer else WATCH)
    if watched.natural.tape_calls and not watched.natural.tape_gradients.any():
        text = f"{steps}: their gradients are all zero."
        # no other format needs a scale
        return Problem("MP021", text, LARGER if watched.float16 else APPLY)
    return Problem("MP021", f"{steps}, though their gradients are finite.")


def not_finite_hidden(watched: Watched) -> Iterator[Problem]:
    """A layer puts out what is not finite, and neither loss nor gradients tell."""
    layer, why = watched.hidden
    if layer:
        text = (
            f"What {layer} puts out is not finite{why}, and neither the loss nor the gradients "
            "show it: a max pooling, for one, drops NaN."
        )
        yield Problem("MP034", text, F32)


def bias_gradient_missing(watched: Watched) -> Iterator[Problem]:
    """A part of a bias's gradient is missing, as bfloat16 added it up."""
    if watched.missing and follows_length(watched.loop.rule):
        part = max(watched.missing.values())
        text = (
            f"Up to {part:.0%} of the gradient of {names(watched.missing)} is missing on this "
            "batch: a CPU adds up the gradient of a bias in bfloat16."
        )
        yield Problem("MP035", text, CURE)


def cure_of(text: str) -> str:
    """What may help against an error that a step raised, by its text."""
    if "has no attribute" in text and "scale" in text:
        return SCALE
    if "list containing a tensor" in text:
        return 'self.add_loss(keras.ops.cast(penalty, "float32"))  # a loss in 16 bits; see examine'
    if re.search("half|float16", text):
        return "keras.ops.cast(tensor, other.dtype)  # two dtypes met; see examine"
    return "step(x, y)  # alone, for the whole error: it may have nothing to do with dtypes"


def unequal_scaling(watched: Watched) -> Iterator[Problem]:
    """What multiplies the loss is not what divides the gradients; at most one finding.

    It is measured at two scales, as powers of them: in the gradients of the tape, and
    in what divides them on their way to the update rule. Factors that stay are seen in
    the loss returned.
    """
    times, over = watched.powers
    many = f"{watched.length:,.3g} times"
    if 0 < watched.length < 0.1:
        many = f"1/{1 / watched.length:,.0f}"
    far = f"an update is {many} as long as in float32"
    divisor = watched.response.divisor
    factor = watched.factor
    excess = factor / divisor
    if over > times and (times or _whole(divisor / (watched.scale or math.nan))):
        yield Problem("MP014", f"The gradients are unscaled twice: {far}.")
    elif over > times and _whole(factor):
        text = (
            f"The loss is always multiplied by {factor:,.6g}, and the number that "
            "divides the gradients changes."
        )
        yield Problem("MP015", text, SCALE)
    elif over > times:
        text = f"The loss is not scaled, and the gradients are unscaled: {far}."
        yield Problem("MP015", text, SCALE)
    elif times > over:
        yield Problem(
            "MP016", f"Gradients that are still scaled reach the update rule: {far}."
        )
    elif times and watched.part:
        yield Problem("MP015", "A part of the loss is not scaled.", SCALE)
    elif watched.float16 and not times and watched.undivided and not _whole(factor):
        text = "Nothing scales the loss, and gradients go through float16."
        yield Problem("MP002", text, SCALE)
    elif _whole(excess) and not _near(excess, watched.samples):
        text = f"The update is {excess:,.4g} times the gradient of the loss returned."
        yield Problem("MP016", text)


def meets_scaled_gradients(watched: Watched) -> Iterator[Problem]:
    """A limit, a decay or the like stands before the unscaling, or some are not
    unscaled.
    """
    if watched.smaller_response is None or watched.powers[0] != watched.powers[1]:
        return
    for size, reading in watched.response.readings.items():
        at_smaller = watched.smaller_response.readings[size]
        if not (reading.weights_moved and at_smaller.weights_moved):
            continue
        updates = watched.loop.parts(reading.rule_gradients)
        others = watched.loop.parts(at_smaller.rule_gradients)
        distances = map(relative_distance, updates, others)
        if any(distance > ALIKE for distance in distances):
            text = (
                "The update changes with the loss scale: a limit, a decay or the like meets "
                "gradients that are still scaled, or not all are unscaled."
            )
            yield Problem("MP017", text, CLIP)
            return


def not_finite_does_harm(watched: Watched) -> Iterator[Problem]:
    """An infinite gradient moves something, ends the training, or is never got over."""
    if watched.harm:
        yield Problem("MP018", f"A gradient that is not finite {watched.harm}.")


def scale_stands_still(watched: Watched) -> Iterator[Problem]:
    """The scale does not fall at an overflow, or not rise after enough good steps."""
    if watched.reaction > 0.9 and not watched.undivided:
        text = "An overflow leaves the loss scale as it is"
        yield Problem("MP019", f"{text}: every step that follows may be lost.")
    elif watched.powers == (1, 1) and not watched.grows:
        yield Problem(
            "MP019", "The loss scale never grows: good steps are not counted."
        )


def scaled_loss_returned(watched: Watched) -> Iterator[Problem]:
    """The step returns the loss scaled."""
    times, over = watched.powers
    if _near(watched.factor, 1) and (times or not (over or watched.undivided)):
        fix = "return loss  # as it was before"
        yield Problem("MP020", "The step returns the scaled loss.", fix)


def update_off_gradient(watched: Watched) -> Iterator[Problem]:
    """The update does not follow the gradient."""
    along = cosine(watched.response.rule_gradients, watched.response.tape_gradients)
    if along < 0.5 and not math.isnan(watched.response.divisor):
        way = "goes uphill" if along < -0.5 else "does not follow the gradient"
        yield Problem("MP022", f"The update {way}.")


def _near(value, other):
    return abs(value - other) <= EXACT * abs(other)


def _whole(factor):
    """Whether a factor is a whole number from 2 on, and so no accident."""
    return math.isfinite(factor) and factor > 1.5 and _near(factor, round(factor))
