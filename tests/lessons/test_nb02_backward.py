"""What notebook 02 says of a real backward pass, against its record."""

import keras
import numpy as np
import pytest

from course_utils import records
from course_utils.training import dtype_policy

ROWS = records._content("backward")["records"]


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
