"""What flows through models of every kind, against what Keras itself counts and returns."""

import keras
import numpy as np
import pytest
from keras import layers
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from course_utils import models
from course_utils.figures import precision as figure
from course_utils.figures.base import COLORS
from course_utils.precision import dtype_flow
from course_utils.precision.layers import walk
from course_utils.stepping import dtype_policy

POLICIES = ("float32", "mixed_float16", "mixed_bfloat16", "float16", "bfloat16")
SIZE = {"float32": 4, "float16": 2, "bfloat16": 2}


class Branches(keras.Model):
    """Two branches, one in float32, added up; attributes not in the order of the calls."""

    def __init__(self):
        super().__init__(name="branches")
        self.head = layers.Dense(2, dtype="float32", name="head")
        self.right = layers.Dense(4, dtype="float32", name="right")
        self.left = layers.Dense(4, name="left")
        self.unused = layers.Dropout(0.5, name="unused")

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
    x = layers.GlobalAveragePooling1D()(layers.Dense(8, activation="gelu", name="mlp")(x))
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
    x = Block(name="block")(x)
    x = layers.Bidirectional(layers.GRU(3, recurrent_initializer="zeros", name="gru"), name="both")(
        x
    )
    twice = layers.Dense(6, name="twice")
    return keras.Model(steps, layers.SpectralNormalization(twice, name="norm")(twice(twice(x))))


def branches():
    model = Branches()
    model(np.zeros((2, 5), "float32"))
    return model


KINDS = [models.mnist_cnn, transformer, nested, wrapped, branches]


def by_layer(flow):
    return flow.set_index("layer")


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_table_holds_what_keras_counts(kind, policy):
    with dtype_policy(policy):
        model = kind()
    before = model.get_weights()
    flow = dtype_flow(model)
    assert list(flow.layer) and flow.layer.is_unique
    assert set(flow.layer) == {place.path for place in walk(model)}
    assert flow.parameters.sum() == model.count_params()
    assert flow.weight_bytes.sum() == sum(
        np.prod(w.shape, dtype=int) * SIZE[w.dtype] for w in model.weights
    )
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
    for row in flow[flow.input_dtype != ""].itertuples():
        floats = [d for d in row.input_dtype.split(", ") if "float" in d]
        normalizes = row.kind == "LayerNormalization"
        assert row.cast == any(d != row.compute_dtype for d in floats) or normalizes, row
        assert row.output_dtype == row.compute_dtype, row
        assert row.variable_dtype == ("float32" if "mixed" in row.policy else row.policy), row


@pytest.mark.parametrize("policy", POLICIES)
def test_the_cnn(policy):
    with dtype_policy(policy):
        model = models.mnist_cnn()
    flow = dtype_flow(model)
    low = policy.removeprefix("mixed_")
    assert list(flow.input_dtype) == ["float32"] + 5 * [low]
    assert list(flow.output_dtype) == 5 * [low] + ["float32"]
    ends = low != "float32"
    assert list(flow.cast) == [ends, False, False, False, False, ends]
    shapes = [layer.output.shape[1:] for layer in model.layers]
    sizes = [SIZE[low]] * 5 + [4]
    wanted = [int(np.prod(s)) * size for s, size in zip(shapes, sizes, strict=True)]
    assert list(flow.activation_bytes) == wanted
    assert list(flow.kind) == ["Conv2D", "MaxPooling2D", "Conv2D", "Flatten", "Dense", "Dense"]
    assert flow.attrs["input_dtype"] == "float32"


def test_what_really_runs_has_the_dtypes_of_the_table():
    """Against one eager call, with every layer's `call` noted."""
    with dtype_policy("mixed_bfloat16"):
        model = transformer()
    real = {}
    for layer in model.layers:

        def call(*args, layer=layer, former=layer.call, **kwargs):
            out = former(*args, **kwargs)
            real.setdefault(layer.name, (keras.utils.standardize_dtype(out.dtype), out.shape))
            return out

        layer.call = call
    model(np.zeros((1, 6), "int32"))
    for row in dtype_flow(model).itertuples():
        dtype, shape = real[row.layer]
        assert row.output_dtype == dtype
        assert row.activation_bytes == np.prod(shape, dtype=int) * SIZE[dtype]


def test_a_transformer_gets_integers_and_ends_in_float32():
    with dtype_policy("mixed_float16"):
        flow = by_layer(dtype_flow(transformer()))
    assert flow.input_dtype["embedding"] == "int32" and not flow.cast["embedding"]
    assert flow.kind["attention"] == "MultiHeadAttention"  # one place, not its parts
    assert list(flow.index[flow.cast]) == ["logits"]


