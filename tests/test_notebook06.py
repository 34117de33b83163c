"""What notebook 06 promises: its own cells run here, also with other seeds, and are looked at."""

import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parent / "tools"))
from canonical import COURSE, read

from course_utils import session

CELLS = {cell.id: cell.source for cell in read(COURSE / "notebooks/06_training_loop.ipynb").cells}
DEFINED = ("digits", "network", "right-loop", "five-loops", "make-step", "train", "run", "snippet",
           "probe", "probe-loop", "own-step", "compiled", "refused", "accumulate")  # fmt: skip
HIDDEN = ("scaling forgotten", "unscaled twice", "clipped too early")  # by Adam
SGD, Adam = keras.optimizers.SGD, keras.optimizers.Adam


@pytest.fixture(scope="module")
def notebook():
    """The names that the notebook's cells define."""
    names = {}
    session.setup()
    for cell in DEFINED:
        exec(CELLS[cell], names)
    return names


def printed(cell, names, capsys):
    """What a cell prints when it runs once more, as a list of lines."""
    capsys.readouterr()
    exec(CELLS[cell], names)
    return capsys.readouterr().out.splitlines()


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


def test_the_arrows_show_what_the_text_says(notebook):
    def lengths(log2_size):
        g = np.array([1.0, 0.5]) * 2.0**log2_size
        with np.errstate(all="ignore"):
            return {
                name: np.linalg.norm(v) / np.linalg.norm(notebook["clip"](g))
                for name, v in notebook["received"](g).items()
            }

    for size in (-20, -7, -2):
        assert lengths(size)["scaling forgotten"] == pytest.approx(2**-15, rel=1e-3)
        assert lengths(size)["unscaled twice"] == pytest.approx(2**-15, rel=1e-3)
        assert lengths(size)["right"] == lengths(size)["fixed, unchecked"] == pytest.approx(1)
    early = [lengths(size)["clipped too early"] for size in (-20, -13, -7, -2)]
    assert early[0] == pytest.approx(1) and early[1] > 4 * early[2] > 16 * early[3]
    assert lengths(-36)["scaling forgotten"] == 0 and lengths(-36)["right"] == pytest.approx(1)
    overflow = lengths(2)
    assert overflow["right"] == 0 and not np.isfinite(overflow["fixed, unchecked"])


# The trainings


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_sgd_shows_every_mistake_and_adam_hides_three(seed, notebook):
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
@pytest.mark.parametrize("seed", [0, 3])
def test_with_a_larger_epsilon_adam_hides_nothing(seed, notebook):
    right, forgotten = (
        notebook["run"](Adam(0.001, epsilon=1e-5), mistake, seed)[0]
        for mistake in ("right", "scaling forgotten")
    )
    assert right > 0.75 and forgotten < right - 0.15


@pytest.mark.slow
def test_a_dynamic_scale_cures_one_cause_of_two(notebook, capsys):
    lines = printed("causes", notebook, capsys)
    wanted = ["scale too large fixed", "scale too large dynamic",
              "blank pictures fixed", "blank pictures dynamic"]  # fmt: skip
    told = [" ".join(line.split()) for line in lines if " of 300" in line]
    assert all(line.startswith(case) for line, case in zip(told, wanted, strict=True))
    applied = [int(line.split(" of 300")[0].split()[-1]) for line in told]
    right = [float(line.split("%")[0].split()[-1]) for line in told]
    assert applied[0] == applied[2] == 300 and 280 < applied[1] < 300 and applied[3] < 10
    assert right[1] > 75 and max(right[0], right[2], right[3]) < 30


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 4])
def test_of_the_four_snippets_one_learns(seed, notebook):
    learned = {}
    for from_logits in (False, True):
        for reduced in (False, True):
            model, optimizer = notebook["build"](seed=seed), SGD(0.1)
            optimizer.build(model.trainable_variables)
            step = notebook["article_step"](model, optimizer, from_logits, reduced)
            first = float(step(notebook["x"][:32], notebook["y"][:32]))
            assert first > 6 if not from_logits else abs(first - np.log(10)) < 0.6
            notebook["train"](step, seed)
            learned[from_logits, reduced] = notebook["accuracy"](model)
    assert learned.pop((True, True)) > 0.75 and max(learned.values()) < 0.4


# The check in two steps


def told(probe):
    """The length of the step, and whether the overflow moved the weights."""
    return float(probe.split()[2]), "does not move" not in probe


@pytest.mark.parametrize("seed", [0, 5])
def test_two_steps_tell_the_five_loops_apart(seed, notebook):
    for mistake in ("right", *HIDDEN, "fixed, unchecked"):
        model, inner = notebook["build"](seed=seed), SGD(0.1)
        optimizer = notebook["wrap"](inner, mistake)
        if mistake == "fixed, unchecked":
            inner.loss_scale_factor = 2.0**10
        optimizer.build(model.trainable_variables)
        step = notebook["make_step"](model, optimizer, mistake)
        length, moved = told(notebook["probe"](model, step))
        assert length < 0.01 if mistake in HIDDEN else length == pytest.approx(1, abs=0.03)
        assert moved == (mistake == "fixed, unchecked")


def test_the_probe_works_on_a_train_step(notebook):
    for kind, wanted in (("Own", 1), ("Forgetful", 2**-15)):
        model = notebook["compiled"](notebook[kind], "mixed_float16")
        length, moved = told(notebook["probe"](model, model.train_on_batch))
        assert length == pytest.approx(wanted, rel=0.05) and not moved


# What goes around a step


def test_accumulating_takes_the_step_of_the_large_batch_and_the_sum_takes_four(notebook):
    moved = notebook["moved"]
    one = moved("mean", 1)
    assert moved("mean", 4) == pytest.approx(one, rel=0.01)
    assert moved("inner optimizer", 4) == pytest.approx(one, rel=0.01)
    assert moved("sum", 4) == pytest.approx(4 * one, rel=0.01)


def test_one_of_three_means_survives_the_overflow(notebook, capsys):
    names = dict(notebook)
    exec(CELLS["metrics"], names)
    lines = printed("poisoned", names, capsys)
    means = [float(line.split()[-1]) for line in lines[:3]]
    assert np.isnan(means[:2]).all() and 0.2 < means[2] < 2.4
    assert lines[3] == "steps skipped: 1 · weights finite: True"
