"""The roofline: its catalogue, what it counts and predicts, against other ways to know."""

import json
import re
from dataclasses import replace

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from keras import layers

from course_utils import models, roofline
from course_utils.benchmark import rates
from course_utils.roofline import counting
from course_utils.roofline.catalogue import DTYPES, PATH, Device
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


def compiled(model, loss="mse", optimizer="adam"):
    model.compile(optimizer, loss, jit_compile=False)
    return model


def counted(model, batch=4):
    """What a training step of a model with one output does, on zeros."""
    shape = (batch, *model.input_shape[1:])
    made = (batch, *model.output_shape[1:])
    step = compiled(model).train_step
    return roofline.count(step, (np.zeros(shape, "f"), np.zeros(made, "f")))


def rows(work, kind):
    """The rows of one type of operation, as tuples (dtype, flops, bytes)."""
    table = work.table[work.table["type"] == kind]
    return list(table[["dtype", "flops", "bytes"]].itertuples(index=False, name=None))


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
        assert "float32" in tflops and set(tflops) <= set(DTYPES), name
        assert 0 < found.peak("float16") / found.bandwidth < 1e4, name
        if row["kind"] == "GPU":
            ampere_on = row["compute_capability"] >= 8
            assert ("bfloat16" in tflops) == ("tf32" in tflops) == ampere_on, name
            # Dense: twice TF32, not four times, which would be the rate for sparse
            # matrices.
            assert not ampere_on or 1.9 < tflops["float16"] / tflops["tf32"] < 2.1, name


# --- operations and bytes


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_a_dense_layer_by_hand(policy):
    with dtype_policy(policy):
        model = one(layers.Dense(20), layers.Dense(30, "relu"), shape=(10,))
    work = counted(model, batch=8)
    dtype, each = {"float32": ("float32", 4)}.get(policy, ("bfloat16", 2))
    first = (dtype, 2 * 8 * 10 * 20, each * (8 * 10 + 10 * 20 + 8 * 20))
    second = (dtype, 2 * 8 * 20 * 30, each * (8 * 20 + 20 * 30 + 8 * 30))
    # Forward; backward the weights' gradients of both, and one for what lies between.
    assert sorted(rows(work, "MatMul")) == sorted([first] * 2 + [second] * 3)
    # Biases and ReLU ride along; the way back through ReLU is a pass of its own.
    assert not rows(work, "Relu") and not rows(work, "BiasAdd")
    assert rows(work, "ReluGrad") == [(dtype, 8 * 30, 3 * each * 8 * 30)]
    casts = [moved for _, _, moved in rows(work, "Cast")]
    weights = {6 * 10 * 20: 2, 6 * 20 * 30: 2}  # forward, and their gradients back
    expected = {} if policy == "float32" else weights
    assert {size: casts.count(size) for size in weights if size in casts} == expected


def test_an_update_by_hand():
    n = 4096 * 2048
    work = counted(one(layers.Dense(2048, use_bias=False), shape=(4096,)), batch=1)
    update = work.table[work.table["name"].str.match(r"adam(_\d+)?/")]
    large = update[update["flops"] == n]
    # Keras's Adam is a dozen operations, each over arrays as large as the weights.
    assert len(large) == 12 and large["bytes"].sum() // n == 4 * 30
    with dtype_policy("mixed_float16"):
        scaled = counted(one(layers.Dense(2048, use_bias=False), shape=(4096,)), 1)
    # A loss scale looks at the gradients and unscales them, and its update is a branch.
    assert {"IsFinite", "All"} <= set(scaled.table["type"])
    branch = scaled.table["name"].str.match(r"cond/adam(_\d+)?/")
    assert branch.sum() >= len(update)


def profiled(step, x):
    """{type of product: operations}, by TensorFlow's own counter."""
    v1 = tf.compat.v1.profiler
    options = v1.ProfileOptionBuilder(v1.ProfileOptionBuilder.float_operation())
    options = options.with_empty_output().build()
    node = v1.profile(counting.trace(step, x), cmd="op", options=options)
    found = {}
    while node.children:
        below = node.children[0]
        found[below.name] = below.total_float_ops - sum(
            each.total_float_ops for each in below.children
        )
        node = below
    return {kind: n for kind, n in found.items() if kind in counting.PRODUCTS and n}


@pytest.mark.slow
def test_products_agree_with_tensorflows_counter():
    model = keras.applications.MobileNetV2(
        weights=None, input_shape=(75, 75, 3), classes=10
    )
    x = np.zeros((2, 75, 75, 3), "float32")

    def step(x):
        return model(x, training=False)

    table = roofline.count(step, x).table
    own = table[table["product"]].groupby("type")["flops"].sum()
    assert own.to_dict() == profiled(step, x)


def test_gradients_of_convolutions_cost_what_the_convolution_costs():
    """That of the first one's input is in the graph, and nobody reads it."""
    doubled = layers.DepthwiseConv2D(3, depth_multiplier=2)
    depthwise = one(layers.Conv2D(4, 1), doubled, shape=(9, 9, 4))
    for model, kind, numbers in (
        (small(), "Conv2D", [2, 2, 1]),
        (depthwise, "DepthwiseConv2dNative", [1, 1, 1]),
    ):
        work = counted(model)
        ways = [
            {flops for _, flops, _ in rows(work, kind + way)}
            for way in ("", "BackpropFilter", "BackpropInput")
        ]
        assert [len(way) for way in ways] == numbers
        assert ways[0] == ways[1] >= ways[2]


