"""The calls of a model's layers with the shapes that arrive, for a batch of a given size."""

import functools

from course_utils.precision.calls import calls_of

NAMED = ("query", "value", "key")  # how attention orders its inputs, whoever names them


def shapes_of(model, batch_size: int, inputs=None):
    """What a model is called with, as tensors without numbers.

    Args:
        model: a Keras model.
        batch_size: takes the place of the first axis.
        inputs: an example for a model that does not tell its inputs, or not their whole shape.

    Raises:
        ValueError: there is nothing to tell the shapes.

    Example:
        >>> shapes_of(keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)]), 8).shape
        (8, 3)
    """
    import keras

    if inputs is None and getattr(model, "inputs", None) is not None:
        inputs = model.inputs[0] if isinstance(model, keras.Sequential) else model.input
    if inputs is None or any(None in x.shape[1:] for x in keras.tree.flatten(inputs)):
        raise ValueError(
            f"The model {model.name!r} does not tell the shape of its inputs: give an example "
            "batch as inputs."
        )
    return keras.tree.map_structure(
        lambda x: keras.KerasTensor(
            (batch_size, *x.shape[1:]), dtype=keras.utils.standardize_dtype(x.dtype)
        ),
        inputs,
    )


def calls_with_shapes(model, spec) -> list[tuple]:
    """[(call, [(shape, dtype) of each input before it is cast])] of all layers, in their order.

    Nothing is computed: the model runs on tensors without numbers, as in inference.

    Args:
        model: a Keras model; one that is not built yet is built.
        spec: what `shapes_of` gave.
    """
    import keras

    former, shapes = keras.Layer.__call__, []

    @functools.wraps(former)
    def noted(self, *args, **kwargs):
        named = [kwargs.get(name) for name in NAMED]
        others = [v for n, v in kwargs.items() if n not in NAMED and "mask" not in n]
        flat = keras.tree.flatten((args, named, others))
        tensors = [x for x in flat if hasattr(x, "shape") and hasattr(x, "dtype") and len(x.shape)]
        shapes.append([(tuple(x.shape), keras.utils.standardize_dtype(x.dtype)) for x in tensors])
        return former(self, *args, **kwargs)

    keras.Layer.__call__ = noted
    try:
        calls = calls_of(model, spec)
    finally:
        keras.Layer.__call__ = former
    # A model that is not built yet runs twice; the last run is the one that is noted.
    return list(zip(calls, shapes[len(shapes) - len(calls) :], strict=True))
