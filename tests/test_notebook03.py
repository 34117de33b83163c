"""What notebook 03 promises: its own cells run here, with other numbers, and are looked at."""

import re
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parent / "tools"))
from canonical import COURSE, read

from course_utils import models, precision
from course_utils.stepping import dtype_policy

CELLS = {cell.id: cell.source for cell in read(COURSE / "notebooks/03_policy.ipynb").cells}


def ran(*cells, **names):
    """The names that hold after these cells of the notebook."""
    names = {"np": np, "tf": tf, "keras": keras, "dtype_policy": dtype_policy, **names}
    names |= {"models": models, "precision": precision}
    for cell in cells:
        exec(CELLS[cell], names)
    return names


def test_mixed_policies_save_nothing_on_the_weights(capsys):
    megabytes = ran("stored")["megabytes"]
    assert megabytes["mixed_float16"] == megabytes["mixed_bfloat16"] == megabytes["float32"]
    assert megabytes["float32"] == pytest.approx(4.045864)
    assert 0.5 < megabytes["float16"] / megabytes["float32"] < 0.51


def test_four_norms_survive_squares_that_overflow_and_one_does_not(capsys):
    ran("norms")
    errors = dict(re.findall(r"^(\w+) .* error ([\d.]+),", capsys.readouterr().out, re.M))
    assert len(errors) == 5 and float(errors.pop("Unit")) > 0.3
    assert max(map(float, errors.values())) < 0.005


def test_the_softmax_cells_show_a_lost_gradient_and_both_cures(capsys):
    loss_and_gradient = ran("softmax-head")["loss_and_gradient"]
    for policy in ("mixed_float16", "mixed_bfloat16", "float16"):
        loss, gradient = loss_and_gradient(policy, 18.0)
        assert loss == pytest.approx(16.118, abs=0.001) and not gradient.any()
    for gap in (12.0, 18.0):
        loss, gradient = loss_and_gradient("float32", gap)
        assert loss == pytest.approx(gap, 1e-4) and gradient == pytest.approx([1, -1], abs=1e-4)
    assert not np.isfinite(loss_and_gradient("mixed_float16", 12.0)[1]).any()
    assert loss_and_gradient("mixed_bfloat16", 12.0)[1] == pytest.approx([1, -1], abs=0.01)
    capsys.readouterr()
    ran("logits-head", one=np.array([1]))
    assert capsys.readouterr().out.count("loss 18.000, gradient [[ 1. -1.]]") == 3


def test_the_wrong_layers_fail_or_widen_and_examine_names_them(capsys):
    names = ran("article", "article-mended", "four-layers", "four-layers-2", "four-results")
    said = capsys.readouterr().out
    assert re.search("`name` must be passed|multiple values for", said.splitlines()[0])
    assert said.count("returns float16") == 2 and said.count("fails: ") == 2
    assert "NotCast      returns float32" in said
    ran("examine", **{k: v for k, v in names.items() if k[0].isupper()})
    said = capsys.readouterr().out
    assert "error · head" in said and "warning · not_cast" in said


def test_a_head_on_a_frozen_base_is_as_good_under_every_policy():
    """With the digits that need no network, and another seed than the notebook's."""
    names = ran("frozen")
    exec(CELLS["reuse"].replace("set_random_seed(0)", "set_random_seed(5)"), names)
    right = names["trained"].get_weights()[:-4]
    results = {}
    for policy in ("float32", "mixed_bfloat16", "mixed_float16"):
        model, results[policy] = names["accuracy_of_a_head"](policy)
        assert all(map(np.array_equal, model.layers[0].get_weights(), right))
        assert len(model.trainable_weights) == 2
        scaled = isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
        assert scaled == (policy == "mixed_float16")
    assert min(results.values()) > 0.8 and np.ptp(list(results.values())) < 0.05


def test_layers_changed_in_place_get_no_loss_scale(capsys):
    for seed in range(3):
        keras.utils.set_random_seed(seed)
        ran("save", "load", "another-policy")
        said = capsys.readouterr().out
        assert (
            "loaded under mixed_float16  layer: mixed_float16, LossScaleOptimizer at step 3" in said
        )
        assert "mixed_float16, Adam at step 0" in said
        assert re.search("copied .* float16, same weights: True, .* LossScaleOptimizer", said)
        assert re.search("in place .* float16, same weights: True, optimizer Adam", said)


@pytest.mark.slow
def test_a_16_bit_softmax_hardly_learns_from_large_pixels():
    from tqdm.auto import tqdm

    from course_utils import datasets

    source = CELLS["mistake-pixels"].replace("set_random_seed(0)", "set_random_seed(7)")
    names = ran(tqdm=tqdm, data=datasets.load_mnist())
    exec(source.partition("\nfor word")[0], names)
    right, wrong = (names["trained_head"](dtype) for dtype in ("float32", "mixed_bfloat16"))
    assert right > wrong + 0.1
