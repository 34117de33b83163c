"""A training loop under instruments: what leaves its tape, and what reaches its update
rule.

While a step runs, `tf.GradientTape.gradient` and the `update_step` of the innermost
optimizer take notes, in graphs and under XLA too. What leaves the tape can be exchanged
for gradients of a chosen size, or for infinity. So a loop tells by its doing, however
it is written.
"""

from dataclasses import dataclass
from unittest import mock

import keras
import numpy as np
import tensorflow as tf

from mixed_precision_lint.arrays import (
    array,
    differ,
    float32,
    is_finite,
    loss_of,
    vector,
    zeros,
)
from mixed_precision_lint.forward import not_finite, shared
from mixed_precision_lint.source import methods

MOST = 64  # steps within which the weights have to move
FEW = 2  # samples on which a loop does what it does on many
as_written = tf.autograph.experimental.do_not_convert  # in a graph, too


@dataclass(frozen=True, eq=False)
class Reading:
    """What a loop did until its weights moved, or in so many steps."""

    left: np.ndarray  # all gradients as they left the tape, the mean of its calls
    got: np.ndarray  # as they reached the update rule, the mean of its updates
    target: float  # what the tape differentiated, the mean of its calls
    calls: float  # of the tape, for one weight
    spoiled: float  # how many more had a gradient that is not finite
    updates: float  # of one weight
    steps: int
    moved: bool  # whether a weight is another one, or NaN
    finite: bool  # whether all weights are, afterwards
    result: object  # what the last step returned
    loss: float | None  # of it


class Shared(ValueError):
    """What `build` makes is not all new."""


