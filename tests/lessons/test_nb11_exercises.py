"""Notebook 11's exercises: every number found a second way, and FP8's gradients."""

import numpy as np
import pytest

from course_utils.exercises.functions import edited
from course_utils.formats import blocks
from course_utils.lessons.nb11 import exercises as nb11
from course_utils.lessons.nb11 import judge
from tools.notebook_cells import Cells


def test_the_longest_block_has_neighbours_of_one_size():
    gradients = edited(judge.GRADIENTS, "gradients")
    share = {}
    for size in (8, 16, 32, 64, 128):
        kept = blocks.quantize(gradients, "mxfp4_e2m1", size).values
        share[size] = np.mean(kept == 0)
    fit = [size for size in share if share[size] < 0.01]
    assert max(fit) == 16 == nb11.BLOCK.judges["block"].right
    assert min(share[size] for size in share if size > 16) > 0.2


@pytest.mark.parametrize("rule", ["down", "up"])
def test_both_rules_of_a_scale_are_right_and_only_under_their_own_name(rule):
    edits = judge.SMALLEST if rule == "up" else {}
    answer = edited(judge.SCALE, "answer", edits) | {"rounds": rule}
    assert judge.rounding_problem(answer) is None
    other = {"down": "up", "up": "down"}[rule]
    assert "the other way" in judge.rounding_problem(answer | {"rounds": other})
    assert "down, up" in judge.rounding_problem(answer | {"rounds": "even"})
    text = answer | {"scale": lambda block: "1"}
    assert "return one number" in judge.rounding_problem(text)
    floored = {f"{judge.OCTAVE} - 2": judge.OCTAVE.replace("largest", "largest / 6")}
    sixth = edited(judge.SCALE, "answer", floored) | {"rounds": rule}
    assert "too small" in judge.rounding_problem(sixth)


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


def test_the_uneven_network_is_the_same_in_float32_and_not_in_e4m3():
    import keras
    import tensorflow as tf
    from keras import layers

    names = {"keras": keras, "layers": layers, "tf": tf, "np": np}
    notebook = Cells("11_eight_bits")
    notebook.run("network", "rounded", "eight-bit-dense", names=names)
    notebook.run("uneven", until="ways = ", names=names)
    x = np.random.default_rng(0).random((32, 784), dtype="float32")
    even, uneven = (names[n](names["Unscaled"], 0) for n in ("build", "uneven"))
    handed_on = uneven.layers[1](uneven.layers[0](x))
    assert np.mean(names["rounded"](handed_on, names["E4M3"], False) == 0) > 0.9
    names["rounded"] = lambda values, dtype, scaled: values
    assert np.array_equal(even(x), uneven(x))
