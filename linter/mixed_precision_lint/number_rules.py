"""Rules about numbers that 16 bits do not hold: MP009 and MP028."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import keras
import numpy as np
from keras import layers

from mixed_precision_lint.finding import NARROW, Finding
from mixed_precision_lint.inspected import Inspected
from mixed_precision_lint.representable import LARGEST, extreme, gap, rounded
from mixed_precision_lint.source import numbers

if TYPE_CHECKING:
    import tensorflow as tf


def number_out_of_range(inspected: Inspected) -> Iterator[Finding]:
    """MP009: an epsilon that is 0 in float16, or a mask value that is infinite.

    On TensorFlow every number that becomes a constant is seen, wherever it stands: in a
    function that the layer calls, in a Lambda, between the layers. Else the source is
    read.
    """
    measured = set()
    for call in inspected.calls:
        texts = {value: text for text, value in numbers(call.layer).items()}
        for value, (dtype, tensor) in call.numbers.items():
            # One near zero is a limit that protects.
            if abs(value) > 1 and only_limits(tensor):
                measured.add(id(call.layer))
                continue
            texts.setdefault(value, f"{value:g}")
            measured.add(id(call.layer))
            repair = inspected.repair(call.layer, "", dtype)
            path = inspected.path_of(call.layer)
            yield from extreme(path, {texts[value]: value}, dtype, repair)
    for layer in inspected.own_layers:
        if layer.compute_dtype == "float16" and id(layer) not in measured:
            repair = inspected.repair(layer, "", "float16")
            yield from extreme(
                inspected.path_of(layer), numbers(layer), "float16", repair
            )


# Where they feed a limit, infinity is what the limit is for.
INFINITE = ("Rsqrt", "Reciprocal", "RealDiv", "Exp", "Log")


def only_limits(tensor: "tf.Tensor") -> bool:
    """Whether a constant of TensorFlow's graph does nothing but limit finite values."""
    users = tensor.consumers()
    return bool(users) and all(
        user.type in ("Minimum", "Maximum", "ClipByValue")
        and user.inputs[0].op.type not in INFINITE
        for user in users
    )


def setting_not_representable(inspected: Inspected) -> Iterator[Finding]:
    """MP028: what a layer of Keras's was told, or learned from data, is another number in
    16 bits.
    """
    for call in inspected.calls:
        dtype = _seen_in(call)
        problem = ""
        if not dtype:
            continue
        if isinstance(call.layer, layers.Masking):
            problem = _mask(call.layer, dtype)
        elif isinstance(call.layer, layers.Discretization):
            problem = _boundaries(call.layer, dtype)
        elif isinstance(call.layer, layers.Normalization):
            problem = _statistics(call.layer, dtype)
        if problem:
            kind = type(call.layer).__name__
            yield Finding(
                "MP028",
                "warning",
                inspected.path_of(call.layer),
                problem,
                f'{kind}(..., dtype="float32")  # fed in float32: keras.Input is; no '
                "16-bit layer before it",
            )


def _seen_in(call):
    """The 16-bit dtype in which a layer gets its input, or ""."""
    input_dtype = call.inputs[0][1] if call.inputs else ""
    if input_dtype in NARROW:
        return input_dtype
    compute_dtype = call.layer.compute_dtype
    if "float" in input_dtype and compute_dtype in NARROW:
        return compute_dtype
    return ""


def _mask(layer, dtype):
    value = layer.mask_value
    # A whole number is rounded as the input is, and so equals it.
    if not isinstance(value, float) or rounded(value, dtype) == value:
        return ""
    return (
        f"mask_value={value:g} is {rounded(value, dtype):g} in {dtype}, which no input "
        "equals: nothing is masked."
    )


def _boundaries(layer, dtype):
    bounds = np.asarray(getattr(layer, "bin_boundaries", None) or (), "float64")
    if len(bounds) < 2:
        return ""
    width = np.diff(bounds).min()
    at = np.abs(bounds).argmax()
    step = gap(bounds[at], dtype)
    if step <= width / 4:
        return ""
    return (
        f"Near the boundary {bounds[at]:g} {dtype} has a number every {step:g}, and the bins "
        f"are {width:g} wide: values land in wrong bins."
    )


def _statistics(layer, dtype):
    if getattr(layer, "adapt_mean", None) is not None:
        mean = _as_line(layer.adapt_mean)
        variance = _as_line(layer.adapt_variance)
    elif layer.input_mean is not None:
        mean = _as_line(layer.input_mean)
        variance = _as_line(layer.input_variance)
    else:
        return ""
    deviation = np.sqrt(variance)
    largest = np.maximum(np.abs(mean) + 3 * deviation, variance)
    if largest.max() > LARGEST[dtype]:
        return (
            f"Its data, or their variance, go up to {largest.max():.3g}, and {dtype} ends at "
            f"{LARGEST[dtype]:g}: infinity, NaN or zeros come out."
        )
    coarse = gap(mean, dtype) > deviation / 4
    if not (coarse & (deviation > 0)).any():
        return ""
    at = int(np.argmax(coarse))
    return (
        f"Feature {at} lies around {mean[at]:.6g} with a deviation of {deviation[at]:.3g}, and "
        f"{dtype} has a number every {gap(mean[at], dtype):g} there: little of it is left."
    )


def _as_line(values):
    """As one line of numbers, whatever the axis."""
    return np.ravel(np.asarray(keras.ops.convert_to_numpy(values), "float64"))


RULES = (number_out_of_range, setting_not_representable)
