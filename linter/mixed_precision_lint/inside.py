"""The operations that others of TensorFlow's run: of loops, branches and functions."""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import tensorflow as tf


def functions(operation: "tf.Operation") -> list[Any]:
    """The graphs of what an operation runs: loops and branches are functions."""
    if not re.search("While|If|Case|Call", operation.type):
        return []  # what it is made of takes time to read
    return [
        operation.graph._get_function(each.name).graph
        for value in operation.node_def.attr.values()
        for each in (value.func, *value.list.func)
        if each.name
    ]


def with_bodies(operations: Iterable["tf.Operation"]) -> Iterator["tf.Operation"]:
    """Operations, and those of the functions that they run."""
    for operation in operations:
        yield operation
        for graph in functions(operation):
            yield from with_bodies(graph.get_operations())
