"""Rules about what TensorFlow's graph of a layer does in 16 bits: MP029 and MP033.

They see what a layer of Keras's does as well as one of your own, and are silent on other
backends.
"""

import math
from collections.abc import Iterator

from course_utils.precision.finding import NARROW, WHOLE, Finding

# TensorFlow's names of operations that add one value after another
ONE_BY_ONE = (
    "SegmentSum", "SegmentMean", "UnsortedSegmentSum", "ScatterNd", "TensorScatterAdd",
    "Bincount", "DenseBincount", "Cumsum",
)  # fmt: skip
SQUARES = ("Square", "SquaredDifference")
SUMS = ("Sum", "Mean")
PASSED_ON = ("Identity", "StopGradient", "Reshape", "Cast")
WIDER = 'x = keras.ops.cast(x, "float32")  # before it, and back afterwards'
# Of pixels of 255 the sum of more than these passes 65,504.
POOLED = 256


def overflows_inside(case) -> Iterator[Finding]:
    """MP029: squares, exponentials or large sums in float16, inside a layer."""
    for call in case.calls:
        problem = next(filter(None, map(_overflow, call.operations)), "")
        if problem:
            yield Finding(
                "MP029",
                "warning",
                case.path_of(call.layer),
                problem,
                case.repair(call.layer, WIDER, "float16"),
            )


def added_one_by_one(case) -> Iterator[Finding]:
    """MP033: a sum whose terms are added one after another in 16 bits."""
    for call in case.calls:
        for operation in call.operations:
            dtype = _dtype(operation)
            if operation.type in ONE_BY_ONE and dtype in NARROW:
                message = (
                    f"{operation.type} adds one value after another in {dtype}: a sum of "
                    f"ones stops at {WHOLE[dtype]:,} on a CPU."
                )
                path = case.path_of(call.layer)
                fix = case.repair(call.layer, WIDER, dtype)
                yield Finding("MP033", "warning", path, message, fix)
                break


def _overflow(operation):
    """What may overflow in an operation, as a sentence, or ""."""
    source = _behind(operation.inputs[0]) if len(operation.inputs) else None
    # Where it is added up in float32, the squares are infinite before.
    if operation.type in SUMS and _squares(source) and _dtype(source) == "float16":
        return "Squares are taken in float16, where that of a value from 256 on is infinite."
    if _dtype(operation) != "float16":
        return ""
    if operation.type == "Exp" and not _bounded(source):
        return "exp(x) is infinite in float16 from x = 11.1 on."
    if operation.type in ("AvgPool", "AvgPool3D"):
        count = math.prod(operation.get_attr("ksize"))
        if count > POOLED:
            return f"{count:,} values are added up in float16, which ends at 65,504."
    # A mean over what a mask leaves is a sum and a count.
    if operation.type == "RealDiv" and source is not None and source.type == "Sum":
        divisor = _behind(operation.inputs[1])
        if divisor.type == "Sum":
            return (
                "Values are added up in float16, which ends at 65,504, before they are divided by "
                "their number."
            )
    return ""


def _dtype(operation):
    return operation.outputs[0].dtype.name if operation.outputs else ""


def _behind(tensor):
    """The operation that made a tensor, behind those that hand it on."""
    operation = tensor.op
    while operation.type in PASSED_ON:
        operation = operation.inputs[0].op
    return operation


def _squares(operation):
    if operation is None:
        return False
    if operation.type == "Mul":
        return operation.inputs[0] is operation.inputs[1]
    return operation.type in SQUARES


def _bounded(operation):
    """Whether what made an exponent keeps it from being large."""
    if operation is None:
        return False
    if operation.type == "Sub":  # x - max(x)
        return _behind(operation.inputs[1]).type == "Max"
    return operation.type in (
        "Neg", "Minimum", "ClipByValue", "LogSoftmax", "Const", "Log", "Tanh", "Sigmoid",
    )  # fmt: skip


RULES = (overflows_inside, added_one_by_one)