def test_a_nested_model_is_opened():
    with dtype_policy("mixed_float16"):
        flow = by_layer(dtype_flow(nested()))
    assert list(flow.index) == ["inner/conv", "inner/norm", "flatten", "dense"]
    assert flow.parameters["inner/norm"] == 12 and flow.activation_bytes["inner/norm"] == 6 * 6 * 6


def test_wrappers_shared_layers_and_layers_that_hold_layers():
    with dtype_policy("mixed_bfloat16"):
        flow = by_layer(dtype_flow(wrapped()))
    assert list(flow.index) == [
        "times/each", "block", "block/dense", "block/dense#2", "both/forward_gru",
        "both/backward_gru", "twice", "norm",
    ]  # fmt: skip
    assert flow.activation_bytes["times/each"] == 5 * 4 * 2  # all five steps
    assert flow.parameters["block"] == 4 and flow.activation_bytes["block"] == 0
    assert flow.activation_bytes["twice"] == 3 * 6 * 2  # called three times
    assert flow.cast["times/each"] and flow.input_dtype["times/each"] == "float32"


def test_a_subclassed_model_casts_at_its_door():
    with dtype_policy("mixed_float16"):
        model = Branches()
    flow = dtype_flow(model, np.zeros((7, 5)))  # float64, as NumPy makes it
    assert model.built and flow.attrs["input_dtype"] == "float32"
    assert list(flow.layer) == ["left", "right", "head", "unused"]  # as they are called
    flow = by_layer(flow)
    assert list(flow.input_dtype) == ["float16", "float16", "float32", ""]
    assert list(flow.index[flow.cast]) == ["right"]
    assert flow.activation_bytes["left"] == 4 * 2 and flow.activation_bytes["right"] == 4 * 4
    assert flow.output_dtype["unused"] == "" and flow.activation_bytes["unused"] == 0


@pytest.mark.parametrize(
    "inputs", [np.zeros((3, 5), "float32"), keras.Input((5,)), keras.Input((5,), batch_size=8)]
)
def test_activations_count_one_sample_whatever_the_batch(inputs):
    assert list(dtype_flow(Branches(), inputs).activation_bytes) == [16, 16, 8, 0]


def test_layers_that_see_several_dtypes_name_them_all():
    a = keras.Input((4,), dtype="float16", name="a")
    b = keras.Input((4,), dtype="float32", name="b")
    added = layers.Add(dtype="bfloat16")([a, b])
    row = dtype_flow(keras.Model({"a": a, "b": b}, added)).iloc[0]
    assert row.input_dtype == "float16, float32" and row.cast and row.output_dtype == "bfloat16"


def test_an_open_shape_leaves_the_activations_open():
    steps = keras.Input((None, 3))
    flow = dtype_flow(keras.Model(steps, layers.Dense(2)(steps)))
    assert flow.activation_bytes.isna().all() and flow.parameters.sum() == 8


@pytest.mark.parametrize("policy", ("float32", "mixed_float16", "float16"))
@pytest.mark.parametrize(
    "optimizer",
    [lambda: keras.optimizers.Adam(), lambda: keras.optimizers.SGD(momentum=0.9, use_ema=True)],
    ids=("adam", "sgd"),
)
def test_the_optimizer_s_bytes_are_found_for_each_layer(policy, optimizer):
    with dtype_policy(policy):
        model = wrapped()
        model.compile(optimizer())
    assert dtype_flow(model).optimizer_bytes.isna().all()
    model.optimizer.build(model.trainable_variables)
    flow = dtype_flow(model)
    slots = [v for v in model.optimizer.variables if len(v.shape)]
    total = sum(np.prod(v.shape, dtype=int) * SIZE[v.dtype] for v in slots)
    assert flow.optimizer_bytes.sum() == total > 0
    flow = by_layer(flow)
    assert flow.optimizer_bytes["block/dense"] == 2 * flow.weight_bytes["block/dense"]
    assert flow.optimizer_bytes["block/dense#2"] == 2 * flow.weight_bytes["block/dense#2"]


def test_an_optimizer_with_other_names_is_left_unknown():
    model = models.mnist_cnn()
    model.compile(keras.optimizers.Adafactor())
    model.optimizer.build(model.trainable_variables)
    assert dtype_flow(model).optimizer_bytes.isna().all()