def test_attention_by_hand():
    """Scores and their weighted sum are products of two arrays that a step makes."""
    model = attention()
    data = [np.zeros((3, 6, 8), "f"), np.zeros((3, 5, 12), "f")]
    step = compiled(model).train_step
    work = roofline.count(step, (data, np.zeros((3, 6, 8), "f")))
    scores = 3 * 2 * 6 * 5
    sums = sorted(flops for _, flops, _ in rows(work, "Einsum"))
    # Each forward, and backward twice.
    assert sums == sorted([2 * scores * 3] * 3 + [2 * scores * 7] * 3)


class Residual(layers.Layer):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(6)

    def call(self, x):
        return x + self.dense(x)


def test_any_model_and_step_counts():
    """A subclassed model, a layer of one's own, other optimizers, a loop of one's own."""
    adam = counted(one(layers.Dense(6), Residual()))
    sgd = compiled(one(layers.Dense(6), Residual()), optimizer="sgd")
    data = np.zeros((4, 6), "f"), np.zeros((4, 6), "f")
    plain = roofline.count(sgd.train_step, data)
    products = len(rows(plain, "MatMul"))
    assert products == len(rows(adam, "MatMul")) == 5
    assert plain.bytes < adam.bytes

    def loop(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((sgd(x) - y) ** 2)
        return tape.gradient(loss, sgd.trainable_variables)

    assert len(rows(roofline.count(loop, *data), "MatMul")) == products


def test_a_step_that_cannot_be_traced_is_refused_in_one_sentence():
    def loop(x):
        return tf.while_loop(lambda x: x[0, 0] < 3, lambda x: [x + 1], [x])

    x = np.zeros((2, 6), "f")
    open_ended = compiled(one(layers.Dense(4), shape=(None, 3)))
    spec = tf.TensorSpec((2, None, 3))
    for step, data, said in (
        (one(layers.Dense(4)).train_step, (x, x), r"no optimizer: call model.compile"),
        (
            compiled(keras.Sequential([layers.Dense(4)])).train_step,
            (x, x),
            "no weights yet",
        ),
        (lambda x: open_ended(x), spec, "stays open"),
        (loop, x, "While is in this step"),
    ):
        with pytest.raises(ValueError, match=said):
            roofline.count(step, data)


# --- predictions


def test_a_prediction_is_the_longer_of_two_times_summed():
    with dtype_policy("mixed_float16"):
        model = small()
    found = roofline.predict(counted(model, 64), T4)
    table = found.table
    products = table[table["product"]]
    peak = products["dtype"].map({"float16": 65e12, "float32": 8.1e12})
    longer = np.maximum(products["flops"] / peak, products["bytes"] / 320e9)
    assert np.allclose(products["ms"], 1e3 * longer)
    others = table[~table["product"]]
    assert np.allclose(others["ms"], 1e3 * others["bytes"] / 320e9)
    assert found.ms == pytest.approx(table["ms"].sum())
    assert found.budget["products"] == pytest.approx(products["ms"].sum())


def test_small_arrays_go_at_the_speed_of_the_cache():
    """16 MiB at most, by an operation's own bytes; products too, where bytes limit them."""
    rows = [("Mul", 16 * 2**20, False), ("Mul", 16 * 2**20 + 1, False)]
    rows += [("MatMul", 2**20, True)]
    table = pd.DataFrame(rows, columns=["type", "bytes", "product"])
    work = roofline.Work(table.assign(name=table["type"], dtype="float32", flops=1))
    slow = Device("a CPU", {"float32": 1e6}, 10.0)
    fast = replace(slow, cache_gb_per_s=40.0)
    gain = (
        roofline.predict(work, slow).table["ms"]
        / roofline.predict(work, fast).table["ms"]
    )
    assert gain.tolist() == pytest.approx([4, 1, 4])
    slower = replace(slow, cache_gb_per_s=1.0)  # a busy moment: memory is a cache, too
    assert roofline.predict(work, slower).ms == roofline.predict(work, slow).ms


# --- measured


def test_the_roofs_of_this_machine(monkeypatch):
    monkeypatch.setattr(rates, "device_kind", lambda: "CPU")
    monkeypatch.setitem(rates.MATRICES, "CPU", (64, 128))
    table = roofline.ceilings(seconds=0.5)
    assert (table["value"] > 0).all()
    found = roofline.measured_device(table)
    best = table.groupby("figure")["value"].max()
    slopes = {"memory": found.gb_per_s, "cache": found.cache_gb_per_s}
    assert {**found.tflops, **slopes} == best.to_dict()
    with pytest.raises(ValueError, match="no float32 product"):
        roofline.measured_device(table[table["figure"] == "memory"])


# --- where steps stand


def test_each_pass_of_each_layer_is_a_point_below_the_roof():
    floors = {}
    for policy in POLICIES:
        with dtype_policy(policy):
            model = models.mnist_cnn()
        floors[policy] = roofline.predict(counted(model, 256), T4)
    found = roofline.points(floors)
    for dot in found.itertuples():
        peak = T4.peak("float32" if dot.label == "adam" else dot.dtype)
        roof = min(peak, dot.intensity * T4.bandwidth) / 1e12
        assert 0 < dot.tflops <= roof * (1 + 1e-9)
    labels = {f"conv2d {n}, {way}" for n in (1, 2) for way in ("forward", "backward")}
    for policy, floor in floors.items():
        own = found[found["dtype"] == policy.removeprefix("mixed_")].set_index("label")
        assert labels | {"adam"} <= set(own.index)
        assert 0.97 * floor.ms < own["ms"].sum() <= floor.ms * (1 + 1e-9)
