"""What notebook 06 promises: its own cells run here, also with other seeds, and are looked at."""

from functools import partial

import keras
import numpy as np
import pytest
import tensorflow as tf
from cells import Cells

from course_utils import session

NOTEBOOK = Cells("06_training_loop")
DEFINED = ("digits", "network", "right-loop", "five-loops", "make-step", "train", "run", "probe",
           "probe-loop", "refused")  # fmt: skip
HIDDEN = ("scaling forgotten", "unscaled twice", "clipped too early")  # by Adam
SGD, Adam = keras.optimizers.SGD, keras.optimizers.Adam


@pytest.fixture(scope="module")
def notebook():
    """The names that the notebook's cells define."""
    session.setup()
    return NOTEBOOK.run(*DEFINED)


# One step, in arithmetic and in Keras


def one_update(name, g, scale=2.0**15):
    """One step of Keras's SGD(1.0) in one of the five loops, on two weights with the gradient g.

    The weights are cast to float16 on their way to the loss, so the backward pass is float16.
    """
    inner = SGD(1.0, global_clipnorm=1.0)
    optimizer = inner
    if name == "fixed, unchecked":
        inner.loss_scale_factor = scale
    else:
        optimizer = keras.optimizers.LossScaleOptimizer(inner, initial_scale=scale)
    weight = keras.Variable([0.0, 0.0])
    optimizer.build([weight])
    with tf.GradientTape() as tape:
        half = tf.cast(weight.value, tf.float16)
        loss = tf.reduce_sum(tf.cast(half, tf.float32) * tf.constant(g, tf.float32))
        scaled = loss if name == "scaling forgotten" else optimizer.scale_loss(loss)
    gradients = tape.gradient(scaled, [weight.value])
    if name == "unscaled twice":
        gradients = [gradient / scale for gradient in gradients]
    if name == "clipped too early":
        gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
    optimizer.apply(gradients, [weight])
    return -keras.ops.convert_to_numpy(weight)


@pytest.mark.parametrize("log2_size", [-36, -30, -20, -14, -7, -1, 2, 4])
def test_the_arithmetic_of_the_five_loops_is_keras(log2_size, notebook):
    g = np.array([1.0, 0.5]) * 2.0**log2_size
    with np.errstate(all="ignore"):
        received = notebook["received"](g)
    for name, wanted in received.items():
        got = one_update(name, g)
        if np.isfinite(wanted).all():
            assert np.allclose(got, wanted, rtol=1e-4, atol=0), name
        else:
            assert name == "fixed, unchecked" and not np.isfinite(got).all()


# The trainings


@pytest.mark.slow
def test_sgd_shows_every_mistake_and_adam_hides_three(notebook, seed=2):
    run, found = notebook["run"], {}
    for mistake in ("right", *HIDDEN, "fixed, unchecked"):
        for inner in (SGD(0.1, global_clipnorm=1.0), Adam(0.001, global_clipnorm=1.0)):
            found[mistake, type(inner).__name__] = run(inner, mistake, seed)[:2]
    best = {kind: found["right", kind] for kind in ("SGD", "Adam")}
    assert min(accuracy for accuracy, _ in best.values()) > 0.75
    for mistake in HIDDEN:
        accuracy, loss = found[mistake, "SGD"]
        assert accuracy < 0.3 and loss > 2, mistake
        accuracy, loss = found[mistake, "Adam"]
        assert accuracy > best["Adam"][0] - 0.1, mistake
        assert 1.2 * best["Adam"][1] < loss < 1, mistake  # the loss gives it away
    for kind in ("SGD", "Adam"):
        accuracy, loss = found["fixed, unchecked", kind]
        assert accuracy < 0.2 and np.isnan(loss)


@pytest.mark.slow
def test_a_dynamic_scale_cures_one_cause_of_two(notebook):
    """Too large a scale, and blank pictures; each with a fixed scale and with a dynamic one."""
    lines = [line for line in NOTEBOOK.printed("causes", names=notebook) if " of 300" in line]
    large, cured, blank, uncured = (int(line.split(" of 300")[0].split()[-1]) for line in lines)
    assert large == blank == 300 and 280 < cured < 300 and uncured < 10
    right = [float(line.split("%")[0].split()[-1]) for line in lines]
    assert right[1] > 75 and max(right[0], right[2], right[3]) < 30


# The check in two steps


def test_two_steps_tell_the_five_loops_apart(notebook):
    loops = ("right", *HIDDEN, "fixed, unchecked")
    names = notebook | {"build": partial(notebook["build"], seed=5), "loops": loops}
    for mistake, line in zip(loops, NOTEBOOK.printed("probes", names=names), strict=True):
        assert line.startswith(mistake)
        length, moved = float(line[18:].split()[2]), "does not move" not in line
        assert length < 0.01 if mistake in HIDDEN else length == pytest.approx(1, abs=0.03)
        assert moved == (mistake == "fixed, unchecked")


# What goes around a step


def test_one_of_three_means_survives_the_overflow(notebook):
    lines = NOTEBOOK.printed("metrics", "poisoned", names=dict(notebook))
    means = [float(line.split()[-1]) for line in lines[:3]]
    assert np.isnan(means[:2]).all() and 0.2 < means[2] < 2.4
    assert lines[3] == "steps skipped: 1 · weights finite: True"
