"""Operations and bytes, and what a matrix product or a pass over arrays takes of them."""

import math
from dataclasses import dataclass

import ml_dtypes  # noqa: F401  (teaches NumPy the name "bfloat16")
import numpy as np


@dataclass(frozen=True)
class Arrays:
    """What one call of a layer gets, keeps and gives.

    Attributes:
        inputs, outputs: (shape, dtype) of each, as the layer computes with them.
        to_inputs: whether the gradient goes on to what is before this layer.
        training: whether dropout is on and the statistics of the batch are taken.
    """

    inputs: tuple
    outputs: tuple
    to_inputs: bool = True
    training: bool = True

    @property
    def x(self) -> int:
        """Bytes of the inputs."""
        return sum(size(shape, dtype) for shape, dtype in self.inputs)

    @property
    def y(self) -> int:
        """Bytes of the outputs."""
        return sum(size(shape, dtype) for shape, dtype in self.outputs)

    @property
    def n_in(self) -> int:
        """Numbers in the inputs."""
        return sum(math.prod(shape) for shape, _ in self.inputs)

    @property
    def n_out(self) -> int:
        """Numbers in the outputs."""
        return sum(math.prod(shape) for shape, _ in self.outputs)


@dataclass(frozen=True)
class Count:
    """Operations and bytes of a forward and of a backward pass."""

    forward_flops: int = 0
    forward_bytes: int = 0
    backward_flops: int = 0
    backward_bytes: int = 0

    def __add__(self, other):
        return Count(
            *(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True))
        )


def size(shape, dtype) -> int:
    """Bytes of an array.

    Example:
        >>> size((2, 3), "bfloat16")
        12
    """
    return math.prod(shape) * np.dtype(str(dtype)).itemsize


def product(multiplications, x, w, y, to_x=True, to_w=True) -> Count:
    """A matrix product or convolution: arrays of x and w bytes make one of y bytes.

    Backward it is up to two products of the same size: one for each factor that has a gradient.
    """
    backward = to_x + to_w
    return Count(
        2 * multiplications, x + w + y, 2 * multiplications * backward, (x + w + y) * backward
    )


def pointwise(arrays, flops=1, backward_flops=1) -> Count:
    """One pass forward; one backward that reads the gradient and the output and writes."""
    forward = flops * arrays.n_out, arrays.x + arrays.y
    if not arrays.to_inputs:
        return Count(*forward)
    return Count(*forward, backward_flops * arrays.n_out, arrays.x + 2 * arrays.y)


def einsum_multiplications(equation: str, *shapes) -> int:
    """Multiplications of an einsum of two arrays: one for each combination of all indices.

    Example:
        >>> einsum_multiplications("abc,cd->abd", (8, 5, 4), (4, 3))
        480
    """
    sizes, rest = {}, 1
    for labels, shape in zip(
        equation.replace(" ", "").split("->")[0].split(","), shapes, strict=True
    ):
        if "..." in labels:
            before, after = labels.split("...")
            dots = shape[len(before) : len(shape) - len(after)]
            rest = max(rest, math.prod(dots))
            shape = (*shape[: len(before)], *shape[len(shape) - len(after) :])
            labels = before + after
        sizes.update(zip(labels, shape, strict=True))
    return rest * math.prod(sizes.values())
