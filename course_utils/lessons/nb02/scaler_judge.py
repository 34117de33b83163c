"""The judge of a loss scaler that a learner writes, in notebook 02: it trains a network
with it.

The first batches are broken on purpose, and in some steps one number of a gradient is
infinite. With a scale of 1 its network learns, and with 2**-30 it does not.
"""

import contextlib
import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_utils.exercises.answers import Mistake, attempt, call, describe, number
from course_utils.exercises.functions import Function, edited
from course_utils.lessons.nb02 import numpy_autoencoder

CODE = """\
import numpy as np


def after_backward(gradients, scale, good):
    if not all(np.isfinite(g).all() for g in gradients):
        return None, max(scale / 2, 1.0), 0
    unscaled = [g / scale for g in gradients]
    good += 1
    if good == 10:
        return unscaled, scale * 2, 0
    return unscaled, scale, good

"""
START = 2.0**15
GROWTH = 10
STEPS = 900
EVERY = 10  # steps from one measurement to the next
FINITE = "np.isfinite(g).all()"
HALF = "max(scale / 2, 1.0)"
UNSCALED = "[g / scale for g in gradients]"
DOUBLE = "unscaled, scale * 2, 0"
NO_FLOOR = {HALF: "scale / 2"}  # as Keras does it
SLIPS = {  # what is said of it, and the edits that make the right function a wrong one
    "has an infinity or NaN, and yours returns gradients": [
        {FINITE: "True"},
        {FINITE: "not np.isnan(g).any()"},
        {FINITE: "(g < np.inf).all()"},
        {"for g in gradients)": "for g in gradients[:1])"},
        {"None, max": "gradients, max"},
    ],
    "is sound, and yours skips it": {f"not all({FINITE}": "any(g.any()"},
    "returns its gradients as they were": {UNSCALED: "gradients"},
    "does not return its gradients divided by the scale": [
        {"g / scale": "g / scale / scale"},
        {
            f"    unscaled = {UNSCALED}\n": "",
            f"return {DOUBLE}": "scale, good = scale * 2, 0",
            "return unscaled": f"return {UNSCALED}",
        },
    ],
    "overflows, and the scale stays at 2**17: halve it": {HALF: "scale"},
    "overflows, and the scale goes from 2**15 to 2**16: halve it": {HALF: "scale * 2"},
    "write the rule yourself": {"scale * 2": "LossScaleOptimizer(scale)"},
    "The broken batches took the scale to 2**-85": NO_FLOOR,
    "the 10th finite one in a row, and the scale stays at 1: double it": [
        {"scale * 2": "scale"},
        {"good == 10": "good > 10"},
        {"good += 1": "good += 0"},
    ],
    "the 10th finite one in a row, and the scale stays at 2**15": {
        "scale * 2": "min(scale * 2, 2.0**15)"
    },
    "finite step 1 in a row, and the scale goes from": {"good == 10": "True"},
    "finite step 9 in a row, and the scale goes from": {"good == 10": "good == 9"},
    "finite step 3 in a row, and the scale goes from": {f"{HALF}, 0": f"{HALF}, good"},
}


@dataclass
class Run:
    """A training: the missing share every `EVERY` steps, the steps skipped, what is
    wrong first.
    """

    missing: list
    skipped: int = 0
    scale: float = START  # at the end
    lowest: float = START
    fault: str = ""
    broken: int = 0  # the step after which the weights were not finite

    @property
    def restored_share(self) -> str:
        """How much of the pictures the network restores at the end."""
        return f"{max(0, 1 - self.missing[-1]):.0%}"

    @property
    def ending(self) -> str:
        """How the training ended."""
        if self.broken:
            return f"After step {self.broken} the weights are not finite."
        return (
            f"After {STEPS} steps, {self.skipped} of them skipped, your network restores"
            f" {self.restored_share} of the pictures, float32's"
            f" {in_float32().restored_share}."
        )


@functools.cache
def in_float32() -> Run:
    """The `Run` that needs no scale."""
    return train(edited(CODE, "after_backward"), "float32")


