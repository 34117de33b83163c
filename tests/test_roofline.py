"""The roofline: its catalogue, what it counts and predicts, against other ways to know."""

import json
import math
import re

import keras
import numpy as np
import pytest
from keras import layers

from course_utils import models, roofline
from course_utils.benchmark import rates
from course_utils.figures.roofs import roofline as roofline_figure
from course_utils.roofline.catalogue import BYTES, PATH, Device
from course_utils.training import dtype_policy

POLICIES = ("float32", "mixed_bfloat16", "mixed_float16")
DEVICES = roofline.devices()
T4 = DEVICES["T4"]


def small():
    """Convolutions of several kinds, both poolings, dense layers."""
    first = layers.Conv2D(8, 3, padding="same", activation="relu")
    second = layers.Conv2D(16, 3, padding="same", use_bias=False)
    head = [layers.Flatten(), layers.Dense(5, "relu"), layers.Dense(4, "softmax")]
    pools = layers.MaxPooling2D(), layers.AveragePooling2D(2)
    return one(first, pools[0], second, pools[1], *head, shape=(12, 12, 3))


def one(*stacked, shape=(6,)):
    return keras.Sequential([keras.Input(shape), *stacked])


def attention():
    """One block of a Transformer, with keys from elsewhere."""
    query = keras.Input((6, 8))
    value = keras.Input((5, 12))
    x = layers.MultiHeadAttention(2, 3, value_dim=7, output_shape=8)(query, value)
    x = layers.LayerNormalization()(layers.Add()([x, query]))
    return keras.Model([query, value], x)


def counted(model, what="flops", batch=4):
    """The operations or bytes of a step: a row for each layer, a column for each pass."""
    table = roofline.work(model, batch).table
    return table.set_index(["layer", "step"])[what].unstack(sort=False)


# --- the catalogue


def test_every_figure_has_a_source_and_those_of_a_device_agree():
    rows = json.loads(PATH.read_text(encoding="utf-8"))["devices"]
    assert len(rows) >= 12 and len(DEVICES) == len(rows)
    for row in rows:
        for figure in (*row["tflops"].values(), row["gb_per_s"]):
            assert figure["value"] > 0 and re.fullmatch(
                r"https://\S+", figure["source"]
            )
            assert len(figure.get("derived", "told in words")) > 10
        name = row["name"]
        found = DEVICES[row["name"]]
        tflops = DEVICES[row["name"]].tflops
        assert "float32" in tflops and set(tflops) <= set(BYTES), name
        assert 0 < found.peak("float16") / found.bandwidth < 1e4, name
        if row["kind"] == "GPU":
            ampere_on = row["compute_capability"] >= 8
            assert ("bfloat16" in tflops) == ("tf32" in tflops) == ampere_on, name
            if row["compute_capability"] >= 7:  # tensor cores
                assert tflops["float16"] >= 1.9 * tflops["float32"], name
            assert tflops.get("bfloat16", tflops["float16"]) == tflops["float16"], name
            # Dense: twice TF32, not four times, which would be the rate for sparse
            # matrices.
            assert not ampere_on or 1.9 < tflops["float16"] / tflops["tf32"] < 2.1, name


# --- operations

