"""Notebook 03's cells whose numbers no stored output holds."""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf

from course_utils.explorers import SoftmaxCliff
from course_utils.training import dtype_policy
from tools.notebook_cells import Cells


def test_normalization_layers_but_one_compute_in_float32_inside():
    """A variance of 250,000 fits into no float16, and all but UnitNormalization get it
    right.
    """
    names = dict(np=np, tf=tf, keras=keras, dtype_policy=dtype_policy)
    lines = Cells("03_policy").printed("norms", names=names)
    errors = {
        line.split()[0]: float(re.search(r"error ([\d.]+)", line)[1]) for line in lines
    }
    assert [*errors] == ["Batch", "Layer", "Group", "RMS", "Unit"]
    assert all("returns float16" in line for line in lines)
    assert errors.pop("Unit") > 0.1 and max(errors.values()) < 0.01


def test_the_samples_on_the_cliff_are_those_that_teach_the_network_nothing():
    """The two logits of the cliff stand for the ten of a network, sample by sample."""
    names = {"np": np, "tf": tf, "keras": keras}
    cliff = Cells("03_policy").run("gradients", names=names, until="\nfor")["gradients"]
    labels = np.arange(64) % 10
    logits = tf.Variable(
        np.random.default_rng(0).normal(0, 8, (64, 10)), dtype="float32"
    )
    softmax = keras.layers.Activation("softmax", dtype="mixed_bfloat16")
    loss_of = keras.losses.SparseCategoricalCrossentropy(reduction="sum")
    with tf.GradientTape() as tape:
        loss = loss_of(labels, softmax(tf.cast(logits, "bfloat16")))
    gradient = tape.gradient(loss, logits).numpy()[np.arange(64), labels]
    rounded = tf.cast(logits, "bfloat16")
    gaps = SoftmaxCliff.gaps_of(rounded, labels)
    lost = (gaps > 0) & (np.abs(gradient) < 1e-6)
    assert 0 < lost.sum() < (gaps > 0).sum()
    # near the edge p may be rounded to either side
    clear = np.abs(gaps - 16.1) > 0.3
    expected = cliff("mixed_bfloat16", gaps)
    np.testing.assert_allclose(-gradient[clear], expected[clear], atol=0.01)


def test_gaps_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="gap of the batch is not finite"):
        SoftmaxCliff(lambda dtype, gaps, scale: gaps, [1, np.inf])
