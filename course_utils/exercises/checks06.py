"""How the answers to exercises 1 and 2 of notebook 06 are judged."""

import math

import numpy as np

from .answers import describe, missing_key, near, number

# --- 1: four results, four loops ----------------------------------------------------------------

W, GRADIENT, RATE, SCALE = 1.0, 0.5, 0.1, 1024.0
RESULTS = {
    "right": W - RATE * GRADIENT,
    "never unscaled": W - RATE * SCALE * GRADIENT,
    "unscaled twice": W - RATE * GRADIENT / SCALE,
    "updated then unscaled": (W - RATE * SCALE * GRADIENT) / SCALE,
}
SHOWN = dict(zip(RESULTS, (0.95, -50.2, 0.99995, -0.049), strict=True))  # in the task
CLOSE = dict(zip(RESULTS, (5e-4, 0.05, 1e-5, 5e-4), strict=True))
WHY = {
    "right": "the gradient is 0.5 again, and the step is 0.1 × 0.5.",
    "never unscaled": "the gradient is still 512, and so the step is 51.2.",
    "unscaled twice": "the gradient is 0.5 / 1024, and the weight hardly moves.",
    "updated then unscaled": "the step is 51.2, and the weight it leaves is divided by 1024.",
}


def check_results(answer):
    """Compare a dictionary of four numbers with what each loop gives.

    >>> check_results({**SHOWN, "right": 0.99995, "unscaled twice": 0.95})[:49]
    'right and unscaled twice are swapped. In `right` '
    """
    if problem := missing_key(answer, list(RESULTS)):
        return problem
    given = {}
    for name in RESULTS:
        value = number(answer[name])
        if value is None:
            return f"{name}: you gave {describe(answer[name])}; give one of the four numbers."
        given[name] = _meant(value)
        if given[name] is None:
            if other := _meant(-value):
                return f"{name}: you gave {value:.6g}; {SHOWN[other]:g} has the other sign."
            listed = ", ".join(f"{shown:g}" for shown in SHOWN.values())
            return f"{name}: you gave {value:.6g}, which is none of {listed}."
    names = list(given.values())
    if double := [name for name in names if names.count(name) > 1]:
        times = {2: "twice", 3: "three times", 4: "four times"}[names.count(double[0])]
        return f"You gave {SHOWN[double[0]]:g} {times}. Each result belongs to one loop."
    wrong = [name for name in given if given[name] != name]
    if not wrong:
        return None
    if len(wrong) == 2:
        return f"{wrong[0]} and {wrong[1]} are swapped. {_why(wrong[0])}"
    right = "None of the four is" if len(wrong) == 4 else "Only one of the four is"
    return f"{right} in its place. {_why(wrong[0])}"


def _meant(value):
    return next((n for n, right in RESULTS.items() if abs(value - right) <= CLOSE[n]), None)


def _why(name):
    return f"In `{name}` {WHY[name]}"


# --- 2: clipped before it is unscaled -----------------------------------------------------------

CLIPPED = np.array([3.0, 4.0]) / 5 / 2**15
NOT_CLIPPED = [  # answers that share a mistake, and what to say
    ([(0.6, 0.8)], "That is the right order: unscale, then clip. Clipping is not linear."),
    ([(3, 4)], "The scaled gradient is longer than 1, so clipping does change it."),
    (
        [(3 / 2**15, 4 / 2**15)],
        "That divides the true gradient by S. The tape gives S times the gradient, which is clipped"
        " and then divided.",
    ),
    ([(3 * 2**15, 4 * 2**15)], "That is the scaled gradient, before it is clipped."),
    ([(0.6 * 2**15, 0.8 * 2**15)], "Unscaling divides by S, and you multiply."),
    ([(0.6 / 2**30, 0.8 / 2**30)], "That divides by S twice."),
    ([(0.6 / 1024, 0.8 / 1024)], "Here S is 32,768; it was 1024 in exercise 1."),
    (
        [(1 / 2**15, 1 / 2**15), (2**-15 / 2**0.5, 2**-15 / 2**0.5)],
        "That clips each number by itself. `clipnorm` shortens the whole gradient and keeps its"
        " direction.",
    ),
    ([(1, 1)], "That clips each number by itself, and it is not unscaled."),
    ([(0.75, 1), (0.75 / 2**15, 1 / 2**15)], "The length of (3, 4) is 5, not 4."),
    ([(3 / 7, 4 / 7), (3 / 7 / 2**15, 4 / 7 / 2**15)], "The length of (3, 4) is √(9 + 16) = 5."),
    (
        [(3 / 25, 4 / 25), (3 / 25 / 2**15, 4 / 25 / 2**15)],
        "The length of (3, 4) is the root of 25.",
    ),
    ([tuple(CLIPPED[::-1])], "The two numbers are swapped: clipping keeps the direction."),
    ([tuple(-CLIPPED)], "The signs are wrong: neither clipping nor unscaling changes them."),
    ([(0, 0)], "It is small, and not 0: give both numbers."),
]


def check_clipped(answer):
    """Compare two numbers with (0.6, 0.8) / 32768.

    >>> check_clipped((0.6, 0.8))
    'That is the right order: unscale, then clip. Clipping is not linear.'
    """
    pair = _pair(answer)
    if pair is None:
        value = number(answer)
        if value is not None and near(value, 2**-15, 0.02):
            return f"You gave {value:.3g}: that is the length. Give the two numbers, as (a, b)."
        return f"You gave {describe(answer)}: give two numbers, as (a, b)."
    if np.allclose(pair, CLIPPED, rtol=0.01, atol=0):
        return None
    for wrong, message in NOT_CLIPPED:
        if any(np.allclose(pair, other, rtol=0.01, atol=1e-12) for other in wrong):
            return message
    if np.allclose(pair, CLIPPED, rtol=0.1, atol=0):
        return f"You gave {_shown(pair)}. That is near: give three digits."
    length = math.hypot(*pair)
    return f"You gave {_shown(pair)}, of length {length:.3g}. How long is it after clipping?"


def _pair(answer):
    """Two finite numbers from a tuple, a list, an array or a tensor, else None."""
    try:
        if isinstance(answer, (str, bytes, dict, set)) or len(answer) != 2:
            return None
        pair = [number(item) for item in answer]
    except Exception:  # no container, or one whose own methods raise
        return None
    return None if None in pair else pair


def _shown(pair):
    return f"({pair[0]:.4g}, {pair[1]:.4g})"
