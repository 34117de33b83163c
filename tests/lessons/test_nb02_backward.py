"""What notebook 02 says of a real backward pass, and of what it does to the training,
against their records.
"""

import keras
import numpy as np
import pytest

from course_utils import records
from course_utils.training import dtype_policy

ROWS = records._content("backward")["records"]


RESCUE = records._content("rescue")


def errors(way, epoch=85):
    return [row[way]["all layers"] for row in ROWS if row["epoch"] == epoch]


def test_it_is_ten_times_as_wrong_as_one_rounding_for_every_seed():
    assert sorted({row["seed"] for row in ROWS}) == [0, 1, 2]
    ratios = np.divide(errors("mixed_float16"), errors("rounded once"))
    assert 8 < ratios.min() and max(errors("rounded once")) < 0.02


def test_a_scale_brings_most_of_it_back_in_two_of_three_seeds():
    scaled = errors("mixed_float16, S = 2^15")
    assert sorted(error < 0.01 for error in scaled) == [False, True, True]
    assert all(np.less(scaled, errors("mixed_float16")))


@pytest.mark.parametrize("epoch", [5, 20, 60, 85])
def test_bfloat16_is_wrong_by_some_percent_throughout(epoch):
    assert 0.01 < min(errors("mixed_bfloat16", epoch))
    assert max(errors("mixed_bfloat16", epoch)) < 0.1


def test_the_table_has_middle_and_ends():
    table = records.backward()
    low, middle, high = sorted(errors("mixed_float16"))
    wanted = f"{100 * middle:.2g} ({100 * low:.2g} to {100 * high:.2g})"
    assert table.loc[85, "float16"] == wanted


def test_the_loss_of_a_skipped_step_is_that_of_the_training_pass():
    """Dropout doubles 40,000, which float16 does not hold; `evaluate` has no dropout."""
    with dtype_policy("mixed_float16"):
        layers = [
            keras.layers.Dense(4, kernel_initializer="ones", use_bias=False),
            keras.layers.Dropout(0.5, seed=0),
            keras.layers.Dense(
                1, "linear", dtype="float32", kernel_initializer="zeros"
            ),
        ]
        model = keras.Sequential([keras.Input((4,)), *layers])
    model.compile("sgd", "mse", jit_compile=False)
    x, y = np.full((8, 4), 10_000, "float32"), np.full((8, 1), 64, "float32")
    assert model.evaluate(x, y, verbose=0) == 64**2
    assert not np.isfinite(model.fit(x, y, verbose=0).history["loss"][0])
    assert not np.isfinite(model(x, training=True)).all()


def test_a_batch_with_a_nan_behind_max_pooling_has_a_finite_loss():
    """On a CPU: the maximum leaves out a NaN that has a number beside it."""
    with dtype_policy("mixed_float16"):
        layers = [
            keras.layers.MaxPooling2D(),
            keras.layers.Flatten(),
            keras.layers.Dense(1, dtype="float32"),
        ]
        model = keras.Sequential([keras.Input((8, 8, 1)), *layers])
    model.compile("sgd", "mse", jit_compile=False)
    x = np.ones((4, 8, 8, 1), "float32")
    x[:, 0, 0] = np.nan
    assert np.isfinite(model.fit(x, np.ones((4, 1)), verbose=0).history["loss"][0])


def test_the_training_that_is_rescued_is_the_one_whose_gradients_are_shown():
    ours = RESCUE["conditions"]
    for kind in ("backward", "gradients"):
        theirs = records._content(kind)["conditions"]
        assert theirs["model"].startswith(ours["model"])
        for name in ("optimizer", "data", "training_images", "batch_size"):
            assert ours[name] == theirs[name], (kind, name)
    seeds = {(row["seed"], row["training"]) for row in RESCUE["trainings"]}
    assert len(seeds) == len(RESCUE["trainings"]) == 9
    assert {len(row["loss"]) for row in RESCUE["trainings"]} == {ours["epochs"]}


def ended(training):
    rows = [row for row in RESCUE["trainings"] if row["training"] == training]
    return [(row["loss"][-1], row["test_images_wrong"]) for row in rows]


@pytest.mark.parametrize("training", ["no scale", "dynamic scale"])
def test_the_trainings_end_as_near_to_float32_as_seeds_to_each_other(training):
    for ours, right in zip(
        np.transpose(ended(training)), np.transpose(ended("float32")), strict=True
    ):
        spread = np.ptp(right)
        assert abs(np.median(ours) - np.median(right)) <= spread
        assert ours.min() <= right.max() and right.min() <= ours.max()


def test_adam_s_step_is_wrong_by_some_percent_without_a_scale_and_not_with_it():
    def update(layer, scale):
        rows = [row for row in RESCUE["errors"] if row["layer"] == layer]
        return [row["update"] for row in rows if row["scale"] == scale]

    for layer in ("conv 1", "conv 2"):
        bare, scaled = update(layer, "no scale"), update(layer, "2^15")
        assert len(bare) == 3 and min(bare) > 0.05 and max(scaled) < 0.02
    assert {row["epoch"] for row in RESCUE["errors"]} == {
        RESCUE["conditions"]["epochs"]
    }
