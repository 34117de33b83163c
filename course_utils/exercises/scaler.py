"""The judge of a loss scaler that a learner writes, in notebook 02: it trains a network
with it.

The network and its faint loss are the notebook's own: with a scale of 1 it learns
nothing. The first batches are broken on purpose, and in some steps one number of a
gradient is infinite.
"""

import functools
import math
import types
from dataclasses import dataclass

import numpy as np

from .answers import call, describe, number, untouched
from .faint import Adam, pictures
from .functions import Function, edited

CODE = """\
import numpy as np


def after_backward(gradients, scale, good):
    if not all(np.isfinite(g).all() for g in gradients):
        return None, max(scale / 2, 1.0), 0
    unscaled = [g / scale for g in gradients]
    good += 1
    if good == 10:
        return unscaled, scale * 2, 0
    return unscaled, scale, good"""
START = 2.0**15
GROWTH = 10
STEPS = 900
BROKEN = 100  # batches in front that hold NaN
EVERY = 10  # steps from one measurement to the next
FAINT = np.float32(2.0**-32)  # the weight of the loss
FINITE, HALF, UNSCALED = (
    "np.isfinite(g).all()",
    "max(scale / 2, 1.0)",
    "[g / scale for g in gradients]",
)
DOUBLE = "unscaled, scale * 2, 0"
NO_FLOOR = {HALF: "scale / 2"}  # as Keras does it
SLIPS = {  # what is said of it, and the edits that make the right function a wrong one
    "has an infinity or NaN, and yours returns gradients": [
        *(
            {FINITE: seen}
            for seen in ("True", "not np.isnan(g).any()", "(g < np.inf).all()")
        ),
        *(
            {"for g in gradients)": "for g in gradients[:1])"},
            {"None, max": "gradients, max"},
        ),
    ],
    "is sound, and yours skips it": {f"not all({FINITE}": "any(g.any()"},
    "returns its gradients as they were": {UNSCALED: "gradients"},
    "divides twice by the scale": {"g / scale": "g / scale / scale"},
    "multiplies by the scale once more": {"g / scale": "g * scale"},
    "divides by another number than the scale": {
        f"    unscaled = {UNSCALED}\n": "",
        f"return {DOUBLE}": "scale, good = scale * 2, 0",
        "return unscaled": f"return {UNSCALED}",
    },
    "overflows, and the scale stays at 2**17: halve it": {HALF: "scale"},
    "overflows, and the scale goes from 2**15 to 2**16: halve it": {HALF: "scale * 2"},
    "The broken batches took the scale to 2**-85": NO_FLOOR,
    "the 10th finite one in a row, and the scale stays at 1: double it": [
        *(
            {"scale * 2": "scale"},
            {"good == 10": "good > 10"},
            {"good += 1": "good += 0"},
        ),
    ],
    "the 10th finite one in a row, and the scale stays at 2**15": {
        "scale * 2": "min(scale * 2, 2.0**15)"
    },
    "doubles the scale after 1 finite step in a row": {"good == 10": "True"},
    "doubles the scale after 9 finite steps in a row": {"good == 10": "good == 9"},
    "doubles the scale after 3 finite steps in a row": [
        {f"{HALF}, 0": f"{HALF}, good"}
    ],
}
RIGHT = edited(CODE, "after_backward")


