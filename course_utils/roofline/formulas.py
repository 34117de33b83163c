"""Operations and bytes of one call of a Keras layer, by formulas.

A multiplication and an addition are two operations. Bytes are the least that has to move: each
pass over a layer reads an array once and writes its result once, biases and activation functions
ride along forward, and nothing stays in a cache from one pass to the next. Other functions of a
number count one operation each, softmax five, as in TensorFlow's own counter.
"""

import math

from course_utils.roofline.counts import (
    Arrays,
    Count,
    einsum_multiplications,
    pointwise,
    product,
    size,
)


def count(layer, arrays: Arrays) -> Count | None:
    """Operations and bytes of one call of a layer; None for a layer without formula.

    Layers of your own are unknown here, those that inherit from a layer of Keras too.

    Example:
        >>> flat = Arrays((((8, 5), "float32"),), (((8, 3), "float32"),))
        >>> dense = keras.layers.Dense(3)
        >>> dense.build((8, 5))
        >>> count(dense, flat).forward_flops  # 2 · 8 · 5 · 3, and 24 additions of the bias
        264
    """
    kind = type(layer)
    formula = FORMULAS.get(kind.__name__) if kind.__module__.startswith("keras.") else None
    return formula and formula(layer, arrays)


def _weighted(layer, arrays, multiplications, between=0):
    """Dense layers and convolutions: the product, the bias, the activation.

    `between`: bytes of an array in the middle, which is written and read again.
    """
    dtype, trainable = layer.compute_dtype, layer.trainable
    w = sum(size(v.shape, dtype) for v in layer.weights)
    total = product(multiplications, arrays.x, w, arrays.y, arrays.to_inputs, trainable)
    passes = 1 + arrays.to_inputs + trainable
    total += Count(0, 2 * between, 0, 2 * between * (passes - 1))
    if getattr(layer, "bias", None) is not None:  # its gradient is a sum over the output's
        total += Count(arrays.n_out, 0, arrays.n_out * trainable, 0)
    return total + _activation(layer, arrays, passes > 1)


def _activation(layer, arrays, backward):
    """The function at the end of a layer: rides along forward, is a pass of its own backward."""
    name = getattr(getattr(layer, "activation", None), "__name__", "linear")
    if name == "linear":
        return Count()
    flops = 5 if name == "softmax" else 1
    back = (flops * arrays.n_out, 3 * arrays.y) if backward else (0, 0)
    return Count(flops * arrays.n_out, 0, *back)


def _dense(layer, arrays):
    return _weighted(layer, arrays, arrays.n_out * layer.kernel.shape[0])


def _einsum(layer, arrays):
    shapes = (arrays.inputs[0][0], tuple(layer.kernel.shape))
    return _weighted(layer, arrays, einsum_multiplications(layer.equation, *shapes))


def _conv(layer, arrays):
    return _weighted(layer, arrays, arrays.n_out * math.prod(layer.kernel.shape[:-1]))


def _conv_transpose(layer, arrays):
    return _weighted(layer, arrays, arrays.n_in * math.prod(layer.kernel.shape[:-1]))


def _depthwise(layer, arrays):
    return _weighted(layer, arrays, arrays.n_out * math.prod(layer.kernel.shape[:-2]))


def _separable(layer, arrays):
    *window, channels, multiplier = layer.depthwise_kernel.shape
    middle = arrays.n_out // layer.filters * channels * multiplier
    multiplications = middle * math.prod(window) + arrays.n_out * channels * multiplier
    return _weighted(layer, arrays, multiplications, size((middle,), layer.compute_dtype))


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
    """Mean and variance in a first pass, the result in a second; backward the same way round."""
    if type(layer).__name__ == "BatchNormalization" and not (layer.trainable and arrays.training):
        return pointwise(arrays, 2, 1)
    # Forward: 4 for the statistics and 4 to normalize; backward 5 for two sums and 6 after them.
    back = (11 * arrays.n_in, 2 * (arrays.x + arrays.y) + arrays.x)
    back = back if arrays.to_inputs or layer.trainable else (0, 0)
    return Count(8 * arrays.n_in, 2 * arrays.x + arrays.y, *back)


