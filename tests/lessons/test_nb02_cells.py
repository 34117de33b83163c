"""What notebook 02 promises: its own cells run here with other seeds, and are looked
at.
"""

import functools

import keras
import numpy as np
import pytest

from course_utils import exercises, figures, session
from course_utils.lessons.nb02 import figures as drawings
from course_utils.training import LossScaleRecorder
from tools.notebook_cells import Cells

NOTEBOOK = Cells("02_loss_scaling")


@pytest.fixture(scope="module")
def notebook():
    """The names that the notebook's cells define, with other weights and pictures."""
    session.setup()
    names = NOTEBOOK.run("network") | {"figures": figures}
    for name in ("segmenter", "squares"):
        names[name] = functools.partial(names[name], seed=5)
    names["pictures"], names["masks"] = names["squares"](64, side=256)
    cells = ("train", "train-pixels", "train-sides", "gradient", "bathtub")
    return NOTEBOOK.run(*cells, names=names)


@pytest.fixture(scope="module")
def table(notebook):
    """What the notebook's recorder noted of its dynamic training."""
    names = {**notebook, "q": exercises.load("02")}
    return NOTEBOOK.run("ceiling", "dynamic", names=names)["recorder"].table


@pytest.mark.slow
def test_float16_falls_behind_with_many_pixels_unless_the_loss_is_scaled(notebook):
    right, half, scaled = (losses[-1] for losses in notebook["runs"].values())
    assert half > 1.25 * right and scaled == pytest.approx(right, rel=0.05)
    right, half = np.array(notebook["right"]), np.array(notebook["half"])
    assert half[11] == pytest.approx(right[11], rel=0.05)  # with few pixels it is later
    assert half[35] > 1.1 * right[35]


def wall(errors):
    """The exponent of the first scale with an error below a tenth."""
    return min(s for s, error in errors.items() if error < 0.1)


def overflow(errors):
    return min(s for s, error in errors.items() if not np.isfinite(error))


@pytest.mark.slow
def test_sixteen_times_the_pixels_move_the_wall_by_four_octaves_and_not_the_cliff(
    notebook,
):
    before, small, large = notebook["tubs"].values()
    assert 3 <= wall(large) - wall(small) <= 5
    assert abs(overflow(large) - overflow(small)) <= 1
    assert overflow(large) - overflow(before) >= 4 and wall(large) - wall(before) >= 4
    assert before[0] < 0.01 and large[0] > 0.5  # S = 1
    for errors in (small, large):
        assert wall(errors) < 9 and errors[9] < 0.02 and errors[15] < 0.02


@pytest.mark.slow
def test_the_cliff_is_where_a_fixed_scale_trains_to_nan_and_the_ceiling(
    notebook, table
):
    """One number: of the bathtub, of the training at that batch, of the dynamic scale."""
    cliff = notebook["cliff"]
    few = notebook["pictures"][:8], notebook["masks"][:8]
    lost = {}
    for s in (cliff - 1, cliff):
        model = notebook["segmenter"]("mixed_float16", 256)
        optimizer = keras.optimizers.Adam(0.02, loss_scale_factor=2.0**s)
        options = {"auto_scale_loss": False, "jit_compile": False}
        model.compile(optimizer, notebook["entropy"], **options)
        model.fit(*few, batch_size=8, verbose=0)
        lost[s] = not all(np.isfinite(w).all() for w in model.get_weights())
    assert lost == {cliff - 1: False, cliff: True}
    assert cliff == np.floor(np.log2(table["ceiling"][0])) + 1


@pytest.mark.slow
def test_a_step_is_skipped_where_the_scale_is_above_the_ceiling_and_nowhere_else(
    table,
):
    log = np.log2(table["scale"])
    ceiling = np.log2(table["ceiling"])
    skipped = ~table["applied"]
    assert (log > ceiling - 0.1)[skipped].all() and table["applied"][:10].all()
    assert (log < ceiling + 0.1)[table["applied"]].all() and log[0] == 15
    assert skipped.sum() >= 5 and ceiling.iloc[-50:].mean() > ceiling[0] + 3


@pytest.mark.slow
def test_the_three_scales_do_what_is_said_of_them(notebook):
    names = {
        **notebook,
        "LossScaleRecorder": LossScaleRecorder,
        "draw_falling_scale": drawings.draw_falling_scale,
    }
    NOTEBOOK.run("digits", names=names)
    names["autoencoder"] = functools.partial(names["autoencoder"], seed=5)
    traces = NOTEBOOK.run("falling", names=names)["traces"]
    kinds = [drawings.verdict(table) for table in traces.values()]
    assert kinds == list(drawings.VERDICTS)
