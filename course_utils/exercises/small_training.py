"""A small network, its batches and trials, on which the functions of notebook 06 are judged.

Everything is made here; nothing draws on a seed that the learner may have set.
"""

import functools
from dataclasses import dataclass

import numpy as np

from .answers import call
from .functions import edited

CODE = """\
import tensorflow as tf


def step(model, optimizer, loss_fn, x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x, training=True))
        scaled = optimizer.scale_loss(loss)
    gradients = tape.gradient(scaled, model.trainable_variables)
    optimizer.apply(gradients, model.trainable_variables)
    return loss

"""
right_step = edited(CODE, "step")  # right for every policy and every optimizer of Keras
STEPS = 3
POLICIES = ("mixed_float16", "float32", "mixed_bfloat16")
# The policy, and the power of two that the loss scale begins with: None is a plain optimizer. In
# the last trial float16 overflows in each step.
TRIALS = (*((policy, power) for power in (12, None) for policy in POLICIES), (POLICIES[0], 30))


def hidden_model(policy, seed=6):
    """A small network with BatchNormalization: float32 (n, 6) to float32 logits (n, 3).

    The weights are NumPy's, so that Keras draws no seed; the names leave Keras's counters alone.
    """
    import keras  # late, here and below: it loads TensorFlow, which takes seconds

    from course_utils.training import dtype_policy

    layers, zeros = keras.layers, {"kernel_initializer": "zeros"}
    with dtype_policy(policy):
        model = keras.Sequential(
            [
                keras.Input((6,), name="numbers"),
                layers.Dense(8, activation="relu", name="hidden", **zeros),
                layers.BatchNormalization(momentum=0.5, name="normalized"),
                layers.Dense(3, dtype="float32", name="logits", **zeros),
            ],
            name="hidden_model",
        )
    source = np.random.RandomState(seed)
    for layer in (model.layers[0], model.layers[2]):
        layer.set_weights([source.normal(0, 0.5, w.shape) for w in layer.weights])
    return model


def state(model, optimizer):
    """What a step may change, by name, as float64 arrays; scale and counter where there are any."""
    from keras.ops import convert_to_numpy

    inner = getattr(optimizer, "inner_optimizer", optimizer)
    variables = {
        "weights": model.trainable_variables,
        "averages": model.non_trainable_variables,  # those of BatchNormalization
        "moments": inner.variables[2:],  # after the counter and the learning rate
        "iterations": [inner.iterations],  # the steps that were applied
    }
    if inner is not optimizer:
        variables |= {"scale": [optimizer.dynamic_scale], "counter": [optimizer.step_counter]}
    return {
        name: np.concatenate([np.ravel(convert_to_numpy(v)).astype("float64") for v in some])
        for name, some in variables.items()
    }


@dataclass(frozen=True)
class Step:
    """One step of a trial: the states around it, what it returned or raised, the calls so far."""

    before: dict
    after: dict
    result: object
    problem: str | None
    calls: frozenset

    @property
    def change(self):
        """How the weights moved, float64 (n,)."""
        return self.after["weights"] - self.before["weights"]

    @property
    def scales(self):
        """The loss scale before and after, None with a plain optimizer."""
        around = self.before, self.after
        return tuple(float(s["scale"][0]) if "scale" in s else None for s in around)

    def keeps(self, name):
        """Whether a part of the state is as it was."""
        return np.array_equal(self.before[name], self.after[name])


@functools.cache
def right_steps(policy, power):
    """What the right step does in a trial, a list of `Step`s."""
    return list(run(right_step, policy, power))


def run(function, policy, power):
    """Yield the `Step`s of a new model and optimizer that are trained with `function`."""
    import keras
    import tensorflow as tf

    calls, model = set(), hidden_model(policy)
    optimizer = keras.optimizers.SGD(0.1, momentum=0.9, name="inner")
    if power is not None:
        _note(optimizer, "apply", calls, "inner apply")
        optimizer = keras.optimizers.LossScaleOptimizer(
            optimizer, initial_scale=2.0**power, dynamic_growth_steps=2, name="outer"
        )
    for name in ("scale_loss", "apply"):
        _note(optimizer, name, calls, name)
    optimizer.build(model.trainable_variables)
    loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    before = state(model, optimizer)
    for index in range(STEPS):
        source = np.random.RandomState(60 + index)
        x = tf.constant(source.normal(1, 2, (16, 6)).astype("float32"))
        y = tf.constant(np.arange(16, dtype="int32") % 3)
        result, problem = call(function, model, optimizer, loss_fn, x, y, end="`return loss`")
        after = state(model, optimizer)
        yield Step(before, after, result, problem, frozenset(calls))
        before = after


def _note(optimizer, name, calls, label):
    """Note the calls of one of an optimizer's methods, and whether it was given a `zip`."""
    method = getattr(optimizer, name)

    def noted(*arguments, **named):
        calls.update({label, *("zip" for given in arguments[:1] if isinstance(given, zip))})
        return method(*arguments, **named)

    setattr(optimizer, name, noted)
