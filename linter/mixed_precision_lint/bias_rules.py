"""The rule about biases whose gradients a CPU adds up in bfloat16: MP035."""

import functools
from collections.abc import Iterator

import keras

from mixed_precision_lint.finding import Finding
from mixed_precision_lint.inspected import Inspected, names

BATCH = 32  # what `fit` takes, where nobody says another
# Measured for terms of one sign: an error of 2.6 % at 256 positions, of 32 at 1,024.
MANY = 1024
CURE = (
    "x + self.bias  # not keras.ops.add, in a layer of yours after use_bias=False; or "
    "jit_compile=True, or Adam"
)
# They move a weight by the sign of its gradient, roughly: its length is divided away.
# AdamW is a kind of Adam.
ADAPTIVE = tuple(
    getattr(keras.optimizers, name)
    for name in "Adam Nadam Adamax RMSprop Adagrad Adadelta Lamb Lion".split()
)


def follows_length(optimizer: keras.Optimizer | None) -> bool:
    """Whether a shorter gradient makes a shorter step, as for SGD.

    >>> follows_length(keras.optimizers.SGD()), follows_length(keras.optimizers.AdamW())
    (True, False)
    """
    return not isinstance(optimizer, ADAPTIVE)


@functools.cache
def bias_sums_stop(merged: bool = False) -> bool:
    """Whether this device adds up a bias's gradient in bfloat16: asked for 4,096 ones.

    `merged`: in a graph, beside the gradient of a convolution's filter, which oneDNN
    merges with it where it has routines for bfloat16.
    """
    import tensorflow as tf

    def gradient(x, kernel, bias):
        with tf.GradientTape() as tape:
            tape.watch((kernel, bias))
            y = tf.nn.bias_add(tf.nn.conv2d(x, kernel, 1, "VALID"), bias)
        return tape.gradient(y, (kernel, bias), x)

    x = tf.ones((1, 64, 64, 8), "bfloat16")
    kernel = tf.ones((1, 1, 8, 8), "bfloat16")
    bias = tf.ones(8, "bfloat16")
    if merged:
        sums = tf.function(gradient)(x, kernel, bias)[1]
    else:
        sums = tf.raw_ops.BiasAddGrad(out_backprop=tf.reshape(x, (-1, 8)))
    return float(sums[0]) < 4096


def bias_gradient_in_bfloat16(inspected: Inspected) -> Iterator[Finding]:
    """MP035: the gradient of a bias is added up in bfloat16, over many positions.

    It is silent where the update does not depend on a gradient's length, and where XLA
    or another device adds up in float32.
    """
    if getattr(inspected.model, "jit_compile", False) is True:
        return
    if not any(s.chain and follows_length(s.chain[-1]) for s in inspected.steppers):
        return
    paths: dict[str, int] = {}
    for call in inspected.calls:
        for operation in call.operations:
            if operation.type == "BiasAdd":
                positions = _positions(operation, call.layer)
                if positions * BATCH >= MANY and call.layer.trainable:
                    paths[inspected.path_of(call.layer)] = positions * BATCH
    if paths:
        message = (
            f"A CPU adds up the gradient of its bias in bfloat16, over {max(paths.values()):,} "
            f"positions in a batch of {BATCH}: of shares of one sign a third and more get lost "
            f"({names(paths)})."
        )
        yield Finding("MP035", "advice", next(iter(paths)), message, CURE)


def _positions(operation, layer):
    """Over how many positions of one example a bias is shared; 0 if in float32."""
    shape = operation.outputs[0].shape
    if operation.outputs[0].dtype.name != "bfloat16" or not shape.rank:
        return 0
    merged = isinstance(layer, keras.layers.SeparableConv2D)
    if isinstance(layer, keras.layers.Conv2D):
        merged = layer.groups == max(layer.dilation_rate) == 1
    if not bias_sums_stop(merged):
        return 0
    positions = 1
    for size in shape[1:-1]:
        positions *= size or 1
    return positions


RULES = (bias_gradient_in_bfloat16,)
