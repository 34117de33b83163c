"""DoesItPay's counts against Keras models and published ones, and what it refuses."""

import json
import math

import keras
import numpy as np
import pytest
from helpers.memory import parts, share_saved

from course_utils import models
from course_utils.explorers.doesitpay import (
    NETWORKS,
    DoesItPay,
    cnn,
    transformer,
)  # fmt: skip
from course_utils.training import dtype_policy


def cnn_of(side, width):
    """`models.mnist_cnn` for other images."""
    course = models.mnist_cnn(width)
    return keras.Sequential(
        [keras.Input((side, side, 1)), *(type(layer).from_config(layer.get_config())
                                          for layer in course.layers)]
    )  # fmt: skip


def block(tokens, width, heads):
    """The counts of one block, without embeddings."""
    counts = transformer(tokens, width, 1, width // heads, 0)
    return counts._replace(copies=counts.copies - (tokens + 2) * width)


@pytest.mark.parametrize(
    ("side", "width", "build"),
    [(28, 32, models.mnist_cnn), (56, 8, lambda: cnn_of(56, 8))],
)
def test_the_cnn_is_counted_as_its_layers_are(side, width, build):
    for policy, bits in (("float32", 32), ("mixed_bfloat16", 16)):
        with dtype_policy(policy):
            model = build()
        last = model.layers[-1]
        kept = sum(
            math.prod(layer.output.shape[1:]) * np.dtype(layer.compute_dtype).itemsize
            for layer in model.layers
            if not isinstance(layer, keras.layers.Flatten)
        )
        copied = (model.count_params() - last.count_params()) * 2 * (bits == 16)
        found = parts(cnn(side, width), 3, bits)
        assert found["weights"] == found["gradients"] == 4 * model.count_params()
        assert found["optimizer"] == 2 * found["weights"]
        assert (found["copies"], found["activations"]) == (copied, 3 * kept)


def test_a_block_is_counted_as_published():
    """Korthikanti et al. count 34 bytes for each token and channel in 16 bits. 2 are masks of
    dropout; 4 numbers more are GELU's input; and 2 that are only added are left out.
    """
    counts = transformer(128, 256, 1, 64, 0)
    block = models.transformer_block(128, 256, 4)
    assert counts.copies - (128 + 2) * 256 == block.count_params()
    numbers = (34 - 2) // 2 - 4 + 2
    assert counts.activations == numbers * 128 * 256 + 4 * 128 * 128


def test_presets_have_as_many_weights_as_published():
    """That of Hugging Face's gpt2 is published."""
    weights = [sum(one.count(one.places, one.width)[:2]) for one in NETWORKS]
    assert weights == [1_011_466, 124_439_808, 6_583_623_680]


@pytest.mark.parametrize("network", NETWORKS, ids=lambda one: one.name)
def test_16_bits_save_from_the_break_even_on(network):
    counts = network.count(network.places, network.width)
    equal = counts.break_even
    assert share_saved(counts, math.floor(equal) + 1) > 0
    assert equal < 1 or share_saved(counts, math.floor(equal)) <= 0
    assert -0.125 <= share_saved(counts, 1) < share_saved(counts, 10**6) <= 0.5


def test_points_are_shares_of_float32_and_bad_ones_are_refused():
    sizes = {64: [30e6, 40e6], 100: [], 256: [math.nan]}  # in float32, by batch
    measures = [(batch, "float32", size) for batch in sizes for size in sizes[batch]]
    measures += [(batch, "mixed_float16", 30e6) for batch in sizes]
    explorer = DoesItPay(measures)
    assert explorer.points == [[64, "float16", 0.25]]
    assert json.dumps(explorer._data(), allow_nan=False)
    for bad in ((0, "float32", 1e6), (1, "float64", 1e6), (1, "float16", 0)):
        with pytest.raises(ValueError, match="is no point: give"):
            DoesItPay([bad])