PRODUCTS = [
    (layers.Conv2D(6, 3, strides=2, groups=2), (9, 9, 4), 4 * 4 * 6 * 9 * 2),
    (layers.Dense(3, use_bias=False), (5, 4), 5 * 4 * 3),
]
N = 4 * 4 * 8  # numbers that go in, for one sample
OTHERS = [
    (layers.Flatten(), 0, 0),
    (layers.ReLU(), N, N),
    (layers.Softmax(), 5 * N, 5 * N),  # as in TensorFlow's own counter
    (layers.Dropout(0.5), 2 * N, N),
    # backward it looks for the largest once more
    (layers.MaxPooling2D(), N, N + N // 4),
    (layers.AveragePooling2D(2), N, N),
    (layers.GlobalMaxPooling2D(), N, N + 8),
    (layers.LayerNormalization(), 8 * N, 11 * N),
]


def test_operations_by_hand():
    for layer, shape, multiplications in PRODUCTS:
        model = one(layers.Dense(shape[-1]), layer, shape=shape)
        first, second = counted(model, batch=2).itertuples(index=False)
        bias = (
            2
            * math.prod(model.output_shape[1:])
            * (getattr(layer, "bias", None) is not None)
        )
        assert second[:2] == (4 * multiplications + bias, 8 * multiplications + bias), (
            layer
        )
        assert first.backward == first.forward  # the weights' gradients alone
    for layer, forward, backward in OTHERS:
        found = counted(one(layers.Dense(8), layer, shape=(4, 4, 8)), batch=1).iloc[1]
        assert (found["forward"], found["backward"]) == (forward, backward), layer


def test_attention_by_hand():
    """Keys, values and queries from outside, so that nothing needs the gradients of
    three.
    """
    row = counted(attention(), batch=3).filter(like="multi_head", axis=0).iloc[0]
    queries = 3 * 6
    keys = 3 * 5
    scores = 3 * 2 * 6 * 5
    outside = queries * 8 * 6 + keys * 12 * 6 + keys * 12 * 14
    products = outside + queries * 14 * 8 + scores * (3 + 7)
    # biases, softmax
    others = queries * 6 + keys * 6 + keys * 14 + queries * 8 + 5 * scores
    assert row["forward"] == 2 * products + others
    assert row["backward"] == 4 * products - 2 * outside + others
    # By name, in any order, and with keys of their own.
    inputs = [keras.Input((6, 8)), keras.Input((5, 12)), keras.Input((5, 4))]
    attend = layers.MultiHeadAttention(
        2, 3, value_dim=7, output_shape=8, use_bias=False
    )
    named = keras.Model(inputs, attend(key=inputs[2], value=inputs[1], query=inputs[0]))
    products = 6 * 8 * 6 + 5 * 4 * 6 + 5 * 12 * 14 + 6 * 14 * 8 + 60 * (3 + 7)
    assert counted(named, batch=1)["forward"].tolist() == [2 * products + 5 * 60]


def test_frozen_layers_have_less_to_do():
    model = small()
    whole = counted(model)
    kept = roofline.account(model, 4)
    model.layers[0].trainable = False
    part = counted(model)
    assert part["backward"].tolist()[:2] == [0, 0] and part["update"].iloc[0] == 0
    # now the first with weights
    assert part["backward"].iloc[2] == whole["backward"].iloc[2] / 2
    assert part["backward"].tolist()[3:] == whole["backward"].tolist()[3:]
    less = kept.activation_gradients - roofline.account(model, 4).activation_gradients
    assert less == 4 * 4 * (144 * 8 + 36 * 8)  # of the convolution and of its pooling


# --- the bytes that a step moves


def test_the_bytes_of_a_dense_layer_by_hand():
    with dtype_policy("mixed_bfloat16"):
        model = one(layers.Dense(20), layers.Dense(30, activation="relu"), shape=(10,))
    first, second = counted(model, "bytes", batch=8).itertuples(index=False)
    x = 2 * 8 * 20
    y = 2 * 8 * 30
    w = 2 * (20 * 30 + 30)
    cast = w + 2 * w  # the weights lie in float32
    assert second.forward == x + w + y + cast
    # Two products, relu's pass over gradient and output, and the weights' gradient to
    # float32.
    assert second.backward == 2 * (x + w + y) + 3 * y + cast
    # The first casts its input from float32 and sends no gradient back.
    x = 2 * 8 * 10
    y = 2 * 8 * 20
    w = 2 * (10 * 20 + 20)
    assert first.forward == x + w + y + 3 * x + 3 * w
    assert first.backward == x + w + y + 3 * w


def test_the_bytes_of_normalization_and_dropout_by_hand():
    model = one(layers.Dense(10), layers.BatchNormalization(), layers.Dropout(0.5))
    found = counted(model, "bytes", batch=8)
    array = 4 * 8 * 10
    assert found["forward"].tolist()[1:] == [3 * array, 2 * array + 8 * 10]
    assert found["backward"].iloc[1] == 5 * array


def test_the_update_reads_weights_gradients_and_slots():
    n = small().count_params()
    for policy, arrays, flops in (
        ("float32", 7, 12),  # Adam reads all four, and writes all but the gradients
        ("mixed_bfloat16", 7, 12),
        # a loss scale looks at the gradients and unscales them
        ("mixed_float16", 10, 14),
    ):
        with dtype_policy(policy):
            model = small()
        assert counted(model, "bytes")["update"].sum() == arrays * 4 * n
        assert counted(model)["update"].sum() == flops * n


# --- models of other kinds


class Mine(layers.Layer):
    def call(self, x):
        return keras.ops.sin(x)


class Residual(layers.Layer):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(6)

    def call(self, x):
        return x + self.dense(x)


MyDense = type("Dense", (layers.Dense,), {})  # of one's own, in spite of its name


def test_what_has_no_formula_is_named_and_left_out():
    inputs = keras.Input((7, 5))
    x = keras.ops.multiply(layers.LSTM(4, name="memory")(inputs), 2.0)
    outputs = layers.Dense(3, name="known")(
        MyDense(4, name="mine")(Mine(name="sine")(x))
    )
    step = roofline.work(keras.Model(inputs, outputs), 2)
    assert set(step.unknown[:3]) == {"memory (LSTM)", "sine (Mine)", "mine (Dense)"}
    assert re.match(r"multiply(_\d+)? \(Multiply", step.unknown[3])
    assert (
        set(step.table["layer"]) == {"known"}
        and step.flops == step.table["flops"].sum() > 0
    )
    assert roofline.predict(roofline.work(one(Mine()), 2), T4).ms == 0


def nested_and_shared():
    shared = layers.Dense(6, name="shared")
    inner = one(layers.Dense(6, name="inside"))
    inner.name = "inner"
    inputs = keras.Input((6,))
    return keras.Model(inputs, inner(shared(shared(inputs))))


def test_nested_models_and_shared_layers_count_as_often_as_they_run():
    found = counted(nested_and_shared(), batch=2)
    assert list(found.index) == ["shared", "inner/inside"]
    shared, inside = found.itertuples(index=False)
    assert shared.forward == 2 * inside.forward and shared.update == inside.update


@pytest.mark.parametrize("count", [roofline.work, roofline.account])
def test_open_shapes_are_refused_in_one_sentence(count):
    unbuilt = keras.Sequential([layers.Dense(3)])
    for model, said in (
        (unbuilt, "build it"),
        (one(layers.Dense(4), shape=(None, 3)), "fixed"),
    ):
        with pytest.raises(ValueError, match=said) as raised:
            count(model, 2)
        assert str(raised.value).count(".") == 1 + str(raised.value).count(
            "model.build"
        )


# --- the account of memory


def test_the_account_of_the_cnn():
    parameters, outputs = 1_011_466, 34_922
    last = 128 * 10 + 10  # the output layer computes in float32 and needs no copy
    for policy in POLICIES:
        with dtype_policy(policy):
            model = models.mnist_cnn()
        found = roofline.account(model, 100)
        each = 4 if policy == "float32" else 2
        assert found.weights == found.gradients == 4 * parameters
        assert found.optimizer == 8 * parameters
        assert found.weight_copies == 2 * (parameters - last) * (each == 2)
        assert found.activations == 100 * (each * (outputs - 10) + 4 * 10)
        assert found.activation_gradients == found.activations
        assert found.total == sum(vars(found).values())
    adam = keras.optimizers.Adam()
    adam.build(model.trainable_variables)
    slots = sum(
        keras.ops.convert_to_numpy(v).nbytes for v in adam.variables if len(v.shape)
    )
    assert slots == roofline.account(model, 1).optimizer


def normalized():
    ids = keras.Input((7,), dtype="int32")
    x = layers.BatchNormalization()(layers.Embedding(10, 4)(ids))
    return keras.Model(ids, layers.Flatten()(x))


def doubled():
    inputs = keras.Input((6,))
    return keras.Model(inputs, layers.Dense(6)(inputs) * 2.0)


# {kind: (model, weights, activations of one sample, their gradients)}, in numbers of
# float32.
COUNTED = {
    "nested, and shared": (nested_and_shared(), 2 * 42, 3 * 6, 3 * 6),
    "an operation between layers": (doubled(), 42, 2 * 6, 2 * 6),
    "a layer that adds to one inside": (one(Residual()), 42, 2 * 6, 2 * 6),
    "normalized": (normalized(), 40 + 16, 2 * 28, 2 * 28),
    "nothing to train": (one(layers.ReLU()), 0, 6, 0),
    # queries, keys, values, scores, their weighted sum; the output, the sum, the
    # normalized.
    "attention": (
        attention(),
        54 + 24 * 10 + 6 + 14 + 14 * 8 + 8 + 16,
        280 + 144,
        280 + 144,
    ),
}


@pytest.mark.parametrize("kind", COUNTED)
def test_the_account_of_other_models(kind):
    model, weights, activations, gradients = COUNTED[kind]
    found = roofline.account(model, 3)
    assert found.weights == 4 * weights
    assert found.gradients == sum(
        4 * math.prod(v.shape) for v in model.trainable_variables
    )
    assert found.activations == 3 * 4 * activations
    assert found.activation_gradients == 3 * 4 * gradients


def test_a_copy_in_16_bits_goes_by_the_innermost_layer():
    inner = one(layers.Dense(4), layers.Dense(4, dtype="mixed_float16"))
    model = keras.Sequential([inner, layers.Dense(4, dtype="float16")])
    model.build((None, 6))
    assert roofline.account(model, 1).weight_copies == 2 * 20


# --- predictions


def test_a_prediction_is_the_longer_of_two_times_summed():
    with dtype_policy("mixed_float16"):
        found = roofline.predict(roofline.work(small(), 64), T4)
    table = found.table
    dtypes = table.groupby("step")["dtype"].first().to_dict()
    assert dtypes == {"forward": "float16", "backward": "float16", "update": "float32"}
    peak = table["dtype"].map({"float16": 65e12, "float32": 8.1e12})
    arithmetic = table["flops"] / peak
    moved = table["bytes"] / 320e9
    assert np.allclose(table["ms"], 1e3 * np.maximum(arithmetic, moved))
    assert found.ms == pytest.approx(table["ms"].sum())


# --- what was recorded


def test_the_recorded_steps_beside_their_predictions():
    table = roofline.predicted_and_measured()
    assert (table["times"] > 1).all()  # nothing runs above its roof
    # Where the kernels are, bfloat16 is faster, and the roof, which is a best case,
    # says more.
    fast = table.query(
        "policy == 'mixed_bfloat16' and settings == '' and model == 'cnn'"
    ).iloc[0]
    assert 1.2 < fast["measured_speedup"] < fast["predicted_speedup"]


def recorded(device="some CPU", settings=(), **parts):
    """A measurement without roofs, with what is added to it."""
    row = {"policy": "float32", "step_ms": 30.0, "speedup": 1.0}
    block = {"tokens": 8, "width": 16, "heads": 2, "batch_size": 4}
    return {
        **{"device": device, "settings": dict(settings)},
        "conditions": {"batch_size": 8, "transformer": block},
        "cnn": [row, {"policy": "mixed_bfloat16", "step_ms": 15.0, "speedup": 2.0}],
        **parts,
    }


def roofs(*cases):
    return [{"figure": figure, "value": value} for figure, value in cases]


def test_both_models_of_a_record_stand_beside_their_prediction():
    best = roofs(
        ("float32", 0.3), ("float32", 0.5), ("bfloat16", 0.8), ("memory", 20.0)
    )
    both = recorded(transformer=recorded()["cnn"], ceilings=best)
    off = recorded(settings={"ONEDNN": "0"}, ceilings=best)
    half = recorded(ceilings=best[-1:])
    table = roofline.predicted_and_measured([both, off, recorded(), half])
    assert table["model"].tolist() == ["cnn"] * 2 + ["transformer"] * 2 + ["cnn"] * 2
    assert table["settings"].tolist() == [""] * 4 + ["ONEDNN=0"] * 2
    step = roofline.work(models.transformer_block(8, 16, 2), 4)
    device = Device("some CPU", {"float32": 0.5, "bfloat16": 0.8}, 20.0)
    expected = roofline.predict(step, device).ms
    assert table["predicted_ms"][2] == pytest.approx(expected)
    assert table["times"][2] == pytest.approx(30 / expected) and not step.unknown


# --- measured


def test_the_roofs_of_this_machine(monkeypatch):
    monkeypatch.setattr(rates, "device_kind", lambda: "CPU")
    monkeypatch.setitem(rates.MATRICES, "CPU", (64, 128))
    table = roofline.ceilings(seconds=0.5)
    assert (table["q1"] <= table["value"]).all() and (
        table["value"] <= table["q3"]
    ).all()
    assert (table["q1"] > 0).all()
    found = roofline.measured_device(table)
    best = table.groupby("figure")["value"].max()
    assert {**found.tflops, "memory": found.gb_per_s} == best.to_dict()
    with pytest.raises(ValueError, match="no float32 product"):
        roofline.measured_device(table[table["figure"] == "memory"])


# --- where steps stand, drawn


def drawn(found, points):
    """The figure, and {label: (x, y)} of its lines."""
    picture = roofline_figure(found, points)
    lines = picture.figure.axes[0].lines
    return picture, {x.get_label(): x.get_data() for x in lines if " " in x.get_label()}


def test_the_figure_shows_a_roof_for_each_dtype_and_a_dot_for_each_pass_below_it():
    steps = roofline.works(models.mnist_cnn, 256)
    floors = {policy: roofline.predict(step, T4) for policy, step in steps.items()}
    found = roofline.points(floors)
    for dot in found.itertuples():
        # they stay float32
        by_pass = dot.label == "Adam" or dot.label.startswith("dense 2")
        peak = T4.peak("float32" if by_pass else dot.dtype)
        assert (
            0
            < dot.tflops
            <= min(peak, dot.intensity * T4.bandwidth) / 1e12 * (1 + 1e-9)
        )
    layers = ["conv2d 1", "max_pooling2d 1", "conv2d 2", "dense 1", "dense 2"]
    labels = [f"{layer}, {way}" for layer in layers for way in ("forward", "backward")]
    for policy, floor in floors.items():
        own = found[found["dtype"] == policy.removeprefix("mixed_")].set_index("label")
        assert list(own.index) == [*labels, "Adam"]
        assert own["ms"].sum() == pytest.approx(floor.ms) == sum(floor.budget.values())
        products = own["ms"][own.index.str.startswith(("conv", "dense"))].sum()
        assert floor.budget["products"] == pytest.approx(products)
    picture, lines = drawn(T4, found)
    assert set(lines) == {
        "float32 8.1 TFLOP/s",
        "float16 65 TFLOP/s",
        "memory 320 GB/s",
    }
    for dtype in ("float32", "float16"):
        x, y = lines[f"{dtype} {T4.tflops[dtype]} TFLOP/s"]
        assert x[0] == pytest.approx(T4.peak(dtype) / T4.bandwidth)
        assert list(y) == [T4.tflops[dtype]] * 2
    x, y = lines["memory 320 GB/s"]
    assert np.allclose(np.array(y) / np.array(x), 0.32)
    # Twice the time is twice the area.
    areas = np.array(
        [dots.get_sizes()[0] for dots in picture.figure.axes[0].collections]
    )
    assert np.allclose(np.diff(areas) / 500, np.diff(found["ms"]) / found["ms"].max())
    assert "Adam in float16: " in picture.alt


def test_equal_rates_are_one_roof_and_unknown_memory_has_no_slope():
    assert "bfloat16 and float16 989 TFLOP/s" in drawn(DEVICES["H200"], None)[1]
    picture, lines = drawn(Device("some CPU", {"float32": 0.4}), None)
    assert not any(label.startswith("memory") for label in lines)
    assert (
        "GFLOP/s" in picture.alt
        and "no slope" in picture.alt
        and "inf" not in picture.alt
    )
