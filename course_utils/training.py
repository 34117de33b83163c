"""What happens to the loss scale in training, step by step.

    from course_utils.training import LossScaleRecorder

    recorder = LossScaleRecorder()
    model.fit(x, y, callbacks=[recorder])
    recorder.table

`compile` adds loss scaling under the policy mixed_float16 alone; elsewhere nothing is recorded.
"""

from dataclasses import dataclass

import keras
import numpy as np

from course_utils.replica_safe import ReplicaSafeLossScaleOptimizer as ReplicaSafeLossScaleOptimizer

COLUMNS = {"step": "int64", "scale": "float64", "applied": "bool", "reason": "str"}
LOSS, GRADIENT = "the loss is not finite", "a gradient is not finite"
NAMED = 3  # variables that a reason names


@dataclass(frozen=True)
class _State:
    scale: float
    applied: int  # steps so far


class LossScaleRecorder(keras.callbacks.Callback):
    """Notes for each training step the loss scale, and whether the step was applied or skipped.

    Use it as a callback of `fit`, or call `record` after each `optimizer.apply` of a loop of your
    own. The optimizer is the one that `compile` wraps under mixed_float16, or any other
    `keras.optimizers.LossScaleOptimizer`. Rows go on over epochs and further calls of `fit`.

    To read the scale, every step waits for the device: leave the recorder out when you measure
    time.

    Raises:
        ValueError: `fit` raises it if the optimizer has no loss scaling, or if the model is
            compiled with `steps_per_execution` above 1, which hides the steps in between.

    Example:
        >>> recorder = LossScaleRecorder()
        >>> model.fit(x, y, callbacks=[recorder])
        >>> recorder.table.head(2)
           step    scale  applied                    reason
        0     1  32768.0    False  a gradient is not finite
        1     2  16384.0     True
    """

    def __init__(self):
        super().__init__()
        self._rows = []
        self._optimizer = self._before = None
        self._mean_is_finite = True

    @property
    def table(self):
        """A pandas DataFrame with one row per step.

        Columns:
            step: 1, 2, 3, …
            scale: the loss scale that the step was computed with.
            applied: whether the inner optimizer got the gradients; if not, the step was skipped.
            reason: why it was skipped, as far as can be told; "" if it was not.
        """
        import pandas as pd

        return pd.DataFrame(self._rows, columns=list(COLUMNS)).astype(COLUMNS)

    def start(self, optimizer):
        """Look at an optimizer before its next step.

        A loop of your own needs it once, and only if the optimizer has taken steps before the
        first one that is recorded.

        Raises:
            ValueError: the optimizer has no loss scaling.
        """
        if not isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
            raise ValueError(
                f"The optimizer is a plain {type(optimizer).__name__} without loss scaling: build "
                'and compile the model under the policy "mixed_float16", or wrap the optimizer in '
                "keras.optimizers.LossScaleOptimizer."
            )
        self._optimizer, self._before = optimizer, _state(optimizer)

    def record(self, optimizer, loss=None, gradients=None):
        """Add a row; call it right after each `optimizer.apply`, outside of `tf.function`.

        Args:
            optimizer: a `keras.optimizers.LossScaleOptimizer`.
            loss: the loss of this step, a scalar, so that the reason can tell about it.
            gradients: the list that `apply` was given, so that the reason can name the variables
                whose gradients are not finite, and how many values.

        Raises:
            ValueError: the optimizer has no loss scaling, or has taken steps that were not
                recorded.
        """
        if optimizer is not self._optimizer:
            self.start(optimizer)
            self._before = _State(float(np.float32(optimizer.initial_scale)), 0)
        if not _one_step_apart(self._before, _state(optimizer)):
            raise ValueError(
                "The optimizer is not one step after the last one recorded: call record after "
                "every apply, and start(optimizer) before the first step to be recorded."
            )
        if loss is None:
            reason = f"{_culprits(optimizer, gradients)} (the loss was not given)"
        elif np.isfinite(keras.ops.convert_to_numpy(loss)).all():
            reason = _culprits(optimizer, gradients)
        else:
            reason = LOSS
        self._add(optimizer, reason)

    def on_train_begin(self, logs=None):
        """For `fit`: checks that the steps can be recorded."""
        if self.model.steps_per_execution != 1:
            raise ValueError(
                f"The model takes {self.model.steps_per_execution} steps at a time and shows only "
                "the last of them: compile it with steps_per_execution=1."
            )
        self.start(self.model.optimizer)

    def on_epoch_begin(self, epoch, logs=None):
        """For `fit`: Keras's mean of the loss starts anew."""
        self._mean_is_finite = True

    def on_train_batch_begin(self, batch, logs=None):
        """For `fit`: looks at the optimizer before the step."""
        self.start(self.model.optimizer)

    def on_train_batch_end(self, batch, logs=None):
        """For `fit`: adds the row of the step."""
        # Keras logs the mean since the epoch began: finite says that this loss was finite too, and
        # once it is not finite it says nothing about later ones.
        mean = (logs or {}).get("loss")
        if mean is None:
            reason = f"{GRADIENT} (the loss was not logged)"
        elif np.isfinite(mean):
            reason = GRADIENT
        elif self._mean_is_finite:
            reason = LOSS
        else:
            reason = (
                f"{GRADIENT} (whether the loss was finite cannot be told: its mean over this epoch "
                "was not finite before)"
            )
        self._mean_is_finite = mean is None or bool(np.isfinite(mean))
        self._add(self.model.optimizer, reason)

    def _add(self, optimizer, reason):
        before, after = self._before, _state(optimizer)
        applied = after.applied > before.applied
        row = (len(self._rows) + 1, before.scale, applied, "" if applied else reason)
        self._rows.append(row)
        self._before = after


def _state(optimizer):
    scale = optimizer.dynamic_scale if optimizer.built else np.float32(optimizer.initial_scale)
    # Unlike `iterations`, the variable also counts the steps that only accumulate gradients.
    applied = optimizer.inner_optimizer.variables[0]
    return _State(*(keras.ops.convert_to_numpy(v).item() for v in (scale, applied)))


def _one_step_apart(before, after):
    scale = before.scale
    if after.applied == before.applied:
        return after.scale in (scale / 2, 0)  # 0: where float32 ends
    return after.applied == before.applied + 1 and after.scale in (scale, 2 * scale, np.inf)


def _culprits(optimizer, gradients):
    """Says which gradients are not finite, as far as they are given one for each variable."""
    variables = optimizer._trainable_variables
    if gradients is None or len(gradients) != len(variables):
        return GRADIENT
    found = []
    for gradient, variable in zip(gradients, variables, strict=True):
        if gradient is None:
            continue
        values = keras.ops.convert_to_numpy(getattr(gradient, "values", gradient))
        bad = int(np.sum(~np.isfinite(values)))
        if bad:
            found.append(f"{variable.path} ({bad:,} of {values.size:,} values)")
    if not found:
        return GRADIENT
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    verb = "gradients are" if len(found) > 1 else "gradient is"
    return f"{len(found)} {verb} not finite: {', '.join(found[:NAMED])}{more}"
