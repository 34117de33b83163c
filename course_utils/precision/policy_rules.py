"""Rules about the policy and the optimizer: MP002, MP008 and MP012."""

from collections.abc import Iterator

from course_utils import hardware, training
from course_utils.precision.case import names
from course_utils.precision.finding import NARROW, Finding

NO_FLOAT16 = "TensorFlow's kernels for CPUs have no fast float16."


def missing(case) -> Iterator[Finding]:
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
    if not through or case.scales:
        return
    message = (
        f"Nothing scales the loss, though gradients are computed in float16 ({names(through)}): "
        "those below 6e-08 become zero."
    )
    severity = "warning" if case.optimizer is None else "error"
    fix = "model.compile(optimizer=keras.optimizers.LossScaleOptimizer(optimizer), ...)"
    yield Finding("MP002", severity, case.model.name, message, fix)


def no_master_weights(case) -> Iterator[Finding]:
    """MP008: weights kept in 16 bits, which rounds small updates away."""
    for dtype, step in (("float16", "2048th"), ("bfloat16", "256th")):
        narrow = [p for p in case.places if p.layer.variable_dtype == dtype]
        narrow = [
            p.path for p in narrow if p.layer.trainable_weights or not p.layer.built
        ]
        if narrow:
            message = (
                f"The weights themselves are kept in {dtype} ({names(narrow)}), so "
                f"an update below about a {step} of a weight is rounded away."
            )
            fix = f'keras.config.set_dtype_policy("mixed_{dtype}")  # or dtype="mixed_{dtype}"'
            yield Finding("MP008", "warning", case.model.name, message, fix)


def slow_here(case) -> Iterator[Finding]:
    """MP012: this hardware computes slower, or no faster, in the dtype of these layers."""
    here = hardware.detect()
    best = hardware.recommended_policy(here)
    for dtype in NARROW:
        paths = [place.path for place in case.computing_in(dtype)]
        if not paths or best == f"mixed_{dtype}":
            continue
        reason = hardware.policy_reason(here)
        if here.working("GPU") and not here.working("TPU"):
            if best == "mixed_bfloat16":
                continue  # tensor cores that take bfloat16 take float16, too
        elif not here.working("TPU"):
            if here.instruction_sets is None:
                continue  # nobody knows
            if dtype == "float16":
                reason = NO_FLOAT16
        message = f"{names(paths)}: {dtype} gains no time here, as {reason}"
        fix = f'keras.config.set_dtype_policy("{best}")'
        if training.needs_xla(case.model):
            fix = f"model.compile(..., jit_compile=True)  # or {fix}"
        yield Finding("MP012", "warning", case.model.name, message, fix)


RULES = (missing, no_master_weights, slow_here)
