"""Batches of a training's samples."""

from collections.abc import Iterator

import numpy as np


def batches(
    x: np.ndarray, y: np.ndarray, batch_size: int, seed: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Endless shuffled batches of two NumPy arrays, the same ones for the same seed.

    ValueError where there are fewer samples than `batch_size`.
    """
    if len(x) < batch_size:
        raise ValueError(
            f"A batch of {batch_size} needs as many samples and there are {len(x)}: "
            "choose a smaller batch_size."
        )
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(len(x))
        for start in range(0, len(x) - batch_size + 1, batch_size):
            places = order[start : start + batch_size]
            yield x[places], y[places]
