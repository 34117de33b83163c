"""What flows through models of every kind, against what Keras itself counts and
returns.
"""

import math

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle
from mixed_precision_lint.calls import symbols
from mixed_precision_lint.layers import walk

from course_utils import models
from course_utils.figures import flows as figure
from course_utils.figures.looks import COLORS
from course_utils.precision import dtype_flow
from course_utils.training import dtype_policy

POLICIES = ("float32", "mixed_float16", "bfloat16")
# They read their weights in float32; an Embedding casts the rows that it looked up.
KEEPS = ("BatchNormalization", "LayerNormalization", "Embedding")


class Branches(keras.Model):
    """Two branches, one in float32, added up; attributes not in the order of the calls."""

    def __init__(self):
        super().__init__(name="branches")
        self.head = layers.Dense(2, dtype="float32", name="head")
        self.right = layers.Dense(4, dtype="float32", name="right")
        self.left = layers.Dense(4, name="left")
        self.unused = layers.Dropout(0.5, name="unused")
        self(np.zeros((2, 5), "float32"))

    def call(self, x):
        return self.head(keras.ops.add(self.left(x), self.right(x)))


class Block(layers.Layer):
    """Holds layers, two of them of one name, and a weight of its own."""

    def __init__(self, **options):
        super().__init__(**options)
        self.dense = [layers.Dense(4, name="dense"), layers.Dense(4, name="dense")]

    def build(self, shape):
        self.shift = self.add_weight(shape=(4,), name="shift")
        for dense in self.dense:
            dense.build(shape)

    def call(self, x):
        return self.dense[1](self.dense[0](x)) + self.shift


def transformer():
    tokens = keras.Input((6,), dtype="int32")
    x = layers.Embedding(20, 8, name="embedding")(tokens)
    x = layers.Add()([x, layers.MultiHeadAttention(2, 4, name="attention")(x, x)])
    x = layers.LayerNormalization(name="norm")(x)
    x = layers.GlobalAveragePooling1D()(
        layers.Dense(8, activation="gelu", name="mlp")(x)
    )
    return keras.Model(tokens, layers.Dense(3, dtype="float32", name="logits")(x))


def nested():
    image = keras.Input((8, 8, 1))
    x = layers.Conv2D(3, 3, name="conv")(image)
    inner = keras.Model(image, layers.BatchNormalization(name="norm")(x), name="inner")
    rest = [layers.Flatten(name="flatten"), layers.Dense(2, name="dense")]
    return keras.Sequential([keras.Input((8, 8, 1)), inner, *rest])


def wrapped():
    steps = keras.Input((5, 4))
    x = layers.TimeDistributed(layers.Dense(4, name="each"), name="times")(steps)
    gru = layers.GRU(3, recurrent_initializer="zeros", name="gru")
    x = layers.Bidirectional(gru, name="both")(Block(name="block")(x))
    return keras.Model(steps, layers.Dense(6, name="last")(x))


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
    ax = figure.dtype_flow(flow).figure.axes[0]
    (hollow,) = (x for x in ax.lines if x.get_markerfacecolor() == "none")
    assert hollow.get_xdata()[0] == 0
    # 2 rows of 5 numbers, each read in 4 bytes and written in 2
    assert [text.get_text() for text in ax.texts].count("60 B") == 1
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


@pytest.mark.parametrize("policy", POLICIES[:2])
def test_a_policy_repaints_the_pipes_and_never_the_weights(policy):
    low = policy.removeprefix("mixed_")
    wide = COLORS["float32"]
    with dtype_policy(policy):
        flow = dtype_flow(models.mnist_cnn())
    ax = figure.dtype_flow(flow).figure.axes[0]
    pipes, weights = [], []
    for box in (patch for patch in ax.patches if isinstance(patch, Rectangle)):
        which = weights if box.get_linewidth() else pipes
        which.append(to_hex(box.get_facecolor()).upper())
    assert weights == 4 * [wide] and set(pipes) == {wide, COLORS[low]}
    # Each of the six layers has two pieces, and one more to cast into.
    assert pipes[-1] == wide and pipes.count(COLORS[low]) >= 12
    diamonds = [line for line in ax.lines if line.get_marker() == "D"]
    # two of inputs, three of kernels and biases
    assert len(diamonds) == (0 if policy == "float32" else 5)


def casts_of_the_graph(model, x):
    """Bytes that all casts from float to float in TensorFlow's graph read and write."""
    graph = tf.function(lambda x: model(x)).get_concrete_function(x).graph
    casts = [op for op in graph.get_operations() if op.type == "Cast"]
    return sum(
        math.prod(op.inputs[0].shape)
        * (op.inputs[0].dtype.size + op.outputs[0].dtype.size)
        for op in casts
        if op.inputs[0].dtype.is_floating and op.outputs[0].dtype.is_floating
    )


@pytest.mark.parametrize("policy", POLICIES[:2])
@pytest.mark.parametrize(
    "kind",
    [models.mnist_cnn, models.reader, transformer, Branches],
)
def test_the_bytes_of_all_casts_are_those_of_tensorflows_graph(kind, policy):
    with dtype_policy(policy):
        model = kind()
    flow = dtype_flow(model, batch_size=8)
    symbol = symbols(model, 8)
    wanted = casts_of_the_graph(model, tf.zeros(symbol.shape, symbol.dtype))
    assert figure.total_moved(flow) == wanted
    assert bool(wanted) == (policy != "float32")
    assert bool(flow.attrs["borders"]) == (kind is Branches and wanted > 0)


@pytest.mark.parametrize("policy", POLICIES[:2])
def test_a_leak_is_ringed_and_named_in_the_title(policy):
    with dtype_policy(policy):
        add = layers.Lambda(lambda x: keras.ops.add(x, np.float32(1)), name="leak")
        model = keras.Sequential([keras.Input((4,)), add, layers.Dense(2)])
    picture = figure.dtype_flow(dtype_flow(model))
    rings = [line.get_marker() for line in picture.figure.axes[0].lines].count("o")
    named = picture.alt.count("leak: its policy says 16 bits, and it hands on float32")
    assert rings == named == (policy != "float32")
