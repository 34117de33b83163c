"""How exercise 4 of notebook 07 is judged: a step of several replicas, with overflows injected."""

import math

import numpy as np

from .agreed07 import NOT_AGREED, RATE
from .answers import call, describe, number

INF, NAN = math.inf, math.nan
CASES = [  # (replicas, scale, {(replica, place): what overflows})
    (2, 2.0**10, {}),
    (2, 2.0**10, {(1, 2): INF}),
    (2, 2.0**10, {(0, 0): INF}),
    (4, 2.0**6, {}),
    (3, 2.0**6, {(2, 1): NAN}),
    (4, 2.0**10, {(1, 0): -INF, (3, 2): NAN}),
    (3, 2.0**6, {(0, 1): INF, (1, 1): -INF}),  # their sum is NaN
    (2, 2.0**10, {(r, place): INF for r in range(2) for place in range(3)}),
    (1, 2.0**6, {}),
]


def trials():
    """Weights, gradients and scale of each case: float32 arrays of three numbers a replica.

    >>> [len(weights) for weights, gradients, scale in trials()]
    [2, 2, 2, 4, 3, 4, 3, 2, 1]
    """
    source = np.random.RandomState(7)
    for replicas, scale, spoiled in CASES:
        start = source.normal(0, 1, 3).astype("float32")
        gradients = source.uniform(1, 5, (replicas, 3)) * source.choice([-1, 1], (replicas, 3))
        gradients = (gradients * scale).astype("float32")
        for where, value in spoiled.items():
            gradients[where] = value
        yield [start.copy() for _ in range(replicas)], list(gradients), scale


def step(weights, gradients, scale):
    """The slow and obvious reference: number by number.

    >>> step([[1.0], [1.0]], [[2.0], [8.0]], 2.0)
    ([[0.5], [0.5]], 2.0)
    """
    for gradient in gradients:
        for value in gradient:
            if not math.isfinite(value):
                return weights, scale / 2
    new = []
    for weight in weights:
        row = []
        for place in range(len(weight)):
            total = sum(gradient[place] for gradient in gradients)
            row.append(weight[place] - RATE * total / scale)
        new.append(row)
    return new, scale


def label(case):
    """A case in a few words.

    >>> label(CASES[0]), label(CASES[1])
    ('2 replicas, all finite', '2 replicas, overflow on replica 1')
    """
    replicas, _, spoiled = case
    bad = sorted({replica for replica, _ in spoiled})
    count = f"{replicas} replica" + "s" * (replicas > 1)
    if not bad:
        return f"{count}, all finite"
    return f"{count}, overflow on replica{'s' * (len(bad) > 1)} {' and '.join(map(str, bad))}"


def check_step(function):
    """Run the learner's function on each case and compare it with `step`.

    >>> check_step(lambda weights, gradients, scale: weights)
    'Your function returns a list of 2 items as the weights: return the list of weights, the scale.'
    """
    if not callable(function):
        return f"You gave {describe(function)}: give the function itself, without parentheses."
    results = []
    for weights, gradients, scale in trials():
        with np.errstate(all="ignore"):  # no warning about infinity minus infinity
            result, problem = call(function, weights, gradients, scale)
        if problem:
            return problem
        if result is None:
            return "Your function returns None: end it with `return`."
        found, problem = read(result, len(gradients))
        if problem:
            return f"Your function returns {problem}"
        results.append(found)
    right = played(step)
    for case, result, wanted in zip(CASES, results, right, strict=True):
        if not same(result, wanted):
            return f"{label(case)}: {_mistake(results) or _difference(case, result, wanted)}"
    return None


def _mistake(results):
    for mistake, message in NOT_AGREED:
        if all(map(same, results, played(mistake))):
            return message
    return None


def played(function):
    """What a function returns in each case, as pairs of an array (replicas, 3) and a scale.

    >>> same(played(step)[0], (np.zeros((2, 3)), 1024.0))
    False
    """
    with np.errstate(all="ignore"):
        return [read(function(*trial), len(trial[1]))[0] for trial in trials()]


def same(one, other):
    """Whether two pairs of weights and scale agree within the rounding of float32.

    >>> same((np.ones(3), 2.0), (np.ones(3) + 1e-6, 2.0))
    True
    """
    with np.errstate(all="ignore"):
        weights = np.allclose(one[0], other[0], rtol=1e-4, atol=1e-5, equal_nan=True)
    return weights and math.isclose(one[1], other[1], rel_tol=1e-6)


def read(result, replicas):
    """`((weights, scale), None)`, weights an array (replicas, 3), or `(None, what is wrong)`.

    >>> read(([[1, 2, 3]], 8), 1)
    ((array([[1., 2., 3.]]), 8.0), None)
    """
    wanted = "return the list of weights, the scale."
    try:
        parts = list(result) if isinstance(result, (tuple, list)) else None
        if parts is None or len(parts) != 2:
            return None, f"{describe(result)}: {wanted}"
        scale = number(parts[1])
        if scale is None:
            # Two arrays of weights, without a scale, look like a pair too.
            if np.shape(parts[1]):
                return None, f"{describe(result)} as the weights: {wanted}"
            return None, f"{describe(parts[1])} as the scale: {wanted}"
        weights = np.asarray(parts[0], dtype="float64")
    except Exception:  # a learner's own class may raise from anywhere
        return None, f"what cannot be read: {wanted}"
    if weights.shape != (replicas, 3):
        said = f"{describe(weights)} as the weights of {replicas} replicas"
        return None, f"{said}: give one array of 3 numbers for each."
    return (weights, scale), None


def _difference(case, result, right):
    weights, scale = result
    if not np.isfinite(weights).all():
        return "your weights are not finite. Look at all gradients before you add them up."
    if any(not same((row, 1), (weights[0], 1)) for row in weights):
        return "your replicas end with different weights. Decide once, for all of them."
    if not same((weights, 1), (right[0], 1)):
        if case[2]:
            return "your weights move. With an overflow anywhere they stay as they are."
        return "your weights are not those of one step with the unscaled sum of all gradients."
    return f"your scale becomes {scale:g}, and {right[1]:g} is needed."
