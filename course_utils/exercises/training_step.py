"""The judge of a training step, in notebook 06: it runs beside the right one."""

import math

import numpy as np

from .answers import describe, number
from .functions import Function
from .small_training import TRIALS, right_steps, run

ALIKE = 0.05  # steps that differ by a smaller share of their length are the same
NEW = "Keras 3 has `scale_loss`, and `apply` unscales."
ANY = "Every optimizer has `scale_loss` and `apply`."
CAUSES = {  # a part of an error, and what is behind it
    "get_scaled_loss": NEW,
    "get_unscaled_gradients": NEW,
    "no attribute 'inner_optimizer'": ANY,
    "no attribute 'dynamic_scale'": ANY,
    "no attribute 'minimize'": "Keras 3 has `apply(gradients, variables)`.",
    "No gradients provided": "Call `scale_loss` within the tape's `with` block.",
    "type 'zip'": "`apply` takes a list of gradients and a list of variables.",
    "Unknown variable": "Take the gradients of `model.trainable_variables`.",
}
SCALED, GIVEN = "optimizer.scale_loss(loss)", "apply(gradients"
WEIGHTS = "model.trainable_variables"
BOTH = f"gradients, {WEIGHTS}"
APPLY, BY_HAND = f"optimizer.apply({BOTH})", f"for g, w in zip({BOTH}): w.assign_sub"
RESET = "if hasattr(optimizer, 'dynamic_scale'): optimizer.step_counter.assign(0)"
FINITE = "tf.math.is_finite(tf.linalg.global_norm(gradients))"
CLEANED = "[tf.where(tf.math.is_finite(g), g, 0.0) for g in gradients]"
UNSCALED = "[g / optimizer.dynamic_scale for g in gradients]"
SLIPS = {  # a part of what is said, and the edits that make the right step a wrong one
    "4,096 times too small. `apply` divides by the loss scale": {SCALED: "loss"},
    "small. Either you unscale and `apply` does too": {GIVEN: f"apply({UNSCALED}"},
    "4,096 times too large. The inner": {APPLY: APPLY.replace(".", ".inner_optimizer.", 1)},
    "inner optimizer neither looks for": {GIVEN: f"inner_optimizer.apply({UNSCALED}"},
    "8 times too large. The loss has another": {SCALED: "loss * 2.0**15"},
    "or clip before `apply`": {GIVEN: "apply(tf.clip_by_global_norm(gradients, 1.0)[0]"},
    "2 times too small. A plain": {SCALED: "loss * getattr(optimizer, 'dynamic_scale', 0.5)"},
    "goes uphill": {GIVEN: "apply([-g for g in gradients]"},
    "% of its length": {GIVEN: "apply([g * (g.shape == (8, 3)) for g in gradients]"},
    "works as in evaluation. Call": {"training=True": "training=False"},
    "BatchNormalization differ. Call": {"return": "model(x + 1, training=True)\n    return"},
    "moves no weight. `apply` reads the `zip`": {BOTH: f"zip({BOTH})"},
    "Are all gradients zero?": {GIVEN: "apply([0 * g for g in gradients]"},
    "moves no weight. Give the": {APPLY: "pass"},
    "and not by the optimizer": {APPLY: BY_HAND + "(g * abs(g))"},
    "not counted your step": {SCALED: "loss", APPLY: BY_HAND + "(0.1 * g)"},
    "not finite any more": {APPLY: BY_HAND + "(g / 0)"},
    "now your weights are not finite": {"return": BY_HAND + "(0 * g)\n    return"},
    "your loss scale stays": {APPLY: f"if {FINITE}: {APPLY}"},
    "your weights move. Let `apply` see": {GIVEN: f"apply({CLEANED}"},
    "`apply` moves it: call it once": {"return": f"{RESET}\n    return"},
    "No gradients provided for any variable. Call": {"    scaled =": "scaled ="},
    "Keras 3 has `scale_loss`": {"scale_loss": "get_scaled_loss"},
    "Every optimizer has `sc": {"return": "optimizer.inner_optimizer\n    return"},
    "Unknown variable": {WEIGHTS: "model.variables"},
    "returns the scaled loss": {"return loss": "return scaled"},
    "a tuple of 2 items": {"return loss": "return loss, gradients"},
    "returns None": {"return loss": "pass"},
    "the text": {"return loss": "return f'{float(loss):.3f}'"},
    "as the loss, and": {"return loss": "return 2 * loss"},
}


def train(function, trial):
    """What the learner's step does otherwise than the right one in a trial, or None."""
    import keras  # late: it loads TensorFlow, which takes seconds

    from course_utils.training import dtype_policy

    policy, power = trial
    kind = "plain optimizer" if power is None else f"LossScaleOptimizer from 2**{power}"
    with dtype_policy(keras.config.dtype_policy()):  # restored, whatever the function does
        pairs = zip(run(function, policy, power), right_steps(policy, power), strict=True)
        for index, (step, right) in enumerate(pairs, 1):
            if problem := compare(step, right):
                return f"{policy}, {kind}, step {index}: {problem}"
    return None