class Loop:
    """What one call of `build` gave, under instruments.

    A twin of another loop computes in float32, from the same values of the variables.
    """

    def __init__(self, build, x, y, twin_of=None):
        self.model, self.optimizer, self._step = build()
        if not (
            isinstance(self.model, keras.Model)
            and isinstance(self.optimizer, keras.Optimizer)
            and callable(self._step)
        ):
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
        if twin_of and (name := shared(self, twin_of)):
            twin_of.go_back()
            raise Shared(f"build() has to make all of it afresh: {name} is in two.")
        for layer in self.model._flatten_layers() if twin_of else ():
            layer.dtype_policy = "float32"
        self.batch = twin_of.batch if twin_of else (x, y)
        # Its twenty steps take fewer seconds than TensorFlow needs to trace one. XLA
        # rounds elsewhere, so what it compiles stays compiled.
        # A graph does once what a train_step of one's own does in Python.
        self._eager = self._step == self.model.train_on_batch and not (
            self.model.jit_compile
            or self.model.run_eagerly
            or "train_step" in methods(self.model)
            or self.model.distribute_strategy.num_replicas_in_sync > 1
        )
        if self._eager:
            self.model.run_eagerly = True
        self._fits = False  # whether a step is that of `fit`
        chain = [self.optimizer]
        while hasattr(chain[-1], "inner_optimizer"):
            chain.append(chain[-1].inner_optimizer)
        self.rule = chain[-1]
        wrapper = keras.optimizers.LossScaleOptimizer
        self.scalers = [each for each in chain if isinstance(each, wrapper)]
        if not self.optimizer.built:
            self.optimizer.build(self.weights)
        variables = [
            *self.model.variables,
            *self.model.metrics_variables,
            *self.optimizer.variables,
        ]
        values = map(array, variables)
        if twin_of:
            values = [value for _, value in twin_of.start]
        self.start = list(zip(variables, values, strict=True))
        self._install()

    def go_back(self) -> None:
        """Set all variables, and how the model runs, to what they were."""
        for variable, value in self.start:
            variable.assign(value)
        if self._eager:
            self.model.run_eagerly = False

    @property
    def scale(self) -> float:
        """The dynamic scale of the outer optimizer; NaN where there is none."""
        return float(self.scalers[0].dynamic_scale.numpy()) if self.scalers else np.nan

    def parts(self, vector) -> list[np.ndarray]:
        """A vector of all gradients as one array for each weight."""
        return np.split(vector, np.cumsum([v.size for v in self._pattern])[:-1])

    def fewer(self) -> bool:
        """Go on with a few samples of the batch; False if that saves nothing, or the
        batch is not to be taken apart.
        """
        arrays = [each for each in keras.tree.flatten(self.batch) if each is not None]
        sizes = {each.shape[0] if np.ndim(each) else 0 for each in arrays}
        if not self._eager or len(sizes) > 1 or min(sizes) <= FEW:
            return False
        if any(
            x.shape[0] is not None for x in getattr(self.model, "inputs", None) or ()
        ):
            return False
        self._whole = self.batch
        self.batch = keras.tree.map_structure(
            lambda each: None if each is None else each[:FEW], self.batch
        )
        return True

    def whole(self, eager: bool) -> None:
        """Go back to the whole batch; `eager`: to steps that run so."""
        self.batch = self._whole
        self._eager = self.model.run_eagerly = eager
        self.model.make_train_function(force=True)

    def _install(self):
        """Make the instruments: variables, so that they work in a graph."""
        weights = self.weights
        source = np.random.default_rng(6)
        self._reached: dict = {}  # gradients of the tape, by the weights asked for
        self._place = {id(w): n for n, v in enumerate(weights) for w in (v, v.value)}
        self._pattern = [source.normal(size=v.shape).astype("float32") for v in weights]
        shapes = [v.shape for v in weights]
        self._left, self._got = ([*map(zeros, shapes)] for _ in range(2))
        self._calls, self._updates, self._poison = (
            zeros([len(weights)]) for _ in range(3)
        )
        self._target, self._targets, self._spoiled, self._size = (
            zeros([]) for _ in range(4)
        )
        ones = np.eye(len(weights), dtype="float32")
        former = self.rule.update_step

        def update_step(gradient, variable, learning_rate):
            if (at := self._place.get(id(variable))) is not None:
                self._got[at].assign_add(float32(gradient))
                self._updates.assign_add(ones[at])
            return former(gradient, variable, learning_rate)

        self.rule.update_step = as_written(update_step)

    def _watched_tape(self):
        """While this context lasts, tapes take notes, and give what `cycle` put in."""
        former = tf.GradientTape.gradient

        def gradient(tape, target, sources, *arguments, **options):
            places = [self._place.get(id(one)) for one in tf.nest.flatten(sources)]
            put_in = tf.executing_eagerly() and float(self._size) > 0
            if put_in and tuple(places) in self._reached:
                # What is exchanged anyhow is computed once, to know what is reached.
                gradients = self._reached[tuple(places)]
            else:
                gradients = former(tape, target, sources, *arguments, **options)
            flat = tf.nest.flatten(gradients)
            if put_in and None not in places:
                self._reached[tuple(places)] = gradients
            arrays = {n: at for n, at in enumerate(places) if None not in (at, flat[n])}
            for n, at in arrays.items():
                flat[n] = self._exchanged(tf.convert_to_tensor(flat[n]), at)
            if arrays:  # else it is of something else, as for a penalty
                self._take_notes(
                    tf.nest.flatten(target), {at: flat[n] for n, at in arrays.items()}
                )
            for n, at in arrays.items() if self._may_poison() else ():
                flat[n] += tf.cast(self._poison[at], flat[n].dtype)
            return tf.nest.pack_sequence_as(gradients, flat)

        return mock.patch.object(tf.GradientTape, "gradient", as_written(gradient))

    def _exchanged(self, own, at):
        """A gradient of the tape's, or one of the chosen size in its place."""
        if tf.executing_eagerly() and float(self._size) == 0:
            return own
        put_in = tf.cast(self._pattern[at] * self._size, own.dtype)
        return tf.where(self._size > 0, put_in, own)

    def _may_poison(self):
        """Whether infinities are to be added; a graph never knows."""
        return not tf.executing_eagerly() or bool(np.any(self._poison.numpy()))

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
            elif self._eager:  # in a graph it may work, or `fit` says it in other words
                self._eager = self.model.run_eagerly = False
            else:
                raise
        self.model.make_train_function(force=True)
        return self._take_step()

    def not_finite(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """What `forward.not_finite` finds, from the start."""
        for variable, value in self.start:
            variable.assign(value)
        return not_finite(self.model, self.batch[0])

    def _take_notes(self, targets, gradients):
        """Note what leaves the tape, if all of it is finite."""
        finite = [tf.reduce_all(tf.math.is_finite(g)) for g in gradients.values()]
        fine = float32(tf.reduce_all(finite))
        total = tf.add_n([tf.reduce_sum(float32(one)) for one in targets])
        self._target.assign_add(tf.math.multiply_no_nan(total, fine))
        self._targets.assign_add(fine)
        self._spoiled.assign_add(1 - fine)
        for at, gradient in gradients.items():
            self._left[at].assign_add(tf.math.multiply_no_nan(float32(gradient), fine))
        reached = [float(n in gradients) for n in range(len(self.weights))]
        self._calls.assign_add(fine * reached)

    def cycle(
        self, scale=None, good=0, size=0, poison=(), steps=None, again=False
    ) -> Reading:
        """Step until the weights move, or so many steps: a `Reading`.

        From the start, or on from where the loop is (`again`). `scale` sets the dynamic
        scale, and `good` its counter of good steps. `size` is that of the gradients in
        place of the tape's own, `poison` what is added to them: {number of the weight:
        infinity}.
        """
        for variable, value in () if again else self.start:
            variable.assign(value)
        for scaler in self.scalers if scale else ():
            scaler.dynamic_scale.assign(scale)
            scaler.step_counter.assign(good)
        counts = self._calls, self._updates, self._target, self._targets, self._spoiled
        for note in (*self._left, *self._got, *counts):
            note.assign(tf.zeros_like(note))
        self._size.assign(size)
        poisons = dict(poison)
        self._poison.assign([poisons.get(n, 0.0) for n in range(len(self.weights))])
        before = [*map(array, self.weights)]
        with self._watched_tape():
            for step in range(1, (steps or MOST) + 1):  # noqa: B007
                result = self._take_step()
                after = [*map(array, self.weights)]
                moved = any(map(differ, before, after))
                if moved and not steps:
                    break
        calls, updates, target, targets, spoiled = (note.numpy() for note in counts)
        return Reading(
            left=vector(self._left, calls),
            got=vector(self._got, updates),
            target=float(target / max(targets, 1)),
            calls=calls.max(),
            spoiled=spoiled,
            updates=updates.max(),
            steps=step,
            moved=moved,
            finite=all(is_finite(weight) for weight in after),
            result=result,
            loss=loss_of(result),
        )
