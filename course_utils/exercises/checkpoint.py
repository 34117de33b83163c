"""The judge of a checkpoint, in notebook 06: a stopped training has to go on from it."""

import contextlib
import io
import tempfile
from pathlib import Path

import numpy as np

from .answers import call, describe
from .functions import Function
from .small_training import hidden_model, right_step

KEPT = "model=model, optimizer=optimizer, iterator=iterator"
CODE = f"""\
import tensorflow as tf


def checkpoint(model, optimizer, iterator):
    optimizer.build(model.trainable_variables)
    return tf.train.Checkpoint({KEPT})

"""
INNER = KEPT.replace("=optimizer", "=optimizer.inner_optimizer")
MADE = f"tf.train.Checkpoint({KEPT})"
MANAGED = f"tf.train.CheckpointManager({MADE}, '{tempfile.gettempdir()}', 1)"
# a part of what is said, and the edits that make the right function a wrong one
SLIPS = {
    "moments, the loss scale, the scale's counter of good steps, the place": {
        KEPT: "model=model"
    },
    "Adam's moments, the loss scale, the": {"optimizer=optimizer, ": ""},
    "stop: the place in the data. Without the it": {", iterator=iterator": ""},
    "stop: the averages of BatchNormalization. The": {"model=model, ": ""},
    "The scale belongs to the outer optimizer": {KEPT: INNER},
    "stop: the scale's counter of good steps.": {
        KEPT: f"{INNER}, s=optimizer.dynamic_scale.value"
    },
    "first scale, 256, and then unscales": {"optimizer.build": "id"},
    "Give the checkpoint all three": {KEPT: "iterator=iterator"},
    "return its `checkpoint`": {MADE: MANAGED},
    "returns a model: return a": {MADE: "model"},
    "returns None": {MADE: "None"},
    "raises ValueError": {KEPT: "scale=1024.0"},
}
BEFORE, AFTER = 5, 3  # steps before the stop and after it
# small, so that it is doubled before the stop
SCALE = 2.0**8
GROWTH = 2
PARTS = {  # what may be new after the restart, and how a learner is told of it
    "weights": "the weights",
    "averages": "the averages of BatchNormalization",
    "moments": "Adam's moments",
    "scale": "the loss scale",
    "counter": "the scale's counter of good steps",
    "data": "the place in the data",
}
CAUSES = {  # what is left out, by the first part that is new
    "weights": "Give the checkpoint all three.",
    "averages": "The optimizer brings the weights that it trains, and the model the rest.",
    "moments": "The optimizer brings its moments and the scale: give it to the checkpoint.",
    "scale": "The scale belongs to the outer optimizer: give that one to the checkpoint.",
    "counter": "The outer optimizer brings the scale and the counter: give it to the checkpoint.",
    "data": "Without the iterator the data begin at the first batch again.",
}
UNBUILT = (
    "All parts are there, and the first update after the restart is wrong. An optimizer that is not"
    " built scales the loss by its first scale, {:,.0f}, and then unscales by the restored one,"
    " {:,.0f}: build it before."
)


