"""What one training step has to compute and to move, counted from its traced graph.

TensorFlow traces a step into operations with fixed shapes. How often a matrix product
or a convolution multiplies follows from its shapes. Everything else goes through its
arrays. So nothing here knows a layer or an optimizer by name.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import keras
import numpy as np
import pandas as pd
import tensorflow as tf

COLUMNS = ["name", "type", "dtype", "flops", "bytes", "product", "riders"]
# These hand on the bytes of their input in another shape or under another name.
VIEWS = {
    *("Identity", "IdentityN", "Reshape", "Squeeze", "ExpandDims", "StopGradient"),
    *("PreventGradient", "ReadVariableOp", "NoOp", "Const", "Placeholder", "Shape"),
    "VarHandleOp",
}
# These look at a shape, or take little from it.
FREE = VIEWS | {
    *("ShapeN", "Size", "Rank", "BroadcastGradientArgs", "Range"),
    *("StridedSlice", "Pack", "AssignVariableOp"),
}
MATRICES = {"MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "Einsum"}
CONVOLUTIONS = {
    stem + way
    for stem in ("Conv2D", "DepthwiseConv2dNative")
    for way in ("", "BackpropInput", "BackpropFilter")
}
PRODUCTS = MATRICES | CONVOLUTIONS
# What these compute does not follow from their shapes.
HIDDEN = {
    *("While", "StatelessWhile", "Case", "StatelessCase", "PyFunc", "EagerPyFunc"),
    *("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3"),
}


@dataclass(frozen=True, eq=False)
class Work:
    """Operations and bytes of one step.

    The table, a DataFrame, has a row for each operation of the graph that computes or
    moves something: name, type (such as "MatMul"), dtype, flops, bytes, product
    (whether it is a matrix product or a convolution), riders (the names of the bias and
    the ReLU that ride along with it).
    """

    table: pd.DataFrame

    @property
    def flops(self) -> int:
        """All arithmetic of the step; a multiplication and an addition are two."""
        return int(self.table["flops"].sum())

    @property
    def bytes(self) -> int:
        """All bytes that the step reads and writes."""
        return int(self.table["bytes"].sum())


def count(
    step: Callable[..., object], *args: np.ndarray | tf.Tensor | tf.TypeSpec | tuple
) -> Work:
    """Counts the operations and bytes of a training step on these arguments.

    `step` is a function as one gives it to `tf.function`, such as `model.train_step` of
    a compiled Keras model; `args` are NumPy arrays, tensors, `tf.TensorSpec`s, or
    tuples of them. The step is traced and not run. Each operation reads its inputs once
    and writes its results once; a bias and a ReLU right behind a product ride along
    with it and do not count, and what nobody reads does not either. Of a branch, such
    as the update under a loss scale, the longer side counts. What a library does
    besides (padding, other layouts, working space) is not in the graph.

    Raises:
        ValueError: the model has no optimizer or no weights yet, a shape stays open, or there is
            an operation such as a loop, whose arithmetic does not follow from its shapes.

    Example:
        >>> import numpy as np, tensorflow as tf
        >>> a = np.ones((8, 16), "float32")
        >>> count(lambda a: tf.matmul(a, a, transpose_b=True), a).flops
        2048
    """
    return Work(pd.DataFrame(_walk(trace(step, *args)), columns=COLUMNS))


def trace(
    step: Callable[..., object], *args: np.ndarray | tf.Tensor | tf.TypeSpec | tuple
) -> tf.Graph:
    """The graph of a step on arguments of these shapes, a `tf.Graph`."""
    model = getattr(step, "__self__", None)
    if isinstance(model, keras.Model):
        _make_variables(model)

    def describe(array):
        is_spec = isinstance(array, tf.TypeSpec)
        return array if is_spec else tf.type_spec_from_value(array)

    shapes = tf.nest.map_structure(describe, args)
    function = tf.function(step, jit_compile=False)
    return function.get_concrete_function(*shapes).graph


def _make_variables(model):
    """Has Keras make those of the optimizer, which it does in the first step else."""
    if not model.compiled or model.optimizer is None:
        raise ValueError(
            f"The model {model.name!r} has no optimizer: call model.compile(...) first."
        )
    if not model.built:
        raise ValueError(
            f"The model {model.name!r} has no weights yet: call it on a batch first."
        )
    model.optimizer.build(model.trainable_variables)


def _walk(graph):
    """A row for each operation of a graph and of the functions it calls."""
    rides = _riding_along(graph)
    rows: list = []
    for op in _needed(graph):
        if op.type in ("PartitionedCall", "StatefulPartitionedCall"):
            rows += _walk(_called(graph, op, "f"))
        elif op.type in ("If", "StatelessIf"):
            branches = ("then_branch", "else_branch")
            sides = [_walk(_called(graph, op, branch)) for branch in branches]
            rows += max(sides, key=lambda side: sum(row[4] for row in side))
        elif op.type in HIDDEN:
            raise ValueError(
                f"{op.type} is in this step, and how much it computes is not in the graph: "
                "count a step without it."
            )
        elif op.type not in FREE and op.name not in rides:
            product = op.type in PRODUCTS
            flops = _flops(op) if product else _numbers(op)
            riders = tuple(name for name, first in rides.items() if first == op.name)
            row = (op.name, op.type, _dtype(op), flops, _bytes_moved(op), product)
            rows.append((*row, riders))
    return rows


def _needed(graph):
    """The operations in their order, without those whose results nobody reads.

    TensorFlow takes them out, for example the gradient of the pictures.
    """
    needed = set()
    waiting = [tensor.op for tensor in graph.outputs] + list(graph.control_outputs)
    while waiting:
        op = waiting.pop()
        if op not in needed:
            needed.add(op)
            waiting += [tensor.op for tensor in op.inputs] + list(op.control_inputs)
    return [op for op in graph.get_operations() if op in needed]


def _called(graph, op, attribute):
    """The graph of a function that an operation calls."""
    return graph._get_function(op.get_attr(attribute).name).graph


def _riding_along(graph):
    """Biases and ReLUs that alone read a product, or one another: {name: that of the
    product}.
    """
    rides: dict = {}
    for op in graph.get_operations():
        if op.type in ("BiasAdd", "Relu"):
            before = op.inputs[0].op
            alone = len(op.inputs[0].consumers()) == 1
            if alone and (before.type in PRODUCTS or before.name in rides):
                rides[op.name] = rides.get(before.name, before.name)
    return rides


def _dtype(op):
    """The dtype of what an operation makes, else of what it adds to a variable."""
    return [*op.outputs, *_arrays(op)][0].dtype.name


def _arrays(op):
    """The arrays that an operation reads, without handles of variables."""
    return [tensor for tensor in op.inputs if tensor.dtype.size]


def _shape(tensor):
    """The shape of an array. Lists of axes may leave their length open: 0."""
    if tensor.dtype.is_integer and tensor.shape.rank == 1:
        return [tensor.shape[0] or 0]
    if tensor.shape.is_fully_defined():
        return tensor.shape.as_list()
    raise ValueError(
        f"The shape of {tensor.name!r} stays open, {tensor.shape}: give the step arrays "
        "and layers of fixed shapes."
    )


def _bytes(tensor):
    return math.prod(_shape(tensor)) * (tensor.dtype.size or 0)


def _numbers(op):
    """How many numbers the largest array of an operation has."""
    return max(math.prod(_shape(array)) for array in (*_arrays(op), *op.outputs))


def _bytes_moved(op):
    """Bytes that an operation reads and writes."""
    if op.type in ("AssignAddVariableOp", "AssignSubVariableOp"):
        return 3 * _bytes(op.inputs[1])  # reads both, writes one
    output_bytes = sum(_bytes(tensor) for tensor in op.outputs)
    if "Gather" in op.type or op.type == "Slice":
        return 2 * output_bytes  # reads no more than it takes out
    sizes = {array.ref(): _bytes(array) for array in _arrays(op)}
    return output_bytes + sum(sizes.values())


def _flops(op):
    """Two for each multiplication of a product, which an addition follows."""
    inputs = [_shape(tensor) for tensor in op.inputs]
    output = _shape(op.outputs[0])
    if op.type == "Einsum":
        letters = op.get_attr("equation").decode().partition("->")[0].split(",")
        sizes = {}
        for names, shape in zip(letters, inputs, strict=True):
            sizes.update(zip(names, shape, strict=True))
        return 2 * math.prod(sizes.values())
    if op.type in MATRICES:
        is_transposed = op.get_attr("transpose_a" if op.type == "MatMul" else "adj_x")
        return 2 * math.prod(output) * inputs[0][-2 if is_transposed else -1]
    # A window of the weights meets each number of the layer's output.
    _, way, of = op.type.partition("Backprop")
    weights = output if of == "Filter" else inputs[1]
    layer_output = inputs[-1] if way else output
    channels = 1 if op.type.startswith("Depthwise") else weights[2]
    return 2 * math.prod(layer_output) * math.prod(weights[:2]) * channels
