"""The instruments of a training loop: what leaves its tape, and what reaches its update
rule.

While a step runs, `tf.GradientTape.gradient` and the `update_step` of the innermost
optimizer take notes, in graphs and under XLA too. What leaves the tape can be exchanged
for gradients of a chosen size, or for infinity.
"""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

import keras
import numpy as np
import tensorflow as tf

from mixed_precision_lint.arrays import (
    add,
    float32,
    loss_of,
    set_back,
    snapshot,
    vector,
    zeros,
)

as_written = tf.autograph.experimental.do_not_convert  # in a graph, too


@dataclass(frozen=True, eq=False)
class StepReading:
    """What a loop did until its weights moved, or in so many steps."""

    # all gradients as they left the tape, the mean of its calls
    tape_gradients: np.ndarray
    # and as they reached the update rule, the mean of its updates
    rule_gradients: np.ndarray
    target: float  # what the tape differentiated, the mean of its calls
    tape_calls: float  # for one weight
    spoiled_calls: float  # how many more had a gradient that is not finite
    updates: float  # of one weight
    steps: int
    weights_moved: bool  # whether a weight is another one, or NaN
    weights_finite: bool  # whether all of them are, afterwards
    result: object  # what the last step returned
    loss: float | None  # of it


class Instruments:
    """Notes of what leaves the tape, and of what reaches an update rule, in variables, so
    that they work in a graph.
    """

    def __init__(self, weights: Sequence[keras.Variable], rule: keras.Optimizer):
        self._index_of: dict[int, int] = {}
        for index, weight in enumerate(weights):
            self._index_of[id(weight)] = index  # as Keras holds it
            self._index_of[id(weight.value)] = index  # as TensorFlow holds it
        normal = np.random.default_rng(6).standard_normal
        # What is put in place of the gradients: this, times a size that is not 0.
        self._pattern = [tf.constant(normal(w.shape, "float32")) for w in weights]
        self._sizes = [pattern.shape.num_elements() for pattern in self._pattern]
        self._size = zeros([])
        self._added = zeros([len(weights)])  # to the gradients of each weight
        # The tape's own gradients that are not asked for again, by the weights' indices.
        self._replaced: dict[tuple, Any] = {}
        # Of the tape, summed up over its calls whose gradients are all finite:
        self._tape_sum = zeros([sum(self._sizes)])
        self._tape_calls = zeros([len(weights)])
        # What it differentiated, summed up so; how many these calls are, and the others.
        self._totals = zeros([3])
        # Of the update rule:
        self._rule_sums = [zeros(weight.shape) for weight in weights]
        self._updates = zeros([len(weights)])
        self._empty = snapshot(
            (
                self._tape_sum,
                self._tape_calls,
                self._totals,
                *self._rule_sums,
                self._updates,
            )
        )
        self._watch(rule)

    def _watch(self, rule):
        """Let an update rule take notes from now on."""
        ones = tf.unstack(tf.eye(len(self._pattern)))
        former = rule.update_step

        def update_step(gradient, variable, learning_rate):
            index = self._index_of.get(id(variable))
            if index is not None:
                add(self._rule_sums[index], float32(gradient))
                add(self._updates, ones[index])
            return former(gradient, variable, learning_rate)

        rule.update_step = as_written(update_step)

    def parts(self, gradients: np.ndarray) -> list[np.ndarray]:
        """A vector of them as one array for each weight."""
        return np.split(gradients, np.cumsum(self._sizes)[:-1])

    def start(self, size: float, added: Mapping[int, float]) -> None:
        """Forget all notes, and put gradients of a size in place of the tape's own unless
        it is 0; and add numbers to them, {index of the weight: infinity}.
        """
        set_back(self._empty)
        # Eager steps ask these, which are no variables:
        self._exchanges = size > 0
        self._adds = bool(added)
        self._size.assign(size)
        self._added.assign([added.get(n, 0.0) for n in range(len(self._pattern))])

    def reading(
        self, steps: int, weights_moved: bool, weights_finite: bool, result: object
    ) -> StepReading:
        """What was noted since `start`, with what the loop itself can tell."""
        tape_calls = self._tape_calls.numpy()
        updates = self._updates.numpy()
        target, finite_calls, spoiled_calls = self._totals.numpy()
        return StepReading(
            tape_gradients=vector(self.parts(self._tape_sum.numpy()), tape_calls),
            rule_gradients=vector([each.numpy() for each in self._rule_sums], updates),
            target=float(target / max(finite_calls, 1)),
            tape_calls=tape_calls.max(),
            spoiled_calls=spoiled_calls,
            updates=updates.max(),
            steps=steps,
            weights_moved=weights_moved,
            weights_finite=weights_finite,
            result=result,
            loss=loss_of(result),
        )

    def watch_tapes(self) -> contextlib.AbstractContextManager:
        """While this context lasts, tapes take notes, and give what `start` chose."""
        former = tf.GradientTape.gradient

        def gradient(tape, target, sources, *arguments, **options):
            indices = tuple(self._index_of.get(id(s)) for s in tf.nest.flatten(sources))
            replacing = tf.executing_eagerly() and self._exchanges
            if replacing and indices in self._replaced:
                # What is exchanged anyhow is computed once, to know what is reached.
                gradients = self._replaced[indices]
            else:
                gradients = former(tape, target, sources, *arguments, **options)
            if replacing and None not in indices:
                self._replaced[indices] = gradients
            flat = tf.nest.flatten(gradients)
            self._read(tf.nest.flatten(target), indices, flat)
            return tf.nest.pack_sequence_as(gradients, flat)

        return mock.patch.object(tf.GradientTape, "gradient", as_written(gradient))

    def _read(self, targets, indices, gradients):
        """Note the gradients of a tape, and put in the list what `start` chose."""
        own = {}
        for place, index in enumerate(indices):
            if index is not None and gradients[place] is not None:
                gradient = tf.convert_to_tensor(gradients[place])
                gradients[place] = own[index] = self._replacement(gradient, index)
        if own:  # else it is of something else, as for a penalty
            self._note(targets, own)
        # A graph never knows whether there is something to add.
        if tf.executing_eagerly() and not self._adds:
            return
        for place, index in enumerate(indices):
            if index in own:
                added = tf.cast(self._added[index], own[index].dtype)
                gradients[place] += added

    def _replacement(self, own, index):
        """A gradient of the tape's, or one of the chosen size in its place."""
        if tf.executing_eagerly() and not self._exchanges:
            return own
        chosen = tf.cast(self._pattern[index] * self._size, own.dtype)
        return tf.where(self._size > 0, chosen, own)

    def _note(self, targets, gradients):
        """Note what leaves the tape, if all of it is finite."""
        parts = []
        for index, pattern in enumerate(self._pattern):
            part = gradients[index] if index in gradients else tf.zeros_like(pattern)
            parts.append(tf.reshape(float32(part), [-1]))
        whole = tf.concat(parts, 0)
        fine = float32(tf.reduce_all(tf.math.is_finite(whole)))
        total = tf.add_n([tf.reduce_sum(float32(one)) for one in targets])
        target = tf.math.multiply_no_nan(total, fine)
        add(self._totals, tf.stack([target, fine, 1 - fine]))
        add(self._tape_sum, tf.math.multiply_no_nan(whole, fine))
        reached = [float(n in gradients) for n in range(len(self._pattern))]
        add(self._tape_calls, fine * reached)
