"""The rule about what a model hands to its loss: MP001."""

from course_utils.precision.rules_case import NARROW, Finding
from course_utils.precision.rules_tracing import output_dtypes

PROBABILITIES = ("softmax", "sigmoid")
# Measured with a logit gap of 18: loss 16 and gradient 0 in both 16-bit types, 18 and 1 in float32.
LOST = (
    "The probabilities come out in {0}, so Keras no longer finds the logits behind them and clips "
    "them instead: the gradient of a confident mistake is zero."
)
ROUNDED = (
    "The model's output is rounded to {0} before the loss sees it, which Keras computes in float32."
)


def low_precision_output(case):
    """MP001: an output, or the softmax or sigmoid that it was widened from, is in 16 bits."""
    seen = set()
    for operation, dtype in _ends(case):
        if id(operation) in seen:
            continue
        seen.add(id(operation))
        message = (LOST if _activation(operation) in PROBABILITIES else ROUNDED).format(dtype)
        yield Finding("MP001", "error", case.path_of(operation), message, _fix(operation))


def _ends(case):
    """What makes the outputs that are too narrow: the operation or layer, and its dtype."""
    outputs = getattr(case.model, "outputs", None)
    if outputs:
        return [end for end in (_narrow_end(case, tensor) for tensor in outputs) if end]
    if not case.places:
        return []
    # A subclassed model: which of its layers comes last in `call` is not known, only the dtype.
    last = case.places[-1].layer
    dtypes = output_dtypes(case.model) or (last.compute_dtype,)
    return [(last, dtype) for dtype in dtypes[:1] if dtype in NARROW]


def _narrow_end(case, tensor):
    """The operation behind a symbolic tensor in 16 bits; from a wider one, back to a softmax."""
    operation, dtype = _maker(case, tensor)
    if dtype in NARROW:
        return operation, dtype
    while not getattr(operation, "weights", ()):
        try:
            tensor = operation.input
        except (AttributeError, ValueError):  # no input, or used twice
            return None
        if not hasattr(tensor, "_keras_history"):  # several inputs
            return None
        operation, dtype = _maker(case, tensor)
        if dtype in NARROW:
            return (operation, dtype) if _activation(operation) in PROBABILITIES else None
    return None


def _maker(case, tensor):
    """The operation that made a symbolic tensor, within a nested model if so, and the dtype."""
    # Keras has no public name for this history.
    history = tensor._keras_history
    while getattr(history.operation, "outputs", None):
        tensor = history.operation.outputs[history.tensor_index]
        history = tensor._keras_history
    measured = case.put_out.get(id(history.operation)) or ()
    known = history.tensor_index < len(measured)
    return history.operation, measured[history.tensor_index] if known else str(tensor.dtype)


def _activation(operation):
    """ "softmax" or "sigmoid", if the operation ends in it, or any other name."""
    function = getattr(operation, "activation", None)
    # The layer Softmax and keras.ops.softmax in a functional model are classes of that name.
    return getattr(function, "__name__", type(operation).__name__.lower())


def _fix(operation):
    import keras

    kind, activation = type(operation).__name__, _activation(operation)
    if not isinstance(operation, keras.Layer):
        return 'x = keras.layers.Activation("linear", dtype="float32")(x)  # before this operation'
    if activation not in PROBABILITIES or kind.lower() == activation:
        return f'{kind}(..., dtype="float32")'
    first = "" if kind == "Activation" else "..., activation="
    return f'{kind}({first}"{activation}", dtype="float32")'
