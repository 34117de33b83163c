"""Rules about what layers put out, add, compute with and get: MP001, MP010, MP023 and
MP027; and MP026 and MP030, where they cannot look.
"""

import re
from collections.abc import Iterator

import keras
from keras import layers

from mixed_precision_lint.finding import NARROW, WHOLE, Finding
from mixed_precision_lint.inspected import Inspected, names
from mixed_precision_lint.layers import inner_layers
from mixed_precision_lint.one_line import one_line
from mixed_precision_lint.source import methods

PROBABILITIES = ("softmax", "sigmoid")
# Measured with a logit gap of 18: loss 16 and gradient 0 in both 16-bit types, 18 and 1
# in float32.
LOST = (
    "The probabilities come out in {0}, so Keras no longer finds the logits behind them and clips "
    "them instead: the gradient of a confident mistake is lost."
)
ROUNDED = (
    "The model's output is rounded to {0} before the loss sees it, which Keras "
    "computes in float32."
)
# Layers and operations that hand on values as they are; theirs have no logits behind them.
MOVING = "Reshape Flatten Permute Transpose Squeeze ExpandDims".split()
MULTIPLE = 8  # NVIDIA: "Deep Learning Performance Guide", for 16-bit types
# how wide an output is, by the layer's kind
WIDTHS = (
    (layers.Dense, "units"),
    (layers.Embedding, "output_dim"),
    (layers.Conv2D, "filters"),
)


def low_precision_output(inspected: Inspected) -> Iterator[Finding]:
    """MP001: an output is in 16 bits, unless the model has no loss; or the logits behind
    its probabilities are out of a crossentropy's sight, which is so in any dtype.

    Of a model that is not compiled nobody knows: its output counts if a layer that makes
    logits or probabilities comes last. A backbone and a preprocessing have none.
    """
    if inspected.model.compiled and not inspected.model.loss:
        return
    searched = "crossentropy" in repr(getattr(inspected.model, "loss", "")).lower()
    # An operation may make several of the outputs.
    for operation, dtype in dict.fromkeys(_ends(inspected)):
        source = _behind(operation)
        probable = _activation(source) in PROBABILITIES
        hidden = searched and probable and source is not operation
        if dtype not in NARROW and not hidden:
            continue
        path = inspected.path_of(operation)
        if probable:
            message = LOST.format(dtype)
            fix = _wider(inspected, operation)
            if source is not operation:
                fix = (
                    "a loss with from_logits=True, no activation before it, and "
                    f'{type(operation).__name__}(..., dtype="float32")'
                )
            yield Finding("MP001", "error", path, message, fix)
        elif inspected.model.compiled or _is_head(source):
            message = ROUNDED.format(dtype)
            yield Finding(
                "MP001", "warning", path, message, _wider(inspected, operation)
            )


def _ends(inspected):
    """What makes the outputs: (operation or layer, the dtype that is measured)."""
    measured = inspected.output_dtypes.get(id(inspected.model), ())
    outputs = getattr(inspected.model, "outputs", None)
    if outputs:
        return list(zip(map(_maker, outputs), measured, strict=False))
    if not inspected.places:
        return []
    # A subclassed model: which of its layers comes last in `call` is not known.
    return [(inspected.places[-1].layer, dtype) for dtype in measured]


def _maker(tensor):
    """The operation that made a symbolic tensor, within a nested model if so."""
    # Keras has no public name for this history.
    history = tensor._keras_history
    while getattr(history.operation, "outputs", None):
        history = history.operation.outputs[history.tensor_index]._keras_history
    return history.operation


def _behind(operation):
    """The operation that made the values which others only move."""
    while type(operation).__name__ in MOVING:
        inputs = keras.tree.flatten(operation.input)
        operation = _maker(inputs[0])
    return operation


def _is_head(operation):
    """Whether something makes logits: a layer with weights and no activation of its own."""
    weighted = isinstance(operation, (layers.Dense, layers.EinsumDense, layers.Conv2D))
    return weighted and _activation(operation) == "linear"


def _activation(operation):
    """ "softmax" or "sigmoid", if the operation ends in it, or any other name."""
    # The layer Softmax and keras.ops.softmax in a functional model are classes of that
    # name.
    kind = type(operation).__name__.lower()
    return getattr(getattr(operation, "activation", None), "__name__", kind)


def _wider(inspected, operation):
    kind = type(operation).__name__
    activation = _activation(operation)
    if not isinstance(operation, keras.Layer):
        return 'x = keras.layers.Activation("linear", dtype="float32")(x)  # before this operation'
    if name := _held_as(inspected.model, operation):
        return f'model.{name}.dtype_policy = "float32"'
    if inner_layers(operation) or operation._flatten_layers(include_self=False):
        # A whole encoder in float32 would cost what the policy gains.
        return 'x = keras.layers.Activation("linear", dtype="float32")(x)  # after it'
    if activation not in PROBABILITIES or kind.lower() == activation:
        return f'{kind}(..., dtype="float32")'
    first = "" if kind == "Activation" else "..., activation="
    return f'{kind}({first}"{activation}", dtype="float32")'


def _held_as(model, layer):
    """The name by which a ready model of a library holds a layer; its user cannot write
    the layer anew.
    """
    ready = type(model).__module__.partition(".")[0] not in ("keras", "__main__")
    if not ready or model in (layer, None):
        return ""
    return next((name for name, value in vars(model).items() if value is layer), "")


