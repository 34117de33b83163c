"""Dynamic loss scaling in plain Python: the scale moves as in Keras, to the last bit."""

import numpy as np

FLOAT32 = np.finfo(np.float32)
LARGEST = float(FLOAT32.max)
SMALLEST_NORMAL = float(FLOAT32.smallest_normal)


class DynamicLossScale:
    """The loss scale of `keras.optimizers.LossScaleOptimizer`, without the optimizer.

    After `growth_steps` good steps in a row the scale doubles; a step with a gradient
    that is not finite is skipped and halves it. As in Keras there is no floor and no
    cap: it can reach 0 and inf, and stays there.

    `initial_scale` is a positive number, `growth_steps` an int from 1 on. `scale` is
    the present loss scale, a float that is a value of float32, and `good_steps` counts
    the good steps since it last changed or a step was skipped.

    Source: `keras/src/optimizers/loss_scale_optimizer.py` of Keras 3.15, and
    TensorFlow's CPU kernels, which put zero in the place of float32's subnormals.

    Example:
        >>> loss_scale = DynamicLossScale(2**15, growth_steps=2)
        >>> [(loss_scale.update(finite), loss_scale.scale) for finite in (True, True, False)]
        [(True, 32768.0), (True, 65536.0), (False, 32768.0)]
    """

    def __init__(self, initial_scale=2**15, growth_steps=2000):
        self.growth_steps = growth_steps
        self.good_steps = 0
        self.scale = _in_float32(float(np.float32(initial_scale)))

    def update(self, finite) -> bool:
        """Move the scale after a step whose gradients are all finite, or not; False:
        skip it.
        """
        if not finite:
            self.good_steps = 0
            self.scale = _in_float32(self.scale / 2)
            return False
        self.good_steps += 1
        if self.good_steps == self.growth_steps:
            self.good_steps = 0
            self.scale = _in_float32(self.scale * 2)
        return True


def _in_float32(scale):
    # Halving and doubling round nothing, so only the two ends of float32 are to be
    # minded. They are compared in float64: halved in float32, a number could round up
    # to the smallest normal.
    if scale > LARGEST:
        return float("inf")
    return scale if scale >= SMALLEST_NORMAL else 0.0
