"""What flows through models of every kind, against what Keras itself counts and
returns.
"""

import keras
import numpy as np
import pytest
from helpers.flow_models import Branches, nested, transformer, wrapped
from keras import layers
from mixed_precision_lint.layers import walk

from course_utils import models
from course_utils.precision import dtype_flow
from course_utils.training import dtype_policy

POLICIES = ("float32", "mixed_float16", "bfloat16")
# They read their weights in float32; an Embedding casts the rows that it looked up.
KEEPS = ("BatchNormalization", "LayerNormalization", "Embedding")


def by_layer(flow):
    return flow.set_index("layer")


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "kind", [models.mnist_cnn, transformer, nested, wrapped, Branches]
)
def test_the_table_holds_what_keras_counts(kind, policy):
    with dtype_policy(policy):
        model = kind()
    before = model.get_weights()
    flow = dtype_flow(model)
    assert list(flow.layer) and flow.layer.is_unique
    assert set(flow.layer) == {place.path for place in walk(model)}
    assert flow.parameters.sum() == model.count_params()
    held = sum(np.asarray(weight).nbytes for weight in model.weights)
    assert flow.weight_bytes.sum() == held
    assert all(map(np.array_equal, before, model.get_weights()))
    for row in flow[flow.input_dtype != ""].itertuples():
        floats = [d for d in row.input_dtype.split(", ") if "float" in d]
        casts = any(d != row.compute_dtype for d in floats)
        assert row.cast == casts or row.kind == "LayerNormalization", row
        assert row.output_dtype == row.compute_dtype, row
        keeps = not row.parameters or row.kind in KEEPS
        assert row.read_dtype == (row.variable_dtype if keeps else row.compute_dtype)
        stored = "float32" if "mixed" in row.policy else row.policy
        assert row.variable_dtype == stored, row


def test_what_really_runs_has_the_dtypes_of_the_table():
    with dtype_policy("mixed_bfloat16"):
        model = transformer()
    inside = keras.Model(
        model.inputs, {layer.name: layer.output for layer in model.layers}
    )
    flow = by_layer(dtype_flow(model))
    for name, output in inside(np.zeros((1, 6), "int32")).items():
        if name in flow.index:  # all but the input
            assert flow.output_dtype[name] == keras.utils.standardize_dtype(
                output.dtype
            )
    assert flow.input_dtype["embedding"] == "int32" and not flow.cast["embedding"]
    assert flow.kind["attention"] == "MultiHeadAttention"  # one place, not its parts
    assert list(flow.index[flow.cast]) == ["logits"]


def test_nested_models_wrappers_and_layers_that_hold_layers():
    with dtype_policy("mixed_bfloat16"):
        flow = by_layer(dtype_flow(wrapped()))
        inner = by_layer(dtype_flow(nested()))
    assert list(inner.index) == ["inner/conv", "inner/norm", "flatten", "dense"]
    assert inner.parameters["inner/norm"] == 12
    places = ["times", "block", "block/dense", "block/dense#2", "both", "last"]
    assert list(flow.index) == places
    assert flow.parameters["block"] == 4  # its own; what it holds stands below
    assert flow.cast["times"] and flow.input_dtype["times"] == "float32"


def test_a_subclassed_model_casts_at_its_door():
    with dtype_policy("mixed_float16"):
        model = Branches()
    flow = dtype_flow(model)
    assert flow.attrs["input_dtype"] == "float32"
    assert list(flow.layer) == ["left", "right", "head", "unused"]  # as they are called
    flow = by_layer(flow)
    assert list(flow.input_dtype) == ["float16", "float16", "float32", ""]
    assert list(flow.index[flow.cast]) == ["right"]
    assert flow.output_dtype["unused"] == ""


def test_layers_that_see_several_dtypes_name_them_all():
    inputs = [keras.Input((4,), dtype=dtype) for dtype in ("float16", "float32")]
    row = dtype_flow(keras.Model(inputs, layers.Add(dtype="bfloat16")(inputs))).iloc[0]
    assert row.input_dtype == "float16, float32" and row.cast
    assert row.output_dtype == "bfloat16"


def test_a_mask_is_none_of_the_inputs():
    x = keras.Input((4, 8))
    mask = keras.Input((4, 4), dtype="bool")
    attention = layers.MultiHeadAttention(2, 4)
    model = keras.Model([x, mask], attention(x, x, attention_mask=mask))
    assert dtype_flow(model).input_dtype[0] == "float32"


def test_what_cannot_be_called_is_refused_in_one_sentence():
    for model in (keras.Sequential([layers.Dense(2)]), keras.Sequential()):
        with pytest.raises(
            ValueError, match="build it with model.build.*or call it on a batch.$"
        ):
            dtype_flow(model)
    model = Doubled()
    model(np.ones((2, 3)))
    with pytest.raises(ValueError, match="No layer of this model computes"):
        dtype_flow(model)


class Doubled(keras.Model):
    def call(self, x):
        return x * 2


class Broken(keras.Model):
    def build(self, shape):
        pass

    def call(self, x):
        raise RuntimeError("out of order")


def test_nothing_stays_behind_after_an_error():
    former = keras.Layer.__call__
    model = Broken()
    model.build((2, 3))
    with pytest.raises(RuntimeError, match="out of order") as caught:
        dtype_flow(model)
    assert "Probe" not in str(caught.value)
    assert keras.Layer.__call__ is former
