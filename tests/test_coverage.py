"""The table of what every Keras layer returns under each policy."""

import keras
import pytest
import tensorflow as tf

from course_utils.precision import coverage, samples
from course_utils.precision.coverage import POLICIES, WHAT, layer_support
from course_utils.stepping import device, dtype_policy

# Need another framework or a file, or are no layers of their own.
NOT_TRIED = {
    *("FlaxLayer", "JaxLayer", "TorchModuleWrapper", "TFSMLayer"),
    *("InputLayer", "Layer", "Wrapper"),
}
MIXED_FLOAT16 = ["float32", "float16", "bfloat16"]


@pytest.fixture(scope="module")
def table():
    with dtype_policy("float32"):
        return layer_support()


@pytest.mark.slow
def test_no_layer_of_keras_is_missing_and_few_named_ones_are_not_tried(table):
    public = {name: getattr(keras.layers, name) for name in dir(keras.layers)}
    classes = {value for value in public.values() if isinstance(value, type)}
    classes = {kind for kind in classes if issubclass(kind, keras.layers.Layer)}
    assert {public[name] for name in table.index} == classes
    assert len(table) == len(classes) > 130 and table.index.is_unique
    assert {"Conv2D", "GroupQueryAttention"} < set(table.index)
    assert "Convolution2D" not in table.index
    not_tried = table[table[WHAT].str.startswith("not tried")]
    assert set(not_tried.index) <= NOT_TRIED
    assert (not_tried[list(POLICIES)] == "").all(axis=None)
    tried = table.drop(not_tried.index)
    assert (tried[list(POLICIES)] != "").all(axis=None)
    assert not tried["float32"].str.startswith("error").any()


@pytest.mark.slow
def test_every_line_says_in_words_what_happens(table):
    known = ("computes in the policy's dtype", "casts inside: works in float32")
    for _, row in table.iterrows():
        says, cells = row[WHAT], row[list(POLICIES)].to_list()
        if says.startswith("fails: under") and "in a graph" not in says:
            failing = [policy for policy in POLICIES if row[policy].startswith("error: ")]
            assert says == f"fails: under {' and '.join(failing)}"
        elif says in known:
            assert cells == MIXED_FLOAT16
        elif says == "returns integers by design":
            assert len(set(cells)) == 1 and cells[0].startswith("int")
        elif says == "returns float32 by design":
            assert set(cells) == {"float32"}
        else:
            start = ("fails: under", "not tried: ", "returns the policy's dtype and others")
            assert says.startswith(start), says


@pytest.mark.slow
@pytest.mark.parametrize(
    ("says", "layers"),
    {
        "computes in the policy's dtype": "Dense Conv2D Embedding LSTM Softmax Dropout Flatten "
        "UnitNormalization Rescaling Normalization Attention Bidirectional Lambda",
        "casts inside: works in float32": "BatchNormalization LayerNormalization Resizing "
        "GroupNormalization RMSNormalization GlobalAveragePooling2D MultiHeadAttention",
        "returns integers by design": "StringLookup TextVectorization Hashing Discretization",
        "returns float32 by design": "CategoryEncoding",
    }.items(),
    ids=lambda value: value.split(":")[0].replace(" ", "_")[:20],
)
def test_what_is_known_of_some_layers(table, says, layers):
    assert set(table.loc[layers.split(), WHAT]) == {says}


@pytest.mark.slow
def test_layers_that_fail_today_on_a_cpu(table):
    if device() != "CPU:0":
        pytest.skip("another device has other kernels")
    for name in ("MaxPooling3D", "AveragePooling3D"):
        assert table.loc[name, "mixed_float16"].endswith("Pool3D for float16 here")
        assert table.loc[name, "mixed_bfloat16"] == "bfloat16"
    assert table.loc["RandomErasing", "mixed_float16"] == "float16"
    assert table.loc["RandomErasing", WHAT].startswith("fails: under mixed_float16 in a graph")


class Works(keras.layers.Layer):
    def call(self, x):
        return x


class Inside(Works):
    def call(self, x):
        return keras.ops.cast(keras.ops.exp(keras.ops.cast(x, "float32")), x.dtype)


