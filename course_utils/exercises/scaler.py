"""The judge of a dynamic loss scaler that a learner writes, in notebook 02, beside Keras's."""

import functools
import math

import numpy as np

from .answers import call, describe, number
from .functions import Function, said_of, slipped

CODE = """\
def update(scale, count, finite, growth_steps):
    if not finite:
        return scale / 2, 0, False
    count += 1
    if count == growth_steps:
        return scale * 2, 0, True
    return scale, count, True"""
FULL, BAD, GOOD, MORE = "count == growth_steps", "/ 2, 0", "* 2, 0", {"==": ">="}
BLIND, ON = {"not finite": "False"}, {GOOD: "* 2, count"}  # every step is finite; it counts on
COUNTED, FROM_1 = {BAD: "/ 2, count + 1"}, {BAD: "/ 2, 1"}
COUNTS = [COUNTED, COUNTED | MORE, COUNTED | ON | {FULL: "count % growth_steps == 0"}]
LATE = {"    count += 1\n": "", f"return scale {GOOD}, True": f"scale, count = scale {GOOD}"}
SLIPS = {  # what to say, and the edits that make the right function a wrong one
    "The counter has to restart at a step that is not finite.": [{BAD: "/ 2, count"}],
    "The counter restarts at a step that is not finite, and yours counts it.": COUNTS,
    "After a step that is not finite the counter is 0, not 1.": [FROM_1, FROM_1 | MORE],
    "Every step counts as finite: `finite` is already True or False; `np.isfinite(False)` is"
    " True.": [BLIND, BLIND | {"True": "finite"}],
    "The counter has to restart after a doubling too.": [ON, ON | MORE],
    "You wait for `growth_steps` + 1 finite steps.": [{"==": ">"}],
    "You double one step late: the last of the `growth_steps` finite steps does it.": [
        LATE | {"count, True": "count + 1, True"}
    ],
    "You double after `growth_steps` - 1 finite steps.": [{"==": "+ 1 >="}],
    "You double at each finite step, without counting.": [{FULL: "True"}],
    "After `growth_steps` finite steps in a row it doubles.": [{FULL: "False"}],
    "Keras has no floor at 1: a floor would be sensible, and another scaler.": [
        {"scale / 2": "max(scale / 2, 1)"}
    ],
    "Keras sets no upper limit to the scale: an overflow halves it anyway.": [
        {"scale * 2": f"min(scale * 2, {top})"} for top in (2.0**15, 2.0**16, 65504, 2.0**24)
    ],
    "`//` cuts the fraction off, so divide with `/`.": [{"/": "//"}],
    "A step that is not finite halves the scale.": [{" / 2": ""}],
    "You double where Keras halves.": [{"*": "* 0.25 *", "/": "/ 0.25 /"}],
    "A step that is not finite must not move the weights.": [{"False": "True"}],
    "A finite step moves the weights.": [{"True": "False"}],
    "True stands for an applied step.": [{"True": "None", "False": "True", "None": "False"}],
    "The step that doubles the scale is applied as well.": [{f"{GOOD}, True": f"{GOOD}, False"}],
}
TRIALS = (  # the first scale, `growth_steps`, and whether each step is finite
    (2.0**15, 3, "TTFTTTTTFTTTTTTF"),
    (2.0**15, 1, "TTTTTTTTTTTTTTTTFFTTTTTTTFTTTTTTTF"),
    (4.0, 4, "FFTFFTTTFFFFTTTFTTTTTTFTTFTTTTTTTTFTTTTTTTFFTFTFTFTTTTTTFFTTTTTTTTTTTTTTFFTTT"),
    (2.0**15, 5, "TFTTTTTFTTTTTTTTTTTTFTTTFTFTFTTTTTTFTTFTTTTTFTTTTTTTTTTTTTTTTTTTTTTTFTTFFTFTTT"),
    (1000.0, 20, "TTTTTTTTTTTTTTTTTTTTTTTTTTTTTFTTTTTFTTTTTTTTTTTTTTTTTTTTTTTT"),
)


@functools.cache
def keras_run(initial_scale, growth_steps, flags):
    """What Keras's LossScaleOptimizer does: `(scale after the step, whether it is applied)` each.

    One weight, and a gradient of 1 (a T in `flags`) or of infinity (an F). Imports Keras.
    """
    import keras  # late: it loads TensorFlow

    weight = keras.Variable([0.0], dtype="float32")
    optimizer = keras.optimizers.LossScaleOptimizer(
        keras.optimizers.SGD(1.0), initial_scale=initial_scale, dynamic_growth_steps=growth_steps
    )
    optimizer.build([weight])
    steps = []
    for flag in flags:
        before = int(optimizer.iterations)
        gradient = keras.ops.convert_to_tensor([1.0 if flag == "T" else math.inf], dtype="float32")
        optimizer.apply([gradient], [weight])
        steps.append((float(optimizer.dynamic_scale), int(optimizer.iterations) > before))
    return steps


def trace(update, trial):
    """`([(scale, applied) after each step], None)`, or `(None, what is wrong)`."""
    scale, growth_steps, flags = trial
    steps, count, end = [], 0, "`return scale, count, applied`"
    for flag in flags:
        result, problem = call(update, scale, count, flag == "T", growth_steps, end=end)
        if problem:
            return None, problem
        if not isinstance(result, (tuple, list)) or len(result) != 3:
            problem = f"{describe(result)}; three values are needed: scale, count, applied."
        elif number(result[0]) is None:
            problem = f"{describe(result[0])} as the scale; give a number."
        elif not isinstance(result[2], (bool, np.bool_)):
            problem = f"{describe(result[2])} for `applied`; give True or False."
        if problem:
            return None, f"Your function returns {problem}"
        scale, count, applied = result
        steps.append((number(scale), bool(applied)))
    return steps, None


def compare(update, trial):
    """The first step on which a function differs from Keras's, and why, or None."""
    given, problem = trace(update, trial)
    if problem or given == (right := keras_run(*trial)):
        return problem
    scale, growth_steps, flags = trial
    n = next(n for n, pair in enumerate(zip(given, right, strict=True)) if pair[0] != pair[1])
    before = right[n - 1][0] if n else scale
    scales_differ, steps_differ = (a != b for a, b in zip(given[n], right[n], strict=True))
    said = []
    for after, applied in (right[n], given[n]):
        change = "stays at" if after == before else f"goes from {power(before)} to"
        parts = [f"{change} {power(after)}"] * scales_differ
        parts += ["applies the step" if applied else "skips the step"] * steps_differ
        said.append(" and ".join(parts))
    why = said_of(update, WRONG, trace, TRIALS)
    return (
        f"From scale {power(scale)} with `growth_steps` = {growth_steps}, step {n + 1}"
        f" ({'finite' if flags[n] == 'T' else 'not finite'}): Keras {said[0]}, yours {said[1]}."
        f" {why or 'Write the scale and the counter down for the steps before it.'}"
    )


def power(scale):
    """A scale for reading."""
    share, exponent = math.frexp(scale)
    return f"2**{exponent - 1}" if share == 0.5 else f"{scale:.6g}"


WRONG = slipped(CODE, "update", SLIPS)
judge = Function(compare, TRIALS)
