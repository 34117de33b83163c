"""How exercise 5 of notebook 06 is judged: a run is stopped, and goes on from its checkpoint."""

import contextlib
import io
import tempfile
from pathlib import Path

import numpy as np

from .answers import call, describe
from .loop06 import hidden_model, right_step

BEFORE, AFTER = 5, 3  # steps before the stop and after it
SCALE, GROWTH = 2.0**8, 2  # small, so that it is doubled before the stop


class Training:
    """A model under mixed_float16, Adam with loss scaling (not built yet), and shuffled data.

    Args:
        seed: sets the first weights.

    Attributes:
        model, optimizer, iterator: what a checkpoint is made of.
        seen: the inputs of the batches so far, float32 (8, 6) each.

    Example: `Training(6).steps(2)` gives two losses.
    """

    def __init__(self, seed):
        import keras  # late: it loads TensorFlow
        import tensorflow as tf

        self.model = hidden_model("mixed_float16", seed)
        self.optimizer = keras.optimizers.LossScaleOptimizer(
            keras.optimizers.Adam(0.05, name="inner"),
            initial_scale=SCALE,
            dynamic_growth_steps=GROWTH,
            name="outer",
        )
        self._loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        source = np.random.RandomState(6)
        x, y = source.normal(1, 2, (48, 6)).astype("float32"), np.arange(48) % 3
        data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(48, seed=6).repeat().batch(8)
        self.iterator = iter(data)

        self.seen = []

    def parts(self):
        """What the learner's function is given: model, optimizer, iterator."""
        return self.model, self.optimizer, self.iterator

    def steps(self, count):
        """Take steps on the next batches: a list of their losses. Their inputs go to `seen`."""
        losses = []
        for _ in range(count):
            x, y = next(self.iterator)
            self.seen.append(x.numpy())
            losses.append(float(right_step(self.model, self.optimizer, self._loss_fn, x, y)))
        return losses

    def state(self):
        """Everything but the data, by name: a dict of float64 arrays."""
        from keras.ops import convert_to_numpy

        outer, inner = self.optimizer, self.optimizer.inner_optimizer
        variables = {
            "weights": self.model.trainable_variables,
            "averages": self.model.non_trainable_variables,
            "moments": inner.variables[2:],  # after the counter and the learning rate
            "iterations": [inner.iterations],
            "scale": [outer.dynamic_scale],
            "counter": [outer.step_counter],
        }
        return {
            name: np.concatenate([np.ravel(convert_to_numpy(v)).astype("float64") for v in some])
            for name, some in variables.items()
        }


PARTS = {  # what `state` holds, and how a learner is told of it
    "weights": "the weights",
    "averages": "the averages of BatchNormalization",
    "moments": "Adam's moments",
    "iterations": "Adam's moments",
    "scale": "the loss scale",
    "counter": "the scale's counter of good steps",
    "data": "the place in the data",
}
ONE = {PARTS["scale"], PARTS["counter"], PARTS["data"]}  # the others are plural
CAUSES = [  # parts that are new after the restart, and what is left out
    ({"weights", "moments"}, "Give the checkpoint all three."),
    ({"weights"}, "Give the checkpoint the model too."),
    ({"averages"}, "The optimizer brings the weights that it trains, and the model the rest."),
    ({"moments"}, "The optimizer brings its moments and the scale: give it to the checkpoint."),
    ({"scale"}, "The scale belongs to the outer optimizer: give that one to the checkpoint."),
    (
        {"counter"},
        "The outer optimizer brings the scale and the counter: give it to the checkpoint.",
    ),
    ({"data"}, "Without the iterator the data begin at the first batch again."),
]
UNBUILT = (
    "All parts are there, and the first update after the restart is wrong. An optimizer that is not"
    " built scales the loss by its first scale, {first}, and then unscales by the restored one,"
    " {restored}: build it before."
)


def check_checkpoint(function):
    """Stop a training, restore it elsewhere with the learner's checkpoint, and compare the rest.

    >>> check_checkpoint("model")
    "You gave the text 'model': give the function itself, without parentheses."
    """
    if not callable(function):
        return f"You gave {describe(function)}: give the function itself, without parentheses."
    import keras

    from course_utils.stepping import dtype_policy

    with dtype_policy(keras.config.dtype_policy()), tempfile.TemporaryDirectory() as folder:
        first = Training(6)
        checkpoint, problem = _made(function, first)
        if problem:
            return problem
        first.steps(BEFORE)
        path, problem = call(checkpoint.save, str(Path(folder, "stopped")))
        if problem:
            return problem.replace("Your function", "Saving your checkpoint")
        stopped = first.state()
        losses = first.steps(AFTER)
        # What a learner prints is shown once.
        with contextlib.redirect_stdout(io.StringIO()):
            second, built, problem = _restored(function, path)
            if problem:
                return problem
            same = np.allclose(second.steps(AFTER), losses, rtol=1e-3)
            if same and not _differing(second.state(), first.state()):
                return None
            return _cause(function, path, stopped, first.seen[BEFORE], built)


def _made(function, training):
    import tensorflow as tf

    checkpoint, problem = call(function, *training.parts())
    if problem:
        return None, problem
    if checkpoint is None:
        return None, "Your function returns None: end it with `return` and the checkpoint."
    if isinstance(checkpoint, tf.train.CheckpointManager):
        return None, "Your function returns a CheckpointManager: return its `checkpoint`."
    if not isinstance(checkpoint, tf.train.Checkpoint):
        # A model can be called, and is no function all the same.
        kind = f"an object of type {type(checkpoint).__name__}"
        given = kind if callable(checkpoint) else describe(checkpoint)
        return None, (
            f"Your function returns {given}: return a `tf.train.Checkpoint`, and do"
            " not save it, the check does."
        )
    return checkpoint, None


def _restored(function, path):
    """Another training after the restart, whether its optimizer is built, and what went wrong."""
    training = Training(7)
    checkpoint, problem = _made(function, training)
    if problem:
        return training, False, problem
    built = training.optimizer.built
    status, problem = call(checkpoint.restore, path)
    if problem:
        return training, built, problem.replace("Your function", "Restoring your checkpoint")
    status.expect_partial()  # no warnings about what is left out
    return training, built, None


def _differing(state, other):
    return [n for n in state if not np.allclose(state[n], other[n], rtol=1e-3, atol=1e-5)]


def _cause(function, path, stopped, batch, built):
    """Restore once more, and see what is not as it was before the stop."""
    training, _, problem = _restored(function, path)
    if problem:
        return problem
    if not training.optimizer.built:
        training.optimizer.build(training.model.trainable_variables)
    new = _differing(training.state(), stopped)
    if not np.array_equal(next(training.iterator)[0].numpy(), batch):
        new.append("data")
    if not new and not built:
        scales = f"{SCALE:,.0f}", f"{stopped['scale'][0]:,.0f}"
        return UNBUILT.format(first=scales[0], restored=scales[1])
    names = list(dict.fromkeys(PARTS[name] for name in new))
    for parts, cause in CAUSES:
        if parts <= set(new):
            listed = ", ".join(names[:-1]) + " and " * (len(names) > 1) + names[-1]
            verb = "is" if names[0] in ONE and len(names) == 1 else "are"
            return f"After the restart {listed} {verb} not as before the stop. {cause}"
    return "The training goes on otherwise than without the stop: make the checkpoint of all three."
