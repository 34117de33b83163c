"""The judge of a checkpoint, in notebook 12: a stopped training has to go on from it."""

import contextlib
import io
import tempfile
from typing import TYPE_CHECKING

import numpy as np

from course_utils.exercises.answers import Mistake, call, describe
from course_utils.exercises.functions import Function, edited
from course_utils.exercises.small_training import CODE as CODE_OF_STEP
from course_utils.exercises.small_training import hidden_model

if TYPE_CHECKING:
    import tensorflow as tf

ARGUMENTS = "model=model, optimizer=optimizer, iterator=iterator"
CODE = f"""\
import tensorflow as tf


def checkpoint(model, optimizer, iterator):
    optimizer.build(model.trainable_variables)
    return tf.train.Checkpoint({ARGUMENTS})

"""
INNER = ARGUMENTS.replace("=optimizer", "=optimizer.inner_optimizer")
CHECKPOINT = f"tf.train.Checkpoint({ARGUMENTS})"
# a part of what is said, and the edits that make the right function a wrong one
SLIPS = {
    "moments, the loss scale and its counter of good steps, the place": {
        ARGUMENTS: "model=model"
    },
    "Adam's moments, the loss scale and its": {"optimizer=optimizer, ": ""},
    "stop: the place in the data. Without the it": {", iterator=iterator": ""},
    "stop: the averages of BatchNormalization. The": {"model=model, ": ""},
    "Both belong to the outer optimizer": {ARGUMENTS: INNER},
    "first scale, 256, and then unscales": {"optimizer.build": "id"},
    "Give the checkpoint all three": {ARGUMENTS: "iterator=iterator"},
    "returns a model: return a": {CHECKPOINT: "model"},
    "returns None": {CHECKPOINT: "None"},
    "raises ValueError": {ARGUMENTS: "scale=1024.0"},
}
STEPS = 5  # before the stop
# small, so that it is doubled before the stop
SCALE = 2.0**8
GROWTH = 2
SCALING = "the loss scale and its counter of good steps"
PARTS = {  # what may be new after the restart, and why
    "the weights": "Give the checkpoint all three.",
    "the averages of BatchNormalization": "The optimizer brings the weights that it trains, and"
    " the model the rest.",
    "Adam's moments": "The optimizer brings its moments and the scale: give it to the checkpoint.",
    SCALING: "Both belong to the outer optimizer: give that one to the checkpoint.",
    "the place in the data": "Without the iterator the data begin at the first batch again.",
}
UNBUILT = (
    "All parts are there, and the first update after the restart is wrong. An optimizer that is not"
    " built scales the loss by its first scale, {:,.0f}, and then unscales by the restored one,"
    " {:,.0f}: build it before."
)


class Training:
    """A model under mixed_float16, Adam with loss scaling (not built yet), and shuffled
    data; `seed` sets the first weights.
    """

    def __init__(self, seed: int):
        import keras  # late, here and below: it loads TensorFlow
        import tensorflow as tf

        self.model = hidden_model("mixed_float16", seed)
        inner = keras.optimizers.Adam(0.05, name="inner")
        wrapper = keras.optimizers.LossScaleOptimizer
        self.optimizer = wrapper(inner, SCALE, GROWTH, name="outer")
        x = np.random.RandomState(6).normal(1, 2, (48, 6)).astype("float32")
        data = tf.data.Dataset.from_tensor_slices((x, np.arange(48) % 3))
        self.iterator = iter(data.shuffle(48, seed=6).repeat().batch(8))

    def train(self) -> None:
        """Take the steps before the stop."""
        import keras

        right_step = edited(CODE_OF_STEP, "step")
        loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        for _ in range(STEPS):
            right_step(self.model, self.optimizer, loss_fn, *next(self.iterator))

    def state(self) -> dict[str, np.ndarray]:
        """All of `PARTS`, by name: a dict of float64 arrays. It takes a batch."""
        from keras.ops import convert_to_numpy

        inner = self.optimizer.inner_optimizer
        parts = {
            "the weights": self.model.trainable_variables,
            # those of BatchNormalization
            "the averages of BatchNormalization": self.model.non_trainable_variables,
            # no learning rate
            "Adam's moments": [inner.iterations, *inner.variables[2:]],
            SCALING: [self.optimizer.dynamic_scale, self.optimizer.step_counter],
            "the place in the data": next(self.iterator),
        }
        return {
            name: np.concatenate([np.ravel(convert_to_numpy(v)) for v in some])
            for name, some in parts.items()
        }


def make_checkpoint(function: object, training: Training) -> "tf.train.Checkpoint":
    """The checkpoint that a learner's function makes of a training."""
    import tensorflow as tf

    parts = training.model, training.optimizer, training.iterator
    checkpoint = call(function, *parts, end="`return` and the checkpoint")
    if not isinstance(checkpoint, tf.train.Checkpoint):
        request = "return a `tf.train.Checkpoint`, and do not save it, the check does."
        raise Mistake(f"Your function returns {describe(checkpoint)}: {request}")
    return checkpoint


def resume(function: object, _: object) -> str | None:
    """Stop a training, restore it elsewhere with the learner's checkpoint, and compare
    the two.
    """
    import keras

    from course_utils.training import dtype_policy

    first = Training(6)
    second = Training(7)
    policy = dtype_policy(keras.config.dtype_policy())  # whatever the function sets
    with policy, tempfile.TemporaryDirectory() as folder:
        checkpoint = make_checkpoint(function, first)
        first.train()
        what = "Saving your checkpoint"
        path = call(checkpoint.save, f"{folder}/stopped", what=what)
        # what a learner prints is shown once
        with contextlib.redirect_stdout(io.StringIO()):
            checkpoint = make_checkpoint(function, second)
        status = call(checkpoint.restore, path, what="Restoring your checkpoint")
        status.expect_partial()  # no warnings about what is left out
        return difference(first.state(), second)


def difference(stopped: dict[str, np.ndarray], restored: Training) -> str | None:
    """What of a restored training is not as in the state of the stopped one, and why,
    or None.
    """
    was_built = restored.optimizer.built
    if not was_built:
        restored.optimizer.build(restored.model.trainable_variables)
    state = restored.state()
    new = [
        part
        for part in PARTS
        if not np.allclose(state[part], stopped[part], rtol=1e-3, atol=1e-5)
    ]
    if new:
        parts = ", ".join(new)
        return f"This is not as it was before the stop: {parts}. {PARTS[new[0]]}"
    return None if was_built else UNBUILT.format(SCALE, stopped[SCALING][0])


judge = Function(resume)
