"""`examine` on this machine."""

from collections.abc import Collection

import keras
import mixed_precision_lint
from mixed_precision_lint import Finding, Reason

from course_utils import hardware
from course_utils.hardware import xla

NO_FLOAT16 = "TensorFlow had no fast float16 on the CPUs we measured."


def examine(
    model: keras.Model,
    optimizer: str | keras.optimizers.Optimizer | None = None,
    ignore: Collection[str] = (),
) -> list[Finding]:
    """What `mixed_precision_lint.examine` finds in a `keras.Model`, with what is slow on
    this machine (MP012).

    `optimizer` is what you are going to give to `compile`, `ignore` has codes of which
    you do not want to hear. Errors come first, then warnings, then advice. Raises
    ValueError if `model` is no Keras model, or Keras knows no optimizer of that name.

        >>> import keras
        >>> model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(8, dtype="float16")])
        >>> [finding.code for finding in examine(model)][:2]
        ['MP001', 'MP002']
    """
    return mixed_precision_lint.examine(model, optimizer, ignore, slow_here)


def slow_here(model: keras.Model, dtype: str) -> Reason | None:
    """Why this machine computes slower, or no faster, in a 16-bit dtype; None if it does
    not, or nobody knows.

    Example: `slow_here(model, "float16")` on a laptop gives
        Reason(why="TensorFlow had no fast float16 on the CPUs we measured.", fix='keras…')
    """
    machine = hardware.detect()
    best = hardware.recommended_policy(machine)
    if best == f"mixed_{dtype}":
        return None
    why = hardware.policy_reason(machine)
    if machine.working("GPU") and not machine.working("TPU"):
        if best == "mixed_bfloat16":
            return None  # tensor cores that take bfloat16 take float16, too
    elif not machine.working("TPU"):
        if machine.instruction_sets is None:
            return None
        if dtype == "float16":
            why = NO_FLOAT16
    fix = f'keras.config.set_dtype_policy("{best}")'
    if xla.needs_xla(model):
        fix = f"model.compile(..., jit_compile=True)  # or {fix}"
    return Reason(why, fix)
