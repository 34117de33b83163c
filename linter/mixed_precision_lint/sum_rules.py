"""Rules about sums and squares in 16 bits: MP029 and MP033.

They look at TensorFlow's graph of a layer, so they see what one of Keras's does as well as
one of your own, and are silent on other backends.
"""

import math
from collections.abc import Iterator

import keras

from mixed_precision_lint.calls import BATCH, constant_value
from mixed_precision_lint.finding import NARROW, WHOLE, Finding
from mixed_precision_lint.inside import functions
from mixed_precision_lint.inspected import Inspected
from mixed_precision_lint.representable import WIDER

# TensorFlow's names of operations that add one value after another
ONE_BY_ONE = """
    SegmentSum SegmentMean UnsortedSegmentSum ScatterNd TensorScatterAdd Bincount
    DenseBincount Cumsum
""".split()
SQUARES = ("Square", "SquaredDifference")
PRODUCTS = "MatMul BatchMatMulV2 Einsum".split()
LIKE_EXP = "Exp Expm1 Sinh Cosh".split()
PASSED_ON = "Identity StopGradient Reshape Transpose Cast".split()
LOOPS = ("While", "StatelessWhile")
TAKEN = "Squares are taken in float16, where that of a value from 256 on is infinite."
LIMIT = 11.1  # exp of a little less is 65,504
# The largest number that these can put out in float16.
BOUNDS = {
    "Tanh": 1.0, "Sigmoid": 1.0, "Softmax": 1.0, "Sign": 1.0, "Cos": 1.0, "Sin": 1.0,
    "Relu6": 6.0, "LogSoftmax": 0.0, "Log": 11.09,
}  # fmt: skip
BOTH_SIDES = "Tanh Sign Cos Sin".split()
NOT_NEGATIVE = "Square Abs Relu Relu6 Sigmoid Exp Softplus Softmax".split()
# Of pixels of 255 the sum of more than these passes 65,504.
POOLED = 256


def overflows_inside(inspected: Inspected) -> Iterator[Finding]:
    """MP029: squares, exponentials or large sums in float16, inside a layer."""
    for call in inspected.calls:
        problem = next(filter(None, map(_overflow, call.operations)), "")
        if problem:
            yield Finding(
                "MP029",
                "warning",
                inspected.path_of(call.layer),
                problem,
                inspected.repair(call.layer, WIDER, "float16"),
            )


def sum_one_by_one(inspected: Inspected) -> Iterator[Finding]:
    """MP033: a sum whose terms are added one after another in 16 bits."""
    for call in inspected.calls:
        for operation in call.operations:
            dtype = _dtype(operation)
            where = f"{operation.type} adds what meets in one place"
            if operation.type in LOOPS:
                dtype = _added_in_loop(operation)
                where = "A loop adds"
            elif operation.type not in ONE_BY_ONE:
                continue
            if dtype in NARROW and not _short(operation, WHOLE[dtype]):
                message = (
                    f"{where} one after another in {dtype}: a sum of ones stops at "
                    f"{WHOLE[dtype]:,} on a CPU."
                )
                path = inspected.path_of(call.layer)
                fix = inspected.repair(call.layer, WIDER, dtype)
                yield Finding("MP033", "warning", path, message, fix)
                break


def metric_in_16_bits(inspected: Inspected) -> Iterator[Finding]:
    """MP033: a metric that keeps its sum in 16 bits."""
    # Those of `compile` are told apart only after a first step, which nobody has taken.
    compiled = getattr(inspected.model, "_compile_metrics", None)
    metrics = [
        *keras.tree.flatten(getattr(compiled, "_user_metrics", None)),
        *keras.tree.flatten(getattr(compiled, "_user_weighted_metrics", None)),
        *inspected.model._metrics,
    ]
    for metric in metrics:
        if not isinstance(metric, keras.Metric):  # as "mae" is, or a function
            continue
        for variable in metric.variables:
            dtype = keras.utils.standardize_dtype(variable.dtype)
            if dtype not in NARROW:
                continue
            message = (
                f"The metric keeps {variable.name} in {dtype}: counted one by one, it stops at "
                f"{WHOLE[dtype]:,}."
            )
            fix = 'self.add_variable((), "zeros", dtype="float32")  # in the metric'
            if type(metric).__module__.startswith("keras."):
                fix = f'keras.metrics.{type(metric).__name__}(..., dtype="float32")'
            yield Finding("MP033", "warning", metric.name, message, fix)
            break


