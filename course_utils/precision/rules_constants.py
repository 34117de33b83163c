"""The rule about numbers that float16 cannot hold: MP009."""

import math

import numpy as np

from course_utils.precision.rules_case import Finding
from course_utils.precision.rules_source import dtypes, numbers
from course_utils.precision.rules_tracing import computing, is_custom, methods

SMALLEST = 2.0**-24  # float16's smallest number
SMALLEST_NORMAL = 2.0**-14
ADDED = ("epsilon", "eps")


def out_of_range(case):
    """MP009: an epsilon that is 0 in float16, or a mask value that is infinite."""
    for layer in case.own_layers:
        if layer.compute_dtype == "float16":
            yield from _of_own(case, layer)
    for place in case.computing_in("float16"):
        if type(place.layer).__name__ == "UnitNormalization" and not is_custom(place.layer):
            message = "Keras divides by at least 1e-12 here, which is 0 in float16: zeros give NaN."
            fix = 'UnitNormalization(..., dtype="float32")'
            yield Finding("MP009", "warning", place.path, message, fix)
    yield from _of_optimizer(case)


def _of_own(case, layer):
    found = {}
    if not methods(layer):
        found = {f"self.{name}": vars(layer).get(name) for name in ADDED}
    for method in computing(layer):
        # Who casts to float32 in a method is taken to do so because of the numbers in it.
        upcasts = {"float32", "float64"} & {dtype for _, dtype in dtypes(method)}
        # The numbers in `build` are those of initializers.
        if method.name != "build" and not upcasts:
            found |= dict(numbers(method, layer))
    for text, value in found.items():
        problem = _problem(value) if isinstance(value, float) and math.isfinite(value) else None
        if problem:
            message, fix = problem
            shown = text if text.lstrip("-")[0].isdigit() else f"{text} = {value:g}"
            yield Finding("MP009", "warning", case.path_of(layer), f"{shown} {message}", fix)


def _problem(value):
    if 0 < abs(value) < SMALLEST:
        return (
            "is below 6e-08, the smallest number of float16, and protects from nothing there.",
            'x = keras.ops.cast(x, "float32")  # before it is used, and back afterwards',
        )
    # NumPy rounds as the device does; the first number that becomes infinite is 65520.
    with np.errstate(over="ignore"):
        if math.isinf(np.float16(value)):
            return (
                "is infinite in float16, and infinity minus infinity is NaN.",
                f"{math.copysign(3e4, value):.0f}  # what Keras's Softmax takes for float16",
            )
    return None


def _of_optimizer(case):
    """The slots of an optimizer have the dtype of the weights; with float32 weights all is well."""
    optimizer = getattr(case.optimizer, "inner_optimizer", case.optimizer)
    epsilon = getattr(optimizer, "epsilon", None)
    pure = any(str(v.dtype) == "float16" for v in case.model.trainable_variables)
    if pure and isinstance(epsilon, float) and 0 < epsilon < SMALLEST_NORMAL:
        message = (
            f"The optimizer's epsilon={epsilon:g} is below 6e-05, where float16 loses its digits, "
            "and the weights with the optimizer's slots are kept in float16."
        )
        fix = 'keras.config.set_dtype_policy("mixed_float16")  # float32 weights and slots'
        yield Finding("MP009", "warning", case.model.name, message, fix)
