"""The pictures of notebook 02 and the Adam that its faint loss is learned with."""

import functools

import numpy as np

RATE = 1e-3


@functools.cache
def pictures():
    """The digits, float32 (1437, 64), from 0 to 1."""
    from sklearn.datasets import load_digits

    return (load_digits().images.reshape(-1, 64)[:1437] / 16).astype("float32")


class Adam:
    """Adam with an epsilon that no gradient of the faint loss is small beside."""

    def __init__(self):
        self.steps = 0
        self.memory = {}

    def update(self, weights, gradients):
        """Move the weights, variables of TensorFlow, by one step."""
        self.steps += 1
        for place, (weight, gradient) in enumerate(
            zip(weights, gradients, strict=True)
        ):
            g = np.asarray(gradient, "float64")
            mean, square = self.memory.get(place, (0.0, 0.0))
            mean = 0.9 * mean + 0.1 * g
            square = 0.999 * square + 0.001 * g * g
            self.memory[place] = mean, square
            size = np.sqrt(square / (1 - 0.999**self.steps)) + 1e-16
            step = RATE * mean / (1 - 0.9**self.steps) / size
            weight.assign_sub(step.astype("float32"))
