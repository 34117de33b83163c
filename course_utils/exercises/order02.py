"""How exercise 5 of notebook 02 is judged: one step of gradient descent on a scaled loss."""

import copy
import functools
import random

import numpy as np

from .answers import call, describe

EXAMPLE = (1.0, 512.0, 0.1, 1024)  # w, the gradient of S * loss, lr, S


def true_step(w, scaled_gradient, lr, S):
    """One step of SGD: unscale, then update.

    >>> true_step(1.0, 512.0, 0.1, 1024)
    0.95
    """
    return w - lr * (scaled_gradient / S)


NOT_THE_STEP = [  # functions that share a mistake, what the first gives for EXAMPLE, what to say
    ([lambda w, g, lr, S: w - lr * g], -50.2, "That is a step with the gradient never unscaled."),
    (
        [lambda w, g, lr, S: w - lr * g / S / S],
        0.999951,
        "That is a step with the gradient unscaled twice.",
    ),
    (
        [lambda w, g, lr, S: (w - lr * g) / S],
        -0.0490234,
        "That updates with the scaled gradient and unscales the weight afterwards.",
    ),
    (
        [lambda w, g, lr, S: w / S - lr * g / S / S],
        0.000927734,
        "The weight was never scaled, so leave it undivided.",
    ),
    (
        [lambda w, g, lr, S: w / S - lr * g],
        -51.199,
        "The weight was never scaled, and the gradient still is.",
    ),
    (
        [lambda w, g, lr, S: w - lr * (g // S), lambda w, g, lr, S: w - lr * g // S],
        1.0,
        "`//` cuts the fraction off, so divide with `/`.",
    ),
    (
        [lambda w, g, lr, S: w - lr * S * g],
        -52427.8,
        "That multiplies by S once more, and the gradient is scaled already.",
    ),
    (
        [lambda w, g, lr, S: w + lr * g / S, lambda w, g, lr, S: w + lr * g],
        1.05,
        "That goes uphill: the step is subtracted.",
    ),
    ([lambda w, g, lr, S: w - g / S], 0.5, "The learning rate is missing."),
    (
        [lambda w, g, lr, S: lr * g / S, lambda w, g, lr, S: -lr * g / S],
        0.05,
        "That is the change of the weight, not the new weight.",
    ),
    ([lambda w, g, lr, S: g / S], 0.5, "That is the unscaled gradient, not the new weight."),
    ([lambda w, g, lr, S: w], 1.0, "The weight does not move."),
    (
        [lambda w, g, lr, S: w - lr * g / 1024],
        None,
        "You divide by 1024 whatever S is.",
    ),
]


@functools.cache
def _step_trials():
    source = random.Random(2)
    trials = [EXAMPLE]
    for S in (1, 8, 1000, 2**15, 2.0**24, 2.0**60):
        w, g = source.uniform(0.5, 2), source.choice((-1, 1)) * source.uniform(0.2, 3)
        trials.append((w, S * g, source.uniform(0.05, 0.3), S))
    w, g = (np.array([source.uniform(0.5, 2) for _ in range(3)]) for _ in range(2))
    return [*trials, (w, 2**15 * g, 0.1, 2**15)]


def check_step(function):
    """Compare the learner's function with a step of SGD on the unscaled gradient.

    >>> check_step(lambda w, scaled_gradient, lr, S: w - lr * scaled_gradient)[-48:]
    'That is a step with the gradient never unscaled.'
    """
    if not callable(function):
        return f"You gave {describe(function)}: give the function itself, without parentheses."
    results = []
    for trial in _step_trials():
        # Copies, since `w -= ...` would change an array in place.
        result, problem = call(function, *copy.deepcopy(trial))
        if problem and "Python scalar" in problem and np.ndim(trial[0]):
            problem += ". The last trial gives arrays: leave `float()` out."
        problem = problem or _shape_problem(result, trial[0])
        if problem:
            return problem
        results.append(np.asarray(result, np.float64))

    def agrees(reference):
        return all(
            np.allclose(result, reference(*trial), rtol=1e-6, atol=1e-7)
            for result, trial in zip(results, _step_trials(), strict=True)
        )

    if agrees(true_step):
        return None
    for steps, _, message in NOT_THE_STEP:
        if any(agrees(step) for step in steps):
            return f"{_first_wrong(results)} {message}"
    return f"{_first_wrong(results)} Unscale the gradient once, then take the step."


def _shape_problem(result, w):
    if result is None:
        return "Your function returns None: end it with `return` and the new weight."
    try:
        values = np.asarray(result)
        if values.dtype.kind not in "fiu" or values.shape != np.shape(w):
            raise TypeError
    except Exception:  # whatever the learner's object does when NumPy reads it
        kind = "an array of the shape of `w`" if np.shape(w) else "one number"
        return f"Your function returns {describe(result)} where {kind} is needed."
    if not np.isfinite(values.astype(np.float64)).all():
        return f"Your function returns {describe(result)} where a finite result is needed."
    return None


def _first_wrong(results):
    for result, trial in zip(results, _step_trials(), strict=True):
        right = true_step(*trial)
        if not np.allclose(result, right, rtol=1e-6, atol=1e-7):
            break
    if result.shape:
        return "For an array of weights your function gives other numbers than for single ones."
    w, gradient, lr, S = (f"{float(value):.6g}" for value in trial)
    return (
        f"For w = {w}, scaled_gradient = {gradient}, lr = {lr}, S = {S} your function gives"
        f" {float(result):.6g}; {right:.6g} is needed."
    )
