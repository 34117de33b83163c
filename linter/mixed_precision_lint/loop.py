"""A training loop under instruments: what leaves its tape, and what reaches its update
rule.

While a step runs, `tf.GradientTape.gradient` and the `update_step` of the innermost
optimizer take notes, in graphs and under XLA too. What leaves the tape can be exchanged
for gradients of a chosen size, or for infinity. So a loop tells by its doing, however
it is written.
"""

import contextlib
from dataclasses import dataclass
from unittest import mock

import keras
import numpy as np
import tensorflow as tf

MOST = 64  # steps within which the weights have to move
FEW = 4  # samples on which a loop does what it does on many
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
    loss: float | None  # what of it is the loss


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
        for layer in self.model._flatten_layers() if twin_of else ():
            layer.dtype_policy = "float32"
        self._batch = twin_of._batch if twin_of else (x, y)
        # Its twenty steps take fewer seconds than TensorFlow needs to trace one. XLA
        # rounds elsewhere, so what it compiles stays compiled.
        self._eager = self._step == self.model.train_on_batch and not (
            self.model.jit_compile
            or self.model.distribute_strategy.num_replicas_in_sync > 1
        )
        if self._eager:
            self.model.run_eagerly = True
        self._fits = False  # whether a step is that of `fit`
        self.weights = list(self.model.trainable_variables)
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
        values = map(_array, variables)
        if twin_of:
            values = [value for _, value in twin_of.start]
        self.start = list(zip(variables, values, strict=True))
        self._install()

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
        arrays = [each for each in keras.tree.flatten(self._batch) if each is not None]
        sizes = {each.shape[0] if np.ndim(each) else 0 for each in arrays}
        if not self._eager or len(sizes) > 1 or min(sizes) <= FEW:
            return False
        if any(
            x.shape[0] is not None for x in getattr(self.model, "inputs", None) or ()
        ):
            return False
        self._whole = self._batch
        self._batch = keras.tree.map_structure(
            lambda each: None if each is None else each[:FEW], self._batch
        )
        return True

    def whole(self) -> None:
        """Go back to the whole batch."""
        self._batch = self._whole

    def _install(self):
        """Make the instruments: variables, so that they work in a graph."""
        weights = self.weights
        source = np.random.default_rng(6)
        self._place = {id(w): n for n, v in enumerate(weights) for w in (v, v.value)}
        self._pattern = [source.normal(size=v.shape).astype("float32") for v in weights]
        shapes = [v.shape for v in weights]
        self._left, self._got = ([*map(_note, shapes)] for _ in range(2))
        self._calls, self._updates, self._poison = (
            _note([len(weights)]) for _ in range(3)
        )
        self._target, self._targets, self._spoiled, self._size = (
            _note([]) for _ in range(4)
        )
        former = self.rule.update_step

        def update_step(gradient, variable, learning_rate):
            if (at := self._place.get(id(variable))) is not None:
                self._got[at].assign_add(_float32(gradient))
                self._updates.assign(self._updates + tf.one_hot(at, len(weights)))
            return former(gradient, variable, learning_rate)

        self.rule.update_step = as_written(update_step)

    def _watched_tape(self):
        """While this context lasts, tapes take notes, and give what `cycle` put in."""
        former = tf.GradientTape.gradient

        def gradient(tape, target, sources, *arguments, **options):
            gradients = former(tape, target, sources, *arguments, **options)
            flat = tf.nest.flatten(gradients)
            places = [self._place.get(id(one)) for one in tf.nest.flatten(sources)]
            arrays = {n: at for n, at in enumerate(places) if None not in (at, flat[n])}
            for n, at in arrays.items():
                own = tf.convert_to_tensor(flat[n])
                put_in = tf.cast(self._pattern[at] * self._size, own.dtype)
                flat[n] = tf.where(self._size > 0, put_in, own)
            if arrays:  # else it is of something else, as for a penalty
                self._take_notes(
                    tf.nest.flatten(target), {at: flat[n] for n, at in arrays.items()}
                )
            for n, at in arrays.items():
                flat[n] += tf.cast(self._poison[at], flat[n].dtype)
            return tf.nest.pack_sequence_as(gradients, flat)

        return mock.patch.object(tf.GradientTape, "gradient", as_written(gradient))

    def _take_step(self):
        """Take a step; where `train_on_batch` hands over more than a `train_step` of
        one's own unpacks, as `fit` does: without a place for sample weights.
        """
        if self._fits:
            return self.model.train_function(iter([self._batch]))
        try:
            return self._step(*self._batch)
        except ValueError as error:
            if "unpack" not in str(error) or self._step != self.model.train_on_batch:
                raise
        self._fits = True
        self.model.make_train_function(force=True)
        return self._take_step()

    def first_not_finite(self) -> tuple[str, str]:
        """The layer that first puts out what is not finite, and what it was given, as a
        part of a sentence; two empty texts if none does.

        The model is called once more, from the start.
        """
        for variable, value in self.start:
            variable.assign(value)
        seen: list[tuple[str, str]] = []
        former = keras.Layer.__call__

        def call(layer, *arguments, **options):
            outputs = former(layer, *arguments, **options)
            if not seen and not _all_finite(outputs):
                largest = _largest((arguments, options))
                limit = np.inf
                if layer.compute_dtype == "float16":
                    limit = float(np.finfo("float16").max)
                beyond = limit < largest < np.inf
                why = f", given {largest:.3g}, beyond its 65,504" if beyond else ""
                seen.append((layer.name, why))
            return outputs

        with mock.patch.object(keras.Layer, "__call__", call):
            self.model(self._batch[0], training=True)
        return seen[0] if seen else ("", "")

    def _take_notes(self, targets, gradients):
        """Note what leaves the tape, if all of it is finite."""
        finite = [
            tf.reduce_all(tf.math.is_finite(gradient))
            for gradient in gradients.values()
        ]
        fine = _float32(tf.reduce_all(finite))
        total = tf.add_n([tf.reduce_sum(_float32(one)) for one in targets])
        self._target.assign_add(tf.math.multiply_no_nan(total, fine))
        self._targets.assign_add(fine)
        self._spoiled.assign_add(1 - fine)
        for at, gradient in gradients.items():
            self._left[at].assign_add(tf.math.multiply_no_nan(_float32(gradient), fine))
            self._calls.assign(self._calls + fine * tf.one_hot(at, len(self.weights)))

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
        self._poison.assign(
            [dict(poison).get(n, 0.0) for n in range(len(self.weights))]
        )
        before = _vector(self.weights)
        with self._watched_tape():
            for step in range(1, (steps or MOST) + 1):  # noqa: B007
                result = self._take_step()
                after = _vector(self.weights)
                if not steps and np.any(after != before):
                    break
        calls, updates, target, targets, spoiled = (note.numpy() for note in counts)
        return Reading(
            left=_vector(self._left, calls),
            got=_vector(self._got, updates),
            target=float(target / max(targets, 1)),
            calls=calls.max(),
            spoiled=spoiled,
            updates=updates.max(),
            steps=step,
            moved=bool(np.any(after != before)),
            finite=bool(np.isfinite(after).all()),
            result=result,
            loss=_loss(result),
        )