def _overflow(operation):
    """What may overflow in an operation, as a sentence, or ""."""
    source = _behind(operation.inputs[0]) if len(operation.inputs) else None
    # Where it is added up in float32, the squares are infinite before.
    if operation.type in ("Sum", "Mean") and _float16_squares(source):
        return TAKEN
    if _dtype(operation) != "float16":
        return ""
    if operation.type in ("L2Loss", "EuclideanNorm"):
        return TAKEN
    if operation.type in PRODUCTS and _many_squares(operation):
        return (
            "A product with itself adds up many squares, and float16 ends at 65,504: of "
            "values from 16 on, 256 are too many."
        )
    if operation.type in LIKE_EXP and _at_most(source) > LIMIT:
        return f"{operation.type}(x) grows as exp(x), infinite in float16 from x = 11.1 on."
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


def _many_squares(operation):
    """Whether a product of float16 values with themselves adds up many squares, or the
    batch, of which nobody knows. What was multiplied or divided before is small.
    """
    first, second = map(_behind, operation.inputs)
    if first is not second or first.type in (*BOUNDS, "Mul", "RealDiv"):
        return False
    if _dtype(first) != "float16" and first.type != "Placeholder":  # as of a norm
        return False
    size, kept = (
        math.prod(n or 1 for n in shape)
        for shape in (operation.inputs[0].shape, operation.outputs[0].shape[:-1])
    )
    return size // kept > POOLED or size // kept == BATCH


def _added_in_loop(operation):
    """The dtype in which a loop adds one value after another to what it carries."""
    carried = [
        pair
        for graph in functions(operation)
        for pair in zip(graph.inputs, graph.outputs, strict=False)
    ]
    for start, end in carried:
        added = end.op
        if added.type == "TensorListSetItem":  # as scan of Keras's carries it
            added = added.inputs[2].op
        if added.type == "AddV2" and _dtype(added) in NARROW:
            for part in added.inputs:
                if part.op.type == "TensorListGetItem":
                    part = part.op.inputs[0]
                if part is start:
                    return _dtype(added)
    return ""


def _short(operation, most):
    """Whether a sum has no more terms, as far as constants tell; of the batch nobody
    knows.
    """
    if operation.type in LOOPS:
        turns = operation.inputs[1]
        if turns.op.type == "Max":  # of one number, as in Keras's RNN
            turns = turns.op.inputs[0]
        return BATCH < (_constant(turns) or 0) <= most
    if operation.type != "Cumsum":
        return False
    values, axis = operation.inputs
    axis = _constant(axis)
    if axis is None or axis in (0, -len(values.shape)):
        return False
    return (values.shape[int(axis)] or math.inf) <= most


def _dtype(operation):
    return operation.outputs[0].dtype.name if operation.outputs else ""


def _behind(tensor):
    """The operation that made a tensor, behind those that hand it on."""
    operation = tensor.op
    while operation.type in PASSED_ON:
        operation = operation.inputs[0].op
    return operation


def _float16_squares(operation):
    """Whether an operation squares in float16 what may be large."""
    if operation is None or _dtype(operation) != "float16":
        return False
    squares = operation.type in SQUARES
    if operation.type == "Pow":
        squares = (_constant(operation.inputs[1]) or 0) >= 2
    if operation.type == "Mul":
        squares = operation.inputs[0] is operation.inputs[1]
    return squares and _behind(operation.inputs[0]).type not in BOUNDS


def _at_most(operation) -> float:
    """How large what an operation puts out can be, as far as kinds and constants tell."""
    kind = operation.type
    inputs = [_behind(each) for each in operation.inputs]
    limits = [limit for limit in map(_constant, operation.inputs) if limit is not None]
    if kind in BOUNDS:
        return BOUNDS[kind]
    if kind == "Sub" and inputs[1].type == "Max":  # x - max(x)
        return 0.0
    if kind == "ClipByValue" and len(limits) == 2:
        return limits[1]
    if kind == "Minimum":
        return min(*limits, *map(_at_most, inputs))
    if kind == "Maximum" and limits:
        return max(limits[0], _at_most(inputs[0]))
    factor = 0.0
    if kind == "Neg":
        factor = -1.0
    elif kind == "Mul" and limits:
        factor = limits[0]
    elif kind == "RealDiv" and limits and limits[0]:
        factor = 1 / limits[0]
    sources = [each for each in inputs if each.type != "Const"]
    if factor > 0 and sources:
        return factor * _at_most(sources[0])
    if factor < 0 and sources and sources[0].type in NOT_NEGATIVE:
        return 0.0
    if factor < 0 and sources and sources[0].type in BOTH_SIDES:
        return -factor
    value = _constant(operation.outputs[0])
    return math.inf if value is None else value


def _constant(tensor):
    value = constant_value(tensor)
    return float(value.item()) if value is not None and value.size == 1 else None


RULES = (overflows_inside, sum_one_by_one, metric_in_16_bits)