@np.errstate(all="ignore")
def train(function: object, dtype: str = "float16") -> Run:
    """The `Run` with a learner's function; `Mistake` where that cannot be used."""
    weights = numpy_autoencoder.first_weights()
    run = Run([numpy_autoencoder.missing_share(weights, dtype)])
    adam = numpy_autoencoder.Adam()
    good = 0
    row = 0  # finite steps since the last overflow or doubling
    for n in range(STEPS):
        gradients = numpy_autoencoder.backward(weights, n, run.scale, dtype)
        copies = [g.copy() for g in gradients]
        end = "`return unscaled, scale, good`"
        result = call(function, copies, run.scale, good, end=end)
        unscaled, scale, good = read_result(result, gradients)
        row = (
            row % GROWTH + 1
            if np.isfinite(numpy_autoencoder.flat(gradients)).all()
            else 0
        )
        fault = wrong_step(gradients, run.scale, row, unscaled, scale)
        if fault and not run.fault:
            run.fault = f"Step {n + 1} {fault}"
        run.scale = scale
        run.lowest = min(scale, run.lowest)
        if unscaled is None:
            run.skipped += 1
        else:
            weights = (weights - adam.step(numpy_autoencoder.flat(unscaled))).astype(
                "float32"
            )
        if not np.isfinite(weights).all():
            run.broken = n + 1
            break
        if (n + 1) % EVERY == 0:
            run.missing.append(numpy_autoencoder.missing_share(weights, dtype))
    return run


def read_result(result: object, gradients: list[np.ndarray]) -> tuple:
    """The three that a function returned; `Mistake` where they have another form."""
    parts = attempt(lambda: list(result))  # type: ignore[call-overload]
    if parts is None or len(parts) != 3:
        wanted = "three values are needed: gradients or None, scale, good"
        raise Mistake(f"Your function returns {describe(result)}; {wanted}.")
    unscaled, scale, good = parts
    if number(scale) is None:
        what = f"{describe(scale)} as the scale; give a finite number"
        raise Mistake(f"Your function returns {what}.")
    shapes = attempt(lambda: [np.asarray(g, "float64").shape for g in unscaled])
    if unscaled is not None and shapes != [g.shape for g in gradients]:
        what = f"{describe(unscaled)} as gradients; give two arrays or None"
        raise Mistake(f"Your function returns {what}.")
    return unscaled, number(scale), good


def wrong_step(
    gradients: list[np.ndarray],
    scale: float,
    row: int,
    unscaled: list[np.ndarray] | None,
    new: float,
) -> str | None:
    """What is wrong with a step, the `row`th finite one in a row (0: not finite), or
    None.
    """
    change = f"and the scale stays at {power(scale)}"
    if new != scale:
        change = f"and the scale goes from {power(scale)} to {power(new)}"
    if row == 0:
        if unscaled is not None:
            return "has an infinity or NaN, and yours returns gradients: return None."
        floor = scale <= START and scale / 2 <= new <= scale  # wherever it lies
        return None if new == scale / 2 or floor else f"overflows, {change}: halve it."
    if unscaled is None:
        return "is sound, and yours skips it: all its numbers are finite."
    right = numpy_autoencoder.flat(gradients) / scale
    result = numpy_autoencoder.flat(unscaled)
    if not np.allclose(result, right, rtol=1e-3, atol=0):
        if np.allclose(result, right * scale, rtol=1e-3, atol=0):
            return "returns its gradients as they were: divide them by the scale."
        return (
            "does not return its gradients divided by the scale that the loss was"
            " multiplied by."
        )
    wanted = 2 * scale if row == GROWTH else scale
    if new == wanted:
        return None
    if row == GROWTH:
        return f"is the {GROWTH}th finite one in a row, {change}: double it."
    return (
        f"is finite step {row} in a row, {change}: only the {GROWTH}th doubles it, and a skip or"
        " a doubling sets the counter to 0."
    )


def power(scale: float) -> str:
    """A scale for reading."""
    share, exponent = math.frexp(scale)
    return f"2**{exponent - 1}" if share == 0.5 and exponent != 1 else f"{scale:.6g}"


def judge(function: Any) -> str | None:
    """What is wrong with a scaler, and how the training went with it, or None."""
    names = attempt(lambda: function.__code__.co_names)  # its attributes may raise
    if "LossScaleOptimizer" in (names or ()):
        return "You call Keras's LossScaleOptimizer: write the rule yourself, it has three cases."
    run = train(function)
    if run.fault:
        return f"{run.fault} {run.ending}"
    if run.missing[-1] < 2 * in_float32().missing[-1]:
        return None
    return (
        f"{run.ending} The broken batches took the scale to {power(run.lowest)}, and it ended"
        f" at {power(run.scale)}. What must the rule not allow?"
    )


def runs(function: object) -> dict[str, list[float]]:
    """{name: the share of the pictures missing, every `EVERY` steps} of three
    trainings.

    In float32, with the rule as Keras has it, and with a learner's function if it is
    written.
    """
    trainings = {
        "float32": in_float32(),
        "Keras's rule": train(edited(CODE, "after_backward", NO_FLOOR)),
    }
    with contextlib.suppress(Mistake):
        trainings["yours"] = train(function)
    return {name: run.missing for name, run in trainings.items()}


JUDGE = Function(lambda function, _: judge(function))