def _floats(structure):
    """The arrays of floats in a structure of tensors, in float32."""
    for each in keras.tree.flatten(structure):
        if hasattr(each, "dtype") and "float" in keras.utils.standardize_dtype(
            each.dtype
        ):
            yield keras.ops.convert_to_numpy(keras.ops.cast(each, "float32"))


def _all_finite(structure):
    return all(np.isfinite(array).all() for array in _floats(structure))


def _largest(structure):
    return max((np.abs(a).max(initial=0.0) for a in _floats(structure)), default=0.0)


def _vector(variables, counts=()):
    """All values in one vector of float64, each variable's divided by its count, if
    any.
    """
    counts = np.maximum(counts, 1) if len(counts) else np.ones(len(variables))
    pairs = zip(variables, counts, strict=True)
    return np.concatenate([np.ravel(_array(v)).astype("float64") / n for v, n in pairs])


def _note(shape):
    return tf.Variable(tf.zeros(shape), trainable=False)


def _array(variable):
    return np.array(keras.ops.convert_to_numpy(variable))


def _float32(values):
    return tf.cast(tf.convert_to_tensor(values), "float32")


def _loss(result):
    """The loss among what a step returns: a number, a list that begins with it, a
    dictionary.
    """
    with contextlib.suppress(Exception):  # whatever an object of the loop raises
        result = result["loss"] if isinstance(result, dict) else result
        return float(
            np.mean(result[0] if isinstance(result, (list, tuple)) else result)
        )
    return None
