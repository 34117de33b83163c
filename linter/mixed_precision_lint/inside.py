"""The operations that others of TensorFlow's run: of loops, branches and functions."""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import tensorflow as tf


def functions(operation: "tf.Operation") -> dict[str, Any]:
    """{"body": graph} of what an operation runs: loops and branches are functions."""
    graphs: dict[str, Any] = {}
    if not re.search("While|If|Case|Call", operation.type):
        return graphs  # what it is made of takes time to read
    for name, value in operation.node_def.attr.items():
        for each in (value.func, *value.list.func):
            if each.name:
                graphs[name] = operation.graph._get_function(each.name).graph
    return graphs


def with_bodies(operations: Iterable["tf.Operation"]) -> Iterator["tf.Operation"]:
    """Operations, and those of the functions that they run."""
    for operation in operations:
        yield operation
        for graph in functions(operation).values():
            yield from with_bodies(graph.get_operations())
