"""Rules about what layers put out, compute with and get: MP001, MP010 and MP023; and
MP026, where they cannot look.
"""

from collections.abc import Iterator

import keras
from keras import layers

from course_utils.precision.case import names
from course_utils.precision.finding import NARROW, WHOLE, Finding

PROBABILITIES = ("softmax", "sigmoid")
# Measured with a logit gap of 18: loss 16 and gradient 0 in both 16-bit types, 18 and 1
# in float32.
LOST = (
    "The probabilities come out in {0}, so Keras no longer finds the logits behind them and clips "
    "them instead: the gradient of a confident mistake is zero."
)
ROUNDED = (
    "The model's output is rounded to {0} before the loss sees it, which Keras "
    "computes in float32."
)
MULTIPLE = 8  # NVIDIA: "Deep Learning Performance Guide", for 16-bit types
# how wide an output is, by the layer's kind
WIDTHS = (
    (layers.Dense, "units"),
    (layers.Embedding, "output_dim"),
    (layers.Conv2D, "filters"),
)


def low_precision_output(case) -> Iterator[Finding]:
    """MP001: an output is in 16 bits, unless the model was compiled without a loss."""
    if case.model.compiled and not case.model.loss:
        return
    # An operation may make several of the outputs.
    for operation, dtype in dict.fromkeys(_ends(case)):
        if dtype in NARROW:
            problem = LOST if _activation(operation) in PROBABILITIES else ROUNDED
            message = problem.format(dtype)
            path = case.path_of(operation)
            yield Finding("MP001", "error", path, message, _wider(operation))


def _ends(case):
    """What makes the outputs: (operation or layer, the dtype that is measured)."""
    measured = case.put_out.get(id(case.model), ())
    outputs = getattr(case.model, "outputs", None)
    if outputs:
        return zip(map(_maker, outputs), measured, strict=False)
    # A subclassed model: which of its layers comes last in `call` is not known.
    return ((place.layer, dtype) for place in case.places[-1:] for dtype in measured)


def _maker(tensor):
    """The operation that made a symbolic tensor, within a nested model if so."""
    # Keras has no public name for this history.
    history = tensor._keras_history
    while getattr(history.operation, "outputs", None):
        history = history.operation.outputs[history.tensor_index]._keras_history
    return history.operation


def _activation(operation):
    """ "softmax" or "sigmoid", if the operation ends in it, or any other name."""
    # The layer Softmax and keras.ops.softmax in a functional model are classes of that
    # name.
    kind = type(operation).__name__.lower()
    return getattr(getattr(operation, "activation", None), "__name__", kind)


def _wider(operation):
    kind = type(operation).__name__
    activation = _activation(operation)
    if not isinstance(operation, keras.Layer):
        return 'x = keras.layers.Activation("linear", dtype="float32")(x)  # before this operation'
    if activation not in PROBABILITIES or kind.lower() == activation:
        return f'{kind}(..., dtype="float32")'
    first = "" if kind == "Activation" else "..., activation="
    return f'{kind}({first}"{activation}", dtype="float32")'


def not_multiple_of_eight(case) -> Iterator[Finding]:
    """MP010: the width of a layer that computes in 16 bits is not a multiple of 8.

    The input's width is the width of the layer before it and is not named again. How
    wide the model's output is, the task says, as ten classes do.
    """
    outputs = [call.left for call in case.calls if call.layer is case.model]
    widths = {shape[-1] for left in outputs for shape, _ in left if shape}
    for path, layer in case.computing_in(*NARROW):
        argument = next((name for kind, name in WIDTHS if isinstance(layer, kind)), "")
        if not argument or not layer.built:
            continue
        width = getattr(layer, argument)
        padded = -(-width // MULTIPLE) * MULTIPLE
        if padded == width or width in widths:
            continue
        more = layer.count_params() // width * (padded - width)
        message = (
            f"{argument}={width} is not a multiple of {MULTIPLE}, which tensor cores want in 16 "
            f"bits: {padded} would cost {more:,} parameters more in this layer."
        )
        fix = f"{type(layer).__name__}({argument}={padded}, ...)"
        yield Finding("MP010", "advice", path, message, fix)


def rounded_ids(case) -> Iterator[Finding]:
    """MP023: an Embedding gets its ids in 16 bits, which cannot tell all of its rows."""
    # What a subclassed model is called with, its shapes do not tell.
    for call in case.calls if getattr(case.model, "inputs", None) else ():
        shape, dtype = call.arrived[0] if call.arrived else ((), "")
        # A ReversibleEmbedding that makes logits of activations looks nothing up.
        ids = isinstance(call.layer, layers.Embedding) and len(call.left[0][0]) > len(
            shape
        )
        if ids and dtype in WHOLE and call.layer.input_dim > WHOLE[dtype] + 1:
            message = (
                f"The ids arrive in {dtype}, which rounds whole numbers above {WHOLE[dtype]:,}, "
                f"and here are {call.layer.input_dim:,} rows: others than those meant are learned."
            )
            fix = 'keras.Input(shape, dtype="int32")  # so that no layer casts the ids'
            yield Finding("MP023", "error", case.path_of(call.layer), message, fix)


def not_built(case) -> Iterator[Finding]:
    """MP026: layers are not built, so what they put out cannot be measured."""
    if case.unbuilt:
        message = (
            f"This model is not built (missing: {names(case.unbuilt)}), so MP001, MP007, MP010 "
            "and MP023 could not be looked for."
        )
        fix = "model(x[:1])  # or model.build(...); what stays unbuilt then is never called"
        yield Finding("MP026", "warning", case.model.name, message, fix)


RULES = (low_precision_output, not_multiple_of_eight, rounded_ids, not_built)
