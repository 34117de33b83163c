"""Notebook 06's exercises: the numbers measured with Keras, the judges of steps and checkpoints."""

import random
import re
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
from canonical import COURSE

from course_utils import exercises
from course_utils.exercises import checkpoint, nb06, small_training, training_step
from course_utils.exercises.functions import edited
from course_utils.exercises.small_training import STEPS, TRIALS, right_step
from course_utils.training import dtype_policy

pytestmark = pytest.mark.slow
ADAM, STEP, CHECKPOINT = exercises.load("06").exercises
LossScaleOptimizer, SGD = keras.optimizers.LossScaleOptimizer, keras.optimizers.SGD


def step(edits=()):
    return edited(STEP.solution, "step", edits)


def kept(edits=()):
    return edited(CHECKPOINT.solution, "checkpoint", edits)


# --- where Adam stops hiding --------------------------------------------------------------------


@pytest.mark.parametrize("steps", [1, 1000])
def test_the_formula_is_that_of_keras(steps):
    names = {}
    exec(ADAM.stub.split("answer =")[0], names)
    halved_at_first = 32768e-7 / 0.001**0.5  # as a message says, and `right` with its 32 times
    for gradient in (0.1, 0.0032768, 0.001, halved_at_first):
        small, full = names["last_update"]([gradient / 2**15, gradient], steps)
        assert small / full == pytest.approx(nb06.share(gradient, steps), rel=0.003)
    assert full == pytest.approx(1e-3, rel=0.005)  # the right update is the learning rate
    assert steps > 1 or small / full == pytest.approx(0.5, rel=1e-3)


# --- one step for every policy ------------------------------------------------------------------


@pytest.mark.parametrize("policy, power", TRIALS)
def test_the_right_step_in_each_trial(policy, power):
    steps = training_step.right_steps(policy, power)
    assert all(each.problem is None and np.isfinite(each.change).all() for each in steps)
    scales = [each.scales[1] for each in steps]
    applied = [int(each.after["iterations"][0]) for each in steps]
    if power == 30:  # every step overflows
        assert scales == [2.0**29, 2.0**28, 2.0**27] and applied == [0] * STEPS
        assert not any(each.change.any() for each in steps)
        return
    assert applied == [1, 2, 3]
    assert scales == ([2.0**12, 2.0**13, 2.0**13] if power else [None] * STEPS)
    in_float32 = training_step.right_steps(*TRIALS[1])[-1].after["weights"]
    moved = np.linalg.norm(steps[-1].after["weights"] - steps[0].before["weights"])
    # The policies differ by less than what is tolerated.
    assert np.linalg.norm(steps[-1].after["weights"] - in_float32) < 0.02 * moved
    assert all(np.linalg.norm(each.change) > 0.1 for each in steps)


def everything_by_hand(model, optimizer, loss_fn, x, y):
    """Right: it does all that `LossScaleOptimizer.apply` does."""
    if not hasattr(optimizer, "dynamic_scale"):
        return right_step(model, optimizer, loss_fn, x, y)
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x, training=True))
        scaled = loss * optimizer.dynamic_scale
    gradients = tape.gradient(scaled, model.trainable_variables)
    if not all(np.isfinite(g).all() for g in gradients):
        optimizer.dynamic_scale.assign(optimizer.dynamic_scale / 2)
        optimizer.step_counter.assign(0)
        return loss
    gradients = [g / optimizer.dynamic_scale for g in gradients]
    optimizer.inner_optimizer.apply(gradients, model.trainable_variables)
    optimizer.step_counter.assign((optimizer.step_counter + 1) % 2)
    if optimizer.step_counter == 0:
        optimizer.dynamic_scale.assign(2 * optimizer.dynamic_scale)
    return loss


@pytest.mark.parametrize("function", [
    everything_by_hand, tf.function(right_step),
    step({"gradients, model.trainable_variables": "gradients"}),
    step({"apply(gradients, ": "apply_gradients(zip(gradients, ", "_variables)\n    r":
          "_variables))\n    r"}),
    step({"return loss": "return loss.numpy()"}),
    *(step({"apply(gradients": f"apply([{f} * g for g in gradients]"}) for f in (0.97, 1.03)),
])  # fmt: skip
def test_other_right_steps(function):
    assert STEP.answer(function) is None


