"""What happens to the loss scale in training, step by step."""

import keras
import numpy as np

COLUMNS = {"step": "int64", "scale": "float64", "applied": "bool", "reason": "str"}
LOSS, GRADIENT = "the loss is not finite", "a gradient is not finite"
NAMED = 3  # variables that a reason names


class LossScaleRecorder(keras.callbacks.Callback):
    """Notes for each training step the loss scale, and whether the step was applied or skipped.

    Use it as a callback of `fit`, or call `record` after each `optimizer.apply` of a loop of your
    own. The optimizer is the one that `compile` wraps under mixed_float16 (and under no other
    policy), or any other `keras.optimizers.LossScaleOptimizer`; `fit` raises a ValueError without
    one, and for `steps_per_execution` above 1, which hides steps. Rows go on over epochs and
    further calls of `fit`. Every step waits for the device: leave it out when you measure time.

    Example:
        recorder = LossScaleRecorder()
        model.fit(x, y, callbacks=[recorder])
        recorder.table
    """

    def __init__(self):
        super().__init__()
        self._rows = []
        self._optimizer = self._before = None
        self._mean_is_finite = True

    @property
    def table(self):
        """A pandas DataFrame with one row per step: step (1, 2, …), scale, applied, reason.

        scale is the one that the step was computed with; applied says whether the inner optimizer
        got the gradients, and reason why not, as far as can be told ("" where it did).
        """
        import pandas as pd

        return pd.DataFrame(self._rows, columns=list(COLUMNS)).astype(COLUMNS)

    def start(self, optimizer):
        """Look at an optimizer before its next step; ValueError if it has no loss scaling.

        A loop of your own needs it once, and only if the optimizer has taken steps before the
        first one that is recorded.
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

        With the loss of this step, a scalar, and the gradients that `apply` was given, the reason
        can tell about the one, and name the variables whose gradients are not finite. ValueError
        if the optimizer has no loss scaling, or has taken steps that were not recorded.
        """
        if optimizer is not self._optimizer:
            self.start(optimizer)
            self._before = float(np.float32(optimizer.initial_scale)), 0
        if not _one_step_apart(*self._before, *_state(optimizer)):
            raise ValueError(
                "The optimizer is not one step after the last one recorded: call record after "
                "every apply, and start(optimizer) before the first step to be recorded."
            )
        if loss is None:
            self._add(f"{_culprits(optimizer, gradients)} (the loss was not given)")
        else:
            finite = np.isfinite(keras.ops.convert_to_numpy(loss)).all()
            self._add(_culprits(optimizer, gradients) if finite else LOSS)

    def on_train_begin(self, logs=None):
        if self.model.steps_per_execution != 1:
            raise ValueError(
                f"The model takes {self.model.steps_per_execution} steps at a time and shows only "
                "the last of them: compile it with steps_per_execution=1."
            )
        self.start(self.model.optimizer)

    def on_epoch_begin(self, epoch, logs=None):
        self._mean_is_finite = True  # Keras's mean of the loss starts anew

    def on_train_batch_begin(self, batch, logs=None):
        self.start(self.model.optimizer)

    def on_train_batch_end(self, batch, logs=None):
        # Keras logs the mean since the epoch began: finite says that this loss was finite too, and
        # once it is not finite it says nothing about later ones.
        mean = (logs or {}).get("loss")
        before, self._mean_is_finite = self._mean_is_finite, mean is None or np.isfinite(mean)
        if mean is None:
            self._add(f"{GRADIENT} (the loss was not logged)")
        elif self._mean_is_finite or before:
            self._add(GRADIENT if self._mean_is_finite else LOSS)
        else:
            self._add(
                f"{GRADIENT} (whether the loss was finite cannot be told: its mean over this epoch "
                "was not finite before)"
            )

    def _add(self, reason):
        (scale, before), self._before = self._before, _state(self._optimizer)
        applied = self._before[1] > before
        self._rows.append((len(self._rows) + 1, scale, applied, "" if applied else reason))


def _state(optimizer):
    """The scale, and the steps applied so far."""
    scale = optimizer.dynamic_scale if optimizer.built else np.float32(optimizer.initial_scale)
    # Unlike `iterations`, the variable also counts the steps that only accumulate gradients.
    applied = optimizer.inner_optimizer.variables[0]
    return tuple(keras.ops.convert_to_numpy(v).item() for v in (scale, applied))


def _one_step_apart(scale, applied, next_scale, next_applied):
    if next_applied == applied:
        return next_scale in (scale / 2, 0)  # 0: where float32 ends
    return next_applied == applied + 1 and next_scale in (scale, 2 * scale, np.inf)


def _culprits(optimizer, gradients):
    """Says which gradients are not finite, as far as they are given one for each variable."""
    variables = optimizer._trainable_variables
    if gradients is None or len(gradients) != len(variables):
        return GRADIENT
    found = []
    for gradient, variable in zip(gradients, variables, strict=True):
        if gradient is not None:
            values = keras.ops.convert_to_numpy(getattr(gradient, "values", gradient))
            if bad := int(np.sum(~np.isfinite(values))):
                found.append(f"{variable.path} ({bad:,} of {values.size:,} values)")
    if not found:
        return GRADIENT
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    verb = "gradients are" if len(found) > 1 else "gradient is"
    return f"{len(found)} {verb} not finite: {', '.join(found[:NAMED])}{more}"