class InsideALoop(Works):
    """Its loop is a function of its own in the graph."""

    def call(self, x):
        def body(step, total):
            return step + 1, total + keras.ops.cast(tf.exp(tf.cast(x, "float32")), x.dtype)

        return tf.while_loop(lambda step, _: step < 2, body, (tf.constant(0), x))[1]


class Random(Works):
    """Its random numbers are float32; what it does with the input is not."""

    def call(self, x):
        return x + keras.ops.cast(tf.random.uniform(tf.shape(x)) * 2.0, x.dtype)


class Float32(Works):
    def call(self, x):
        return keras.ops.cast(x, "float32")


class Integers(Works):
    def call(self, x):
        return keras.ops.cast(x, "int32")


class InTraining(Works):
    """Computes in training alone."""

    def call(self, x, training=False):
        return x if training else keras.ops.cast(x, "int32")


class Breaks(Works):
    def call(self, x):
        return x * tf.constant(1.0)


class BreaksInAGraph(Works):
    def call(self, x):
        if not tf.executing_eagerly():
            raise RuntimeError("No graphs, please.")
        return x


class WantsArguments(Works):
    def __init__(self, gadget, **options):
        super().__init__(**options)


class WantsInputs(Works):
    def call(self, x, y):
        return x


KINDS = {"Breaks": Breaks, "WantsInputs": WantsInputs}
NO_GRAPH = "fails: under mixed_float16 in a graph, such as that of fit (No graphs, please)"


@pytest.mark.parametrize(
    ("kind", "cells", "says"),
    [
        (Works, MIXED_FLOAT16, "computes in the policy's dtype"),
        (Inside, MIXED_FLOAT16, "casts inside: works in float32"),
        (InsideALoop, MIXED_FLOAT16, "casts inside: works in float32"),
        (Random, MIXED_FLOAT16, "computes in the policy's dtype"),
        (InTraining, MIXED_FLOAT16, "computes in the policy's dtype"),
        (Float32, ["float32"] * 3, "returns float32 by design"),
        (Integers, ["int32"] * 3, "returns integers by design"),
        (BreaksInAGraph, MIXED_FLOAT16, NO_GRAPH),
        (WantsArguments, [""] * 3, "not tried: needs arguments: gadget"),
    ],
)
def test_a_layer_that_the_tables_do_not_know(kind, cells, says, monkeypatch):
    monkeypatch.setattr(coverage, "layer_classes", lambda: {kind.__name__: kind})
    table = layer_support()
    assert table.loc[kind.__name__].to_list() == [*cells, says]
    assert keras.config.dtype_policy().name == "float32"


def test_an_error_is_told_in_one_line_and_only_if_the_policy_is_to_blame(monkeypatch):
    monkeypatch.setattr(coverage, "layer_classes", lambda: KINDS)
    table = layer_support()
    assert table.loc["Breaks", "float32"] == "float32"
    assert table.loc["Breaks", WHAT] == "fails: under mixed_float16 and mixed_bfloat16"
    assert table.loc["Breaks", "mixed_float16"] == (
        "error: cannot compute Mul as input #1(zero-based) was expected to be a half tensor but is "
        "a float tensor"
    )
    for policies in (POLICIES, ["mixed_float16"]):
        row = layer_support(policies).loc["WantsInputs"]
        assert row[WHAT].startswith("not tried: needs other inputs: ") and "'y'" in row[WHAT]
        assert set(row[list(policies)]) == {""}


def test_the_columns_are_the_policies_asked_for(monkeypatch):
    monkeypatch.setattr(coverage, "layer_classes", lambda: {"Dense": keras.layers.Dense})
    table = layer_support(["bfloat16"])
    assert list(table.columns) == ["bfloat16", WHAT] and table.index.name == "layer"
    assert table.loc["Dense"].to_list() == ["bfloat16", "computes in the policy's dtype"]
    with pytest.raises(ValueError, match="float17"):
        layer_support(["float17"])


def test_the_tables_hold_nothing_that_keras_does_not_know():
    names = {kind.__name__ for kind in coverage.layer_classes().values()}
    tables = (samples.BY_CLASS, samples.INPUTS, samples.NOT_TRIED)
    assert set().union(*tables) - names == set()
