"""How exercise 3 of notebook 06 is judged: Adam with gradients that are unscaled once too often."""

import math

from .answers import describe, missing_key, near, number

SCALE, EPSILON = 2**15, 1e-7
HALVED = "halved at"
SHARE = "share at 0.001"
BETA = 0.999  # how much of its mean square Adam keeps in each step


def share(gradient, steps=math.inf, scale=SCALE):
    """Adam's update after `steps` steps of `gradient / scale`, over that of `gradient`.

    With a gradient that stays the same, the mean of the squares after t steps is (1 - 0.999**t) g²,
    and Keras adds epsilon to its root before it corrects for the beginning.

    Source: `update_step` in `keras/src/optimizers/adam.py` of Keras 3.15.

    >>> round(share(32768e-7), 3), round(share(0.001), 3), round(share(0.001, steps=1), 4)
    (0.5, 0.234, 0.0096)
    """
    root = (1 - BETA**steps) ** 0.5
    right, wrong = (g * root / (g * root + EPSILON) for g in (gradient, gradient / scale))
    return wrong / right


RIGHT = {HALVED: SCALE * EPSILON, SHARE: share(0.001)}
NOT_HALVED = [  # (|g|, what to say)
    (
        EPSILON,
        "That is ε, so that is what reaches Adam. The true gradient is 32,768 times as large.",
    ),
    (EPSILON / SCALE, "That is ε / S. Divided by S the gradient is to be ε, so multiply."),
    (1 / SCALE, "That is the factor 1 / S. At which |g| does |g| / S equal ε?"),
    (SCALE, "That is S. At which |g| does |g| / S equal ε?"),
    (
        SCALE * EPSILON / (1 - BETA) ** 0.5,
        "That is where the first update is halved. Adam's mean of the squares is still small then:"
        " take many steps.",
    ),
    (2 * SCALE * EPSILON, "There two thirds of the update remain."),
    (SCALE * EPSILON / 2, "There a third of the update remains."),
    (
        SCALE**2 * EPSILON,
        "That divides by S three times. Unscaled twice is divided by S once more.",
    ),
    (EPSILON**0.5, "That is the root of ε. Adam adds ε after it takes the root."),
    (SCALE * EPSILON**0.5, "That takes the root of ε. Adam adds ε after it takes the root."),
    (SCALE * 1e-8, "That is for ε = 1e-8. In Keras it is 1e-7."),
]
NOT_THE_SHARE = [
    (share(0.001, 1), "That is the first update. Go on until it changes no more."),
    (
        0.001 / SCALE / EPSILON,
        "That is |g| / S over ε. The gradient stands in the denominator too.",
    ),
    (1 - share(0.001), "That is what is lost. Give what remains."),
    (100 * share(0.001), "That is the percentage. Give the share, as 0.5 for one half."),
    (1 / share(0.001), "That is the right update over the small one. Turn it around."),
    (1e-3 * share(0.001), "That is the small update itself. Divide it by the right one."),
    (1 / SCALE, "That is the factor for SGD. Adam divides by the size of its gradients."),
    (1.0, "So Adam would hide it all. What you measure is less: the gradient is not far above ε."),
    (1e-3, "That is the learning rate, the right update. Divide the small one by it."),
    (0.5, "One half is left at another gradient. Measure it at 0.001."),
]


def check_adam(answer):
    """Compare a dictionary with 0.0032768 and 0.234.

    >>> check_adam({"halved at": 1e-7, "share at 0.001": 0.23})[:20]
    'halved at: That is ε'
    """
    if problem := missing_key(answer, list(RIGHT)):
        return problem
    given = {name: number(answer[name]) for name in RIGHT}
    size, rest = given.values()
    if size is None:
        if isinstance(answer[HALVED], str) or answer[HALVED] is None or _infinite(answer[HALVED]):
            return (
                f"{HALVED}: you gave {describe(answer[HALVED])}; Adam hides a factor only while the"
                " gradient is far above ε. Give the |g| as a number."
            )
        return f"{HALVED}: you gave {describe(answer[HALVED])}; give one number."
    if rest is None:
        return f"{SHARE}: you gave {describe(answer[SHARE])}; give one number."
    if not near(size, RIGHT[HALVED], 0.02):
        return f"{HALVED}: {_wrong_size(size)}"
    if not near(rest, RIGHT[SHARE], 0.06):
        return f"{HALVED} is right. {SHARE}: {_wrong_share(rest)}"
    return None


def _infinite(value):
    return isinstance(value, float) and math.isinf(value)


def _wrong_size(size):
    if size <= 0:
        return f"You gave {size:.4g}, and |g| is a size above 0."
    for value, message in NOT_HALVED:
        if near(size, value, 0.02):
            return message
    if near(size, RIGHT[HALVED], 0.1):
        return f"You gave {size:.4g}. That is near: give two digits."
    left = share(size)
    shown = f"{left:.3g}" if left < 0.999 else "nearly 1"
    return f"With |g| = {size:.4g} the share that is left is {shown}."


def _wrong_share(rest):
    for value, message in NOT_THE_SHARE:
        if near(rest, value, 0.02):
            return message
    if share(0.001, 1) < rest < RIGHT[SHARE]:
        return f"You gave {rest:.4g}, and the share still grows. Take a few thousand steps."
    return f"You gave {rest:.4g}. Divide the last update of g / S by that of g."
