"""How exercise 4 of notebook 06 is judged: a training step beside the right one.

Models, optimizers and batches are made here; nothing draws on a seed that the learner may have set.
"""

import contextlib
import functools
import io
import math
import re
from dataclasses import dataclass

import numpy as np

from .answers import describe, shorten
from .steps06 import State, Step, compare

STEPS = 3


@dataclass(frozen=True)
class Trial:
    """One run of a step: the policy of the model, and the loss scale of its optimizer, if any."""

    policy: str
    scale: float | None

    def __str__(self):
        if not self.scale:
            return f"{self.policy}, plain optimizer"
        return f"{self.policy}, LossScaleOptimizer from 2**{math.frexp(self.scale)[1] - 1}"


TRIALS = [
    *(Trial(p, s) for s in (2.0**12, None) for p in ("mixed_float16", "float32", "mixed_bfloat16")),
    Trial("mixed_float16", 2.0**30),  # here float16 overflows in each step
]


def right_step(model, optimizer, loss_fn, x, y):
    """One training step, right for every policy and every optimizer of Keras.

    Example: `right_step(model, keras.optimizers.SGD(0.1), loss_fn, x, y)`
    """
    import tensorflow as tf  # late: TensorFlow takes seconds to load

    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x, training=True))
        scaled = optimizer.scale_loss(loss)
    gradients = tape.gradient(scaled, model.trainable_variables)
    optimizer.apply(gradients, model.trainable_variables)
    return loss


def hidden_model(policy, seed=6):
    """A small network with BatchNormalization: float32 (n, 6) to float32 logits (n, 3).

    The weights are NumPy's, so that Keras draws no seed; the names leave Keras's counters alone.

    Example: `hidden_model("mixed_float16").layers[0].compute_dtype` is `'float16'`.
    """
    import keras

    from course_utils.stepping import dtype_policy

    layers, zeros = keras.layers, {"kernel_initializer": "zeros"}
    with dtype_policy(policy):
        model = keras.Sequential(
            [
                keras.Input((6,), name="numbers"),
                layers.Dense(8, activation="relu", name="hidden", **zeros),
                layers.BatchNormalization(momentum=0.5, name="normalized"),
                layers.Dense(3, dtype="float32", name="logits", **zeros),
            ],
            name="hidden_model",
        )
    source = np.random.RandomState(seed)
    for layer in (model.layers[0], model.layers[2]):
        kernel = source.normal(0, 0.5, layer.kernel.shape).astype("float32")
        layer.set_weights([kernel, source.normal(0, 0.5, kernel.shape[1]).astype("float32")])
    return model


def batch(index):
    """Sixteen rows of six numbers, float32, and their labels 0 to 2, int32.

    >>> [array.shape for array in batch(0)]
    [(16, 6), (16,)]
    """
    source = np.random.RandomState(60 + index)
    return source.normal(1, 2, (16, 6)).astype("float32"), np.arange(16, dtype="int32") % 3


def _optimizer(scale, calls):
    """SGD with momentum, wrapped if there is a scale; what is called on it is noted in `calls`."""
    import keras

    inner = keras.optimizers.SGD(0.1, momentum=0.9, name="inner")
    outer = inner
    if scale:
        outer = keras.optimizers.LossScaleOptimizer(
            inner, initial_scale=scale, dynamic_growth_steps=2, name="outer"
        )
        _note(inner, "apply", calls, "inner apply")
    for name in ("scale_loss", "apply"):
        _note(outer, name, calls, name)
    return outer


def _note(optimizer, name, calls, label):
    method = getattr(optimizer, name)

    def noted(*arguments, **named):
        calls.add(label)
        if arguments and isinstance(arguments[0], zip):
            calls.add("zip")
        return method(*arguments, **named)

    setattr(optimizer, name, noted)


def _state(model, optimizer):
    from keras.ops import convert_to_numpy

    def row(variables):
        return np.concatenate([np.ravel(convert_to_numpy(v)) for v in variables]).astype("float64")

    scale = getattr(optimizer, "dynamic_scale", None)
    return State(
        row(model.trainable_variables),
        row(model.non_trainable_variables),
        None if scale is None else float(convert_to_numpy(scale)),
        int(convert_to_numpy(optimizer.iterations)),
    )


def run(function, trial):
    """Yield the steps of a new model and optimizer that are trained with `function`.

    Example: `[step.after.iterations for step in run(right_step, TRIALS[0])]` is `[1, 2, 3]`.
    """
    import keras
    import tensorflow as tf

    calls = set()
    model, optimizer = hidden_model(trial.policy), _optimizer(trial.scale, calls)
    optimizer.build(model.trainable_variables)
    loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    before = _state(model, optimizer)
    for index in range(STEPS):
        x, y = map(tf.constant, batch(index))
        result, problem = call_step(function, model, optimizer, loss_fn, x, y)
        after = _state(model, optimizer)
        yield Step(before, after, result, problem, frozenset(calls))
        before = after


def call_step(function, *arguments):
    """Run the learner's function: `(its result, None)`, or `(None, what went wrong)`.

    >>> call_step(len, 5)[1]
    "Your function raises TypeError: object of type 'int' has no len()"
    """
    try:
        return function(*arguments), None
    except (Exception, SystemExit) as error:
        try:
            text = _readable(str(error))
        except Exception:
            text = "its message cannot be shown"
        return None, f"Your function raises {shorten(type(error).__name__)}: {shorten(text, 90)}"


def _readable(text):
    """The sentence of an error, without what Keras and `tf.function` wrap around it."""
    text = text.replace("\x1b[1m", "").replace("\x1b[0m", "")
    text = text.removeprefix("Exception encountered when calling Cond.call().\n\n")
    text = text.split("\n\nArguments received")[0].strip()
    if text.startswith("in user code:"):
        text = text.splitlines()[-1]
    return re.sub(r"0x[0-9a-f]{6,}", "", text)  # addresses change from run to run


@functools.cache
def right_steps(trial):
    """What the right step does in a trial, a list of `Step`s.

    Example: `[step.after.scale for step in right_steps(TRIALS[0])]` is `[4096.0, 8192.0, 8192.0]`.
    """
    return list(run(right_step, trial))


def check_step(function):
    """Run the learner's step on hidden models and compare weights, loss scale and loss.

    >>> check_step(5)
    'You gave the number 5: give the function itself, without parentheses.'
    """
    if not callable(function):
        return f"You gave {describe(function)}: give the function itself, without parentheses."
    import keras

    from course_utils.stepping import dtype_policy

    with dtype_policy(keras.config.dtype_policy()):  # restored, whatever the function does
        for trial in TRIALS:
            # What a learner prints is shown for the first trial only.
            quiet = contextlib.redirect_stdout(io.StringIO())
            with contextlib.nullcontext() if trial is TRIALS[0] else quiet:
                steps = zip(run(function, trial), right_steps(trial), strict=True)
                for index, (step, right) in enumerate(steps, 1):
                    if problem := compare(step, right):
                        return f"{trial}, step {index}: {problem}"
    return None
