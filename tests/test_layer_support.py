"""The record of what Keras's layers return under each policy, and some of them measured
again.
"""

import json

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from mixed_precision_lint.inside import works_in_float32

from course_utils.paths import data
from course_utils.training import dtype_policy
from tools import layer_conditions

RECORD = json.loads(data("layer_support.json").read_text("utf-8"))["rows"]
SUPPORT = pd.DataFrame(RECORD).set_index("layer")
POLICIES = ["float32", "mixed_float16", "mixed_bfloat16"]
INSIDE = "casts inside: works in float32"
FOLLOWS = "computes in the policy's dtype"
FLOATS = np.ones((2, 4, 4), "float32")
IMAGES = np.ones((2, 4, 4, 3), "float32")
LAYERS = keras.layers
SOME = {
    "Dense": (lambda: LAYERS.Dense(3), FLOATS),
    "Softmax": (LAYERS.Softmax, FLOATS),
    "UnitNormalization": (LAYERS.UnitNormalization, FLOATS),
    "LayerNormalization": (LAYERS.LayerNormalization, FLOATS),
    "Conv2D": (lambda: LAYERS.Conv2D(2, 2), IMAGES),
    "MaxPooling3D": (lambda: LAYERS.MaxPooling3D(2), IMAGES[..., None]),
    "CategoryEncoding": (lambda: LAYERS.CategoryEncoding(4), np.ones((2, 2), "int32")),
    "Discretization": (lambda: LAYERS.Discretization([0.3, 0.6]), FLOATS),
}


def test_the_record_is_whole():
    assert len(SUPPORT) > 130 and SUPPORT.index.is_unique
    for name, (*cells, says) in SUPPORT.iterrows():
        if says.startswith("not tried: "):
            assert cells == [""] * 3, name
        elif says.startswith("fails: under"):
            assert any("error: " in cell for cell in cells) or "in a graph" in says
        elif says in (INSIDE, FOLLOWS):
            assert cells == ["float32", "float16", "bfloat16"], name
        else:
            assert says.startswith("returns "), name


@pytest.mark.parametrize("name", SOME)
@pytest.mark.skipif(
    bool(tf.config.list_physical_devices("GPU")), reason="recorded on a CPU"
)
def test_layers_return_today_what_the_record_says(name):
    """When a new release changes one of them, record anew what notebook 03 shows."""
    make, x = SOME[name]
    for policy in POLICIES:
        with dtype_policy(policy):
            layer = make()
        recorded, says = SUPPORT.loc[name, [policy, "what happens"]]
        if recorded.startswith("error: "):
            with pytest.raises(tf.errors.OpError):
                layer(x)
            continue
        assert keras.backend.standardize_dtype(layer(x).dtype) == recorded
        if policy != "float32" and says in (FOLLOWS, INSIDE):
            assert works_in_float32(layer, x) == (says == INSIDE), policy


def in_a_loop(x):
    """The loop is a function of its own in the graph."""

    def body(i, y):
        return i + 1, y + keras.ops.cast(
            keras.ops.exp(keras.ops.cast(x, "float32")), x.dtype
        )

    return tf.while_loop(lambda i, _: i < 2, body, (tf.constant(0), x))[1]


def test_work_in_float32_inside_a_loop_is_seen():
    assert works_in_float32(LAYERS.Lambda(in_a_loop, dtype="mixed_float16"), FLOATS)


CONDITIONS = json.loads(data("layer_conditions.json").read_text("utf-8"))


@pytest.mark.skipif(
    bool(tf.config.list_physical_devices("GPU")), reason="recorded on a CPU"
)
def test_what_layers_do_with_losses_masks_and_bytes_is_as_recorded():
    again = layer_conditions.conditions()
    for table in ("losses", "masks", "bytes"):
        assert again[table] == CONDITIONS[table], table
