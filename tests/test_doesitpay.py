"""DoesItPay's counts against Keras models and published ones, and what it refuses."""

import json
import math

import keras
import pytest

from course_utils import models, roofline
from course_utils.explorers import DoesItPay
from course_utils.explorers.doesitpay import (
    NETWORKS,
    cnn,
    parts,
    resnet50,
    share_saved,
    transformer,
)
from course_utils.training import dtype_policy

NAMES = {"weight_copies": "copies"}  # an account's name: ours


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


MODELS = {
    "the CNN": (models.mnist_cnn, cnn(28, 32)),
    "a larger CNN": (lambda: cnn_of(56, 8), cnn(56, 8)),
    "the block": (models.transformer_block, block(128, 256, 4)),
    "ResNet-50": (
        lambda: keras.applications.ResNet50(weights=None, input_shape=(56, 56, 3)),
        resnet50(56, 64),
    ),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("policy", "bits"), [("float32", 32), ("mixed_bfloat16", 16)])
def test_a_formula_counts_what_the_account_does(name, policy, bits):
    build, counts = MODELS[name]
    with dtype_policy(policy):
        account = vars(roofline.account(build(), batch_size=3))
    found = {NAMES.get(part, part): size for part, size in account.items()}
    wanted = parts(counts, 3, bits)
    assert {part: found[part] for part in wanted} == wanted


def test_presets_have_as_many_weights_as_published():
    """Those of Keras's ResNet50 and of Hugging Face's bert-base-uncased and gpt2."""
    counts = {one.name: one.count(one.places, one.width) for one in NETWORKS}
    weights = {name: sum(each[:3]) for name, each in counts.items()}
    assert weights == {
        "The course's CNN": 1_011_466,
        "ResNet-50": 25_636_712,
        "BERT-base": 109_482_240,
        "GPT-2": 124_439_808,
        "7 billion parameters": 6_583_623_680,
    }


@pytest.mark.parametrize("network", NETWORKS, ids=lambda one: one.name)
def test_16_bits_save_from_the_break_even_on(network):
    counts = network.count(network.places, network.width)
    equal = counts.break_even
    assert share_saved(counts, math.floor(equal) + 1) > 0
    assert equal < 1 or share_saved(counts, math.floor(equal)) <= 0
    assert -0.125 <= share_saved(counts, 1) < share_saved(counts, 10**6) <= 0.5


def test_points_are_shares_of_float32_and_bad_ones_are_refused():
    measures = [
        (64, "float32", 30e6),
        (64, "float32", 50e6),
        (64, "mixed_float16", 30e6),
        (100, "mixed_bfloat16", 30e6),
        (256, "float32", math.nan),
        (256, "bfloat16", math.inf),
    ]
    explorer = DoesItPay(measures)
    assert explorer.points == [[64, "float16", 0.25]]
    assert json.dumps(explorer._data(), allow_nan=False)
    for bad in ((0, "float32", 1e6), (1, "float64", 1e6), (1, "float16", 0)):
        with pytest.raises(ValueError, match="is no point: give"):
            DoesItPay([bad])
