"""Operations of TensorFlow and layers of Keras that add up 4,096 terms.

Each is a function of a tensor of 4,096 terms, in a 16-bit dtype, that returns one number:
their sum, or for those in `MEANS` their mean. Those of layers are gradients under the
mixed policy of that dtype: all weights are asked for, as `fit` does.
"""

import functools
from collections.abc import Callable
from functools import partial

import keras
import tensorflow as tf
from keras import layers

from course_utils.precision.sums.accumulators import TERMS

SIDE = 64  # of a picture of as many positions as there are terms
WIDTH = 8  # columns, each of which holds all terms


def _columns(terms, width=WIDTH):
    return tf.tile(terms[:, None], (1, width))


def _picture(terms, width=WIDTH):
    return tf.reshape(_columns(terms, width), (1, SIDE, SIDE, width))


def _ones(terms, *shape):
    return tf.ones(shape, terms.dtype)


def gradient(
    function: Callable[[tf.Tensor], tf.Tensor],
    at: tf.Tensor,
    upstream: tf.Tensor | None = None,
) -> tf.Tensor:
    """The gradient of a function at a tensor, for the gradient that arrives from above.

    >>> float(gradient(lambda x: x * x, tf.constant(3.0)))
    6.0
    """
    with tf.GradientTape() as tape:
        tape.watch(at)
        result = function(at)
    return tf.convert_to_tensor(tape.gradient(result, at, upstream))


def _first(tensor):
    return tf.reshape(tensor, [-1])[0]


# Operations, forward


def _conv2d(picture, kernel):
    return tf.nn.conv2d(picture, kernel, 1, "VALID")


def _depthwise(picture, kernel):
    return tf.nn.depthwise_conv2d(picture, kernel, [1] * 4, "VALID")


def _pool(terms):
    return tf.nn.avg_pool2d(_picture(terms), SIDE, SIDE, "VALID")


def _cube(terms):
    return tf.reshape(terms, (1, 16, 16, 16, 1))


def _in_one_place(terms):
    return tf.zeros(TERMS, "int32")


FORWARD = {
    "reduce_sum, all": tf.reduce_sum,
    "reduce_sum, first axis": lambda t: tf.reduce_sum(_columns(t), 0),
    "reduce_sum, last axis": lambda t: tf.reduce_sum(tf.transpose(_columns(t)), 1),
    "reduce_mean, height and width": lambda t: tf.reduce_mean(_picture(t), (1, 2)),
    "cumsum": lambda t: tf.cumsum(t)[-1],
    "segment_sum": lambda t: tf.math.segment_sum(_columns(t), _in_one_place(t)),
    "unsorted_segment_sum": lambda t: tf.math.unsorted_segment_sum(
        _columns(t), _in_one_place(t), 1
    ),
    "tensor_scatter_nd_add": lambda t: tf.tensor_scatter_nd_add(
        _ones(t, 1) * 0, _in_one_place(t)[:, None], t
    ),
    "matmul": lambda t: tf.matmul(t[None], _ones(t, TERMS, WIDTH)),
    "matmul, transpose_a": lambda t: tf.matmul(
        _columns(t), _ones(t, TERMS, WIDTH), transpose_a=True
    ),
    "einsum": lambda t: tf.einsum("ij,jk->ik", t[None], _ones(t, TERMS, WIDTH)),
    "conv1d": lambda t: tf.nn.conv1d(
        t[None, :, None], _ones(t, TERMS, 1, WIDTH), 1, "VALID"
    ),
    "conv2d": lambda t: _conv2d(_picture(t, 1), _ones(t, SIDE, SIDE, 1, WIDTH)),
    "conv3d": lambda t: tf.nn.conv3d(
        _cube(t), _ones(t, 16, 16, 16, 1, 4), [1] * 5, "VALID"
    ),
    "depthwise_conv2d": lambda t: _depthwise(
        _picture(t, 1), _ones(t, SIDE, SIDE, 1, 1)
    ),
    "avg_pool2d": _pool,
}


# Operations, backward


def _filter_gradient(convolve, shape, terms):
    """Of a filter, one position wide, on a picture of ones."""
    picture = _ones(terms, 1, SIDE, SIDE, shape[-2])
    upstream = _picture(terms, shape[-1])
    return gradient(lambda k: convolve(picture, k), _ones(terms, *shape), upstream)


def _through_channels(terms):
    """The gradient of a picture through a filter with as many channels as terms."""
    kernel = _ones(terms, 3, 3, 4, TERMS)
    upstream = tf.reshape(terms, (1, 1, 1, TERMS))
    return gradient(lambda x: _conv2d(x, kernel), _ones(terms, 1, 3, 3, 4), upstream)


def _looked_up(terms):
    table = _ones(terms, 2, WIDTH)
    places = _in_one_place(terms)
    return gradient(lambda w: tf.gather(w, places), table, _columns(terms))


@tf.function(autograph=False)  # eagerly each of its steps would be one of Python's
def _loop(terms):
    """A weight that is used in each step of a loop, as in a recurrent layer."""

    def total_of(weight):
        def body(n, total):
            return n + 1, total + weight * terms[n]

        start = (0, tf.zeros((), terms.dtype))
        return tf.while_loop(lambda n, _: n < TERMS, body, start)[1]

    return gradient(total_of, _ones(terms))


def _broadcast(combine, terms):
    ones = _ones(terms, TERMS, WIDTH)
    return gradient(lambda b: combine(ones, b), _ones(terms, WIDTH), _columns(terms))


