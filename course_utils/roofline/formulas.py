"""Operations and bytes of one call of a Keras layer, by formulas.

A multiplication and an addition are two operations. Bytes are the least that has to
move: each pass over a layer reads an array once and writes its result once, biases and
activation functions ride along forward, and nothing stays in a cache from one pass to
the next. Other functions of a number count one operation each, softmax five, as in
TensorFlow's own counter.
"""

import math
import operator
from dataclasses import dataclass

import ml_dtypes  # noqa: F401  (teaches NumPy the name "bfloat16")
import numpy as np


def size(shape, dtype) -> int:
    """Bytes of an array.

    Example:
        >>> size((2, 3), "bfloat16")
        12
    """
    return math.prod(shape) * np.dtype(str(dtype)).itemsize


class Arrays:
    """What one call of a layer gets and gives: (shape, dtype) of each, as it computes
    with them.

    x and y are their bytes, n_in and n_out their numbers; `to_inputs` tells whether the
    gradient goes on to what is before this layer.
    """

    def __init__(self, inputs, outputs, to_inputs: bool = True):
        self.inputs, self.outputs, self.to_inputs = inputs, outputs, to_inputs
        self.x, self.y = (
            sum(size(*each) for each in arrays) for arrays in (inputs, outputs)
        )
        self.n_in = sum(math.prod(shape) for shape, _ in inputs)
        self.n_out = sum(math.prod(shape) for shape, _ in outputs)


@dataclass(frozen=True)
class Count:
    """Operations and bytes of a forward and of a backward pass."""

    forward_flops: int = 0
    forward_bytes: int = 0
    backward_flops: int = 0
    backward_bytes: int = 0

    def __add__(self, other):
        return Count(*map(operator.add, vars(self).values(), vars(other).values()))


def count(layer, arrays: Arrays) -> Count | None:
    """Operations and bytes of one call of a layer; None for a layer without formula.

    Layers of your own are unknown here, those that inherit from a layer of Keras too.

    Example:
        >>> import keras
        >>> flat = Arrays([((8, 5), "float32")], [((8, 5), "float32")])
        >>> count(keras.layers.ReLU(), flat)
        Count(forward_flops=40, forward_bytes=320, backward_flops=40, backward_bytes=480)
    """
    kind = type(layer)
    formula = (
        FORMULAS.get(kind.__name__) if kind.__module__.startswith("keras.") else None
    )
    return formula and formula(layer, arrays)


def _product(multiplications, x, w, y, to_x=True, to_w=True):
    """A matrix product or convolution: arrays of x and w bytes make one of y bytes.

    Backward it is up to two products of the same size: one for each factor that has a
    gradient.
    """
    backward = to_x + to_w
    flops = 2 * multiplications
    moved = x + w + y
    return Count(flops, moved, flops * backward, moved * backward)


def _pointwise(arrays, flops=1, backward_flops=1):
    """One pass forward; one backward that reads the gradient and the output and writes."""
    forward = flops * arrays.n_out, arrays.x + arrays.y
    if not arrays.to_inputs:
        return Count(*forward)
    return Count(*forward, backward_flops * arrays.n_out, arrays.x + 2 * arrays.y)


def _function(layer):
    """Operations for each number of a layer's activation, or of one that is nothing
    else.
    """
    function = getattr(layer, "activation", layer)
    name = getattr(function, "__name__", type(function).__name__)
    return {"linear": 0, "softmax": 5}.get(name.lower(), 1)


def _weighted(layer, arrays):
    """Dense layers and convolutions: the product, the bias, the activation."""
    trainable = layer.trainable
    flops = _function(layer)
    # Each number that comes out meets the kernel, whose last axis is the channels out.
    window = layer.kernel.shape[:-1]
    w = sum(size(v.shape, layer.compute_dtype) for v in layer.weights)
    to_x = arrays.to_inputs
    products = arrays.n_out * math.prod(window)
    total = _product(products, arrays.x, w, arrays.y, to_x, trainable)
    if layer.use_bias:  # its gradient is a sum over the output's
        total += Count(arrays.n_out, 0, arrays.n_out * trainable, 0)
    # The function at the end rides along forward and is a pass of its own backward.
    back = (flops * arrays.n_out, 3 * arrays.y) if flops and (to_x or trainable) else ()
    return total + Count(flops * arrays.n_out, 0, *back)


def _pool(layer, arrays):
    everything = arrays.n_in // arrays.n_out  # a global pool's window
    window = math.prod(layer.pool_size) if hasattr(layer, "pool_size") else everything
    forward = arrays.n_out * window, arrays.x + arrays.y
    if not arrays.to_inputs:
        return Count(*forward)
    if "Max" in type(layer).__name__:  # looks for the largest once more
        return Count(*forward, arrays.n_out * (window + 1), 2 * (arrays.x + arrays.y))
    return Count(*forward, arrays.n_out * window, arrays.x + arrays.y)


