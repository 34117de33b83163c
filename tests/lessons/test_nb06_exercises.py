"""Notebook 06's exercises: six hidden loops, and the judge of steps; with it that of
notebook 12's checkpoints.
"""

import random
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from course_utils import exercises, precision
from course_utils.exercises.functions import edited
from course_utils.exercises.small_training import CODE
from course_utils.lessons.nb06 import faulty_loops
from course_utils.training import dtype_policy
from tools.canonical_form import COURSE

pytestmark = pytest.mark.slow
SIX, STEP = exercises.load("06").exercises
CHECKPOINT = exercises.load("12").exercises[1]


def step(edits=()):
    return edited(STEP.solution, "step", edits)


def kept(edits=()):
    return edited(CHECKPOINT.solution, "checkpoint", edits)


# --- six loops: what the probe says of each is printed by the notebook's own cell -----


@pytest.mark.parametrize("letter", "ACE")
def test_three_of_the_six_take_the_first_step_of_the_right_loop(letter):
    watched = precision.Watched(faulty_loops.six[letter], *faulty_loops.batch)
    assert watched.length == pytest.approx(1, abs=0.01)


# --- one step for every policy --------------------------------------------------------


@pytest.mark.parametrize("function", [
    tf.function(step()), step({"return loss": "return loss.numpy()"}),
    step({"model.trainable_variables)\n    return": "None)\n    return"}),
    step({"apply(gradients, ": "apply_gradients(zip(gradients, ", "_variables)\n    r":
          "_variables))\n    r"}),
    step({"scale_loss(0.1)": "scale_loss(0.05) * 2"}),
])  # fmt: skip
def test_other_right_steps(function):
    assert STEP.answer(function) is None


def test_a_mistake_is_found_under_its_policy():
    early = step(
        {"optimizer.scale_loss(0.1)": "getattr(optimizer, 'dynamic_scale', 2.0) * 0.1"}
    )
    assert STEP.answer(early).startswith("A long gradient arrives as one of 0.2")
    told = step({"scaled = ": "scaled = loss.numpy() and "})
    assert STEP.answer(tf.function(told)).startswith(
        "mixed_float16, LossScaleOptimizer: The step"
    )


# --- what must be in the checkpoint ---------------------------------------------------


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


# --- the kernel and its settings ------------------------------------------------------


def with_another_policy(function):
    def changed(*arguments):
        keras.config.set_dtype_policy("float16")
        return function(*arguments)

    return changed


@pytest.mark.parametrize("exercise, function", [
    (STEP, with_another_policy(edited(CODE, "step"))),
    (CHECKPOINT, with_another_policy(kept())),
    (STEP, step({"optimizer.scale_loss": "tf.identity"})),
    (CHECKPOINT, kept()), (CHECKPOINT, kept({"optimizer.build": "id"})),
])  # fmt: skip
def test_no_seed_no_policy_and_no_name_is_touched_or_matters(exercise, function):
    def draws():
        layer = keras.layers.Dense(3)
        drawn = keras.random.normal([]), layer(np.ones((1, 4))), keras.Sequential().name
        return random.random(), np.random.random(), layer.name, *map(str, drawn)

    found = {}
    for judged in (False, True):
        keras.backend.clear_session()  # names count anew
        keras.utils.set_random_seed(5)
        with dtype_policy("mixed_bfloat16"):
            former = keras.config.dtype_policy()
            if judged:
                verdict = exercise.answer(function)
            assert keras.config.dtype_policy() is former
            found[judged] = draws()
    assert found[True] == found[False] and verdict == exercise.answer(function)


@pytest.mark.slow
def test_the_verdicts_with_deterministic_operations():
    code = (
        "import tensorflow as tf, keras\n"
        "keras.utils.set_random_seed(1); tf.config.experimental.enable_op_determinism()\n"
        "from course_utils import exercises\n"
        "sheets = exercises.load('06'), exercises.load('12')\n"
        "for exercise in (sheet.exercises[1] for sheet in sheets):\n"
        "    names = {}; exec(exercise.solution, names)\n"
        "    assert exercise.answer(names[exercise.name]) is None\n"
        "    wrong, said = exercise.examples()[0]; assert said in exercise.answer(wrong)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=COURSE).returncode == 0