def compare(step, right):
    """None where two steps do the same, else what `step` does otherwise, and why it may."""
    if step.problem:
        cause = next((cause for part, cause in CAUSES.items() if part in step.problem), None)
        return f"{step.problem.rstrip('.')}. {cause}" if cause else step.problem
    overflows = right.scales[0] != right.scales[1] and not right.after["iterations"]
    problem = _overflow(step) if overflows else _update(step, right)
    return problem or _rest(step, right) or _loss(step.result, right)


def _overflow(step):
    """What is wrong with a step whose gradients are infinite."""
    start = "The gradients are infinite, and"
    if not np.isfinite(step.change).all():
        return f"{start} now your weights are not finite. `optimizer.apply` would skip the step."
    if step.change.any():
        return f"{start} your weights move. Let `apply` see the infinity: it skips the step."
    ending = "Call `apply` even so: it skips and halves the scale."
    return f"{start} your loss scale stays. {ending}" if step.keeps("scale") else None


def _update(step, right):
    """What is wrong with the change of the weights in a step that is to be applied."""
    change, wanted, calls = step.change, right.change, step.calls
    if not np.isfinite(change).all():
        return "Your weights are not finite any more. Is the loss scaled and never unscaled?"
    if not change.any():
        if "zip" in calls:
            said = "`apply` reads the `zip` to look for infinity and then finds it empty"
            return f"Your function moves no weight. {said}: give it two lists."
        if calls & {"apply", "inner apply"}:
            return "Your function calls `apply` and moves no weight. Are all gradients zero?"
        return "Your function moves no weight. Give the gradients to `optimizer.apply`."
    if _alike(change, wanted):
        return None
    if step.keeps("averages"):
        return "BatchNormalization works as in evaluation. Call the model with `training=True`."
    factor = change @ wanted / (wanted @ wanted)
    if _alike(change, factor * wanted):
        return _factor(factor, right.scales[0], calls)
    if not step.after["iterations"]:
        return "Your weights move, and not by the optimizer. Give the gradients to its `apply`."
    percent = _plain(100 * np.linalg.norm(change - wanted) / np.linalg.norm(wanted))
    said = f"Your update differs from the right one by {percent} % of its length."
    return f"{said} Give `apply` the gradients as the tape gives them."


def _factor(factor, scale, calls):
    """Why an update may have the right direction and a wrong length."""
    if factor < 0:
        return "Your update goes uphill. `apply` subtracts the gradients itself."
    if factor > 1:
        start = f"Your update is {_plain(factor)} times too large."
        if scale and "apply" not in calls:
            return f"{start} The inner optimizer does not unscale, and `optimizer.apply` does."
        return f"{start} The loss has another factor than the one that `scale_loss` gives it."
    start = f"Your update is {_plain(1 / factor)} times too small."
    if not scale:
        return f"{start} A plain optimizer has no scale: leave its gradients undivided."
    if not _alike(factor * scale, 1):
        return f"{start} What you divide or clip before `apply` is not unscaled yet."
    if "scale_loss" in calls:
        return (
            f"{start} Either you unscale and `apply` does too, or your tape goes back from the loss"
            " that is not scaled."
        )
    return f"{start} `apply` divides by the loss scale: multiply the loss by it, with `scale_loss`."


def _rest(step, right):
    """What is wrong with counters and averages, the weights being right."""
    if step.scales != right.scales:
        scale, wanted = _plain(step.scales[1]), _plain(right.scales[1])
        start = f"The weights are right, and the loss scale is {scale} instead of {wanted}."
        if "apply" in step.calls:
            return f"{start} `apply` moves it: call it once in each step."
        said = "The inner optimizer neither looks for infinity nor moves the scale"
        return f"{start} {said}: `optimizer.apply` does, and it unscales."
    if step.after["iterations"] != right.after["iterations"]:
        return "The optimizer has not counted your step. Call its `apply` once in each step."
    differ = not _alike(step.after["averages"], right.after["averages"])
    once = "Call the model once in each step, with `training=True`."
    return f"The averages of BatchNormalization differ. {once}" if differ else None


def _loss(result, right):
    """What is wrong with the returned loss."""
    value, wanted = number(result), number(right.result)
    if value is None:
        return f"Your function returns {describe(result)}: return the loss, one finite number."
    if _alike(value, wanted):
        return None
    if any(scale and _alike(value, wanted * scale) for scale in right.scales):
        return "Your function returns the scaled loss: return the loss as it was before."
    return f"Your function returns {value:.4g} as the loss, and {wanted:.4g} is right."


def _alike(values, wanted):
    return np.linalg.norm(values - wanted) <= ALIKE * np.linalg.norm(wanted)


def _plain(value):
    """A few digits; what the rounding of the weights blurs is a power of two again."""
    power = 2.0 ** round(math.log2(value)) if value > 0 else 0
    value = power if abs(value - power) <= 0.005 * power else float(f"{value:.3g}")
    return f"{value:,.12g}"


judge = Function(train, TRIALS)
