"""What has to come out of the trainings of `helpers.overflows`, by plain arithmetic."""

import numpy as np

from helpers.loss_scale import DynamicLossScale
from helpers.overflows import GROWTH, RATE, START


def compare(script, found):
    """Hold what `Rig.play` found against plain arithmetic, on every replica of the
    process.
    """
    loss_scale = DynamicLossScale(START, GROWTH)
    applied = 0
    weight = 1.0
    for marks, step in zip(script, found["scales"], strict=True):
        if loss_scale.update(bool(np.isfinite(marks).all())):
            applied += 1
            weight -= RATE * sum(range(1, len(marks) + 1))
        assert step == [[loss_scale.scale]] * len(step)
    assert all(count == [applied] for count in found["iterations"])
    for replicas in found["weights"]:
        assert all(value == weight for replica in replicas for value in replica)


def fit_wanted(bad_batches):
    """The scales before each of 6 batches, and whether it was applied."""
    loss_scale = DynamicLossScale(2.0**12, 2)
    batches = range(6)
    steps = [
        (loss_scale.scale, loss_scale.update(n not in bad_batches)) for n in batches
    ]
    return [list(part) for part in zip(*steps, strict=True)]
