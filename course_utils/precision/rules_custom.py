"""The rules about layers that are not Keras's own: MP005, MP006 and MP007.

What a layer puts out is measured. The source is read to say why it is wrong, or where nothing can
be measured; a cast that the measured output shows to be undone is no finding.
"""

from course_utils.precision import rules_source
from course_utils.precision.rules_case import NARROW, Finding
from course_utils.precision.rules_tracing import computing, is_lambda, methods


def hard_coded_dtype(case):
    """MP005: a dtype in the code, where the policy should decide."""
    for layer in case.own_layers:
        for call, literal in _literals(layer):
            weight, compute = call == "add_weight", layer.compute_dtype
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
            fix = f"{call}(..., self.compute_dtype)"
            if weight:
                fix = "self.add_weight(...)  # without dtype: the policy's variable dtype"
            elif is_lambda(layer):
                fix = f"{call}(..., x.dtype)"
            yield Finding("MP005", severity, case.path_of(layer), message, fix)


def raw_tensor(case):
    """MP006: a raw tf.Variable or tf.constant, which does not follow the policy."""
    for layer in case.own_layers:
        if layer.compute_dtype not in NARROW:
            continue
        variables, constants = _raw_attributes(layer)
        code = [*computing(layer), *(m for m in methods(layer) if m.name == "__init__")]
        in_source = [found for method in code for found in rules_source.raw_tensors(method)]
        if variables or any(kind == "Variable" for kind, _ in in_source):
            name = variables[0] if variables else "a variable"
            message = (
                f"{name} is a raw tf.Variable: it stays in its dtype beside {layer.compute_dtype} "
                "tensors, and Keras neither trains nor saves it."
            )
            fix = "self.add_weight(shape=(), initializer=..., name=...)"
            yield Finding("MP006", "error", case.path_of(layer), message, fix)
        if constants or any(kind == "constant" for kind, _ in in_source):
            severity = _severity_of_constant(case, layer)
            name = constants[0] if constants else next(t for k, t in in_source if k == "constant")
            message = (
                f"{name} is a float32 tensor: beside {layer.compute_dtype} ones TensorFlow raises "
                "an error and keras.ops widens the result."
            )
            fix = "tf.constant(..., dtype=self.compute_dtype)  # or a Python number"
            if severity:
                yield Finding("MP006", severity, case.path_of(layer), message, fix)


def silent_promotion(case):
    """MP007: the output is wider than the layer's compute dtype, and no code says so."""
    explained = {f.layer for rule in (hard_coded_dtype, raw_tensor) for f in rule(case)}
    for layer in case.own_layers:
        path = case.path_of(layer)
        if path in explained or not case.put_out[id(layer)] or not _widens(case, layer):
            continue
        wide = next(d for d in case.put_out[id(layer)] if d in ("float32", "float64"))
        message = (
            f"It computes in {layer.compute_dtype} and puts out {wide}: something in it, such as a "
            "weight with autocast=False, is wider and widens the rest."
        )
        fix = "return keras.ops.cast(outputs, self.compute_dtype)"
        yield Finding("MP007", "warning", path, message, fix)


def _literals(layer):
    """(called name, dtype) for each dtype in the code that computes; each pair once."""
    return dict.fromkeys(d for method in computing(layer) for d in rules_source.dtypes(method))


def _widens(case, layer):
    """Whether a 16-bit layer puts out a wider dtype.

    If that cannot be measured, a cast to a dtype that is not spelled out is taken to lead back.
    Widening is right at the end of a model, and it is the business of a float32 layer inside.
    """
    outputs = getattr(case.model, "outputs", None) or ()
    at_the_end = layer is case.model or any(t._keras_history.operation is layer for t in outputs)
    if at_the_end or layer.compute_dtype not in NARROW:
        return False
    held = layer._flatten_layers(include_self=False)
    if any(la.compute_dtype not in NARROW or id(la) in case.put_out for la in held):
        return False
    dtypes = case.put_out[id(layer)]
    if dtypes is None:
        return not any(rules_source.follows(method) for method in computing(layer))
    return any(d in ("float32", "float64") for d in dtypes)


def _severity_of_constant(case, layer):
    dtypes = case.put_out[id(layer)]
    if dtypes is None:
        return "error"
    return "warning" if _widens(case, layer) else None


def _raw_attributes(layer):
    """Names of the attributes that hold raw floating-point variables, and such tensors."""
    import tensorflow as tf

    variables, constants = [], []
    for name, value in vars(layer).items():
        if name.startswith("_self_"):  # TensorFlow's own bookkeeping
            continue
        held = value.values() if isinstance(value, dict) else value
        for item in held if isinstance(value, dict | list | tuple) else [value]:
            if isinstance(item, tf.Variable) and item.dtype.is_floating:
                variables.append(f"self.{name}")
            elif isinstance(item, tf.Tensor) and item.dtype in (tf.float32, tf.float64):
                constants.append(f"self.{name}")
    return variables, constants
