"""How exercise 4 of notebook 02 is judged: a dynamic scaler beside the one of Keras."""

import contextlib
import functools
import io
import math
import random

import numpy as np

from .answers import call, describe, number


def slip(
    blind=False,  # every step is taken as finite
    after_bad=lambda count: 0,  # the counter after a step that is not finite
    no_restart=False,  # the counter goes on after a doubling
    doubles=None,  # whether the count is full; None compares with ==
    bad=lambda scale: scale / 2,
    good=lambda scale: scale * 2,
    applied=lambda finite, doubled: finite,
):
    """A right `update`, or one that is wrong in the way that the arguments say.

    >>> slip()(8.0, 2, True, 3), slip()(8.0, 2, False, 3)
    ((16.0, 0, True), (4.0, 0, False))
    """
    doubles = doubles or _equal

    def update(scale, count, finite, growth_steps):
        if not finite and not blind:
            return bad(scale), after_bad(count), applied(False, False)
        count += 1
        if doubles(count, growth_steps):
            return good(scale), count if no_restart else 0, applied(finite, True)
        return scale, count, applied(finite, False)

    return update


def _late(scale, count, finite, growth_steps):
    if finite and count == growth_steps:
        scale, count = scale * 2, 0
    return (scale, count + 1, True) if finite else (scale / 2, 0, False)


def _one_more(count):
    return count + 1


def _equal(count, growth_steps):
    return count == growth_steps


def _at_least(count, growth_steps):
    return count >= growth_steps


def _multiple(count, growth_steps):
    return count % growth_steps == 0