def _norm(layer, arrays):
    """Mean and variance in a first pass, the result in a second; backward the same way
    round.
    """
    if type(layer).__name__ == "BatchNormalization" and not layer.trainable:
        return _pointwise(arrays, 2, 1)
    # Forward: 4 for the statistics and 4 to normalize; backward 5 for two sums and 6
    # after them.
    back = (11 * arrays.n_in, 2 * (arrays.x + arrays.y) + arrays.x)
    back = back if arrays.to_inputs or layer.trainable else (0, 0)
    return Count(8 * arrays.n_in, 2 * arrays.x + arrays.y, *back)


def attention_arrays(layer, inputs) -> list[int]:
    """Bytes of what attention makes inside: queries, keys, values, scores, their
    weighted sum.

    `inputs`: the shapes (batch, …, width) of query and value.
    """
    (batch, *several, _), (_, *others, _) = inputs[:2]
    t = math.prod(several)
    s = math.prod(others)
    heads = layer.num_heads
    k = layer.key_dim
    v = layer.value_dim or layer.key_dim
    each = (t * k, s * k, s * v, t * s, t * v)
    return [size((batch, heads, n), layer.compute_dtype) for n in each]


def _attention(layer, arrays):
    """Query, key and value projections, scores, softmax, weighted sum, output
    projection.

    The scores are written to memory and read again, as Keras does on TensorFlow.
    """
    query, value, *rest = [shape for shape, _ in arrays.inputs]
    key = rest[0] if rest else value
    if len(query) != 3:
        return None  # attention over several axes
    (batch, t, width), s = query, value[1]
    heads = layer.num_heads
    dtype = layer.compute_dtype
    grad = layer.trainable
    k = layer.key_dim
    v = layer.value_dim or layer.key_dim
    out = arrays.outputs[0][0][-1]
    q, keys, values, p, result = attention_arrays(layer, [query, value])

    def project(rows, inner, outer, to_inputs=True):
        shapes = (batch, rows, inner), (inner, outer), (batch, rows, outer)
        moved = [size(shape, dtype) for shape in shapes]
        bias = batch * rows * outer * layer.use_bias
        total = _product(batch * rows * inner * outer, *moved, to_inputs, grad)
        return total + Count(bias, 0, bias * grad, 0)

    scores = batch * heads * t * s
    needed = grad or arrays.to_inputs
    parts = [
        project(t, width, heads * k, arrays.to_inputs),
        project(s, key[-1], heads * k, arrays.to_inputs),
        project(s, value[-1], heads * v, arrays.to_inputs),
        _product(scores * k, q, keys, p, needed, needed),
        Count(5 * scores, 2 * p, 5 * scores * needed, 3 * p * needed),  # softmax
        _product(scores * v, p, values, result, needed, needed),
        project(t, heads * v, out, needed),
    ]
    return sum(parts, Count())


def _embedding(layer, arrays):
    """Rows are read and written; backward their gradients are."""
    back = (arrays.n_out, 2 * arrays.y) if layer.trainable else (0, 0)
    return Count(0, arrays.x + 2 * arrays.y, *back)


def _sum(layer, arrays):
    """Every input gets the same gradient: there is nothing to compute."""
    return Count(arrays.n_in - arrays.n_out, arrays.x + arrays.y)


def _copy(layer, arrays):
    moved = arrays.x + arrays.y
    return Count(0, moved, 0, moved * arrays.to_inputs)


def _dropout(layer, arrays):
    """The mask takes a byte for each number and is read again backward."""
    if not layer.rate:
        return Count()
    n = arrays.n_out
    moved = arrays.x + arrays.y + arrays.n_out
    return Count(2 * n, moved, n * arrays.to_inputs, moved * arrays.to_inputs)


def _only_activation(layer, arrays):
    flops = _function(layer)
    return _pointwise(arrays, flops, flops) if flops else Count()


VIEWS = ("Flatten", "Reshape", "InputLayer", "Identity")
NAMES = {
    _weighted: "Dense Conv2D",
    _pool: "MaxPooling2D AveragePooling2D GlobalMaxPooling2D GlobalAveragePooling2D",
    _norm: "BatchNormalization LayerNormalization",
    _attention: "MultiHeadAttention",
    _embedding: "Embedding",
    _only_activation: "Activation ReLU Softmax",
    _sum: "Add",
    _copy: "Concatenate",
    _dropout: "Dropout",
    lambda layer, arrays: Count(): " ".join(VIEWS),
    lambda layer, arrays: _pointwise(arrays): "Multiply",
    lambda layer, arrays: _pointwise(arrays, 2, 1): "Rescaling",
}
FORMULAS = {name: formula for formula, names in NAMES.items() for name in names.split()}
PRODUCTS = {
    name for name, formula in FORMULAS.items() if formula in (_weighted, _attention)
}
