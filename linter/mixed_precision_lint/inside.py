"""Whether a layer that computes in 16 bits works in float32 inside."""

import keras

FLOAT, RESOURCE = 1, 20  # how TensorFlow numbers these dtypes in a graph
# Casting itself does not count, nor the comparison by which `Masking` looks at uncast
# inputs.
NO_WORK = ("Cast", "Identity", "NotEqual", "ReadVariableOp")


def works_in_float32(layer, inputs) -> bool:
    """Traces a layer into a graph, as `fit` does, and looks for work on its inputs in
    float32.

    What one kernel does inside stays unseen, such as the float32 sum in a matrix
    product, and random numbers do not count. `inputs` is an array, or a dict or list of
    them. What the layer raises when it is traced is raised here.

        >>> layer = keras.layers.LayerNormalization(dtype="mixed_float16")
        >>> works_in_float32(layer, keras.ops.ones((2, 4)))
        True
    """
    import tensorflow as tf

    inputs = keras.tree.map_structure(tf.convert_to_tensor, inputs)
    call = tf.function(lambda tensors: layer(tensors), autograph=False)
    graph = call.get_concrete_function(inputs).graph.as_graph_def()
    fed = {
        n.name
        for n in graph.node
        if n.op == "Placeholder" and n.attr["dtype"].type != RESOURCE
    }
    scopes = [(graph.node, fed)]  # a loop is a function of its own
    for function in graph.library.function:
        scopes.append(
            (function.node_def, {a.name for a in function.signature.input_arg})
        )
    for nodes, reached in scopes:
        for node in nodes:
            if reached & {source.lstrip("^").split(":")[0] for source in node.input}:
                reached.add(node.name)
                floats = any(value.type == FLOAT for value in node.attr.values())
                if floats and node.op not in NO_WORK:
                    return True
    return False
