"""The largest gradient, from which the ceiling of the loss scale follows."""


def largest_gradient(model, loss, x, y) -> float:
    """The largest size of a gradient in a backward pass, those between layers included.

    `model`: a Sequential in float32, so that nothing is rounded away; `loss(y, output)`
    is a number. 65,520 over it is the largest loss scale that will not overflow.
    """
    import tensorflow as tf

    with tf.GradientTape() as tape:
        outputs = [tf.convert_to_tensor(x)]
        for layer in model.layers:
            outputs.append(layer(outputs[-1]))
        value = loss(y, outputs[-1])
    parts = tape.gradient(value, [*model.trainable_variables, *outputs[1:]])
    return max(float(tf.reduce_max(tf.abs(part))) for part in parts)
