"""What notebook 02 promises: its own cells run here with other seeds, and are looked
at.
"""

import functools

import numpy as np
import pytest

from course_utils import exercises, figures, session
from course_utils.lessons.nb02 import figures as drawings
from course_utils.training import LossScaleRecorder
from tools.notebook_cells import Cells

NOTEBOOK = Cells("02_loss_scaling")


@pytest.fixture(scope="module")
def notebook():
    """The names that the notebook's cells define, with other weights than its own."""
    session.setup()
    names = NOTEBOOK.run("network") | {"figures": figures}
    names["autoencoder"] = functools.partial(names["autoencoder"], seed=5)
    return NOTEBOOK.run("faint", "gradient", "bathtub", "train", names=names)


@pytest.fixture(scope="module")
def table(notebook):
    """What the notebook's recorder noted of its dynamic training."""
    names = {**notebook, "q": exercises.load("02")}
    return NOTEBOOK.run("ceiling", "dynamic", names=names)["recorder"].table


def trained(notebook, s, epochs=2, epsilon=1e-16):
    scale = None if s is None else 2.0**s
    policy = "float32" if s is None else "mixed_float16"
    optimizer = notebook["adam"](scale, epsilon)
    return notebook["train"](notebook["faint"], optimizer, policy, epochs)


def test_the_faint_loss_is_learned_on_the_floor_and_only_there(notebook):
    ends = {s: trained(notebook, s) for s in (None, 0, 9, 15, 24)}
    for s in (0, 9):
        assert ends[s][0] == pytest.approx(ends[s][-1], rel=1e-3)  # nothing moves
    assert ends[15][-1] > 0.9 * ends[0][-1]
    assert ends[24][-1] == pytest.approx(ends[None][-1], rel=0.05)
    assert ends[None][-1] < 0.5 * ends[0][-1]
    ghost = trained(notebook, None, epsilon=1e-7)
    assert ghost[-1] > 0.9 * ends[0][-1]  # even in float32


def test_the_cliff_is_where_a_fixed_scale_trains_to_nan_and_the_ceiling(
    notebook, table
):
    """One number: of the bathtub, of the training at that batch, of the dynamic scale."""
    cliff = notebook["cliff"]
    x = notebook["x"][:16]
    lost = {}
    for s in (cliff - 1, cliff):
        model = notebook["autoencoder"]("mixed_float16")
        optimizer = notebook["adam"](2.0**s)
        model.compile(
            optimizer, notebook["faint"], auto_scale_loss=False, jit_compile=False
        )
        model.fit(x, x, batch_size=16, verbose=0)
        lost[s] = not all(np.isfinite(w).all() for w in model.get_weights())
    assert lost == {cliff - 1: False, cliff: True}
    assert cliff == np.floor(np.log2(table["ceiling"][0])) + 1
    tubs = notebook["tubs"]
    ordinary = min(s for s, e in tubs["ordinary loss"].items() if not np.isfinite(e))
    assert cliff - ordinary == 32  # the same bathtub, elsewhere


def test_a_step_is_skipped_where_the_scale_is_above_the_ceiling_and_nowhere_else(
    table,
):
    log = np.log2(table["scale"])
    ceiling = np.log2(table["ceiling"])
    skipped = ~table["applied"]
    assert (log > ceiling - 0.1)[skipped].all() and table["applied"][:200].all()
    assert (log < ceiling + 0.1)[table["applied"]].all() and log[0] == 15
    assert skipped.sum() >= 5 and ceiling.iloc[-50:].mean() > ceiling[0] + 1


def test_the_three_scales_do_what_is_said_of_them(notebook):
    names = {
        **notebook,
        "LossScaleRecorder": LossScaleRecorder,
        "draw_falling_scale": drawings.draw_falling_scale,
    }
    traces = NOTEBOOK.run("falling", names=names)["traces"]
    kinds = [drawings.verdict(table) for table in traces.values()]
    assert kinds == list(drawings.VERDICTS)
