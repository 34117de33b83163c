"""What notebook 06 promises: its own cells run here, also with other seeds, and are
looked at.
"""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf

from course_utils import session
from course_utils.training import dtype_policy
from tools.notebook_cells import Cells

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


def one_update(notebook, mistake, inner):
    """A step of the notebook's by the inner optimizer, on one weight in float16."""
    options = {"use_bias": False, "kernel_initializer": "zeros"}
    dense = keras.layers.Dense(1, dtype="mixed_float16", **options)
    model = keras.Sequential([keras.Input((1,)), dense])
    optimizer = notebook["wrap"](inner, mistake, fixed=2.0**15)
    optimizer.build(model.trainable_variables)
    notebook["make_step"](model, optimizer, mistake)(np.ones((1, 1)), None)
    return -model.get_weights()[0].item()


RULES = {
    "SGD": lambda: SGD(0.1, global_clipnorm=1.0),
    # no averages: as if the gradient had always been the same
    "Adam": lambda: Adam(0.001, beta_1=0.0, beta_2=0.0, global_clipnorm=1.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("mistake", ["right", *HIDDEN, "fixed, unchecked"])
def test_one_gradient_goes_the_way_that_it_goes_in_keras(
    notebook, mistake, rule, monkeypatch
):
    for size in (-36, -30, -26, -20, -14, -9, -7, -1, 4):
        g = 1.3 * 2.0**size

        def loss(labels, outputs, g=g):
            return tf.reduce_sum(tf.cast(outputs, "float32")) * g

        monkeypatch.setitem(notebook, "loss_fn", loss)
        step = notebook["step_of_one"](g, mistake, rule)
        wanted = one_update(notebook, mistake, RULES[rule]())
        assert (0 if step == "skipped" else float(step)) == pytest.approx(
            wanted, rel=0.05, nan_ok=True
        ), size


def test_adam_hides_a_constant_factor_and_sgd_does_not(notebook):
    """What the notebook reads from its table, of a gradient of usual size."""

    def step(*arguments):
        return float(notebook["step_of_one"](2.0**-9, *arguments))

    for mistake in HIDDEN[:2]:
        assert step(mistake, "SGD") < step("right", "SGD") / 30_000
        assert (
            step("right", "Adam") / 3
            < step(mistake, "Adam")
            < step("right", "Adam") / 2
        )
    assert step(HIDDEN[2], "SGD") < step("right", "SGD") / 10
    assert step(HIDDEN[2], "Adam") > 0.95 * step("right", "Adam")


# The trainings


@pytest.mark.slow
def test_sgd_shows_every_mistake_and_adam_hides_three(notebook):
    run = notebook["run"]
    best, loss_of_best, _ = run(Adam(0.001, global_clipnorm=1.0), "right", 2)
    assert min(best, run(SGD(0.1, global_clipnorm=1.0), "right", 2)[0]) > 0.75
    for mistake in HIDDEN:
        accuracy, loss, _ = run(SGD(0.1, global_clipnorm=1.0), mistake, 2)
        assert accuracy < 0.3 and loss > 2, mistake
        accuracy, loss, _ = run(Adam(0.001, global_clipnorm=1.0), mistake, 2)
        assert accuracy > best - 0.1, mistake
        assert 1.2 * loss_of_best < loss < 1, mistake  # the loss gives it away
    for inner in (SGD(0.1, global_clipnorm=1.0), Adam(0.001, global_clipnorm=1.0)):
        accuracy, loss, _ = run(inner, "fixed, unchecked", 2)
        assert accuracy < 0.2 and np.isnan(loss)


# What goes around a step


def test_one_of_three_means_survives_the_overflow(notebook):
    lines = NOTEBOOK.printed("metrics", "poisoned", names=dict(notebook))
    means = [float(line.split()[-1]) for line in lines[:3]]
    assert np.isnan(means[:2]).all() and 0.2 < means[2] < 2.4
    assert lines[3] == "steps skipped: 1 · weights finite: True"


def test_a_float16_loss_bears_a_scale_of_2_to_15_and_no_larger_one(notebook):
    """The scaled loss is float32; the backward pass begins with S in float16."""
    at_15, at_16 = NOTEBOOK.printed("half-loss", names=dict(notebook))
    assert "float32" in at_15 and at_15.endswith("True")
    assert "float32" in at_16 and at_16.endswith("False")
    kept = [('"float16")', '"float32")')]
    lines = NOTEBOOK.printed("half-loss", names=dict(notebook), replaced=kept)
    assert all(line.endswith("True") for line in lines)


# What the text says of losses, of fit, and of what is compiled


def test_a_loss_on_probabilities_cuts_logits(notebook):
    names = NOTEBOOK.run("snippet", "cut", names=dict(notebook))
    logits = names["logits"].numpy()
    gradient = names["gradient"]
    cut = (logits < 0) | (logits > 1)
    assert cut.any() and not gradient[cut].any()


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
    for metric, values in kerass.items():
        np.testing.assert_allclose(mine[metric], values, 1e-4)
    assert all(np.allclose(a, b, atol=1e-6) for a, b in zip(ends, others, strict=True))


@pytest.mark.slow
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
        at_1, *large = re.findall(r": (\S+|not finite)(?: ·|$)", line)[:3]
        assert float(at_1) < 0.03, line
        if "left scaled" in line or "squared" in line:
            assert large == ["not finite"] * 2, line
        else:
            assert max(map(float, large)) < 0.03, line


def test_compile_wraps_the_optimizer_of_a_model_made_under_mixed_float16_alone():
    """And not where only layers have that policy, nor under float16."""
    wrapped = {}
    for policy, of_layers in (
        ("mixed_float16", None),
        ("float32", "mixed_float16"),
        ("float16", None),
        ("mixed_bfloat16", None),
    ):
        with dtype_policy(policy):
            layers = [keras.layers.Dense(2, dtype=of_layers) for _ in range(2)]
            model = keras.Sequential([keras.Input((4,)), *layers])
        model.compile("sgd", "mse")  # outside: the model's own policy counts
        wrapper = keras.optimizers.LossScaleOptimizer
        wrapped[policy, of_layers] = isinstance(model.optimizer, wrapper)
    assert [key for key, found in wrapped.items() if found] == [("mixed_float16", None)]
