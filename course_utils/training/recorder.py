"""What happens to the loss scale in training, step by step."""

import keras
import numpy as np

COLUMNS = {"step": "int64", "scale": "float64", "applied": "bool", "reason": "str"}
LOSS, GRADIENT = "the loss is not finite", "a gradient is not finite"


class LossScaleRecorder(keras.callbacks.Callback):
    """Notes for each training step the loss scale, and whether the step was applied or skipped.

    A callback of `fit`. The optimizer is the one that `compile` wraps under mixed_float16 (and
    under no other policy), or any other `keras.optimizers.LossScaleOptimizer`; `fit` raises a
    ValueError without one, and for `steps_per_execution` above 1, which hides steps. Rows go on
    over epochs and further calls of `fit`. Every step waits for the device: leave it out when you
    measure time.

    Example:
        recorder = LossScaleRecorder()
        model.fit(x, y, callbacks=[recorder])
        recorder.table
    """

    def __init__(self):
        super().__init__()
        self._rows = []
        self._before = None
        self._mean_is_finite = True

    @property
    def table(self):
        """A pandas DataFrame with one row per step: step (1, 2, …), scale, applied, reason.

        scale is the one that the step was computed with; applied says whether the inner optimizer
        got the gradients, and reason why not, as far as can be told ("" where it did).
        """
        import pandas as pd

        return pd.DataFrame(self._rows, columns=list(COLUMNS)).astype(COLUMNS)

    def on_train_begin(self, logs=None):
        if self.model.steps_per_execution != 1:
            raise ValueError(
                f"The model takes {self.model.steps_per_execution} steps at a time and shows only "
                "the last of them: compile it with steps_per_execution=1."
            )
        optimizer = self.model.optimizer
        if not isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
            raise ValueError(
                f"The optimizer is a plain {type(optimizer).__name__} without loss scaling: build "
                'and compile the model under the policy "mixed_float16", or wrap the optimizer in '
                "keras.optimizers.LossScaleOptimizer."
            )

    def on_epoch_begin(self, epoch, logs=None):
        self._mean_is_finite = True  # Keras's mean of the loss starts anew

    def on_train_batch_begin(self, batch, logs=None):
        self._before = _state(self.model.optimizer)

    def on_train_batch_end(self, batch, logs=None):
        # Keras logs the mean since the epoch began: finite says that this loss was finite too, and
        # once it is not finite it says nothing about later ones.
        mean = (logs or {}).get("loss")
        before, self._mean_is_finite = self._mean_is_finite, mean is None or np.isfinite(mean)
        if mean is None:
            reason = f"{GRADIENT} (the loss was not logged)"
        elif self._mean_is_finite or before:
            reason = GRADIENT if self._mean_is_finite else LOSS
        else:
            reason = (
                f"{GRADIENT} (whether the loss was finite cannot be told: its mean over this epoch "
                "was not finite before)"
            )
        scale, count = self._before
        applied = _state(self.model.optimizer)[1] > count
        self._rows.append((len(self._rows) + 1, scale, applied, "" if applied else reason))


def _state(optimizer):
    """The scale, and the steps applied so far."""
    scale = optimizer.dynamic_scale if optimizer.built else np.float32(optimizer.initial_scale)
    # Unlike `iterations`, the variable also counts the steps that only accumulate gradients.
    applied = optimizer.inner_optimizer.variables[0]
    return tuple(keras.ops.convert_to_numpy(v).item() for v in (scale, applied))
