"""The autoencoder of notebook 02 in NumPy, for its scaler, and an Adam.

They are those of Keras, written out: a training takes half a second. The weights
stand in one array, float32 (4096,), and a dtype is that of a policy's computations.
"""

import functools

import numpy as np

RATE = 1e-3
BROKEN = 100  # batches in front that hold NaN


def first_weights() -> np.ndarray:
    """The first weights of `nb02.autoencoder`, in one array."""
    return np.random.default_rng(0).uniform(-0.25, 0.25, 4096).astype("float32")


@functools.cache
def pictures() -> np.ndarray:
    """The digits of the notebook, float32 (1437, 64), from 0 to 1."""
    from sklearn.datasets import load_digits

    return (load_digits().images.reshape(-1, 64)[:1437] / 16).astype("float32")


def rounded(array: np.ndarray, dtype: str) -> np.ndarray:
    """The numbers that are left of an array in a dtype, float32."""
    return array.astype(dtype).astype("float32")


def flat(arrays: list[np.ndarray]) -> np.ndarray:
    """All numbers of some arrays, float64."""
    return np.concatenate([np.ravel(array) for array in arrays]).astype("float64")


def forward(
    weights: np.ndarray, images: np.ndarray, dtype: str
) -> tuple[np.ndarray, ...]:
    """What the autoencoder computes in a dtype: its inputs, its second matrix, its
    hidden values and its outputs.
    """
    squeeze, restore = rounded(weights, dtype).reshape(2, -1)
    restore = restore.reshape(32, 64)
    x = rounded(images, dtype)
    hidden = rounded(np.maximum(x @ squeeze.reshape(64, 32), 0), dtype)
    return x, restore, hidden, rounded(hidden @ restore, dtype)


def backward(weights: np.ndarray, n: int, scale: float, dtype: str) -> list[np.ndarray]:
    """The gradients of the mean squared error of step n times the scale, float32."""
    images = pictures()[16 * n % 1424 :][:16]
    images = np.full_like(images, np.nan) if n < BROKEN else images
    x, restore, hidden, outputs = forward(weights, images, dtype)
    error = rounded(np.float32(scale) * 2 * (outputs - images) / images.size, dtype)
    hidden_error = rounded(error @ restore.T * (hidden > 0), dtype)
    gradients = [rounded(x.T @ hidden_error, dtype), rounded(hidden.T @ error, dtype)]
    if n % 50 == 27:  # as where the largest gradient overflows, and it alone
        gradients[n // 50 % 2].flat[0] = np.inf if n % 200 < 100 else -np.inf
    return gradients


def missing_share(weights: np.ndarray, dtype: str) -> float:
    """The share of the pictures that the network does not restore."""
    few = pictures()[:256]
    return np.mean((forward(weights, few, dtype)[-1] - few) ** 2) / np.mean(few**2)


class Adam:
    """Adam, as Keras has it."""

    steps = 0
    mean: float | np.ndarray = 0.0
    square: float | np.ndarray = 0.0

    def step(self, gradient: np.ndarray) -> np.ndarray:
        """How far the weights are to move down, float64 as the gradient."""
        self.steps += 1
        self.mean = 0.9 * self.mean + 0.1 * gradient
        self.square = 0.999 * self.square + 0.001 * gradient**2
        size = np.sqrt(self.square / (1 - 0.999**self.steps)) + 1e-7
        return RATE * self.mean / (1 - 0.9**self.steps) / size
