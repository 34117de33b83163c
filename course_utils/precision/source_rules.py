"""Rules about layers that are not Keras's own: MP005, MP007 and MP009.

What a layer puts out is measured, and the source is read to say why it is wrong. Counts,
such as the positions in a text, are not told to follow the policy: 16 bits would make
other numbers of them. No repair casts a finished output: what comes before it would
still be computed in the wider dtype.
"""

import math

import numpy as np

from course_utils.precision.case import NARROW, WHOLE, Finding
from course_utils.precision.source import calls, computing, numbers

WIDE = ("float32", "float64")
SMALLEST = 2.0**-24  # of float16


def hard_coded_dtype(case):
    """MP005: a dtype in the code, where the policy should decide."""
    for layer in case.own_layers:
        counted: dict[tuple, bool] = {}  # (name of a call, dtype): whether it counts
        for function in computing(layer).values():
            for call in calls(function):
                for dtype in call.dtypes:
                    key = (call.name, dtype)
                    counted[key] = counted.get(key, False) or call.counts
        compute = layer.compute_dtype
        for (call, dtype), counts in counted.items():
            weight = call == "add_weight"
            if dtype in NARROW:
                severity = "warning" if dtype == compute and not weight else "error"
                message = (
                    f"{call} names {dtype}, whatever the policy says: nothing else in Keras, "
                    "loss scaling included, knows of it"
                )
            elif not weight and _widens(case, layer):
                severity = "warning"
                message = (
                    f"{call} names {dtype} and nothing leads back to {compute}: what follows "
                    "takes the memory and the time of the wider dtype"
                )
            else:
                continue
            fix = f"{call}(..., self.compute_dtype)"
            if weight:
                fix = (
                    "self.add_weight(...)  # without dtype: the policy's variable dtype"
                )
            elif counts:
                narrow = dtype if dtype in NARROW else compute
                message += (
                    f"; counts need float32 or int32, since {narrow} rounds whole numbers above "
                    f"{WHOLE[narrow]:,}"
                )
                fix = (
                    "keras.ops.cast(made, self.compute_dtype)  # made: what your code "
                    f"makes of {call} in float32 or int32"
                )
            yield Finding("MP005", severity, case.path_of(layer), f"{message}.", fix)


def silent_promotion(case):
    """MP007: the output is wider than the layer's compute dtype, and no code says so."""
    explained = {finding.layer for finding in hard_coded_dtype(case)}
    for layer in case.own_layers:
        path = case.path_of(layer)
        if path in explained or not _widens(case, layer):
            continue
        wide = next(dtype for dtype in case.put_out[id(layer)] if dtype in WIDE)
        message = f"Its policy says {layer.compute_dtype}, and it puts out {wide}: "
        uncast = [weight.name for weight in _own_weights(layer) if not weight._autocast]
        if uncast:
            message += (
                f"its weight {uncast[0]!r} has autocast=False and widens the rest."
            )
            fix = f"self.add_weight(name={uncast[0]!r}, ...)  # without autocast=False"
        else:
            message += "something in it is wider and widens the rest."
            fix = "keras.ops.cast(part, self.compute_dtype)  # the wide part, before it meets x"
        yield Finding("MP007", "warning", path, message, fix)


def out_of_range(case):
    """MP009: an epsilon that is 0 in float16, or a mask value that is infinite."""
    for layer in case.own_layers:
        if layer.compute_dtype != "float16":
            continue
        for text, value in numbers(layer).items():
            # NumPy rounds as the device does; the first number that becomes infinite is
            # 65520.
            with np.errstate(over="ignore"):
                infinite = math.isinf(np.float16(value))
            if infinite:
                problem = "is infinite in float16, and 0 times infinity is NaN."
                fix = f"{math.copysign(3e4, value):.0f}  # what Keras's Softmax takes for float16"
            elif 0 < abs(value) < SMALLEST:
                problem = (
                    "is below 6e-08, float16's smallest number, and protects from nothing "
                    "there."
                )
                fix = 'x = keras.ops.cast(x, "float32")  # before it is used, and back afterwards'
            else:
                continue
            message = f"{text} {problem}"
            yield Finding("MP009", "warning", case.path_of(layer), message, fix)


def _own_weights(layer):
    """The weights that a layer holds itself, not through other layers."""
    return [*layer._trainable_variables, *layer._non_trainable_variables]


def _widens(case, layer):
    """Whether a 16-bit layer puts out a wider dtype, as measured.

    Widening is right at the end of a model, and it is the business of a float32 layer
    inside.
    """
    outputs = getattr(case.model, "outputs", None) or ()
    at_the_end = layer is case.model or any(
        t._keras_history.operation is layer for t in outputs
    )
    if at_the_end or layer.compute_dtype not in NARROW:
        return False
    held = layer._flatten_layers(include_self=False)
    if any(la.compute_dtype not in NARROW or la in case.own_layers for la in held):
        return False
    return any(dtype in WIDE for dtype in case.put_out.get(id(layer), ()))


RULES = (hard_coded_dtype, silent_promotion, out_of_range)