class Training:
    """A model under mixed_float16, Adam with loss scaling (not built yet), and shuffled
    data.

    `seed` sets the first weights; `seen` are the inputs of the batches so far, float32
    (8, 6) each.
    """

    def __init__(self, seed):
        import keras  # late, here and below: it loads TensorFlow
        import tensorflow as tf

        self.model = hidden_model("mixed_float16", seed)
        inner = keras.optimizers.Adam(0.05, name="inner")
        wrapper = keras.optimizers.LossScaleOptimizer
        self.optimizer = wrapper(inner, SCALE, GROWTH, name="outer")
        self._loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        source = np.random.RandomState(6)
        x = source.normal(1, 2, (48, 6)).astype("float32")
        y = np.arange(48) % 3
        data = (
            tf.data.Dataset.from_tensor_slices((x, y))
            .shuffle(48, seed=6)
            .repeat()
            .batch(8)
        )
        self.iterator = iter(data)
        self.seen = []

    def state(self):
        """Everything but the data, by name: a dict of float64 arrays."""
        from keras.ops import convert_to_numpy

        inner = self.optimizer.inner_optimizer
        variables = {
            "weights": self.model.trainable_variables,
            # those of BatchNormalization
            "averages": self.model.non_trainable_variables,
            "moments": inner.variables[2:],  # after the counter and the learning rate
            "iterations": [inner.iterations],  # the steps that were applied
            "scale": [self.optimizer.dynamic_scale],
            "counter": [self.optimizer.step_counter],
        }
        return {
            name: np.concatenate(
                [np.ravel(convert_to_numpy(v)).astype("float64") for v in some]
            )
            for name, some in variables.items()
        }

    def steps(self, count):
        """Take steps on the next batches: a list of their losses. Their inputs go to
        `seen`.
        """
        losses = []
        for _ in range(count):
            x, y = next(self.iterator)
            self.seen.append(x.numpy())
            losses.append(
                float(right_step(self.model, self.optimizer, self._loss_fn, x, y))
            )
        return losses


def resume(function, _):
    """Stop a training, restore it elsewhere with the learner's checkpoint, and compare
    the rest.
    """
    import keras
    import tensorflow as tf

    from course_utils.training import dtype_policy

    def made(training, path=None):
        given = training.model, training.optimizer, training.iterator
        checkpoint, problem = call(function, *given, end="`return` and the checkpoint")
        if isinstance(checkpoint, tf.train.CheckpointManager):
            problem = (
                "Your function returns a CheckpointManager: return its `checkpoint`."
            )
        elif not problem and not isinstance(checkpoint, tf.train.Checkpoint):
            asked = (
                "return a `tf.train.Checkpoint`, and do not save it, the check does."
            )
            problem = f"Your function returns {describe(checkpoint)}: {asked}"
        if path and not problem:
            status, problem = call(
                checkpoint.restore, path, what="Restoring your checkpoint"
            )
            if not problem:
                status.expect_partial()  # no warnings about what is left out
        return checkpoint, problem

    with (
        dtype_policy(keras.config.dtype_policy()),
        tempfile.TemporaryDirectory() as folder,
    ):
        first = Training(6)
        second = Training(7)
        third = Training(7)
        checkpoint, problem = made(first)
        if problem:
            return problem
        first.steps(BEFORE)
        path, problem = call(
            checkpoint.save, str(Path(folder, "stopped")), what="Saving your checkpoint"
        )
        stopped = first.state()
        losses = first.steps(AFTER)
        # what a learner prints is shown once
        with contextlib.redirect_stdout(io.StringIO()):
            problem = problem or made(second, path)[1]
            if problem:
                return problem
            if np.allclose(second.steps(AFTER), losses, rtol=1e-3):
                if not differing(second.state(), first.state()):
                    return None
            return made(third, path)[1] or cause(third, stopped, first.seen[BEFORE])


def differing(one, other):
    """The names of what differs in two states."""
    return [n for n in one if not np.allclose(one[n], other[n], rtol=1e-3, atol=1e-5)]


def cause(restored, stopped, batch):
    """What of a restored training is not as it was before the stop, and why."""
    built = restored.optimizer.built
    if not built:
        restored.optimizer.build(restored.model.trainable_variables)
    new = differing(restored.state(), stopped)
    if not np.array_equal(next(restored.iterator)[0].numpy(), batch):
        new.append("data")
    if not new and not built:
        return UNBUILT.format(SCALE, stopped["scale"][0])
    told = (
        ", ".join(PARTS[name] for name in new if name in PARTS)
        or "how the training goes on"
    )
    why = next((why for name, why in CAUSES.items() if name in new), CAUSES["weights"])
    return f"This is not as it was before the stop: {told}. {why}"


judge = Function(resume)
