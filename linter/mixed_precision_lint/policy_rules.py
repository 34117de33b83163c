"""Rules about the policy and the optimizers: MP002, MP008, MP012, MP014 and MP031."""

from collections.abc import Iterator

import keras
import numpy as np

from mixed_precision_lint.finding import NARROW, Finding
from mixed_precision_lint.inspected import Inspected, names


def unscaled_float16(inspected: Inspected) -> Iterator[Finding]:
    """MP002: gradients flow through float16, and nothing scales the loss of an optimizer.

    `compile` wraps the optimizer exactly if its `auto_scale_loss` is on and the model's
    own policy is named "mixed_float16"; layers with a policy of their own do not count,
    nor an optimizer that the model's own code holds.
    """
    through = []
    trains = False
    for place in inspected.places:
        # Before the first trainable weights no gradient is computed; an unbuilt layer
        # has none yet.
        trains = trains or bool(place.layer.trainable_weights)
        if (trains or not place.layer.built) and place.layer.compute_dtype == "float16":
            through.append(place.path)
    for stepper in inspected.steppers:
        if not through or inspected.scales(stepper):
            continue
        whose = f" that {stepper.name} takes" if stepper.name else ""
        message = (
            f"Nothing scales the loss{whose}, though gradients are computed in float16 "
            f"({names(through)}): those below 6e-08 become zero."
        )
        severity = "warning" if stepper.optimizer is None else "error"
        fix = "model.compile(optimizer=keras.optimizers.LossScaleOptimizer(optimizer), ...)"
        if stepper.name:
            fix = (
                f"{stepper.name} = keras.optimizers.LossScaleOptimizer(...)  # and in the tape: "
                f"scaled = {stepper.name}.scale_loss(loss)"
            )
        yield Finding("MP002", severity, inspected.model.name, message, fix)


def scaler_wrapped_twice(inspected: Inspected) -> Iterator[Finding]:
    """MP014: a `LossScaleOptimizer` in another one."""
    for stepper in inspected.steppers:
        if len(stepper.scalers) > 1:
            name = stepper.name or "The optimizer"
            message = (
                f"{name} is a LossScaleOptimizer in another one: the loss is scaled once and the "
                "gradients are unscaled twice, so an update is 1/32,768 of the right one at first."
            )
            fix = "keras.optimizers.LossScaleOptimizer(optimizer)  # once"
            yield Finding("MP014", "error", inspected.model.name, message, fix)


def weights_in_16_bits(inspected: Inspected) -> Iterator[Finding]:
    """MP008: weights kept in 16 bits, in which an update rule may do nothing, or harm."""
    for dtype, step in (("float16", "2048th"), ("bfloat16", "256th")):
        narrow = [
            path
            for path, layer in inspected.places
            if layer.variable_dtype == dtype
            and (layer.trainable_weights or not layer.built)
        ]
        if narrow:
            severity = "warning"
            message = (
                f"The weights themselves are kept in {dtype} ({names(narrow)}), so "
                f"an update below about a {step} of a weight is rounded away."
            )
            for stepper in inspected.steppers:
                if stepper.chain and (fault := update_fault(stepper.chain[-1], dtype)):
                    severity = "error"
                    message = (
                        f"The weights themselves are kept in {dtype} ({names(narrow)}), and there "
                        f"{fault}."
                    )
            fix = f'keras.config.set_dtype_policy("mixed_{dtype}")  # or dtype="mixed_{dtype}"'
            yield Finding("MP008", severity, inspected.model.name, message, fix)


GRADIENT = 1e-3
FAR = 4  # times as far as in float32: no rounding


def update_fault(optimizer: keras.Optimizer, dtype: str) -> str:
    """What an optimizer's update rule does wrong to weights of a dtype, or "".

    A copy takes two steps with weights of zero, where no update is too small, with small
    gradients and with large ones.

        >>> update_fault(keras.optimizers.Adam(), "bfloat16")
        'Adam moves no weight at all, however large the gradient'
    """
    try:
        usual = _two_steps(optimizer, "float32", GRADIENT)
        narrow = _two_steps(optimizer, dtype, GRADIENT)
        large = _two_steps(optimizer, dtype, 1.0)
    except Exception:  # whatever an optimizer that cannot be copied raises
        return ""
    kind = type(optimizer).__name__
    if not np.isfinite(usual).all():
        return ""
    if not np.isfinite(narrow).all():
        return f"{kind} makes NaN of them in its first steps"
    if ((narrow == 0) & (large == 0) & (usual > 0)).any():
        return f"{kind} moves no weight at all, however large the gradient"
    if (narrow > FAR * usual).any():
        times = np.max(narrow / usual)
        return f"{kind} goes {times:,.0f} times as far as in float32 with gradients of {GRADIENT:g}"
    return ""


def _two_steps(optimizer, dtype, gradient):
    """How far a copy of an optimizer moves a vector and a matrix, two numbers."""
    copy = type(optimizer).from_config(optimizer.get_config())
    vector = keras.Variable(np.zeros(2), dtype=dtype, name="vector")
    matrix = keras.Variable(np.zeros((2, 2)), dtype=dtype, name="matrix")
    weights = [vector, matrix]
    gradients = [keras.ops.full(w.shape, gradient, dtype=dtype) for w in weights]
    copy.build(weights)
    for _ in range(2):
        copy.apply(gradients, weights)
    ways = []
    for weight in weights:
        values = keras.ops.convert_to_numpy(keras.ops.cast(weight, "float32"))
        ways.append(np.abs(values).max())
    return np.array(ways)


def asks_global_policy(inspected: Inspected) -> Iterator[Finding]:
    """MP031: a layer's `call` asks for the global policy."""
    for call in inspected.calls:
        if call.asks_policy:
            message = (
                "Its call asks for the global policy, which may be another one by then: it belongs "
                "to one thread, and clear_session() drops it."
            )
            path = inspected.path_of(call.layer)
            yield Finding(
                "MP031",
                "warning",
                path,
                message,
                "self.dtype_policy  # the layer's own",
            )


def slow_dtype(inspected: Inspected) -> Iterator[Finding]:
    """MP012: the machine computes slower, or no faster, in the dtype of these layers.

    Whoever calls `examine` says what the machine is.
    """
    if inspected.machine is None:
        return
    for dtype in NARROW:
        paths = [place.path for place in inspected.computing_in(dtype)]
        if paths and (reason := inspected.machine(inspected.model, dtype)):
            message = f"{names(paths)}: {dtype} gains no time here, as {reason.why}"
            yield Finding("MP012", "warning", inspected.model.name, message, reason.fix)


RULES = (
    unscaled_float16,
    scaler_wrapped_twice,
    weights_in_16_bits,
    asks_global_policy,
    slow_dtype,
)
