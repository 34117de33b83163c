"""Notebook 11's exercises: every number found a second way, and FP8's gradients."""

import numpy as np
import pytest

from course_utils import exercises
from course_utils.exercises import eight_bits, nb11
from tools.cells import Cells


def test_the_longest_block_has_neighbours_of_one_size():
    share = eight_bits.zeros()
    fit = [size for size in eight_bits.SIZES if share[size] < 0.01]
    assert max(fit) == 16 == nb11.BLOCK.judges["block"].right
    assert (16 * 4 + 8) / 16 == nb11.BLOCK.judges["bits"].right
    assert min(share[size] for size in eight_bits.SIZES if size > 16) > 0.2


def test_the_budget_has_one_best_choice_and_round_bytes_would_change_it():
    choice = eight_bits.best()
    assert exercises.load("11")[4].check(choice).status == "correct"
    assert 145 < eight_bits.megabytes(choice) <= eight_bits.BUDGET
    rest = {**choice, "embedding": "mxfp8", "blocks": "mxfp4", "head": "bfloat16"}
    assert eight_bits.lost(rest) > eight_bits.lost(choice) + 0.1


@pytest.mark.parametrize("factor, share", [(1.0, 0.2), (1e-4, 1.0)])
def test_small_gradients_are_lost_in_fp8_without_a_scale_and_kept_with_one(
    factor, share
):
    import tensorflow as tf
    from keras import layers

    names = {"layers": layers, "tf": tf}
    Cells("11_eight_bits").run("rounded", "eight-bit-dense", names=names)
    x = np.random.default_rng(0).normal(size=(64, 32)).astype("float32")

    def gradient(make):
        layer = make(16)
        layer.build(x.shape)
        layer.set_weights([np.full((32, 16), 0.1, "f"), np.zeros(16, "f")])
        with tf.GradientTape() as tape:
            loss = factor * tf.reduce_mean(layer(x) ** 2)
        return tape.gradient(loss, layer.kernel.value).numpy()

    exact = gradient(layers.Dense)
    scaled, bare = gradient(names["EightBitDense"]), gradient(names["Unscaled"])
    length = np.linalg.norm(exact)
    assert np.linalg.norm(scaled - exact) < 0.15 * length
    assert (np.linalg.norm(bare - exact) < 0.5 * length) == (factor == 1.0)
    assert np.mean(bare == 0) == (share if factor < 1 else 0)


@pytest.mark.mnist
def test_fp8_with_a_scale_ends_within_a_point_of_float32():
    """The last cell asserts it, over three seeds."""
    import tensorflow as tf

    names = {"np": np, "tf": tf}
    cells = "digits", "network", "rounded", "eight-bit-dense", "train"
    Cells("11_eight_bits").run(*cells, names=names)
    assert names["near"] == 0.01