def _attention(layer, arrays):
    """Query, key and value projections, scores, softmax, weighted sum, output projection.

    The scores are written to memory and read again, as Keras does on TensorFlow.
    """
    query, value, *rest = [shape for shape, _ in arrays.inputs]
    key = rest[0] if rest else value
    if len(query) != 3:
        return None  # attention over several axes
    (batch, t, width), s = query, value[1]
    heads, dtype, grad = layer.num_heads, layer.compute_dtype, layer.trainable
    k, v, out = layer.key_dim, layer.value_dim or layer.key_dim, arrays.outputs[0][0][-1]

    def bytes_of(*shape):
        return size(shape, dtype)

    def project(rows, inner, outer, to_inputs=True):
        moved = bytes_of(batch, rows, inner), bytes_of(inner, outer), bytes_of(batch, rows, outer)
        bias = batch * rows * outer * layer.use_bias
        total = product(batch * rows * inner * outer, *moved, to_inputs, grad)
        return total + Count(bias, 0, bias * grad, 0)

    scores = batch * heads * t * s
    q, keys = bytes_of(batch, t, heads * k), bytes_of(batch, s, heads * k)
    values, result = bytes_of(batch, s, heads * v), bytes_of(batch, t, heads * v)
    p, needed = bytes_of(scores), grad or arrays.to_inputs
    parts = [
        project(t, width, heads * k, arrays.to_inputs),
        project(s, key[-1], heads * k, arrays.to_inputs),
        project(s, value[-1], heads * v, arrays.to_inputs),
        product(scores * k, q, keys, p, needed, needed),
        Count(5 * scores, 2 * p, 5 * scores * needed, 3 * p * needed),  # softmax
        product(scores * v, p, values, result, needed, needed),
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
    if not (layer.rate and arrays.training):
        return Count()
    n, moved = arrays.n_out, arrays.x + arrays.y + arrays.n_out
    return Count(2 * n, moved, n * arrays.to_inputs, moved * arrays.to_inputs)


def _only_activation(layer, arrays):
    name = getattr(getattr(layer, "activation", None), "__name__", "")
    if name == "linear":
        return Count()
    flops = 5 if name == "softmax" or type(layer).__name__ == "Softmax" else 1
    return pointwise(arrays, flops, flops)


VIEWS = ("Flatten", "Reshape", "InputLayer", "Identity")
FORMULAS = {
    **dict.fromkeys(VIEWS, lambda layer, arrays: Count()),
    "Dense": _dense,
    "EinsumDense": _einsum,
    **dict.fromkeys(("Conv1D", "Conv2D", "Conv3D"), _conv),
    **dict.fromkeys(("Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose"), _conv_transpose),
    **dict.fromkeys(("DepthwiseConv1D", "DepthwiseConv2D"), _depthwise),
    **dict.fromkeys(("SeparableConv1D", "SeparableConv2D"), _separable),
    **dict.fromkeys((f"{g}{k}Pooling{n}D" for g in ("", "Global") for k in ("Max", "Average")
                     for n in (1, 2, 3)), _pool),
    **dict.fromkeys(("BatchNormalization", "LayerNormalization", "GroupNormalization",
                     "RMSNormalization", "UnitNormalization"), _norm),
    "MultiHeadAttention": _attention,
    "Embedding": _embedding,
    **dict.fromkeys(("Activation", "ReLU", "LeakyReLU", "ELU", "Softmax"), _only_activation),
    **dict.fromkeys(("Add", "Subtract"), _sum),
    **dict.fromkeys(("Multiply", "Maximum", "Minimum", "Average"),
                    lambda layer, arrays: pointwise(arrays)),
    "Rescaling": lambda layer, arrays: pointwise(arrays, 2, 1),
    **dict.fromkeys(("Concatenate", "Permute", "RepeatVector", "ZeroPadding1D", "ZeroPadding2D",
                     "ZeroPadding3D", "Cropping1D", "Cropping2D", "Cropping3D", "UpSampling1D",
                     "UpSampling2D", "UpSampling3D"), _copy),
    "Dropout": _dropout,
}  # fmt: skip