def width_no_multiple_of_eight(inspected: Inspected) -> Iterator[Finding]:
    """MP010: the widths of layers that compute in 16 bits are no multiples of 8.

    The input's width is the width of the layer before it and is not named again. How
    wide the model's output is, the task says, as ten classes do.
    """
    output_widths = set()
    for call in inspected.calls:
        if call.layer is inspected.model:
            output_widths |= {shape[-1] for shape, _ in call.outputs if shape}
    odd = []
    for path, layer in inspected.computing_in(*NARROW):
        argument = next((name for kind, name in WIDTHS if isinstance(layer, kind)), "")
        if not argument or not layer.built:
            continue
        width = getattr(layer, argument)
        padded = -(-width // MULTIPLE) * MULTIPLE
        if padded != width and width not in output_widths:
            odd.append((path, layer, argument, width, padded))
    if not odd:
        return
    path, layer, argument, width, padded = odd[0]
    more = layer.count_params() // width * (padded - width)
    message = (
        f"{argument}={width} is not a multiple of {MULTIPLE}, which tensor cores want in 16 "
        f"bits: {padded} would cost {more:,} parameters more in this layer"
    )
    if len(odd) > 1:
        message += f"; the same holds of {names(each[0] for each in odd[1:])}"
    fix = f"{type(layer).__name__}({argument}={padded}, ...)"
    yield Finding("MP010", "advice", path, f"{message}.", fix)


def ids_in_16_bits(inspected: Inspected) -> Iterator[Finding]:
    """MP023: an Embedding gets its ids in 16 bits, which cannot tell all of its rows."""
    # What a subclassed model is called with, its shapes do not tell.
    if not getattr(inspected.model, "inputs", None):
        return
    for call in inspected.calls:
        if not isinstance(call.layer, layers.Embedding) or not call.inputs:
            continue
        shape, dtype = call.inputs[0]
        output_shape, _ = call.outputs[0]
        # A ReversibleEmbedding that makes logits of activations looks nothing up.
        looks_up = len(output_shape) > len(shape)
        if looks_up and dtype in WHOLE and call.layer.input_dim > WHOLE[dtype] + 1:
            message = (
                f"The ids arrive in {dtype}, which rounds whole numbers above {WHOLE[dtype]:,}, "
                f"and here are {call.layer.input_dim:,} rows: others than those meant are learned."
            )
            fix = 'keras.Input(shape, dtype="int32")  # so that no layer casts the ids'
            yield Finding("MP023", "error", inspected.path_of(call.layer), message, fix)


def model_not_built(inspected: Inspected) -> Iterator[Finding]:
    """MP026: layers are not built, so what they put out cannot be measured."""
    if inspected.unbuilt:
        message = (
            f"This model is not built (missing: {names(inspected.unbuilt)}), so MP001, MP007, "
            "MP010 and MP023 could not be looked for."
        )
        fix = "model(x[:1])  # or model.build(...); what stays unbuilt then is never called"
        yield Finding("MP026", "warning", inspected.model.name, message, fix)


def layer_raises(inspected: Inspected) -> Iterator[Finding]:
    """MP030: a layer raises an error when the model is called."""
    if inspected.failure is None:
        return
    layer, error = inspected.failure
    text = str(error)
    # Keras puts the layer's own words between these two.
    own_words = re.search(r"\x1b\[1m(.*?)\x1b\[0m", text, re.DOTALL)
    if own_words:
        text = own_words[1]
    two_met = re.search("half|float16", text) and re.search(
        r"float32|float\s+tensor", text
    )
    # The symbols of a subclassed model are a guess, so only two dtypes that met count.
    if not getattr(inspected.model, "inputs", None) and not two_met:
        return
    reason = one_line(text).rstrip(".")
    message = f"It cannot be called, so nothing more was looked for: {reason}"
    fix = (
        "keras.ops.cast(part, self.compute_dtype)  # what is wider in it, before it meets "
        "the rest, such as what tf.image.resize returns"
    )
    if not two_met:
        fix = "model(x[:1])  # alone, for the whole error: it names no two dtypes"
    elif inspected.repair(layer, "", "float16"):  # the code is somebody else's
        fix = f'{type(layer).__name__}(..., dtype="float32")'
    yield Finding("MP030", "error", inspected.path_of(layer), f"{message}.", fix)


def added_loss_in_16_bits(inspected: Inspected) -> Iterator[Finding]:
    """MP027: a loss beside the main one is in 16 bits, so `fit` raises on TensorFlow."""
    if keras.backend.backend() != "tensorflow":
        return
    if (
        inspected.model.compiled
        and not inspected.model.loss
        and not methods(inspected.model)
    ):
        return
    for call in inspected.calls:
        layer = call.layer
        dtypes = call.losses + [
            keras.utils.standardize_dtype(weight.dtype)
            for weight in layer._trainable_variables
            if getattr(weight, "regularizer", None)
        ]
        narrow = next((dtype for dtype in dtypes if dtype in NARROW), "")
        if not narrow:
            continue
        kind = type(layer).__name__
        if layer.variable_dtype == narrow:
            fix = f'{kind}(..., dtype="mixed_{narrow}")  # weights, and their loss, in float32'
        elif isinstance(layer, layers.ActivityRegularization):
            fix = 'keras.layers.ActivityRegularization(..., dtype="float32")'
        elif getattr(layer, "activity_regularizer", None):
            fix = (
                'keras.layers.ActivityRegularization(..., dtype="float32")  # after it, in '
                "place of its activity_regularizer"
            )
        else:
            fix = 'self.add_loss(keras.ops.cast(penalty, "float32"))'
        message = (
            f"The loss that it adds is in {narrow}, and fit raises TypeError (Cannot convert a "
            "list containing a tensor) where Keras adds it to the main loss, in float32."
        )
        yield Finding("MP027", "error", inspected.path_of(layer), message, fix)


RULES = (
    low_precision_output,
    width_no_multiple_of_eight,
    ids_in_16_bits,
    model_not_built,
    layer_raises,
    added_loss_in_16_bits,
)