def network(policy):
    """The autoencoder under a policy: `(weights, gradients(n, scale), missing())`.

    `gradients` are those of the faint loss of step n times the scale, float32;
    `missing` is the share of the pictures that is not restored.
    """
    import tensorflow as tf  # late, as all that loads it

    from course_utils.models import autoencoder

    model = autoencoder(policy)
    variables = [w.value for w in model.weights]

    def missing(images):
        return tf.reduce_mean((model(images) - images) ** 2)

    @tf.function
    def backward(images, scale):
        with tf.GradientTape() as tape:
            scaled = FAINT * missing(images) * scale
        return tape.gradient(scaled, variables)

    def gradients(n, scale):
        images = pictures()[16 * n % 1424 :][:16]
        images = np.full_like(images, np.nan) if n < BROKEN else images
        with np.errstate(over="ignore"):
            found = [g.numpy() for g in backward(images, np.float32(scale))]
        if n % 50 == 27:  # as where the largest gradient overflows, and it alone
            found[n // 50 % 2].flat[0] = np.inf if n % 200 < 100 else -np.inf
        return found

    few = pictures()[:256]
    measured = tf.function(missing)
    return variables, gradients, lambda: float(measured(few) / np.mean(few**2))


@dataclass
class Run:
    """A training: the missing share every `EVERY` steps, the steps skipped, what is
    wrong first.
    """

    missing: list
    skipped: int = 0
    scale: float = START  # at the end
    lowest: float = START
    fault: str | None = None
    broken: int | None = None  # the step after which the weights were not finite

    @property
    def told(self):
        """How the training ended."""
        if self.broken:
            return f"After step {self.broken} the weights are not finite."
        return (
            f"After {STEPS} steps, {self.skipped} of them skipped, your network restores"
            f" {restored(self)} of the pictures, float32's {restored(in_float32())}."
        )


def restored(run):
    """The share of the pictures that a network restores in the end, in words."""
    return f"{max(0, 1 - run.missing[-1]):.0%}"


@functools.cache
def in_float32():
    """The `Run` that needs no scale."""
    return train(RIGHT, "float32")[0]


def train(function, policy="mixed_float16"):
    """`(Run, None)` with a learner's function, or `(None, why it cannot be used)`."""
    weights, gradients_of, missing = network(policy)
    run = Run([missing()])
    adam = Adam()
    scale = START
    good = 0
    row = 0
    for n in range(STEPS):
        gradients = gradients_of(n, scale)
        given = [g.copy() for g in gradients], scale, good
        result, problem = call(function, *given, end="`return unscaled, scale, good`")
        if problem := problem or wrong_form(result, gradients):
            return None, problem
        unscaled, new, good = result
        row = row + 1 if all(np.isfinite(g).all() for g in gradients) else 0
        if fault := wrong_step(gradients, scale, row, unscaled, number(new)):
            run.fault = run.fault or f"Step {n + 1} {fault}"
        scale, row = number(new), row % GROWTH
        run.skipped += unscaled is None
        run.scale, run.lowest = scale, min(scale, run.lowest)
        if unscaled is not None:
            with np.errstate(all="ignore"):
                adam.update(weights, unscaled)
        if not all(np.isfinite(w.numpy()).all() for w in weights):
            run.broken = n + 1
            break
        if (n + 1) % EVERY == 0:
            run.missing.append(missing())
    return run, None


def wrong_form(result, gradients):
    """What is wrong with the form of what a function returned, or None."""
    try:
        unscaled, scale, _ = result
    except Exception:  # no container of three, or one that raises
        said = f"{describe(result)}; three values are needed: gradients or None, scale, good"
        return f"Your function returns {said}."
    if number(scale) is None:
        return f"Your function returns {describe(scale)} as the scale; give a finite number."
    try:
        shapes = [g.shape for g in gradients]
        if (
            unscaled is None
            or [np.asarray(g, "float64").shape for g in unscaled] == shapes
        ):
            return None
    except Exception:  # no list, or no numbers in it
        pass
    return f"Your function returns {describe(unscaled)} as gradients; give two arrays or None."


def wrong_step(gradients, scale, row, unscaled, new):
    """What is wrong with a step, the `row`th finite one in a row (0: not finite), or
    None.
    """
    moved = f"goes from {power(scale)} to" if new != scale else "stays at"
    moved = f"and the scale {moved} {power(new)}"
    if row == 0:
        if unscaled is not None:
            return "has an infinity or NaN, and yours returns gradients: return None."
        floor = scale <= START and scale / 2 <= new <= scale  # wherever it lies
        return None if new == scale / 2 or floor else f"overflows, {moved}: halve it."
    if unscaled is None:
        return "is sound, and yours skips it: all its numbers are finite."
    if said := wrong_gradients(gradients, unscaled, scale):
        return said
    if row < GROWTH and new == 2 * scale:
        steps = f"{row} finite step{'s' * (row > 1)} in a row, not {GROWTH}"
        return f"doubles the scale after {steps}: a skip and a doubling set the counter to 0."
    if row == GROWTH:
        said = f"is the {GROWTH}th finite one in a row, {moved}: double it."
        return None if new == 2 * scale else said
    return (
        None
        if new == scale
        else f"is finite, {moved}: only the {GROWTH}th in a row moves it."
    )


def wrong_gradients(gradients, unscaled, scale):
    """What is wrong with the gradients that a function returned for these, or None."""
    pairs = [
        (np.asarray(u, "float64").ravel(), g.astype("float64").ravel() / scale)
        for u, g in zip(unscaled, gradients, strict=True)
    ]
    returned, right = map(np.concatenate, zip(*pairs, strict=True))
    for factor, said in (
        (1, None),
        (scale, "returns its gradients as they were: divide them by the scale."),
        (1 / scale, "divides twice by the scale: the weights hardly move."),
        (scale**2, "multiplies by the scale once more: divide by it."),
    ):
        if np.allclose(returned, right * factor, rtol=1e-3, atol=0):
            return said
    return "divides by another number than the scale that the loss was multiplied by."


def power(scale):
    """A scale for reading."""
    share, exponent = math.frexp(scale)
    return f"2**{exponent - 1}" if share == 0.5 and exponent != 1 else f"{scale:.6g}"


def judge(function):
    """What is wrong with a scaler, and how the training went with it, or None."""
    code = (
        getattr(function, "__code__", None)
        if isinstance(function, types.FunctionType)
        else None
    )
    if code and "LossScaleOptimizer" in code.co_names:
        return "You call Keras's LossScaleOptimizer: write the rule yourself, it has two cases."
    run, problem = train(function)
    learned = not problem and run.missing[-1] < 2 * in_float32().missing[-1]
    if problem or (run.fault is None and learned):
        return problem
    if run.fault is None and run.lowest < 1:
        return (
            f"{run.told} The broken batches took the scale to {power(run.lowest)}, and it"
            f" ended at {power(run.scale)}. What must the rule not allow?"
        )
    return f"{run.fault or ''} {run.told}".strip()


def runs(function):
    """{name: the share of the pictures missing, every `EVERY` steps} of three
    trainings.

    In float32, with the rule as Keras has it, and with a learner's function if it is
    written.
    """
    found = {
        "float32": in_float32(),
        "Keras's rule": train(edited(CODE, "after_backward", NO_FLOOR))[0],
    }
    if not untouched(function) and (yours := train(function)[0]):
        found["yours"] = yours
    return {name: run.missing for name, run in found.items()}


JUDGE = Function(lambda function, _: judge(function))
