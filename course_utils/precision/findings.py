"""What of a model goes wrong, or slowly, in 16 bits: `examine` applies every rule to it.

    from course_utils.precision.findings import examine

    for finding in examine(model):
        print(finding)

Nothing is trained. What can be measured is measured, by tracing a layer without data; where only
the source of a layer of yours can tell, the rule reads it, and is silent if there is none.
"""

from course_utils.precision import (
    rules_constants,
    rules_custom,
    rules_output,
    rules_policy,
    rules_scaling,
    rules_shapes,
)
from course_utils.precision.rules_case import SEVERITIES, Case, Finding

RULES = (
    rules_output.low_precision_output,
    rules_scaling.missing,
    rules_scaling.useless,
    rules_scaling.fixed_scale_dropped,
    rules_custom.hard_coded_dtype,
    rules_custom.raw_tensor,
    rules_custom.silent_promotion,
    rules_policy.no_master_weights,
    rules_constants.out_of_range,
    rules_shapes.not_multiple_of_eight,
    rules_scaling.setting_on_the_wrapper,
    rules_policy.slow_here,
    rules_policy.other_than_saved,
    rules_scaling.unscaled_twice,
    rules_scaling.loss_not_scaled,
)


def examine(model, optimizer=None, saved_policy=None, *, hardware=None) -> list[Finding]:
    """Finds what a model's dtypes do wrong, with the repair of each.

    Args:
        model: a `keras.Model`. A built model tells more than an unbuilt one.
        optimizer: what you are going to give to `compile`, an optimizer or its name; left out,
            the optimizer that the model is compiled with.
        saved_policy: the policy that a loaded model was saved under, such as "mixed_float16".
        hardware: a `course_utils.hardware.Hardware`; left out, this machine.

    Returns:
        Findings, errors first, then warnings, then advice; in these by layer and code.

    Raises:
        ValueError: `model` is not a Keras model, or Keras knows no optimizer of that name.

    Example:
        >>> import keras
        >>> model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(8, dtype="float16")])
        >>> [finding.code for finding in examine(model)][:2]
        ['MP001', 'MP002']
    """
    import keras

    if not isinstance(model, keras.Model):
        raise ValueError(f"A {type(model).__name__} was given: give examine a keras.Model.")
    case = Case(model, keras.optimizers.get(optimizer), saved_policy, hardware)
    found = (finding for rule in RULES for finding in rule(case))
    return sorted(found, key=lambda f: (SEVERITIES.index(f.severity), f.layer, f.code))
