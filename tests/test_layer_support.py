"""The record of what Keras's layers do under each policy, and some of them measured
again.
"""

import json
import re

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from helpers.versions import skip_if_older

from course_utils.paths import data
from course_utils.training import dtype_policy
from tools import layer_support
from tools.inside import operations, works_in_float32
from tools.layer_support import FOLLOWS, PART, SAME

RECORD = json.loads(data("layer_support.json").read_text("utf-8"))
SUPPORT = pd.DataFrame(RECORD["rows"]).set_index("layer")
INSIDE = layer_support.INSIDE.format("float32")
FLOATS = np.ones((2, 4, 4), "float32")
LAYERS = keras.layers
# of every verdict, and of every rule that leads to one
SOME = [
    *("Dense", "Softmax", "UnitNormalization", "LayerNormalization", "Conv2D", "LSTM"),
    *(
        "BatchNormalization",
        "MultiHeadAttention",
        "GlobalAveragePooling1D",
        "Embedding",
    ),
    *("ActivityRegularization", "MaxPooling3D", "STFTSpectrogram", "RandomErasing"),
    *("CategoryEncoding", "Discretization", "MaxNumBoundingBoxes", "InputLayer"),
    *("Resizing", "RandomContrast", "RandomCrop", "Equalization", "Flatten", "Masking"),
]
VERDICT = re.compile(
    r"computes in the policy's dtype"
    r"|casts inside: works in float32"
    r"|casts inside: a part works in float32( and float64)? \(\w+(, \w+)*\)"
    r"|returns (integers|float32) by design|returns the policy's dtype and others"
    r"|fails: under \w+( and \w+)?( in a graph, such as that of fit \(.+\)| in fit \(.+\))?"
)
on_a_cpu = pytest.mark.skipif(
    bool(tf.config.list_physical_devices("GPU")), reason="recorded on a CPU"
)


def test_the_record_has_every_layer_of_today():
    skip_if_older("keras", RECORD["versions"]["keras"])
    assert list(SUPPORT.index) == list(layer_support.classes())


def test_the_record_is_whole():
    assert SUPPORT.index.is_unique and len(SUPPORT) > 130
    for name, (*cells, says, masked, images) in SUPPORT.iterrows():
        if says.startswith("not tried: "):
            assert [*cells, masked, images] == [""] * 5, name
            continue
        assert VERDICT.fullmatch(says), name
        assert masked in ("", SAME) or VERDICT.fullmatch(masked), name
        assert re.fullmatch(r"|\w+Error|(\w+, )*u?(float|int)\d+", images), name
        if says == FOLLOWS or says.startswith("casts inside"):
            assert cells == ["float32", "float16", "bfloat16"], name
        elif says.startswith("fails"):
            elsewhere = " in a graph" in says or " in fit" in says
            assert elsewhere or any("error: " in cell for cell in cells), name


def test_only_layers_whose_all_arithmetic_is_float32_are_said_to_work_in_it():
    """What the page and the answers to what people ask say of these layers."""
    says, masked, images = (SUPPORT[column] for column in SUPPORT.columns[-3:])
    norms = [f"{kind}Normalization" for kind in ("Batch", "Layer", "Group", "RMS")]
    assert {*says[[*norms, "GlobalAveragePooling1D"]]} == {INSIDE}
    assert {*says[["UnitNormalization", "SpectralNormalization"]]} == {FOLLOWS}
    heads = says[["MultiHeadAttention", "GroupQueryAttention"]]
    assert {*heads} == {PART.format("float32", "Mul, Softmax")}
    assert masked["GlobalAveragePooling1D"] == FOLLOWS
    assert "in fit" in says["ActivityRegularization"]
    assert images["Resizing"] == "uint8" and images["Rescaling"] == "float16"


def test_one_operation_in_float32_is_a_part():
    assert layer_support.inside({("Softmax", "float32")}) == INSIDE
    both = {("Softmax", "float32"), ("MatMul", "bfloat16"), ("Cast", "float32")}
    assert layer_support.inside(both) == PART.format("float32", "Softmax")
    moved = {("Reshape", "float32"), ("Maximum", "float32"), ("Mul", "float16")}
    assert layer_support.inside(moved) == FOLLOWS


@pytest.mark.parametrize("name", SOME)
@on_a_cpu
def test_layers_do_today_what_the_record_says(name):
    """When a new release changes one of them, record anew what notebook 03 shows."""
    skip_if_older("keras", RECORD["versions"]["keras"])
    kind = layer_support.classes()[name]
    assert layer_support.row(kind) == SUPPORT.loc[name].to_dict()


@pytest.mark.slow
@on_a_cpu
def test_fit_does_with_losses_of_layers_what_the_record_says():
    assert layer_support.losses() == RECORD["losses"]


def test_a_mask_makes_a_mean_overflow():
    """What the page says of GlobalAveragePooling1D."""
    layer = LAYERS.GlobalAveragePooling1D(dtype="mixed_float16")
    thousands = np.full((1, 100, 2), 1000, "float32")
    assert np.all(np.asarray(layer(thousands)) == 1000)
    masked = layer(thousands, mask=np.ones((1, 100), bool))
    assert np.all(np.isinf(np.asarray(masked)))


def test_queries_and_keys_are_multiplied_in_16_bits():
    layer = LAYERS.MultiHeadAttention(2, 4, dtype="mixed_bfloat16")
    found = operations(lambda x: layer(x, x), FLOATS)
    assert {"float32"} == {dtype for name, dtype in found if name == "Softmax"}
    products = {dtype for name, dtype in found if name in ("Einsum", "BatchMatMulV2")}
    assert products == {"bfloat16"}


def in_a_loop(x):
    """The loop is a function of its own in the graph."""

    def body(i, y):
        return i + 1, y + keras.ops.cast(
            keras.ops.exp(keras.ops.cast(x, "float32")), x.dtype
        )

    return tf.while_loop(lambda i, _: i < 2, body, (tf.constant(0), x))[1]


def in_a_branch(x):
    """One of several functions, in a list."""
    wide = keras.ops.cast(x, "float32")
    branches = [lambda: keras.ops.exp(wide), lambda: wide]
    return keras.ops.cast(
        tf.switch_case(tf.cast(x[0, 0, 0], "int32"), branches), x.dtype
    )


@pytest.mark.parametrize("call", [in_a_loop, in_a_branch])
def test_work_in_float32_inside_a_function_of_the_graph_is_seen(call):
    with dtype_policy("mixed_float16"):
        layer = LAYERS.Lambda(call)
    assert works_in_float32(layer, FLOATS)


def test_what_depends_on_no_input_does_not_count():
    def call(x):
        noise = keras.random.normal(keras.ops.shape(x), dtype="float32") * 2
        return x * keras.ops.cast(noise, x.dtype)

    found = operations(call, FLOATS.astype("float16"))
    assert {dtype for _, dtype in found} == {"float16"}
