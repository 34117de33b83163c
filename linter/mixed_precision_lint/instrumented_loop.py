"""A training loop under instruments: it tells by its doing, however it is written."""

from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np

from mixed_precision_lint.arrays import set_back, snapshot
from mixed_precision_lint.forward import Where, not_finite, shared
from mixed_precision_lint.instruments import Instruments, StepReading
from mixed_precision_lint.layers import refuse_other
from mixed_precision_lint.source import methods
from mixed_precision_lint.steppers import Stepper

MOST = 64  # steps within which the weights have to move
FEW = 2  # samples on which a loop does what it does on many
# Makes a model, its optimizer and a step(x, y), all of it afresh at each call.
Build = Callable[[], tuple[keras.Model, keras.Optimizer, Callable]]


class Shared(ValueError):
    """What `build` makes is not all new."""


class InstrumentedLoop:
    """What one call of `build` gave, under instruments.

    A twin of another loop computes in float32, from the same values of the variables.
    """

    def __init__(
        self, build: Build, x: Any, y: Any, twin_of: "InstrumentedLoop | None" = None
    ):
        self.model, self.optimizer, self._step = build()
        refuse_other(self.model)
        if not (isinstance(self.optimizer, keras.Optimizer) and callable(self._step)):
            raise ValueError(
                "build() has to return a keras.Model, its optimizer and step(x, y)."
            )
        if not self.model.built:
            self.model(x)
        self.weights = list(self.model.trainable_variables)
        if not self.weights:
            raise ValueError(
                "The model has no trainable weights: nothing can be trained."
            )
        self.batch = (x, y)
        if twin_of:
            self._become_twin(twin_of)
        # Its twenty steps take fewer seconds than TensorFlow needs to trace one. XLA
        # rounds elsewhere, so what it compiles stays compiled.
        # A graph does once what a train_step of one's own does in Python.
        self.eager = self._step == self.model.train_on_batch and not (
            self.model.jit_compile
            or self.model.run_eagerly
            or "train_step" in methods(self.model)
            or self.model.distribute_strategy.num_replicas_in_sync > 1
        )
        if self.eager:
            self.model.run_eagerly = True
        self._fits = False  # whether a step is that of `fit`
        stepper = Stepper("", self.optimizer)
        self.rule = stepper.chain[-1]
        self.scalers = stepper.scalers
        if not self.optimizer.built:
            self.optimizer.build(self.weights)
        variables = [
            *self.model.variables,
            *self.model.metrics_variables,
            *self.optimizer.variables,
        ]
        # As TensorFlow holds them, which takes less time than Keras.
        self.start = snapshot(each.value for each in variables)
        if twin_of:
            pairs = zip(self.start, twin_of.start, strict=True)
            self.start = [(own[0], other[1]) for own, other in pairs]
        self._instruments = Instruments(self.weights, self.rule)
        self.parts = self._instruments.parts

    def _become_twin(self, other):
        """Compute in float32, on the batch of another loop that shares nothing with it."""
        if name := shared(self, other):
            other.go_back()
            raise Shared(f"build() has to make all of it afresh: {name} is in two.")
        for layer in self.model._flatten_layers():
            layer.dtype_policy = "float32"
        self.batch = other.batch

    def go_back(self) -> None:
        """Set all variables, and how the model runs, to what they were."""
        set_back(self.start)
        if self.eager:
            self.model.run_eagerly = False

    @property
    def scale(self) -> float:
        """The dynamic scale of the outer optimizer; NaN where there is none."""
        return float(self.scalers[0].dynamic_scale.numpy()) if self.scalers else np.nan

    def fewer(self) -> bool:
        """Go on with a few samples of the batch; False if that saves nothing, or the
        batch is not to be taken apart.
        """
        arrays = [each for each in keras.tree.flatten(self.batch) if each is not None]
        sizes = {each.shape[0] if np.ndim(each) else 0 for each in arrays}
        if not self.eager or len(sizes) > 1 or min(sizes) <= FEW:
            return False
        inputs = getattr(self.model, "inputs", None) or ()
        if any(x.shape[0] is not None for x in inputs):
            return False
        self._whole = self.batch
        self.batch = keras.tree.map_structure(
            lambda each: None if each is None else each[:FEW], self.batch
        )
        return True

    def whole(self, eager: bool) -> None:
        """Go back to the whole batch; `eager`: to steps that run so."""
        self.batch = self._whole
        self.eager = self.model.run_eagerly = eager
        self.model.make_train_function(force=True)

    def _take_step(self):
        """Take a step; where `train_on_batch` hands over more than a `train_step` of
        one's own unpacks, as `fit` does: without a place for sample weights.
        """
        if self._fits:
            return self.model.train_function(iter([self.batch]))
        try:
            return self._step(*self.batch)
        except Exception as error:  # whatever the loop raises
            unpacks = isinstance(error, ValueError) and "unpack" in str(error)
            if unpacks and self._step == self.model.train_on_batch:
                self._fits = True
            elif self.eager:  # in a graph it may work, or `fit` says it in other words
                self.eager = self.model.run_eagerly = False
            else:
                raise
        self.model.make_train_function(force=True)
        return self._take_step()

    def not_finite(self) -> tuple[Where, Where]:
        """What `forward.not_finite` finds, from the start."""
        set_back(self.start)
        return not_finite(self.model, self.batch[0])

    def cycle(
        self,
        scale: float | None = None,
        good_steps: int = 0,
        size: float = 0,
        added: Mapping[int, float] | None = None,
        steps: int | None = None,
        go_on: bool = False,
    ) -> StepReading:
        """Step until the weights move, or so many steps.

        From the start, or on from where the loop is (`go_on`). `scale` sets the dynamic
        scale, and `good_steps` its counter of them. `size` is that of the gradients in
        place of the tape's own, `added` what is added to them: {index of the weight:
        infinity}.
        """
        if not go_on:
            set_back(self.start)
        if scale:
            for scaler in self.scalers:
                scaler.dynamic_scale.assign(scale)
                scaler.step_counter.assign(good_steps)
        self._instruments.start(size, added or {})
        weights = [weight.value for weight in self.weights]
        before = [weight.numpy() for weight in weights]
        count = 0
        moved = False
        with self._instruments.watch_tapes():
            while count < (steps or MOST) and (steps or not moved):
                result = self._take_step()
                count += 1
                after = [weight.numpy() for weight in weights]
                # NaN differs from all.
                moved = any(map(np.any, map(np.not_equal, before, after)))
        return self._instruments.reading(
            steps=count,
            weights_moved=moved,
            weights_finite=all(
                np.isfinite(each.astype("float32", copy=False)).all() for each in after
            ),
            result=result,
        )
