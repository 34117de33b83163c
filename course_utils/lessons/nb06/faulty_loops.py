"""Loops of notebook 06: six whose faults are to be named, and the judge of one's own
step.

Everything is made here; nothing draws on a seed that the learner may have set.
"""

import contextlib
import io
from collections.abc import Callable
from functools import partial

import numpy as np

from course_utils.exercises.answers import describe, near
from course_utils.exercises.functions import Function, edited
from course_utils.exercises.small_training import CODE, hidden_model

source = np.random.RandomState(60)
batch = source.normal(1, 2, (16, 6)).astype("float32"), np.arange(16, dtype="int32") % 3

# What the six do otherwise than the right step, as edits of its code.
UNSCALED = "[g / optimizer.dynamic_scale for g in gradients]"
BY_HAND = f"""\
    if tf.math.is_finite(loss):
        optimizer.inner_optimizer.apply({UNSCALED}, model.trainable_variables)
    else:
        optimizer.dynamic_scale.assign(optimizer.dynamic_scale / 2)
"""
APPLY = "    optimizer.apply(gradients, model.trainable_variables)\n"
FINITE = "tf.math.is_finite(tf.linalg.global_norm(gradients))"
LIMIT = "    gradients, _ = tf.clip_by_global_norm(gradients, {})\n"
FAULTS = {  # letter: what it is, and the edits
    "A": ("the limit meets scaled gradients", {APPLY: LIMIT.format("1e6") + APPLY}),
    "B": ("right", {APPLY: LIMIT.format("optimizer.scale_loss(0.1)") + APPLY}),
    "C": ("∞ moves the weights", {APPLY: BY_HAND}),
    "D": ("unscaled twice", {"apply(gradients": f"apply({UNSCALED}"}),
    "E": ("the scale never falls", {APPLY: f"    if {FINITE}:\n    {APPLY}"}),
    "F": ("scaling forgotten", {"optimizer.scale_loss(loss)": "loss"}),
}


def make_loop(step: Callable, policy: str = "mixed_float16") -> tuple:
    """Return (model, optimizer, step) anew, of step(model, optimizer, loss_fn, x, y).

    Under mixed_float16 the optimizer is wrapped.
    """
    import keras  # late: it loads TensorFlow, which takes seconds

    model = hidden_model(policy)
    optimizer = keras.optimizers.SGD(0.1, momentum=0.9, name="inner")
    if policy == "mixed_float16":
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer, name="outer")
    loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return model, optimizer, partial(step, model, optimizer, loss_fn)


def faulty_loop(letter: str) -> tuple:
    """One of the six, made anew."""
    return make_loop(edited(CODE, "step", FAULTS[letter][1]))


six = {letter: partial(faulty_loop, letter) for letter in FAULTS}

# --- one's own step -------------------------------------------------------------------

CLIP = 0.1  # the length that a gradient may have
CLIPPED = CODE.replace(APPLY, LIMIT.format("optimizer.scale_loss(0.1)") + APPLY)
APPLY_CALL = "apply(gradients"
SCALE_CALL = "optimizer.scale_loss(loss)"
SLIPS = {  # a part of what is said, and the edits that make the right step a wrong one
    "a limit, a decay or the like meets": {"optimizer.scale_loss(0.1)": "0.1"},
    "arrives as one of 1:": {"(0.1)": "(1.0)"},
    "The loss is not scaled": {SCALE_CALL: "loss"},
    "The gradients are unscaled twice": {
        APPLY_CALL: "apply([g / optimizer.scale_loss(1.0) for g in gradients]"
    },
    "still scaled reach the update": {"optimizer.apply": "optimizer.inner_optimizer.apply"},
    "no attribute 'get_scaled_loss'": {SCALE_CALL: "optimizer.get_scaled_loss(loss)"},
    "moves the weights, or what": {
        APPLY_CALL: "apply([tf.where(tf.math.is_finite(g), g, 0.0) for g in gradients]"
    },
    "goes uphill": {APPLY_CALL: "apply([-g for g in gradients]"},
    "move no weight": {APPLY: APPLY.replace("(", "(zip(").replace(")", "))")},
    "returns the scaled loss": {"return loss": "return scaled"},
    "returns None": {"return loss": "pass"},
}  # fmt: skip


def step_problem(step: Callable, policy: str) -> str | None:
    """What `probe` finds about a step under a policy, or how it clips otherwise than it
    should.
    """
    import keras

    from course_utils.precision import Watched, findings
    from course_utils.training import dtype_policy

    kind = "LossScaleOptimizer" if policy == "mixed_float16" else "plain optimizer"
    hush = contextlib.redirect_stdout(io.StringIO())  # it is called many times
    # restored, whatever the step does
    with dtype_policy(keras.config.dtype_policy()), hush:
        watched = Watched(partial(make_loop, step, policy), *batch)
        mistakes = findings(watched)
    if mistakes:
        fix = mistakes[0].fix.partition("  #")[0]
        return f"{policy}, {kind}: {mistakes[0].message} Write `{fix}`."
    if watched.natural.loss is None:
        return f"Your function returns {describe(watched.natural.result)}: return the loss."
    length = watched.clipped
    if not near(length, CLIP, 0.02):
        return f"A long gradient arrives as one of {length:.3g}: cut it to {CLIP} of true length."
    return None


judge = Function(step_problem, ("mixed_float16", "float32", "mixed_bfloat16"))