def test_a_mistake_is_found_in_its_trial_and_step():
    calls = []

    def slips_once(*arguments):
        calls.append(1)
        return None if len(calls) == 14 else right_step(*arguments)

    said = "float32, plain optimizer, step 2: Your function returns None"
    assert STEP.answer(slips_once).startswith(said)


def test_an_error_in_a_compiled_step_is_said_without_its_wrapping():
    old = tf.function(lambda model, optimizer, loss_fn, x, y: optimizer.get_scaled_loss(x))
    said = STEP.answer(old)
    assert "no attribute 'get_scaled_loss'" in said and "in user code" not in said


# --- what must be in the checkpoint -------------------------------------------------------------


def built_late(model, optimizer, iterator):
    made = tf.train.Checkpoint(model=model, optimizer=optimizer, iterator=iterator)
    optimizer.build(model.trainable_variables)
    return made


@pytest.mark.parametrize("function", [
    built_late, kept({"=iterator)": "=iterator, step=tf.Variable(0))"}),
    kept({"model=model, optimizer=optimizer":
          "all=[v.value for v in model.variables + optimizer.variables]"}),
])  # fmt: skip
def test_other_right_checkpoints(function):
    assert CHECKPOINT.answer(function) is None


def test_the_stopped_training_is_one_that_can_be_told_apart():
    training = checkpoint.Training(6)
    assert not training.optimizer.built
    training.optimizer.build(training.model.trainable_variables)
    start = training.state()
    losses = training.steps(checkpoint.BEFORE)
    stopped = training.state()
    assert np.isfinite(losses).all() and stopped["iterations"] == checkpoint.BEFORE  # none skipped
    assert (start["scale"], stopped["scale"]) == (256, 1024) and stopped["counter"] == 1
    assert set(checkpoint.differing(start, stopped)) == set(stopped)
    training.steps(checkpoint.AFTER)
    seen = training.seen
    assert not any(np.array_equal(seen[0], other) for other in seen[1 : checkpoint.BEFORE + 1])


# --- the kernel and its settings ----------------------------------------------------------------


def changes_the_policy(*arguments):
    keras.config.set_dtype_policy("float16")
    return right_step(*arguments)


@pytest.mark.parametrize("exercise, function", [
    (STEP, changes_the_policy), (STEP, step({"optimizer.scale_loss": "tf.identity"})),
    (CHECKPOINT, kept()), (CHECKPOINT, kept({"optimizer.build": "id"})),
])  # fmt: skip
def test_no_seed_no_policy_and_no_name_is_touched_or_matters(exercise, function):
    def draws():
        dense = float(np.sum(keras.layers.Dense(3)(np.ones((1, 4)))))
        return random.random(), np.random.random(), float(keras.random.normal([])), dense

    def names():
        made = [keras.layers.Dense(1, kernel_initializer="zeros"), keras.Sequential()]
        made.append(LossScaleOptimizer(SGD()))  # Keras 3.13 counts these
        return [int(re.sub(r"\D", "", each.name) or 0) for each in made]

    verdicts = set()
    for policy in ("float32", "mixed_bfloat16"):
        small_training.right_steps.cache_clear()
        with dtype_policy(policy):
            former = keras.config.dtype_policy()
            keras.utils.set_random_seed(5)
            expected, before = draws(), names()
            keras.utils.set_random_seed(5)
            verdicts.add(exercise.answer(function))
            assert keras.config.dtype_policy() is former
            assert names() == [n + 1 for n in before] and draws() == expected
    assert len(verdicts) == 1


@pytest.mark.slow
def test_the_verdicts_with_deterministic_operations():
    code = (
        "import tensorflow as tf, keras\n"
        "keras.utils.set_random_seed(1); tf.config.experimental.enable_op_determinism()\n"
        "from course_utils import exercises\n"
        "for exercise in exercises.load('06').exercises[1:]:\n"
        "    names = {}; exec(exercise.solution, names)\n"
        "    assert exercise.answer(names[exercise.name]) is None\n"
        "    wrong, said = exercise.examples()[0]; assert said in exercise.answer(wrong)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=COURSE).returncode == 0
