"""What happens to the loss scale in training, step by step."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import keras
import numpy as np

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = {"step": "int64", "scale": "float64", "applied": "bool"}


class LossScaleRecorder(keras.callbacks.Callback):
    """Notes for each training step the loss scale, and whether the step was applied or
    skipped.

    A callback of `fit`. The optimizer is the one that `compile` wraps under
    mixed_float16 (and under no other policy), or any other
    `keras.optimizers.LossScaleOptimizer`; `fit` raises a ValueError without one, and
    for `steps_per_execution` above 1, which hides steps. Rows go on over epochs and
    further calls of `fit`. Every step waits for the device: leave it out when you
    measure time.

    `ceiling(model, batch)`, if given, is called before each step with the number of the
    batch; what it returns, such as the largest scale that will not overflow, becomes a
    column `ceiling`.

    Example:
        recorder = LossScaleRecorder()
        model.fit(x, y, callbacks=[recorder])
        recorder.table
    """

    def __init__(self, ceiling: Callable[[keras.Model, int], float] | None = None):
        super().__init__()
        self._ceiling = ceiling
        self._rows = []
        # the scale, the steps applied, and the ceiling, before the step under way
        self._before: tuple[float, int, float | None]

    @property
    def table(self) -> "pd.DataFrame":
        """A pandas DataFrame with one row per step: step (1, 2, …), scale, applied.

        scale is the one that the step was computed with; applied says whether the inner
        optimizer got the gradients.
        """
        import pandas as pd

        table = pd.DataFrame(self._rows, columns=[*COLUMNS, "ceiling"]).astype(COLUMNS)
        return table if self._ceiling else table.drop(columns="ceiling")

    def on_train_begin(self, logs: dict[str, float] | None = None) -> None:
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

    def on_train_batch_begin(
        self, batch: int, logs: dict[str, float] | None = None
    ) -> None:
        ceiling = float(self._ceiling(self.model, batch)) if self._ceiling else None
        self._before = *_state(self.model.optimizer), ceiling

    def on_train_batch_end(
        self, batch: int, logs: dict[str, float] | None = None
    ) -> None:
        scale, count, ceiling = self._before
        applied = _state(self.model.optimizer)[1] > count
        self._rows.append((len(self._rows) + 1, scale, applied, ceiling))


def _state(optimizer):
    """The scale, and the steps applied so far."""
    scale = (
        optimizer.dynamic_scale
        if optimizer.built
        else np.float32(optimizer.initial_scale)
    )
    # Unlike `iterations`, the variable also counts the steps that only accumulate
    # gradients.
    applied = optimizer.inner_optimizer.variables[0]
    return tuple(keras.ops.convert_to_numpy(v).item() for v in (scale, applied))
