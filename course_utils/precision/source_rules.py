"""Rules about layers that are not Keras's own: MP005, MP007 and MP025.

What a layer puts out is measured. The source is read to say why it is wrong, or where
nothing can be measured; a cast that the measured output shows to be undone is no
finding. Counts, such as the positions in a text, are not told to follow the policy: 16
bits would make other numbers of them. No repair casts a finished output: what comes
before it would still be computed in the wider dtype.
"""

from course_utils.precision.case import NARROW, WHOLE, Finding
from course_utils.precision.source import (
    computing,
    counts,
    dtypes,
    following_counts,
    follows,
    methods,
)  # fmt: skip

WIDE = ("float32", "float64")


def hard_coded_dtype(case):
    """MP005: a dtype in the code, where the policy should decide."""
    for layer in case.own_layers:
        named = {}
        for call, literal, source in (
            d for method in computing(layer) for d in dtypes(method)
        ):
            named.setdefault((call, literal), []).append(source)
        for (call, literal), sources in named.items():
            weight = call == "add_weight"
            compute = layer.compute_dtype
            if literal in NARROW:
                severity = "warning" if literal == compute and not weight else "error"
                message = (
                    f"{call} names {literal}, whatever the policy says: nothing else in Keras, "
                    "loss scaling included, knows of it."
                )
            elif not weight and _widens(case, layer):
                severity = "warning"
                message = (
                    f"{call} names {literal} and nothing leads back to {compute}: what follows "
                    "takes the memory and the time of the wider dtype."
                )
            else:
                continue
            dtype = (
                "x.dtype" if type(layer).__name__ == "Lambda" else "self.compute_dtype"
            )
            fix = f"{call}(..., {dtype})"
            if weight:
                fix = (
                    "self.add_weight(...)  # without dtype: the policy's variable dtype"
                )
            elif any(counts(layer, source) for source in sources):
                message = _spared(message, literal if literal in NARROW else compute)
                fix = _cast_of(f"{call} in float32 or int32", dtype)
            yield Finding("MP005", severity, case.path_of(layer), message, fix)


def silent_promotion(case):
    """MP007: the output is wider than the layer's compute dtype, and no code says so."""
    explained = {finding.layer for finding in hard_coded_dtype(case)}
    for layer in case.own_layers:
        path = case.path_of(layer)
        found = case.put_out.get(id(layer))
        if path in explained or not found or not _widens(case, layer):
            continue
        wide = next(dtype for dtype in found if dtype in WIDE)
        message = f"Its policy says {layer.compute_dtype}, and it puts out {wide}: "
        uncast = [weight.name for weight in _own_weights(layer) if not weight._autocast]
        if uncast:
            message += (
                f"its weight {uncast[0]!r} has autocast=False and widens the rest."
            )
            fix = f"self.add_weight(name={uncast[0]!r}, ...)  # without autocast=False"
        else:
            message += "something in it is wider and widens the rest."
            fix = "keras.ops.cast(part, self.compute_dtype)  # the wide part, before it meets x"
        yield Finding("MP007", "warning", path, message, fix)


def rounded_counts(case):
    """MP025: a layer counts in its 16-bit compute dtype, which cannot hold large whole
    numbers.
    """
    arrived = {
        id(call.layer): [dtype for _, dtype in call.arrived] for call in case.calls
    }
    for layer in case.own_layers:
        narrow = layer.compute_dtype
        inputs = arrived.get(id(layer), ["int32"])
        if narrow not in NARROW:
            continue
        # Keras casts no whole numbers: `x.dtype` is the compute dtype where x is of
        # another kind.
        ends = (
            ("compute_dtype",)
            if any("int" in dtype for dtype in inputs)
            else ("dtype",)
        )
        code = [*computing(layer), *(m for m in methods(layer) if m.name == "__init__")]
        found = (
            n for m in code for n in following_counts(layer, m, ends, WHOLE[narrow])
        )
        if call := next(found, None):
            message = (
                f"{call} counts in {narrow}, which rounds whole numbers above {WHOLE[narrow]:,}: "
                "from there on several positions become one."
            )
            fix = _cast_of(f"{call} in float32 or int32")
            yield Finding("MP025", "warning", case.path_of(layer), message, fix)


def _cast_of(source, dtype="self.compute_dtype"):
    return f"keras.ops.cast(made, {dtype})  # made: what your code makes of {source}"


def _own_weights(layer):
    """The weights that a layer holds itself, not through other layers."""
    return [*layer._trainable_variables, *layer._non_trainable_variables]


def _spared(message, narrow):
    needs = f"counts need float32 or int32, since {narrow} rounds whole numbers above"
    return f"{message.removesuffix('.')}; {needs} {WHOLE[narrow]:,}."


def _widens(case, layer):
    """Whether a 16-bit layer puts out a wider dtype.

    If that cannot be measured, a cast to a dtype that is not spelled out is taken to
    lead back. Widening is right at the end of a model, and it is the business of a
    float32 layer inside.
    """
    outputs = getattr(case.model, "outputs", None) or ()
    at_the_end = layer is case.model or any(
        t._keras_history.operation is layer for t in outputs
    )
    if at_the_end or layer.compute_dtype not in NARROW:
        return False
    held = layer._flatten_layers(include_self=False)
    if any(la.compute_dtype not in NARROW or la in case.own_layers for la in held):
        return False
    if id(layer) not in case.put_out:
        return not any(follows(method) for method in computing(layer))
    return any(dtype in WIDE for dtype in case.put_out[id(layer)])


RULES = (hard_coded_dtype, silent_promotion, rounded_counts)