def test_quantized_layers_hold_int8():
    with dtype_policy("mixed_bfloat16"):
        model = keras.Sequential([keras.Input((8,)), layers.Dense(4), layers.Dense(2)])
    model.quantize("int8")
    flow = dtype_flow(model)
    assert list(flow.policy) == 2 * ["int8_from_mixed_bfloat16"]
    assert list(flow.variable_dtype) == 2 * ["int8"]
    assert flow.weight_bytes[0] == 8 * 4 + 4 * 4 + 4 * 4  # kernel, scales, bias
    assert "int8" in figure.dtype_flow(flow).alt


@pytest.mark.parametrize(
    "model", [keras.Sequential([layers.Dense(2)]), keras.Sequential(), Branches()]
)
def test_an_unbuilt_model_is_refused_in_one_sentence(model):
    with pytest.raises(ValueError, match="build.*or give an example batch as inputs.$"):
        dtype_flow(model)


def test_inputs_that_are_no_arrays_are_refused_in_one_sentence():
    with pytest.raises(ValueError, match="inputs is a list"):
        dtype_flow(Branches(), [1.0, 2.0])


def test_nothing_stays_behind_after_an_error():
    former = keras.Layer.__call__

    class Broken(keras.Model):
        def build(self, shape):
            pass

        def call(self, x):
            raise RuntimeError("out of order")

    with pytest.raises(RuntimeError, match="out of order") as caught:
        dtype_flow(Broken(), np.zeros((2, 3), "float32"))
    assert "Probe" not in str(caught.value)
    assert keras.Layer.__call__ is former
    dtype_flow(models.mnist_cnn())
    assert keras.Layer.__call__ is former


def test_a_functional_model_gains_no_nodes():
    model = models.mnist_cnn()
    config = model.get_config()
    nodes = [len(layer._inbound_nodes) for layer in model.layers]
    dtype_flow(model)
    assert [len(layer._inbound_nodes) for layer in model.layers] == nodes
    assert model.get_config() == config


def parts(picture):
    """(pipes, weights): the colors of the pieces of pipe and of the boxes of weights."""
    boxes = [p for p in picture.figure.axes[0].patches if isinstance(p, Rectangle)]
    pipes = [to_hex(p.get_facecolor()).upper() for p in boxes if p.get_linewidth() == 0]
    weights = [to_hex(p.get_facecolor()).upper() for p in boxes if p.get_linewidth() > 0]
    return pipes, weights


@pytest.mark.parametrize("policy", ("float32", "mixed_float16", "mixed_bfloat16"))
def test_a_policy_repaints_the_pipes_and_never_the_weights(policy):
    low = policy.removeprefix("mixed_")
    with dtype_policy(policy):
        picture = figure.dtype_flow(dtype_flow(models.mnist_cnn()))
    pipes, weights = parts(picture)
    assert weights == 4 * [COLORS["float32"]]
    # Two rows begin with a piece; each of the six layers has two pieces, and one more to cast into.
    assert pipes[:2] == 2 * [COLORS["float32"]] and pipes[-1] == COLORS["float32"]
    assert pipes.count(COLORS[low]) >= 12
    assert set(pipes) == {COLORS["float32"], COLORS[low]}


def test_the_picture_says_its_casts():
    with dtype_policy("mixed_float16"):
        model = models.mnist_cnn()
        picture = figure.dtype_flow(dtype_flow(model))
    first, last = model.layers[0].name, model.layers[-1].name
    assert picture.alt == (
        f"6 layers. 2 casts: {first} from float32 to float16; {last} from float16 to float32. "
        "Pipes carry float32 and float16; weights stay float32."
    )
    diamonds = [line for line in picture.figure.axes[0].lines if line.get_marker() == "D"]
    assert len(diamonds) == 2


def test_the_picture_shows_the_cast_at_the_door():
    with dtype_policy("mixed_float16"):
        picture = figure.dtype_flow(dtype_flow(Branches(), np.zeros((2, 5))))
    assert "1 change between layers: before left from float32 to float16." in picture.alt
    hollow = [x for x in picture.figure.axes[0].lines if x.get_markerfacecolor() == "none"]
    assert len(hollow) == 1 and hollow[0].get_xdata()[0] == 0


def test_a_model_without_layers_has_no_picture():
    with pytest.raises(ValueError, match="no layer that is called"):
        figure.dtype_flow(dtype_flow(models.mnist_cnn()).head(0))


@pytest.mark.parametrize("count", (1, 3, 20))
def test_pictures_of_few_and_many_layers(count):
    model = keras.Sequential([keras.Input((4,)), *(layers.Dense(4) for _ in range(count))])
    picture = figure.dtype_flow(dtype_flow(model))
    assert len(parts(picture)[1]) == count
    assert len(picture.png()) < 100_000
