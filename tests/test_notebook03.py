"""What notebook 03 promises and no stored output holds: its own cells run, with other
seeds.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf
from tqdm.auto import tqdm

from course_utils import datasets, models
from course_utils.training import dtype_policy
from tools.cells import Cells

NOTEBOOK = Cells("03_policy")
IMPORTED = {
    "np": np,
    "tf": tf,
    "keras": keras,
    "dtype_policy": dtype_policy,
    "tqdm": tqdm,
}
IMPORTED |= {"models": models}


def test_a_16_bit_softmax_breaks_where_the_text_says():
    gradients = NOTEBOOK.run("gradients", names=dict(IMPORTED), until="\nfor")[
        "gradients"
    ]
    gaps = np.arange(0, 20, 0.05, "float32")
    right = 1 / (1 + np.exp(-gaps.astype(float)))
    near = gaps < 16
    for share in 2.0 ** np.arange(-8, 15):  # scale over batch
        low, half = (
            gradients(f"mixed_{p}", gaps, share) for p in ("bfloat16", "float16")
        )
        assert gradients("float32", gaps, share) == pytest.approx(right, rel=1e-5)
        for gradient, fine in ((low, near), (half, near & np.isfinite(half))):
            assert gradient[fine] == pytest.approx(right[fine], rel=0.01)
            assert set(gradient[gaps > 16.4]) == {0}
        told = np.isfinite(half) == (gaps < np.log(65_520 / share - 1))
        assert told[near].mean() > 0.98  # p is coarse near its end
    assert np.log(65_520 - 1) == pytest.approx(11.1, abs=0.05)
    # 2**15, batch of 32
    assert np.log(65_520 / 2**10 - 1) == pytest.approx(4.15, abs=0.05)


@pytest.mark.slow
def test_a_head_on_a_frozen_base_is_as_good_under_every_policy():
    """With the digits that need no network, and another seed than the notebook's."""
    names = NOTEBOOK.run("digits", "frozen", names=dict(IMPORTED))
    NOTEBOOK.run(
        "reuse", names=names, replaced=[("set_random_seed(0)", "set_random_seed(5)")]
    )
    lines = NOTEBOOK.printed("reuse-run", names=names)
    assert [line.split()[-1] for line in lines] == [
        "Adam",
        "Adam",
        "LossScaleOptimizer",
    ]
    assert all("base unchanged: True, 2 weights" in line for line in lines)
    right = [float(line.split("5 to 9: ")[1][:5]) for line in lines]
    assert min(right) > 0.8 and np.ptp(right) < 0.05


@pytest.mark.slow
def test_a_16_bit_softmax_hardly_learns_from_large_pixels():
    names = IMPORTED | {"data": datasets.load_mnist()}
    seed = ("set_random_seed(0)", "set_random_seed(7)")
    NOTEBOOK.run("mistake-pixels", names=names, replaced=[seed], until="\nfor word")
    right, wrong = (
        names["trained_head"](dtype) for dtype in ("float32", "mixed_bfloat16")
    )
    assert right > wrong + 0.1


def test_normalization_layers_but_one_compute_in_float32_inside():
    """A variance of 250,000 fits into no float16, and all but UnitNormalization get it
    right.
    """
    *right, unit = NOTEBOOK.printed("norms", names=dict(IMPORTED))
    for line in (*right, unit):
        kind, _, dtype, _, _, _, error, _, weights = line.split(maxsplit=8)
        assert dtype == "float16," and weights == (
            "['float32']" if line != unit else "[]"
        ), line
        assert (
            float(error.rstrip(",")) < 0.01
            if line != unit
            else float(error.rstrip(",")) > 0.1
        )
    assert [line.split()[0] for line in right] == ["Batch", "Layer", "Group", "RMS"]
