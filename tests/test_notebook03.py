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
    names = ran("softmax-head")
    for policy in ("mixed_float16", "mixed_bfloat16", "float16"):
        loss, gradient = names["loss_and_gradient"](policy)
        assert loss == pytest.approx(16.118, abs=0.001) and not gradient.any()
    loss, gradient = names["loss_and_gradient"]("float32")
    assert loss == pytest.approx(18) and gradient.tolist() == pytest.approx(np.array([[1, -1]]))
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
