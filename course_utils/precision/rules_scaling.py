"""The rules about loss scaling: MP002, MP003, MP004, MP011, MP014 and MP015."""

import ast

from course_utils.precision.rules_case import Finding, names
from course_utils.precision.rules_tracing import methods

# What belongs on the inner optimizer. The constructor of LossScaleOptimizer refuses all of them;
# set as attributes of the wrapper afterwards, they are never looked at.
SETTINGS = (
    "weight_decay",
    "clipnorm",
    "clipvalue",
    "global_clipnorm",
    "use_ema",
    "ema_overwrite_frequency",
    "gradient_accumulation_steps",
    "loss_scale_factor",
)


def missing(case):
    """MP002: gradients flow through float16, and nothing scales the loss.

    `compile` wraps the optimizer exactly if its `auto_scale_loss` is on and the model's own policy
    is named "mixed_float16"; layers with a policy of their own do not count.
    """
    through = list(_gradients_in_float16(case))
    if not through or _scaled(case) or case.compile_will_wrap:
        return
    message = (
        f"Nothing scales the loss, though gradients are computed in float16 ({names(through)}): "
        "those below 6e-08 become zero."
    )
    inner = "keras.optimizers.Adam()"
    if case.optimizer is not None:
        inner = f"keras.optimizers.{type(case.optimizer).__name__}(...)"
    severity = "error"
    if case.optimizer is None:
        severity, message = "warning", message.replace("scales", "will scale", 1)
    fix = f"model.compile(optimizer=keras.optimizers.LossScaleOptimizer({inner}), ...)"
    yield Finding("MP002", severity, case.model.name, message, fix)


def useless(case):
    """MP003: the loss is scaled, and nothing computes in float16."""
    # A layer that holds others may compute besides, in its own dtype.
    own = any(layer.compute_dtype == "float16" for layer in case.own_layers)
    if not _scaled(case) or case.computing_in("float16") or own:
        return
    message = (
        "The loss is scaled though no layer computes in float16: bfloat16 and float32 have the "
        "range for small gradients, and each step checks for overflow in vain."
    )
    fix = "model.compile(..., auto_scale_loss=False)  # with the optimizer unwrapped"
    if case.scales_dynamically:
        inner = type(case.optimizer.inner_optimizer).__name__
        fix = f"model.compile(optimizer=keras.optimizers.{inner}(...), auto_scale_loss=False, ...)"
    yield Finding("MP003", "warning", case.model.name, message, fix)


def fixed_scale_dropped(case):
    """MP004: a fixed scale that `compile` is going to take away."""
    factor = _factor(case.optimizer)
    if factor is None or case.scales_dynamically or not case.compile_will_wrap:
        return
    message = (
        f"Under mixed_float16, compile wraps the optimizer and sets its loss_scale_factor={factor} "
        "to None without a word, so the fixed scale is lost."
    )
    fix = "model.compile(optimizer, auto_scale_loss=False, ...)"
    yield Finding("MP004", "warning", case.model.name, message, fix)


def setting_on_the_wrapper(case):
    """MP011: a setting of the wrapper that only the inner optimizer would obey."""
    if not case.scales_dynamically:
        return
    for setting in SETTINGS:
        value = getattr(case.optimizer, setting, None)
        if value:
            message = (
                f"{setting} is set on the LossScaleOptimizer, which never looks at it: only the "
                "inner optimizer's settings have an effect."
            )
            fix = f"optimizer.inner_optimizer.{setting} = {value!r}  # before the first step"
            if setting == "loss_scale_factor":
                fix = f"keras.optimizers.LossScaleOptimizer(inner, initial_scale={value!r})"
            yield Finding("MP011", "error", case.model.name, message, fix)


def unscaled_twice(case):
    """MP014: gradients are divided by a scale that the loss was not multiplied with."""
    import keras

    if not case.scales_dynamically:
        return
    inner = case.optimizer.inner_optimizer
    if isinstance(inner, keras.optimizers.LossScaleOptimizer):
        cause = "A LossScaleOptimizer wraps another one"
        fix = "optimizer = optimizer.inner_optimizer  # wrap once"
    elif _factor(inner):
        cause = f"loss_scale_factor={inner.loss_scale_factor} was set after wrapping"
        fix = "optimizer.inner_optimizer.loss_scale_factor = None"
    else:
        return
    message = f"{cause}: the loss is scaled once and the gradients are unscaled twice."
    yield Finding("MP014", "error", case.model.name, message, fix)


def loss_not_scaled(case):
    """MP015: a train_step of your own leaves the loss unscaled, and the optimizer unscales."""
    if not (_scaled(case) or case.compile_will_wrap and case.optimizer is not None):
        return
    own = {method.name: method.tree for method in methods(case.model)}
    if "train_step" not in own or "gradient" not in _attributes(own["train_step"]):
        return
    if any("scale_loss" in _attributes(tree) for tree in own.values()):
        return
    message = (
        "train_step never calls scale_loss, but the optimizer divides the gradients by the loss "
        "scale all the same: SGD hardly moves, and Adam hides it."
    )
    fix = "scaled = self.optimizer.scale_loss(loss)  # in the tape; then tape.gradient(scaled, ...)"
    yield Finding("MP015", "error", case.model.name, message, fix)


def _gradients_in_float16(case):
    """Paths of the float16 layers from the first one with trainable weights on.

    Before that, no gradient is computed: a float16 `Rescaling` of the inputs needs no scaling.
    """
    trains = False
    for place in case.places:
        trains = trains or bool(place.layer.trainable_weights)
        # An unbuilt layer has no weights yet.
        if (trains or not place.layer.built) and place.layer.compute_dtype == "float16":
            yield place.path


def _scaled(case):
    return case.scales_dynamically or bool(_factor(case.optimizer))


def _factor(optimizer):
    return getattr(optimizer, "loss_scale_factor", None)


def _attributes(tree):
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
