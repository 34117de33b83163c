"""What notebook 02 promises: its own cells run here with other seeds, and are looked
at.
"""

import numpy as np
import pytest

from course_utils import exercises, figures, session
from tools.cells import Cells

NOTEBOOK = Cells("02_loss_scaling")
MIXED = ("mixed_float16", "mixed_bfloat16")
PURE = ("float16", "bfloat16")


@pytest.fixture(scope="module")
def notebook():
    """The names that the notebook's first cells define, with other weights than the
    notebook's.
    """
    session.setup()
    other = [("default_rng(0)", "default_rng(5)")]
    names = NOTEBOOK.run("network", replaced=other)
    return NOTEBOOK.run("train", "volts", "twin", names=names)


@pytest.mark.slow
def test_pure_16_bits_end_far_above_float32_and_mixed_policies_beside_it(notebook):
    small = {
        p: notebook["train"](p, notebook["x"], 0.003, 30)
        for p in (*MIXED, *PURE, "float32")
    }
    last = {policy: losses[-1] for policy, losses in small.items()}
    learned = small["float32"][0] - last["float32"]
    assert learned > 0.4
    for policy in MIXED:
        assert abs(last[policy] - last["float32"]) < 0.02 * learned, last
    assert last["float16"] - last["float32"] > 0.1 * learned, last
    assert last["bfloat16"] - last["float32"] > 0.5 * learned, last


def test_the_sensor_learns_with_a_scale_on_the_floor_and_only_there(notebook):
    volts = notebook["volts"]
    rate = notebook["rate"]
    ends = {
        s: notebook["train"]("mixed_float16", volts, rate, 4, 2.0**s)
        for s in (0, 9, 15, 24)
    }
    ends["float32"] = notebook["train"]("float32", volts, rate, 4)
    for s in (0, 9):
        assert ends[s][0] == pytest.approx(ends[s][-1], rel=1e-3)  # nothing moves
    assert ends[24][-1] == pytest.approx(ends["float32"][-1], rel=0.05)
    assert 1.1 * ends["float32"][-1] < ends[15][-1] < 0.6 * ends[0][-1]
    assert np.isnan(notebook["train"]("mixed_float16", volts, rate, 1, 2.0**60)[-1])
    normalized = notebook["train"]("float32", notebook["x"], 0.5, 4)
    assert normalized == pytest.approx(ends["float32"], rel=1e-4)  # the steps of before


def test_the_dots_of_the_bathtub_lie_on_the_wall_and_above_the_floor_of_the_lines(
    notebook,
):
    found = NOTEBOOK.run("late", "bathtub", names={**notebook, "figures": figures})
    steps = found["steps"]
    sensor = found["sensor"]
    lines = {s: sensor.relative_error("float16", s) for s in steps}
    for s in (0, 3, 6, 9, 12, 15, 18):
        assert steps[s] == pytest.approx(lines[s], rel=0.1), s
    assert all(2 * lines[s] < steps[s] < 0.01 for s in range(27, 43, 3))
    assert not np.isfinite([steps[s] for s in (51, 54, 57, 60)]).any() and np.isfinite(
        lines[51]
    )
    whole = found["whole"]  # the popular 512 fits the CNN, and no scale fits all three
    fits = [{s for s in range(61) if h.relative_error("float16", s) < 0.01} for h in
            (whole[0], whole[85], sensor)]  # fmt: skip
    assert 9 in fits[0] & fits[1] and 9 not in fits[2] and not fits[0] & fits[2]


def test_a_step_is_skipped_where_the_scale_is_above_the_ceiling_and_nowhere_else(
    notebook,
):
    names = {**notebook, "figures": figures, "q": exercises.load("02")}
    table = NOTEBOOK.run("dynamic", names=names)["recorder"].table
    log = np.log2(table["scale"])
    ceiling = np.log2(table["ceiling"])
    assert (log > ceiling - 0.1)[~table["applied"]].all() and table["applied"][
        :200
    ].all()
    assert (log < ceiling + 0.1)[table["applied"]].all() and log[0] == 15
    assert (~table["applied"]).sum() >= 5
