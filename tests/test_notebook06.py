"""What notebook 06 promises: its own cells run here, also with other seeds, and are
looked at.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf

from course_utils import session
from tools.cells import Cells

NOTEBOOK = Cells("06_training_loop")
DEFINED = "digits network right-loop life make-step train run".split()
HIDDEN = ("scaling forgotten", "unscaled twice", "clipped too early")  # by Adam
SGD = keras.optimizers.SGD
Adam = keras.optimizers.Adam


@pytest.fixture(scope="module")
def notebook():
    """The names that the notebook's cells define."""
    session.setup()
    return NOTEBOOK.run(*DEFINED)


# One gradient, in arithmetic and in Keras


def one_update(mistake, g, scale=2.0**15):
    """One step of Keras's SGD(1.0) with a mistake, on a weight with the gradient g.

    The weight is cast to float16 on its way to the loss, so the backward pass is
    float16.
    """
    inner = SGD(1.0, global_clipnorm=1.0)
    if mistake == "fixed, unchecked":
        inner.loss_scale_factor, optimizer = scale, inner
    else:
        optimizer = keras.optimizers.LossScaleOptimizer(inner, initial_scale=scale)
    weight = keras.Variable([0.0])
    optimizer.build([weight])
    with tf.GradientTape() as tape:
        half = tf.cast(weight.value, tf.float16)
        loss = tf.reduce_sum(tf.cast(half, tf.float32) * g)
        scaled = loss if mistake == "scaling forgotten" else optimizer.scale_loss(loss)
    gradients = tape.gradient(scaled, [weight.value])
    assert gradients[0].dtype == "float32"
    if mistake == "unscaled twice":
        gradients = [gradient / scale for gradient in gradients]
    if mistake == "clipped too early":
        gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
    optimizer.apply(gradients, [weight])
    return -float(keras.ops.convert_to_numpy(weight)[0])


@pytest.mark.parametrize("mistake", ["right", *HIDDEN, "fixed, unchecked"])
def test_one_gradient_goes_the_way_that_it_goes_in_keras(notebook, mistake):
    for size in (-36, -30, -20, -14, -7, -1, 4):
        g = 1.3 * 2.0**size
        step = notebook["step_of_one"](g, mistake)
        assert (0 if step == "skipped" else float(step)) == pytest.approx(
            0.1 * one_update(mistake, g), rel=0.05, nan_ok=True
        ), size


# The trainings


@pytest.mark.slow
def test_sgd_shows_every_mistake_and_adam_hides_three(notebook, seed=2):
    run = notebook["run"]
    found = {}
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


# What goes around a step


def test_one_of_three_means_survives_the_overflow(notebook):
    lines = NOTEBOOK.printed("metrics", "poisoned", names=dict(notebook))
    means = [float(line.split()[-1]) for line in lines[:3]]
    assert np.isnan(means[:2]).all() and 0.2 < means[2] < 2.4
    assert lines[3] == "steps skipped: 1 · weights finite: True"


# What the text says of losses, of fit, and of what is compiled


def test_a_tape_sums_several_losses_and_one_on_probabilities_cuts_logits(notebook):
    names = NOTEBOOK.run("snippet", "cut", names=dict(notebook))
    logits = names["logits"].numpy()
    gradient = names["gradient"]
    cut = (logits < 0) | (logits > 1)
    assert cut.any() and not gradient[cut].any()
    weight = tf.Variable([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        losses = weight**2
        total = tf.reduce_sum(losses)
    assert np.array_equal(tape.gradient(losses, weight), tape.gradient(total, weight))


def test_a_train_step_shows_its_loss_and_heeds_sample_weights(notebook):
    names = NOTEBOOK.run("own-step", "compiled", names=dict(notebook))
    x = names["x"][:80]
    y = names["y"][:80]
    fits = []
    for kind in (names["Own"], keras.Sequential):
        model = kind(names["build"]("float32").layers)
        model.compile(
            SGD(0.1), names["loss_fn"], metrics=["accuracy"], jit_compile=False
        )
        weights = np.arange(80) % 3
        history = model.fit(
            x, y, 32, 2, sample_weight=weights, shuffle=False, verbose=0
        ).history
        fits.append((history, model.get_weights()))
    (mine, ends), (kerass, others) = fits
    assert mine["loss"][0] > 0.1 and all(
        np.allclose(mine[k], kerass[k], 1e-4) for k in kerass
    )
    assert all(np.allclose(a, b, atol=1e-6) for a, b in zip(ends, others, strict=True))


def test_a_compiled_step_makes_the_same_updates_and_moves_the_scale_the_same_way(
    notebook,
):
    cells = "compile-make", "compile-step", "compile-run", "compile-table"
    lines = NOTEBOOK.printed(*cells, names=dict(notebook))
    for line in lines:
        policy, way, away, *_ = line.split()
        assert float(away) < 0.1 and (float(away) == 0 or way != "plain"), line
        assert ("scale 2^20," in line) == (policy == "mixed_float16"), line
    assert len(lines) >= 6


def test_a_penalty_is_right_if_its_inner_gradient_is_unscaled_before_the_square(
    notebook,
):
    cells = "penalty-critic", "penalty-ways", "penalty-gradient", "penalty-errors"
    for line in NOTEBOOK.printed(*cells, names=dict(notebook)):
        # then 2^8, 2^15
        at_1, *large = [said.split(": ")[1] for said in line.split(" · ")][:3]
        wrong = "left scaled" in line or "squared" in line
        assert (
            large == ["not finite"] * 2 if wrong else max(map(float, large)) < 0.03
        ), line
        assert float(at_1) < 0.03, line
