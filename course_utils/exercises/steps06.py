"""What is wrong with one training step, seen beside the right one.

Example: `compare(step, right)` is None, or says what differs and why.
"""

import math
from dataclasses import dataclass

import numpy as np

from .answers import describe, number

ALIKE = 0.05  # steps that differ by a smaller share of their length are the same


@dataclass(frozen=True)
class State:
    """What a step may change, as NumPy sees it.

    Attributes:
        weights: float64 (n,), the trainable variables of the model in one row.
        averages: float64 (m,), those of BatchNormalization.
        scale: the loss scale, or None with a plain optimizer.
        iterations: the steps that the optimizer has applied.
    """

    weights: np.ndarray
    averages: np.ndarray
    scale: float | None
    iterations: int


@dataclass(frozen=True)
class Step:
    """One step of a run: the states around it, what it returned or raised, and the calls so far."""

    before: State
    after: State
    result: object
    problem: str | None
    calls: frozenset


def compare(step, right):
    """None if two steps do the same, else what `step` does otherwise.

    Args:
        step: the learner's `Step`.
        right: that of the reference.

    Example:
        >>> at = State(np.zeros(1), np.zeros(1), None, 0)
        >>> compare(Step(at, at, None, "Your function raises KeyError: 1", frozenset()), None)
        'Your function raises KeyError: 1'
    """
    if step.problem:
        return _advice(step.problem)
    if step.result is None:
        return "Your function returns None: end it with `return loss`."
    overflow = right.before.scale != right.after.scale and not right.after.iterations
    problem = _overflow(step, right) if overflow else _weights(step, right)
    return problem or _rest(step, right) or _loss(step.result, right)


def _advice(problem):
    """An error's text, and the cause where it is known."""
    causes = {
        "scaled_loss": "Keras 3 has `scale_loss`, and `apply` unscales.",
        "unscaled_gradients": "Keras 3 has `scale_loss`, and `apply` unscales.",
        "No gradients provided": "Call `scale_loss` within the tape's `with` block.",
        "no attribute 'inner_optimizer'": "Every optimizer has `scale_loss` and `apply`.",
        "no attribute 'dynamic_scale'": "Every optimizer has `scale_loss` and `apply`.",
        "no attribute 'minimize'": "Keras 3 has `apply(gradients, variables)`.",
        "type 'zip'": "`apply` takes a list of gradients and a list of variables.",
        "Unknown variable": "Take the gradients of `model.trainable_variables`.",
    }
    for fragment, cause in causes.items():
        if fragment in problem:
            return f"{problem.rstrip('.')}. {cause}"
    return problem


def _weights(step, right):
    """What is wrong with the change of the weights in a step that is to be applied."""
    calls = step.calls
    change, wanted = (s.after.weights - s.before.weights for s in (step, right))
    if not np.isfinite(change).all():
        return "Your weights are not finite any more. Is the loss scaled and never unscaled?"
    if not change.any():
        if "zip" in calls:
            return (
                "Your function moves no weight. `apply` reads the `zip` to look for infinity and"
                " then finds it empty: give it two lists."
            )
        if calls & {"apply", "inner apply"}:
            return "Your function calls `apply` and moves no weight. Are all gradients zero?"
        return "Your function moves no weight. Give the gradients to `optimizer.apply`."
    if _alike(change, wanted):
        return None
    if np.array_equal(step.after.averages, step.before.averages):
        return "BatchNormalization works as in evaluation. Call the model with `training=True`."
    factor = change @ wanted / (wanted @ wanted)
    if _alike(change, factor * wanted):
        return _factor(factor, right.before.scale, calls)
    if not step.after.iterations:
        return "Your weights move, and not by the optimizer. Give the gradients to its `apply`."
    share = np.linalg.norm(change - wanted) / np.linalg.norm(wanted)
    return (
        f"Your update differs from the right one by {_plain(100 * share)} % of its length. Give"
        " `apply` the gradients as the tape gives them."
    )


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
    if not _near(factor * scale, 1):
        return f"{start} What you divide or clip before `apply` is not unscaled yet."
    if "scale_loss" in calls:
        return (
            f"{start} Either you unscale and `apply` does too, or your tape goes back from the loss"
            " that is not scaled."
        )
    return f"{start} `apply` divides by the loss scale: multiply the loss by it, with `scale_loss`."


def _overflow(step, right):
    """What is wrong with a step whose gradients are infinite."""
    start = "The gradients are infinite, and"
    if not np.isfinite(step.after.weights).all():
        return f"{start} now your weights are not finite. `optimizer.apply` would skip the step."
    if not np.array_equal(step.after.weights, step.before.weights):
        return f"{start} your weights move. Let `apply` see the infinity: it skips the step."
    if step.after.scale == step.before.scale:
        return (
            f"{start} your loss scale stays. Call `apply` even so: it skips and halves the scale."
        )
    return None


def _rest(step, right):
    """What is wrong with counters and averages, the weights being right."""
    if step.after.scale != right.after.scale:
        start = (
            f"The weights are right, and the loss scale is {_plain(step.after.scale)} instead of"
            f" {_plain(right.after.scale)}."
        )
        if "apply" not in step.calls:
            return (
                f"{start} The inner optimizer neither looks for infinity nor moves the scale:"
                " `optimizer.apply` does, and it unscales."
            )
        return f"{start} `apply` moves it: call it once in each step."
    if step.after.iterations != right.after.iterations:
        return "The optimizer has not counted your step. Call its `apply` once in each step."
    if not _alike(step.after.averages, right.after.averages):
        return (
            "The averages of BatchNormalization differ. Call the model once in each step, with"
            " `training=True`."
        )
    return None


def _loss(result, right):
    """What is wrong with the returned loss."""
    value, wanted = number(result), number(right.result)
    if value is None:
        return f"Your function returns {describe(result)}: return the loss, one finite number."
    if _near(value, wanted):
        return None
    if any(s and _near(value, wanted * s) for s in (right.before.scale, right.after.scale)):
        return "Your function returns the scaled loss: return the loss as it was before."
    return f"Your function returns {value:.4g} as the loss, and {wanted:.4g} is right."


def _alike(values, wanted):
    return np.linalg.norm(values - wanted) <= ALIKE * np.linalg.norm(wanted)


def _near(value, wanted):
    return abs(value - wanted) <= ALIKE * abs(wanted)


def _plain(value):
    """A few digits; what the rounding of the weights blurs is a power of two again."""
    power = 2.0 ** round(math.log2(value)) if value > 0 else 0
    value = power if abs(value - power) <= 0.005 * power else float(f"{value:.3g}")
    return f"{value:,.12g}"