NOT_THE_UPDATE = [  # updates that share a mistake, and what to say
    (
        [slip(after_bad=lambda count: count)],
        "The counter has to restart at a step that is not finite.",
    ),
    (
        [
            slip(after_bad=_one_more),
            slip(after_bad=_one_more, doubles=_at_least),
            slip(after_bad=_one_more, no_restart=True, doubles=_multiple),
        ],
        "The counter restarts at a step that is not finite, and yours counts it.",
    ),
    (
        [slip(after_bad=lambda _: 1, doubles=doubles) for doubles in (_equal, _at_least)],
        "After a step that is not finite the counter is 0, not 1.",
    ),
    (
        [slip(blind=True, applied=lambda *_: True), slip(blind=True)],
        "Every step counts as finite: `finite` is already True or False; `np.isfinite(False)` is"
        " True.",
    ),
    (
        [slip(no_restart=True), slip(no_restart=True, doubles=_at_least)],
        "The counter has to restart after a doubling too.",
    ),
    (
        [slip(doubles=lambda count, growth_steps: count > growth_steps)],
        "You wait for `growth_steps` + 1 finite steps.",
    ),
    ([_late], "You double one step late: the last of the `growth_steps` finite steps does it."),
    (
        [slip(doubles=lambda count, growth_steps: count >= growth_steps - 1)],
        "You double after `growth_steps` - 1 finite steps.",
    ),
    ([slip(doubles=lambda *_: True)], "You double at each finite step, without counting."),
    ([slip(doubles=lambda *_: False)], "After `growth_steps` finite steps in a row it doubles."),
    (
        [slip(bad=lambda scale: max(scale / 2, 1))],
        "Keras has no floor at 1: a floor would be sensible, and another scaler.",
    ),
    (
        [
            slip(good=lambda scale, top=top: min(scale * 2, top))
            for top in (2.0**15, 2.0**16, 65504, 2.0**24)
        ],
        "Keras sets no upper limit to the scale: an overflow halves it anyway.",
    ),
    ([slip(bad=lambda scale: scale // 2)], "`//` cuts the fraction off, so divide with `/`."),
    ([slip(bad=lambda scale: scale)], "A step that is not finite halves the scale."),
    (
        [slip(bad=lambda scale: scale * 2, good=lambda scale: scale / 2)],
        "You double where Keras halves.",
    ),
    ([slip(applied=lambda *_: True)], "A step that is not finite must not move the weights."),
    ([slip(applied=lambda *_: False)], "A finite step moves the weights."),
    ([slip(applied=lambda finite, doubled: not finite)], "True stands for an applied step."),
    (
        [slip(applied=lambda finite, doubled: finite and not doubled)],
        "The step that doubles the scale is applied as well.",
    ),
]


@functools.cache
def runs():
    """The runs that are tried: `(initial_scale, growth_steps, flags)` each, 265 steps in all.

    >>> runs()[0][:2], sum(len(flags) for _, _, flags in runs())
    ((32768.0, 3), 265)
    """
    source = random.Random(2)

    def flags(n, bad):
        return tuple(source.random() >= bad for _ in range(n))

    first = tuple(flag == "T" for flag in "TTFTTTTTFTTTTTTF")
    return (
        (2.0**15, 3, first),
        (2.0**15, 1, (True,) * 14 + flags(20, 0.3)),
        (4.0, 4, flags(60, 0.4)),
        (2.0**15, 5, flags(95, 0.1)),
        (1000.0, 20, flags(60, 0.02)),
    )


def keras_run(initial_scale, growth_steps, flags):
    """What Keras's LossScaleOptimizer does: `(scale after the step, whether it is applied)` each.

    One weight, and a gradient of 1 or of infinity. Imports Keras.

    Example: `keras_run(8.0, 2, (True, True))` is `[(8.0, True), (16.0, True)]`.
    """
    import keras  # late: it loads TensorFlow

    weight = keras.Variable([0.0], dtype="float32")
    optimizer = keras.optimizers.LossScaleOptimizer(
        keras.optimizers.SGD(1.0), initial_scale=initial_scale, dynamic_growth_steps=growth_steps
    )
    optimizer.build([weight])
    gradients = {
        finite: keras.ops.convert_to_tensor([1.0 if finite else math.inf], dtype="float32")
        for finite in (True, False)
    }
    steps = []
    for finite in flags:
        before = int(keras.ops.convert_to_numpy(optimizer.iterations))
        optimizer.apply([gradients[finite]], [weight])
        after = int(keras.ops.convert_to_numpy(optimizer.iterations))
        steps.append((float(keras.ops.convert_to_numpy(optimizer.dynamic_scale)), after > before))
    return steps


@functools.cache
def _keras_runs():
    return [keras_run(*run) for run in runs()]


def check_update(function):
    """Compare the learner's function with Keras's LossScaleOptimizer, step by step.

    >>> check_update(lambda scale, count, finite, growth_steps: scale)
    'Your function returns the number 32768; three values are needed: scale, count, applied.'
    """
    if not callable(function):
        return f"You gave {describe(function)}: give the function itself, without parentheses."
    traces = []
    for run in runs():
        # What a learner prints is shown for the first run only.
        quiet = contextlib.redirect_stdout(io.StringIO()) if traces else contextlib.nullcontext()
        with quiet:
            trace, problem = _trace(function, *run)
        if problem:
            return problem
        traces.append(trace)
    difference = _first_difference(traces)
    if difference is None:
        return None
    for updates, message in NOT_THE_UPDATE:
        for update in updates:
            if traces == [_trace(update, *run)[0] for run in runs()]:
                return f"{difference} {message}"
    return f"{difference} Write the scale and the counter down for the steps before it."


def _trace(function, scale, growth_steps, flags):
    """What a function gives at each step: `([(scale, applied), ...], what is wrong or None)`."""
    trace, count = [], 0
    for finite in flags:
        result, problem = call(function, scale, count, finite, growth_steps)
        if problem:
            return trace, problem
        if result is None:
            return trace, "Your function returns None: end it with `return scale, count, applied`."
        if not isinstance(result, (tuple, list)) or len(result) != 3:
            return trace, (
                f"Your function returns {describe(result)}; three values are needed: scale, count,"
                " applied."
            )
        scale, count, applied = result
        if number(scale) is None:
            return trace, f"Your function returns {describe(scale)} as the scale; give a number."
        if not isinstance(applied, (bool, np.bool_)):
            return trace, (
                f"Your function returns {describe(applied)} for `applied`; give True or False."
            )
        trace.append((number(scale), bool(applied)))
    return trace, None


def _first_difference(traces):
    for (scale, growth_steps, flags), ours, theirs in zip(
        runs(), _keras_runs(), traces, strict=True
    ):
        before = scale
        for n, (finite, right, given) in enumerate(zip(flags, ours, theirs, strict=True), 1):
            if right != given:
                where = (
                    f"From scale {_power(scale)} with `growth_steps` = {growth_steps}, step {n}"
                    f" ({'' if finite else 'not '}finite)"
                )
                return f"{where}: {_compare(before, right, given)}."
            before = right[0]
    return None


def _compare(before, right, given):
    """Keras's step beside the learner's: the scale, the verdict, or both where both differ."""
    said = []
    for scale, applied in (right, given):
        change = "stays at" if scale == before else f"goes from {_power(before)} to"
        parts = [f"{change} {_power(scale)}"] * (right[0] != given[0])
        parts += ["applies the step" if applied else "skips the step"] * (right[1] != given[1])
        said.append(" and ".join(parts))
    return f"Keras {said[0]}, yours {said[1]}"


def _power(scale):
    share, exponent = math.frexp(scale)
    return f"2**{exponent - 1}" if share == 0.5 else f"{scale:.6g}"
