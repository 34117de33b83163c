"""The rule about sizes that tensor cores like: MP010."""

import math

from course_utils.precision.rules_case import NARROW, Finding

MULTIPLE = 8  # NVIDIA: "Deep Learning Performance Guide", for 16-bit types


def not_multiple_of_eight(case):
    """MP010: the width of a layer that computes in 16 bits is not a multiple of 8.

    The input's width is the width of the layer before it and is not named again.
    """
    for place in case.computing_in(*NARROW):
        argument = _width_of(place.layer)
        width = argument and getattr(place.layer, argument)
        if not width or width % MULTIPLE == 0:
            continue
        padded = -(-width // MULTIPLE) * MULTIPLE
        message = (
            f"{argument}={width} is not a multiple of {MULTIPLE}, which tensor cores want in 16 "
            f"bits: {padded} would cost {_cost(place.layer, width, padded)}."
        )
        fix = f"{type(place.layer).__name__}({argument}={padded}, ...)"
        yield Finding("MP010", "advice", place.path, message, fix)


def _width_of(layer):
    """The name of the argument that says how wide a layer's output is, or None."""
    from keras import layers

    if isinstance(layer, layers.Dense):
        return "units"
    if isinstance(layer, layers.Embedding):
        return "output_dim"
    convolutions = (
        layers.Conv1D, layers.Conv2D, layers.Conv3D, layers.Conv1DTranspose, layers.Conv2DTranspose,
        layers.Conv3DTranspose, layers.SeparableConv1D, layers.SeparableConv2D,
    )  # fmt: skip
    return "filters" if isinstance(layer, convolutions) else None


def _cost(layer, width, padded):
    """Parameters that come on top, in words."""
    if not layer.built:
        return "some more parameters"
    # The depthwise part of a separable convolution does not depend on its filters.
    depthwise = getattr(layer, "depthwise_kernel", None)
    fixed = 0 if depthwise is None else math.prod(depthwise.shape)
    more = (layer.count_params() - fixed) // width * (padded - width)
    return f"{more:,} parameters more in this layer"
