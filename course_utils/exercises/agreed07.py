"""Mistakes in exercise 4 of notebook 07, as functions, and what each is told.

Example: `agree07.check_step(NOT_AGREED[0][0])` ends with `NOT_AGREED[0][1]`.
"""

import numpy as np

RATE = 0.1  # the learning rate of the task


def _flags(gradients):
    return [bool(np.isfinite(gradient).all()) for gradient in gradients]


def slip(
    decide=lambda flags, gradients: all(flags),
    total=sum,
    unscale=lambda value, scale: value / scale,
    halve=lambda scale, flags: scale / 2,
    keep=lambda scale: scale,
    rate=RATE,
):
    """A right `step`, or one that is wrong in the way that the arguments say.

    Example: `slip(total=lambda gradients: gradients[0])` forgets the other replicas.
    """

    def step(weights, gradients, scale):
        flags = _flags(gradients)
        if not decide(flags, gradients):
            return weights, halve(scale, flags)
        update = rate * unscale(total(gradients), scale)
        return [weight - update for weight in weights], keep(scale)

    return step


def alone(weights, gradients, scale):
    """Each replica decides by its own flag, and adds what the others have.

    Example: in the second case replica 0 gets infinity and replica 1 stays.
    """
    flags = _flags(gradients)
    update = RATE * sum(gradients) / scale
    new = [w - update if good else w for w, good in zip(weights, flags, strict=True)]
    return new, scale if all(flags) else scale / 2


def apart(weights, gradients, scale):
    """Each replica decides by its own flag, and takes its own gradient alone.

    Example: after the first case the replicas differ.
    """
    new = [
        weight - RATE * gradient / scale if good else weight
        for weight, gradient, good in zip(weights, gradients, _flags(gradients), strict=True)
    ]
    return new, scale if all(_flags(gradients)) else scale / 2


def own_gradient(weights, gradients, scale):
    """All decide together, and each takes its own gradient alone.

    Example: after the first case the replicas differ.
    """
    if not all(_flags(gradients)):
        return weights, scale / 2
    return [w - RATE * g / scale for w, g in zip(weights, gradients, strict=True)], scale


def _finite_sum(gradients):
    """The sum of those replicas that are finite."""
    return sum(g for g in gradients if np.isfinite(g).all())


def _cleaned(gradients):
    return sum(np.where(np.isfinite(g), g, 0) for g in gradients)


def moved_and_halved(total):
    """A step that is always taken; the scale is halved if there is an overflow.

    Example: `moved_and_halved(sum)` lets infinity into the weights.
    """
    taken = slip(decide=lambda *_: True, total=total)

    def step(weights, gradients, scale):
        new, _ = taken(weights, gradients, scale)
        return new, scale if all(_flags(gradients)) else scale / 2

    return step


NOT_AGREED = [
    (
        slip(decide=lambda flags, gradients: flags[0]),
        "you look at replica 0 alone, as Keras's own does. Look at all of them.",
    ),
    (slip(decide=lambda flags, gradients: flags[-1]), "you look at the last replica alone."),
    (
        slip(decide=lambda flags, gradients: any(flags)),
        "you take the step if any replica is finite. All of them have to be.",
    ),
    (
        alone,
        "each replica decides alone here, and the others add up what is not finite. Decide once.",
    ),
    (apart, "each replica goes its own way here. All take the sum of all gradients, or none."),
    (own_gradient, "each replica takes its own gradient alone. Add up those of all replicas."),
    (
        slip(total=lambda gradients: gradients[0]),
        "you take the gradients of replica 0 only. Add up those of all replicas.",
    ),
    (
        slip(total=lambda gradients: sum(gradients) / len(gradients)),
        "you take the mean over the replicas, and the task asks for the sum.",
    ),
    (
        slip(unscale=lambda value, scale: value),
        "your update is too large by the scale. Divide the sum by it.",
    ),
    (
        slip(unscale=lambda value, scale: value / scale / scale),
        "your update is too small by the scale. Divide by it once.",
    ),
    (slip(unscale=lambda value, scale: value * scale), "you multiply by the scale: divide."),
    (slip(rate=-RATE), "you go uphill: subtract the update."),
    (slip(rate=1.0), "the learning rate of 0.1 is missing."),
    (
        slip(halve=lambda scale, flags: scale * 0.5 ** flags.count(False)),
        "you halve the scale once for each overflow. One step is skipped: halve it once.",
    ),
    (
        slip(halve=lambda scale, flags: scale * 0.5 ** len(flags)),
        "you halve the scale once for each replica. One step is skipped: halve it once.",
    ),
    (slip(halve=lambda scale, flags: scale), "you skip the step, and the scale has to be halved."),
    (
        slip(halve=lambda scale, flags: 2 * scale),
        "you double the scale. After an overflow it has to be smaller.",
    ),
    (slip(keep=lambda scale: 2 * scale), "you double the scale after one good step: leave it."),
    (slip(keep=lambda scale: scale / 2), "you halve the scale without an overflow: leave it."),
    (
        slip(decide=lambda *_: True),
        "you look for no overflow. `np.isfinite` is False for infinity and NaN.",
    ),
    (
        moved_and_halved(sum),
        "you halve the scale and take the step all the same. Leave the weights as they are.",
    ),
    (
        moved_and_halved(_finite_sum),
        "you leave out the replica that overflows. All skip the step, or part of the batch is"
        " lost.",
    ),
    (
        moved_and_halved(_cleaned),
        "you put 0 in the place of what is not finite, and take the step. Skip it.",
    ),
    (
        slip(decide=lambda flags, gradients: not any(np.isnan(g).any() for g in gradients)),
        "you look for NaN only. Infinity is an overflow too.",
    ),
    (
        slip(decide=lambda flags, gradients: not any(np.isinf(g).any() for g in gradients)),
        "you look for infinity only. NaN comes of an overflow too.",
    ),
    (
        slip(decide=lambda flags, gradients: not any(np.isposinf(g).any() for g in gradients)),
        "you look for +infinity only. −infinity and NaN are overflows too.",
    ),
]
