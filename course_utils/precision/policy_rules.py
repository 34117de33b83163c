"""Rules about the policy and the optimizer: MP002, MP008, MP012, MP013 and MP015."""

import keras

from course_utils import hardware, training
from course_utils.precision.case import NARROW, Finding, names
from course_utils.precision.source import methods, words

# Why float16 is slow on CPUs with instructions for it.
DENSE = (
    "TensorFlow's graphs compute a Dense layer in oneDNN's slow reference kernel on this CPU, "
    "unless `remapping` is off."
)
CONVOLUTIONS = (
    "TensorFlow gives convolutions in float16 to oneDNN, which has only its slow reference kernel "
    "for their gradients on this CPU: they belong under jit_compile=True, where XLA computes them."
)
NEITHER = (
    "neither oneDNN nor XLA before TensorFlow 2.21 has a fast kernel for the gradients of float16 "
    "convolutions on this CPU."
)


def missing(case):
    """MP002: gradients flow through float16, and nothing scales the loss.

    `compile` wraps the optimizer exactly if its `auto_scale_loss` is on and the model's
    own policy is named "mixed_float16"; layers with a policy of their own do not count.
    """
    through, trains = [], False
    for place in case.places:
        # Before the first trainable weights no gradient is computed; an unbuilt layer
        # has none yet.
        trains = trains or bool(place.layer.trainable_weights)
        if (trains or not place.layer.built) and place.layer.compute_dtype == "float16":
            through.append(place.path)
    if not through or _scaled(case) or case.compile_will_wrap:
        return
    severity, scales, inner = "warning", "will scale", "keras.optimizers.Adam()"
    if case.optimizer is not None:
        severity, scales = "error", "scales"
        inner = f"keras.optimizers.{type(case.optimizer).__name__}(...)"
    message = (
        f"Nothing {scales} the loss, though gradients are computed in float16 ({names(through)}): "
        "those below 6e-08 become zero."
    )
    fix = f"model.compile(optimizer=keras.optimizers.LossScaleOptimizer({inner}), ...)"
    yield Finding("MP002", severity, case.model.name, message, fix)


def no_master_weights(case):
    """MP008: weights kept in 16 bits, which rounds small updates away."""
    for dtype, step in (("float16", "2048th"), ("bfloat16", "256th")):
        kept = [p for p in case.places if p.layer.variable_dtype == dtype]
        kept = [p.path for p in kept if p.layer.trainable_weights or not p.layer.built]
        if kept:
            message = (
                f"The weights themselves are kept in {dtype} ({names(kept)}), so "
                f"an update below about a {step} of a weight is rounded away."
            )
            fix = f'keras.config.set_dtype_policy("mixed_{dtype}")  # or dtype="mixed_{dtype}"'
            yield Finding("MP008", "warning", case.model.name, message, fix)


def slow_here(case):
    """MP012: this hardware computes slower, or no faster, in the dtype of these layers."""
    for dtype in NARROW:
        found = case.computing_in(dtype)
        if found and (reason := _reason(case, dtype, hardware.detect())):
            message = f"{names(p.path for p in found)}: {dtype} gains no time here, as {reason}"
            fix = f'keras.config.set_dtype_policy("{hardware.recommended_policy()}")'
            if reason is CONVOLUTIONS:
                fix = f"model.compile(..., jit_compile=True)  # or {fix}"
            yield Finding("MP012", "warning", case.model.name, message, fix)


def other_than_saved(case):
    """MP013: the policy in force is not the one that the model was saved under."""
    saved = case.saved_policy
    now = keras.config.dtype_policy().name
    if saved is None or saved == now:
        return
    lost = "the layers keep their dtypes, but those that you add compute otherwise"
    if saved == "mixed_float16":
        lost = "load_model then leaves out the loss scaling unless the file wraps its optimizer"
    message = f"The model was saved under {saved} and {now} is in force: {lost}."
    fix = f'keras.config.set_dtype_policy("{saved}")  # before load_model'
    yield Finding("MP013", "warning", case.model.name, message, fix)


def loss_not_scaled(case):
    """MP015: a train_step of your own leaves the loss unscaled, and the optimizer
    unscales.
    """
    if not (_scaled(case) or case.compile_will_wrap and case.optimizer is not None):
        return
    used = {name: words(function) for name, function in methods(case.model).items()}
    if "gradient" not in used.get("train_step", ()):
        return
    if any("scale_loss" in names for names in used.values()):
        return
    message = (
        "train_step never calls scale_loss, but the optimizer divides the gradients by the loss "
        "scale all the same: SGD hardly moves, and Adam hides it."
    )
    fix = "scaled = self.optimizer.scale_loss(loss)  # in the tape; then tape.gradient(scaled, ...)"
    yield Finding("MP015", "error", case.model.name, message, fix)


RULES = (
    missing,
    no_master_weights,
    slow_here,
    other_than_saved,
    loss_not_scaled,
)


def _scaled(case):
    return case.scales_dynamically or bool(_factor(case.optimizer))


def _factor(optimizer):
    return getattr(optimizer, "loss_scale_factor", None)


def _reason(case, dtype, here):
    """Why a dtype is slow on this hardware, as the end of a sentence, or None if it is
    not.
    """
    best = hardware.recommended_policy(here)
    why = hardware.policy_reason(here)
    if best == f"mixed_{dtype}":
        return None
    if here.working("TPU") or here.working("GPU"):
        # A GPU's tensor cores from 8.0 on take both.
        both = (
            not here.working("TPU") and dtype == "float16" and best == "mixed_bfloat16"
        )
        return None if both else why
    if dtype == "float16":
        convolves = any(
            "Conv" in type(p.layer).__name__ for p in case.computing_in(dtype)
        )
        if not hardware.merged_float16_is_slow(here):
            return "TensorFlow's kernels for CPUs have no fast float16."
        slow = convolves and hardware.float16_convolutions_are_slow(here)
        if slow and not training.xla_cures_float16():
            return NEITHER
        if case.model.compiled and case.model.jit_compile:
            return "XLA computes products and convolutions in float32 on CPUs."
        return CONVOLUTIONS if slow else DENSE
    return why if here.instruction_sets is not None else None  # None: nobody knows