BACKWARD = {
    "bias_add: bias": partial(_broadcast, tf.nn.bias_add),
    "x + b: b": partial(_broadcast, tf.add),
    "x * g: g": partial(_broadcast, tf.multiply),
    "keras.ops.add(x, b): b": partial(_broadcast, keras.ops.add),
    "keras.ops.add(b, x): b": partial(_broadcast, lambda x, b: keras.ops.add(b, x)),
    "matmul: kernel": lambda t: gradient(
        lambda k: tf.matmul(_ones(t, TERMS, WIDTH), k),
        _ones(t, WIDTH, WIDTH),
        _columns(t),
    ),
    "einsum: kernel": lambda t: gradient(
        lambda k: tf.einsum("abc,cd->abd", _ones(t, SIDE, SIDE, WIDTH), k),
        _ones(t, WIDTH, WIDTH),
        tf.reshape(_columns(t), (SIDE, SIDE, WIDTH)),
    ),
    "conv2d: filter": partial(_filter_gradient, _conv2d, (1, 1, 4, WIDTH)),
    "conv2d: input": lambda t: _through_channels(t)[0, 1, 1],
    "depthwise_conv2d: filter": partial(_filter_gradient, _depthwise, (1, 1, 1, 1)),
    "gather: table": _looked_up,
    "repeat: input": lambda t: gradient(
        lambda x: tf.repeat(x, TERMS, 1), _ones(t, 1, 1), t[None]
    ),
    "while_loop: weight": _loop,
}


# Layers of Keras


class OwnBias(layers.Layer):
    """`x + b`, as one would write it."""

    def build(self, shape: tuple[int, ...]) -> None:
        self.bias = self.add_weight(shape=(shape[-1],), name="bias")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return x + self.bias


def _arguments(layer):
    """With how many inputs a layer is called: attention with queries and values."""
    return 2 if isinstance(layer, layers.MultiHeadAttention) else 1


@functools.cache
def _layer(make, shape, dtype):
    with tf.init_scope():  # a graph may ask for it first
        layer = make(dtype=f"mixed_{dtype}")
        layer.build(*[shape] * _arguments(layer))
    return layer


def _of_layer(make, weight, shape, terms):
    """The gradient of the weight with this name; `shape` is one of a batch of ones."""
    layer = _layer(make, shape, terms.dtype.name)
    inputs = [_ones(terms, *shape)] * _arguments(layer)
    with tf.GradientTape() as tape:
        result = layer(*inputs, training=True)
    width = result.shape.num_elements() // TERMS
    upstream = tf.reshape(_columns(terms, width), tf.shape(result))
    weights = layer.trainable_variables
    gradients = tape.gradient(result, [w.value for w in weights], upstream)
    (index,) = (n for n, w in enumerate(weights) if w.path.endswith(weight))
    return _first(gradients[index])


ROWS = (TERMS, WIDTH)
SERIES = (1, TERMS, WIDTH)
PICTURE = (1, SIDE, SIDE, WIDTH)
CUBE = (1, 16, 16, 16, 4)
KERAS = {
    "GlobalAveragePooling2D": (None, layers.GlobalAveragePooling2D),
    "AveragePooling2D(64)": (None, partial(layers.AveragePooling2D, SIDE)),
    "Dense: bias": ("bias", partial(layers.Dense, WIDTH), ROWS),
    "Dense: kernel": ("kernel", partial(layers.Dense, WIDTH), ROWS),
    "Dense(1): bias": ("bias", partial(layers.Dense, 1), ROWS),
    "x + self.bias: bias": ("bias", OwnBias, ROWS),
    "EinsumDense: bias": (
        "bias",
        partial(layers.EinsumDense, "abc,cd->abd", (None, WIDTH), bias_axes="d"),
        SERIES,
    ),
    "Conv1D: bias": ("bias", partial(layers.Conv1D, WIDTH, 1), SERIES),
    "Conv2D: bias": ("bias", partial(layers.Conv2D, WIDTH, 1), PICTURE),
    "Conv3D: bias": ("bias", partial(layers.Conv3D, 4, 1), CUBE),
    "Conv2DTranspose: bias": (
        "bias",
        partial(layers.Conv2DTranspose, WIDTH, 1),
        PICTURE,
    ),
    "DepthwiseConv2D: bias": ("bias", partial(layers.DepthwiseConv2D, 1), PICTURE),
    "SimpleRNN: bias": (
        "bias",
        partial(layers.SimpleRNN, WIDTH, activation=None),
        (TERMS, 1, WIDTH),
    ),
    "MultiHeadAttention: output bias": (
        "attention_output/bias",
        partial(layers.MultiHeadAttention, 1, WIDTH),
        (TERMS, 1, WIDTH),
    ),
    "LayerNormalization: beta": ("beta", layers.LayerNormalization, ROWS),
    "BatchNormalization: beta": ("beta", layers.BatchNormalization, ROWS),
}


def _pooling(make, terms):
    return make(dtype=f"mixed_{terms.dtype.name}")(_picture(terms))


def _layers():
    for name, (weight, make, *shape) in KERAS.items():
        if weight is None:
            yield name, partial(_pooling, make)
        else:
            yield name, partial(_of_layer, make, weight, *shape)


MEANS = (
    "reduce_mean, height and width",
    "avg_pool2d",
    "GlobalAveragePooling2D",
    "AveragePooling2D(64)",
)
# {kind: {name: function}}
OPERATIONS: dict[str, dict[str, Callable]] = {
    "forward": FORWARD,
    "backward": BACKWARD,
    "layers of Keras": dict(_layers()),
}
