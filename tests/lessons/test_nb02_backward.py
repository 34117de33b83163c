"""What notebook 02 says of a real backward pass, and of what it does to the training,
against their records.
"""

import keras
import numpy as np
import pytest

from course_utils import paths, records
from course_utils.training import dtype_policy

ROWS = records._content("backward")["records"]


INTEL_RECORD = paths.read(paths.data("measurements/backward_avx512_fp16.json"))
INTEL = [row for row in INTEL_RECORD["records"] if row["epoch"] == 85]
RESCUE = records._content("rescue")


def errors(way, epoch=85):
    return [row[way]["all layers"] for row in ROWS if row["epoch"] == epoch]


def test_it_is_ten_times_as_wrong_as_one_rounding_for_every_seed():
    assert sorted({row["seed"] for row in ROWS}) == [0, 1, 2]
    ratios = np.divide(errors("mixed_float16"), errors("rounded once"))
    assert 8 < ratios.min() and max(errors("rounded once")) < 0.02


def test_the_layer_with_the_largest_error_is_another_one_than_after_one_rounding():
    for way, wanted in (("rounded once", "dense"), ("mixed_float16", "conv 1")):
        for row in ROWS:
            if row["epoch"] == 85:
                assert max(row[way], key=row[way].get) == wanted
    for row in INTEL:
        assert max(row["rounded once"], key=row["rounded once"].get) == "dense"
        assert max(row["mixed_float16"], key=row["mixed_float16"].get) == "conv 2"


def test_where_float16_adds_up_in_float32_it_is_two_to_three_times_as_wrong():
    """As on a CPU with float16 instructions, and there a scale cures it for each seed."""
    once, real, scaled = (
        [row[way]["all layers"] for row in INTEL]
        for way in ("rounded once", "mixed_float16", "mixed_float16, S = 2^15")
    )
    ratios = np.divide(real, once)
    assert len(ratios) == 3 and 2 < ratios.min() and ratios.max() < 3
    assert max(scaled) < 0.01


def test_a_scale_brings_most_of_it_back_in_two_of_three_seeds():
    scaled = errors("mixed_float16, S = 2^15")
    assert sorted(error < 0.01 for error in scaled) == [False, True, True]
    assert all(np.less(scaled, errors("mixed_float16")))


@pytest.mark.parametrize("epoch", [5, 20, 60, 85])
def test_bfloat16_is_wrong_by_some_percent_throughout(epoch):
    assert 0.01 < min(errors("mixed_bfloat16", epoch))
    assert max(errors("mixed_bfloat16", epoch)) < 0.1


def test_a_narrow_network_loses_little_and_a_scale_brings_back_little():
    """What the text says of the network that is a quarter as wide."""
    record = records._content("narrow")
    assert "8-16-32" in record["conditions"]["model"]
    rows = [row for row in record["records"] if row["epoch"] == 85]
    assert len(rows) == 3
    lost = sorted(round(100 * row["zeros"]) for row in rows)
    assert (lost[0], lost[-1]) == (4, 10)
    for way in ("mixed_float16", "mixed_float16, S = 2^15"):
        wrong = [100 * row[way]["all layers"] for row in rows]
        assert 0.6 < min(wrong) and max(wrong) < 1.5


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
def test_the_trainings_end_as_float32_does(training):
    (loss, wrong), (right_loss, right_wrong) = (
        np.transpose(ended(name)) for name in (training, "float32")
    )
    assert abs(np.median(loss) - np.median(right_loss)) <= np.ptp(right_loss)
    assert right_loss.min() <= loss.min() and loss.max() <= right_loss.max()
    assert (right_wrong == 9).all() and RESCUE["conditions"]["test_images"] == 360
    assert wrong.min() <= 9 <= wrong.max() and abs(wrong - 9).max() <= 3


def test_adam_s_step_is_wrong_by_a_third_to_a_half_and_not_with_a_scale():
    def errors_in(layer, scale, what="update"):
        last = RESCUE["conditions"]["epochs"]
        wanted = {"layer": layer, "scale": scale, "epoch": last}
        rows = [row for row in RESCUE["errors"] if wanted.items() <= row.items()]
        assert len(rows) == 3
        return np.array([row[what] for row in rows])

    whole = errors_in("all layers", "no scale")
    assert whole.min().round(2) == 0.14 and whole.max().round(2) == 0.43
    for layer in ("conv 1", "conv 2"):
        bare = errors_in(layer, "no scale")
        assert 0.29 < bare.min() and bare.max() < 0.5
    for layer in ("conv 1", "conv 2", "dense", "output", "all layers"):
        assert errors_in(layer, "2^15").max() < 0.0125
    times = {
        layer: errors_in(layer, "no scale") / errors_in(layer, "no scale", "gradient")
        for layer in ("conv 1", "conv 2", "dense")
    }
    for layer in ("conv 2", "dense"):
        assert 1.9 < times[layer].min() and times[layer].max() < 3.1
    assert times["conv 1"].min() < 1 < times["conv 1"].max() < 1.9
    assert RESCUE["conditions"]["epochs"] == max(row["epoch"] for row in ROWS)
