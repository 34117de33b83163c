"""In which dtypes a layer works inside: read off the graph that TensorFlow makes of it."""

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf
from mixed_precision_lint.inside import functions

# Casting itself does not count, nor what only hands on.
NO_WORK = ("Cast", "Identity", "ReadVariableOp")
# What follows from a shape alone does not depend on the numbers.
SHAPES = ("Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike")
PARTS = {"complex64": "float32", "complex128": "float64"}


def works_in_float32(layer: keras.Layer, inputs: Any) -> bool:
    """Whether any work of a layer on its inputs is in float32, and be it one operation.

    What one kernel does inside stays unseen, such as the float32 sum in a matrix
    product; random numbers and comparisons do not count. `inputs` is an array, or a
    dict or list of them. What the layer raises when it is traced is raised here.

        >>> layer = keras.layers.LayerNormalization(dtype="mixed_float16")
        >>> works_in_float32(layer, keras.ops.ones((2, 4)))
        True
    """
    work = operations(layer, inputs)
    return any(dtype == "float32" for name, dtype in work if name not in NO_WORK)


def operations(call: Callable, *arguments: Any) -> set[tuple[str, str]]:
    """Traces a function or layer into a graph, as `fit` does: the operations that make
    floating-point numbers of those in the arguments, as (TensorFlow's name, dtype).

    The arguments are arrays, or dicts or lists of them. Of loops and branches, what is
    in them counts; complex numbers go by the dtype of their parts.

        >>> sorted(operations(keras.ops.mean, keras.ops.ones(3, "float16")))
        [('Cast', 'float16'), ('Cast', 'float32'), ('Identity', 'float16'), ('Mean', 'float32')]
    """
    tensors = keras.tree.map_structure(tf.convert_to_tensor, arguments)
    function = tf.function(lambda tensors: call(*tensors), autograph=False)
    graph = function.get_concrete_function(tensors).graph
    captured = {tensor.name for tensor in graph.internal_captures}
    fed = {tensor.name for tensor in graph.inputs} - captured
    work: set[tuple[str, str]] = set()
    scopes = [(graph, fed)]  # of functions inside, too, once they are met
    while scopes:
        inner, reached = scopes.pop()
        for op in inner.get_operations():
            if op.type in SHAPES or not reached & {tensor.name for tensor in op.inputs}:
                continue
            reached |= {tensor.name for tensor in op.outputs}
            for function in functions(op):
                data = (t for t in function.inputs if t.dtype != tf.resource)
                scopes.append((function, {tensor.name for tensor in data}))
            dtypes = {} if functions(op) else {t.dtype.base_dtype for t in op.outputs}
            for dtype in dtypes:
                if dtype.is_floating or dtype.is_complex:
                    work.add((op.type, PARTS.get(dtype.name, dtype.name)))
    return work
