"""The roofline: its catalogue, what it counts, what it predicts, against other ways to know."""

import doctest
import importlib
import io
import math
import re

import keras
import numpy as np
import pandas as pd
import pytest
from keras import layers
from matplotlib.text import Text
from PIL import Image
from test_figures import contrast

from course_utils import hardware, measurements, memory, models, roofline
from course_utils.accelerators import Accelerator
from course_utils.figures.roofline import roofline as roofline_figure
from course_utils.roofline import measure
from course_utils.roofline.catalogue import DTYPES
from course_utils.roofline.counts import einsum_multiplications
from course_utils.stepping import Trainee, dtype_policy

tf = pytest.importorskip("tensorflow")
POLICIES = ("float32", "mixed_bfloat16", "mixed_float16")
T4 = roofline.devices()["T4"]


def small():
    """Convolutions of several kinds, both poolings, dense layers."""
    return keras.Sequential(
        [
            keras.Input((12, 12, 3)),
            layers.Conv2D(8, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(16, 3, padding="same", use_bias=False),
            layers.AveragePooling2D(2),
            layers.Flatten(),
            layers.Dense(5, activation="relu"),
            layers.Dense(4),
        ]
    )


def wide():
    """Products large enough to wait for arithmetic anywhere; nothing is computed here."""
    dense = [layers.Dense(4096), layers.Dense(4096)]
    return keras.Sequential([keras.Input((4096,)), *dense])


def attention():
    """One block of a Transformer, with keys from elsewhere."""
    query, value = keras.Input((6, 8)), keras.Input((5, 12))
    x = layers.MultiHeadAttention(2, 3, value_dim=7, output_shape=8)(query, value)
    x = layers.LayerNormalization()(layers.Add()([x, query]))
    return keras.Model([query, value], x)


@pytest.mark.parametrize("name", ["calls", "catalogue", "counts", "formulas", "limits",
                                  "prediction", "records", "steps"])  # fmt: skip
def test_the_examples_in_the_docstrings_run(name):
    module = importlib.import_module(f"course_utils.roofline.{name}")
    known = {"keras": keras, "measurements": measurements, **vars(roofline)}
    outcome = doctest.testmod(module, extraglobs=known)
    assert outcome.attempted and not outcome.failed


# ------------------------------------------------------------------ the catalogue


def test_every_figure_has_a_source_or_was_measured():
    table = roofline.sources()
    assert set(table["basis"]) <= {"read", "derived", "measured"}
    read = table[table["basis"] != "measured"]
    assert read["source"].str.match(r"https://\S+$").all()
    assert (table[table["basis"] != "read"]["how"].str.len() > 10).all()
    assert (table["value"] > 0).all() and not table.duplicated(["device", "figure"]).any()
    assert len(table["device"].unique()) == len(roofline.devices()) >= 12


@pytest.mark.parametrize("device", roofline.devices().values(), ids=lambda d: d.name)
def test_the_figures_of_a_device_agree_with_each_other(device):
    assert "float32" in device.tflops and set(device.tflops) <= set(DTYPES)
    if device.kind == "GPU" and not device.measured:
        assert ("bfloat16" in device.tflops) == (device.compute_capability >= 8)
        assert ("tf32" in device.tflops) == (device.compute_capability >= 8)
        if device.compute_capability >= 7:  # tensor cores
            assert device.tflops["float16"] >= 1.9 * device.tflops["float32"]
        assert device.tflops.get("bfloat16", device.tflops["float16"]) == device.tflops["float16"]
        # Dense: twice TF32, not four times, which would be the rate for sparse matrices.
        if "tf32" in device.tflops:
            assert 1.9 < device.tflops["float16"] / device.tflops["tf32"] < 2.1
    assert 0 < device.ridge("float16") < 1e4


@pytest.mark.parametrize(
    "name, found",
    [
        ("Tesla T4", "T4"),
        ("Tesla V100-SXM2-16GB", "V100 SXM"),
        ("NVIDIA A100-SXM4-40GB", "A100 40 GB"),
        ("NVIDIA A100-SXM4-80GB", "A100 80 GB"),
        ("NVIDIA A100 80GB PCIe", None),
        ("NVIDIA L4", "L4"),
        ("NVIDIA L40S", None),
        ("NVIDIA H100 80GB HBM3", "H100 SXM"),
        ("NVIDIA H100 PCIe", None),
        ("NVIDIA H200", "H200"),
        ("NVIDIA H200 MIG 1g.18gb", None),
        ("NVIDIA GeForce RTX 3090 Ti", None),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("v5litepod-8", "TPU v5e"),
        ("v5p-8", "TPU v5p"),
        ("NVIDIA GeForce GTX 1080 Ti", "GTX 1080 Ti"),
        ("NVIDIA GeForce GTX 1080", None),
        ("NVIDIA T400 4GB", None),
    ],
)
def test_a_device_is_found_by_its_own_name_and_no_other(name, found):
    device = roofline.named(name)
    assert (device and device.name) == found


def test_units_of_a_dtype():
    a100 = roofline.devices()["A100 40 GB"]
    assert a100.unit("float32") == "tf32" and a100.unit("float32", tf32=False) == "float32"
    assert a100.unit("bfloat16") == "bfloat16" and T4.unit("bfloat16") == "float32"
    with pytest.raises(ValueError, match="'int8' is no dtype of the catalogue: take one of"):
        T4.unit("int8")


def test_a_gtx_1080_ti_computes_a_64th_as_fast_in_float16_and_moves_as_many_bytes():
    """128 results in float32 against 2 in float16, for compute capability 6.1."""
    pascal = roofline.devices()["GTX 1080 Ti"]
    assert pascal.peak("float32") / pascal.peak("float16") == pytest.approx(64, rel=0.001)
    assert pascal.unit("bfloat16") == "float32" and pascal.ridge("float16") < 1
    speed = roofline.compare(roofline.works(models.mnist_cnn, 128), [pascal])
    assert speed.set_index("policy")["speedup"]["mixed_float16"] < 0.1


# ------------------------------------------------------------------ the exercises of notebook 05


def test_a_t4_with_50_operations_per_float32_byte():
    assert roofline.ideal_speedup(T4, 50, "float16") == pytest.approx(3.95, abs=0.005)
    assert round(T4.ridge("float16")) == 203 and T4.ridge("float32") < 50
    # The wrong answers: never the ratio of the peaks, nor of the bytes.
    assert T4.peak("float16") / T4.peak("float32") == pytest.approx(8, abs=0.03)
    assert T4.roof("float16", 50) / T4.peak("float32") == pytest.approx(1.98, abs=0.005)
    assert roofline.ideal_speedup(T4, 1, "float16") == 2  # bound by memory on both sides
    assert roofline.ideal_speedup(T4, 1e4, "float16") == pytest.approx(8, abs=0.03)


def test_a_step_that_waits_for_its_input():
    assert roofline.with_input(20, 30) / roofline.with_input(10, 30) == 1
    alone = [roofline.with_input(step, 30, prefetch=False) for step in (20, 10)]
    assert alone[0] / alone[1] == 1.25


def test_the_typical_step_is_the_median():
    times = [412, 71, 70, 69, 140, 70, 70]
    assert roofline.typical(times) == 70
    assert round(np.mean(times), 1) == 128.9 and round(np.mean(times[1:]), 1) == 81.7


# ------------------------------------------------------------------ operations


def operations(model, training, batch):
    """{operation of TensorFlow: floating-point operations} by TensorFlow's own counter."""
    x = tf.TensorSpec((batch, *model.input_shape[1:]), tf.float32)

    @tf.function
    def step(x):
        if not training:
            return model(x, training=False)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(x, training=True))
        return tape.gradient(loss, model.trainable_variables)

    build = tf.compat.v1.profiler.ProfileOptionBuilder
    options = build(build.float_operation()).with_empty_output().build()
    graph = step.get_concrete_function(x).graph
    tree, found = tf.compat.v1.profiler.profile(graph, cmd="op", options=options), {}

    def visit(node):
        for child in node.children:
            found[child.name] = found.get(child.name, 0) + child.float_ops
            visit(child)

    visit(tree)
    return found


def columns(model, training=True, batch=4, **options):
    return roofline.work(model, batch, training=training, **options).table.set_index("layer")


def test_forward_operations_are_those_of_tensorflow_s_counter():
    model = small()
    counted, table = operations(model, False, 4), columns(model, training=False)
    relus = 4 * (12 * 12 * 8 + 5)  # TensorFlow counts none for these
    assert table["forward_flops"].sum() - relus == sum(counted.values())
    assert table["backward_flops"].sum() == table["update_bytes"].sum() == 0


def test_backward_operations_are_those_of_tensorflow_s_counter():
    """For padding "same": for "valid" the counter takes the size of the input for the output's."""
    model = small()
    counted, table = operations(model, True, 4), columns(model)
    first, second, dense, head = table.loc[
        [n for n in table.index if n.startswith(("conv2d", "dense"))], "backward_flops"
    ]
    unbiased = {
        "first": first - 2 * 4 * 12 * 12 * 8,  # the sum for the bias, and relu
        "second": second,
        "dense": dense - 2 * 4 * 5,
        "head": head - 4 * 4,
    }
    conv, dot = counted["Conv2D"], 2 * 4 * (3 * 3 * 16 * 5 + 5 * 4)
    # The counter sees a gradient of the images, which TensorFlow prunes before it runs.
    assert counted["Conv2DBackpropFilter"] == conv == counted["Conv2DBackpropInput"]
    assert unbiased["first"] + unbiased["second"] == 2 * conv - unbiased["first"]
    assert counted["MatMul"] == 3 * dot
    assert unbiased["dense"] + unbiased["head"] == 2 * dot
    pool = table.loc[[n for n in table.index if n.startswith("max_pool")]].iloc[0]
    assert pool["backward_flops"] == counted["MaxPoolGrad"]


def test_the_cnn_by_hand():
    table = columns(models.mnist_cnn(), batch=1)
    by_hand = [26 * 26 * 32 * 9, 0, 11 * 11 * 64 * 288, 0, 7744 * 128, 1280]
    biased = [2 * 26 * 26 * 32, 13 * 13 * 32 * 4, 2 * 11 * 11 * 64, 0, 2 * 128, 10]
    assert list(table["forward_flops"]) == [2 * m + b for m, b in zip(by_hand, biased, strict=True)]
    # Nothing needs the gradient of the images.
    assert table["backward_flops"].iloc[0] == table["forward_flops"].iloc[0]
    assert table["backward_flops"].iloc[2] == 4 * by_hand[2] + biased[2]
    assert table["update_flops"].sum() == 12 * 1_011_466


def products(model, batch):
    """Operations of all einsums and matrix products in the graph of a training step."""
    specs = [tf.TensorSpec((batch, *x.shape[1:])) for x in model.inputs]

    @tf.function
    def step(*inputs):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            loss = tf.reduce_sum(model(list(inputs)))
        return tape.gradient(loss, [*model.trainable_variables, *inputs])

    total = 0
    for op in step.get_concrete_function(*specs).graph.get_operations():
        shapes = [tuple(x.shape) for x in op.inputs]
        if op.type == "Einsum" and len(shapes) == 2:
            total += 2 * einsum_multiplications(op.get_attr("equation").decode(), *shapes)
        elif op.type in ("MatMul", "BatchMatMulV2"):
            inner = shapes[0][-2 if op.get_attr(op.type == "MatMul" and "transpose_a" or "adj_x")
                              else -1]  # fmt: skip
            total += 2 * inner * math.prod(op.outputs[0].shape)
    return total


def test_attention_has_the_products_that_tensorflow_runs():
    model, batch = attention(), 3
    table = columns(model, batch=batch)
    row = table.loc[[n for n in table.index if n.startswith("multi_head")]].iloc[0]
    queries, keys, heads = batch * 6, batch * 5, 2
    projected = queries * 8 * 6 + keys * 12 * 6 + keys * 12 * 14 + queries * 14 * 8
    inside = batch * heads * 6 * 5 * (3 + 7)
    biases = queries * 6 + keys * 6 + keys * 14 + queries * 8
    softmax = 5 * batch * heads * 6 * 5
    assert row["forward_flops"] == 2 * (projected + inside) + biases + softmax
    # Its inputs come from outside, so their gradients are not needed: 3 products each fall away.
    unneeded = queries * 8 * 6 + keys * 12 * 6 + keys * 12 * 14
    assert row["backward_flops"] == 4 * (projected + inside) - 2 * unneeded + biases + softmax
    assert products(model, batch) == 6 * (projected + inside)


@pytest.mark.parametrize(
    "layer, shape, multiplications",
    [
        (layers.Conv1D(6, 3, dilation_rate=2), (20, 4), 16 * 6 * 3 * 4),
        (layers.Conv2D(6, 3, strides=2, groups=2), (9, 9, 4), 4 * 4 * 6 * 9 * 2),
        (layers.Conv3D(2, 2), (4, 4, 4, 3), 27 * 2 * 8 * 3),
        (layers.Conv2DTranspose(5, 3, strides=2), (4, 4, 2), 4 * 4 * 2 * 9 * 5),
        (layers.DepthwiseConv2D(3, depth_multiplier=2), (6, 6, 4), 16 * 8 * 9),
        (layers.SeparableConv2D(7, 3), (6, 6, 4), 16 * 4 * 9 + 16 * 4 * 7),
        (layers.EinsumDense("abc,cde->abde", (5, 2, 3)), (5, 4), 5 * 4 * 6),
        (layers.EinsumDense("...x,xy->...y", 6), (5, 4), 5 * 4 * 6),
        (layers.Dense(3, use_bias=False), (5, 4), 5 * 4 * 3),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, layers.Layer) else "",
)
def test_products_by_hand(layer, shape, multiplications):
    model = keras.Sequential([keras.Input(shape), layer])
    row = columns(model, batch=2).iloc[0]
    bias = 2 * math.prod(model.output_shape[1:]) * (getattr(layer, "bias", None) is not None)
    assert row["forward_flops"] == 2 * 2 * multiplications + bias
    assert row["backward_flops"] == 2 * 2 * multiplications + bias  # the weights' gradient alone


def test_attention_takes_its_inputs_by_name():
    inputs = [keras.Input((6, 8)), keras.Input((5, 12)), keras.Input((5, 4))]
    attend = layers.MultiHeadAttention(2, 3, value_dim=7, output_shape=8, use_bias=False)
    named = keras.Model(inputs, attend(key=inputs[2], value=inputs[1], query=inputs[0]))
    projected = 6 * 8 * 6 + 5 * 4 * 6 + 5 * 12 * 14 + 6 * 14 * 8
    inside = 2 * 6 * 5 * (3 + 7)
    found = columns(named, training=False, batch=1)["forward_flops"]
    assert found.tolist() == [2 * (projected + inside) + 5 * 2 * 6 * 5]


def test_dropout_and_statistics_are_for_training_alone():
    model = keras.Sequential(
        [
            keras.Input((10,)),
            layers.Dense(10, name="dense"),
            layers.BatchNormalization(name="norm"),
            layers.Dropout(0.5, name="dropout"),
        ]
    )
    train, infer = columns(model, batch=8), columns(model, batch=8, training=False)
    array = 4 * 8 * 10
    assert train.loc["norm", ["forward_bytes", "backward_bytes"]].tolist() == [3 * array, 5 * array]
    assert train.loc["dropout", "forward_bytes"] == 2 * array + 8 * 10
    assert infer.loc["norm", "forward_bytes"] == 2 * array
    assert infer.loc["dropout", "forward_bytes"] == 0
    assert infer[["backward_flops", "backward_bytes", "update_bytes"]].sum().sum() == 0
    assert infer.loc["dense", "forward_bytes"] == train.loc["dense", "forward_bytes"]


def test_frozen_layers_have_less_to_do():
    model = small()
    whole = columns(model)["backward_flops"].copy()
    model.layers[0].trainable = False
    part = columns(model)
    assert part["backward_flops"].iloc[0] == part["backward_flops"].iloc[1] == 0
    assert part["backward_flops"].iloc[2] == whole.iloc[2] / 2  # now the first with weights
    assert list(part["backward_flops"].iloc[3:]) == list(whole.iloc[3:])
    assert part["update_bytes"].iloc[0] == 0


# ------------------------------------------------------------------ bytes


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("build", [models.mnist_cnn, small])
def test_bytes_agree_with_the_account_of_memory(policy, build):
    with dtype_policy(policy):
        model = build()
    account, step = memory.account(model, 32), roofline.work(model, 32)
    assert step.table["output_bytes"].sum() == account.activations
    assert step.table["weight_bytes"].sum() == account.weights
    assert step.table["copy_bytes"].sum() == account.weight_copies
    # Adam reads weights, gradients and two slots and writes all but the gradients.
    update = 2 * account.weights + account.gradients + 2 * account.optimizer
    if policy == "mixed_float16":  # checked for infinities, then unscaled
        update += 3 * account.gradients
    assert step.table["update_bytes"].sum() == update


def test_the_bytes_of_a_dense_layer_by_hand():
    with dtype_policy("mixed_bfloat16"):
        model = keras.Sequential(
            [keras.Input((10,)), layers.Dense(20), layers.Dense(30, activation="relu")]
        )
    table = columns(model, batch=8)
    x, y, w = 2 * 8 * 20, 2 * 8 * 30, 2 * (20 * 30 + 30)
    cast = w + 2 * w  # the weights lie in float32
    assert table["forward_bytes"].iloc[1] == x + w + y + cast
    # Two products, relu's pass over gradient and output, and the weights' gradient to float32.
    assert table["backward_bytes"].iloc[1] == 2 * (x + w + y) + 3 * y + cast
    # The first casts its input from float32 and sends no gradient back.
    x, y, w = 2 * 8 * 10, 2 * 8 * 20, 2 * (10 * 20 + 20)
    assert table["forward_bytes"].iloc[0] == x + w + y + 3 * x + 3 * w
    assert table["backward_bytes"].iloc[0] == x + w + y + 3 * w


def test_16_bits_move_less_but_never_less_than_half():
    for build in (models.mnist_cnn, small, attention):
        moved = list(roofline.works(build, 256).values())
        assert 0.5 < moved[1].bytes / moved[0].bytes < 1
        assert moved[1].bytes < moved[2].bytes  # loss scaling goes over the gradients again
        assert moved[1].flops == moved[0].flops < moved[2].flops


def test_slots_of_the_optimizer():
    table = columns(small(), slots=0)
    parameters = small().count_params()
    assert table["update_bytes"].sum() == 12 * parameters
    assert table["update_flops"].sum() == 2 * parameters


# ------------------------------------------------------------------ models of other kinds


class Mine(layers.Layer):
    def call(self, x):
        return keras.ops.sin(x)


MyDense = type("Dense", (layers.Dense,), {})  # of one's own, in spite of its name


def test_what_has_no_formula_is_named_and_left_out():
    inputs = keras.Input((7, 5))
    x = keras.ops.multiply(layers.LSTM(4, name="memory")(inputs), 2.0)
    outputs = layers.Dense(3, name="known")(MyDense(4, name="mine")(Mine(name="sine")(x)))
    step = roofline.work(keras.Model(inputs, outputs), 2)
    assert set(step.unknown[:3]) == {"memory (LSTM)", "sine (Mine)", "mine (Dense)"}
    assert re.match(r"multiply(_\d+)? \(Multiply", step.unknown[3])
    table = step.table.set_index("layer")
    assert table["forward_flops"].isna().to_dict() == {
        "memory": True, "sine": True, "mine": True, "known": False,
    }  # fmt: skip
    assert step.flops == table.loc["known", [c for c in table if c.endswith("_flops")]].sum()
    notes = roofline.predict(step, T4).notes
    assert "memory (LSTM)" in notes[0] and notes[0].startswith("Not counted")


def test_nested_models_and_shared_layers_count_as_often_as_they_run():
    shared = layers.Dense(6, name="shared")
    inner = keras.Sequential([keras.Input((6,)), layers.Dense(6, name="inside")], name="inner")
    inputs = keras.Input((6,))
    model = keras.Model(inputs, inner(shared(shared(inputs))))
    table = columns(model, batch=2)
    assert list(table.index) == ["shared", "inner/inside"]
    assert table["forward_flops"].iloc[0] == 2 * table["forward_flops"].iloc[1]
    assert table["weight_bytes"].iloc[0] == table["weight_bytes"].iloc[1]
    assert table["update_bytes"].iloc[0] == table["update_bytes"].iloc[1]


class Subclassed(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(4, name="dense")

    def call(self, x):
        return self.dense(x)


def test_a_subclassed_model_needs_an_example_of_its_inputs():
    with pytest.raises(ValueError, match="give an example batch as inputs"):
        roofline.work(Subclassed(), 2)
    open_length = keras.Sequential([keras.Input((None, 3)), layers.Dense(4)])
    with pytest.raises(ValueError, match="give an example batch as inputs"):
        roofline.work(open_length, 2)
    step = roofline.work(open_length, 2, inputs=np.zeros((7, 5, 3), "float32"))
    assert step.table["forward_flops"].tolist() == [2 * 2 * 5 * 3 * 4 + 2 * 5 * 4]
    step = roofline.work(Subclassed(), 2, inputs=np.zeros((7, 3), "float32"))
    assert step.table["forward_flops"].tolist() == [2 * 2 * 3 * 4 + 2 * 4]


def test_counting_changes_nothing_in_keras_or_in_the_model():
    model, call = small(), keras.Layer.__call__
    before = [w.copy() for w in model.get_weights()]
    roofline.work(model, 2)
    with pytest.raises(ValueError):
        roofline.work(Subclassed(), 2)
    assert keras.Layer.__call__ is call
    assert all(np.array_equal(a, b) for a, b in zip(before, model.get_weights(), strict=True))


# ------------------------------------------------------------------ predictions


def test_a_prediction_is_the_longer_of_two_times_summed():
    step = roofline.work(small(), 64)
    found = roofline.predict(step, T4)
    table = found.table
    arithmetic, moved = table["flops"] / 8.1e12, table["bytes"] / 320e9
    assert np.allclose(table["ms"], 1e3 * np.maximum(arithmetic, moved))
    assert (table["bound"] == np.where(arithmetic > moved, "arithmetic", "memory")).all()
    assert found.ms == pytest.approx(table["ms"].sum()) and sum(
        found.share.values()
    ) == pytest.approx(1)
    assert table["flops"].sum() == step.flops and table["bytes"].sum() == step.bytes
    assert set(table["step"]) == {"forward", "backward", "update"}


def test_the_update_is_in_float32_under_a_mixed_policy():
    with dtype_policy("mixed_float16"):
        table = roofline.predict(roofline.work(models.mnist_cnn(), 64), T4).table
    dtypes = table.groupby("step")["dtype"].first().to_dict()
    assert dtypes == {"forward": "float16", "backward": "float16", "update": "float32"}


def test_what_bounds_a_step_follows_from_its_shape():
    """Large dense layers on a large batch wait for arithmetic, normalization for memory."""
    norm = keras.Sequential([keras.Input((4096,)), layers.BatchNormalization(), layers.ReLU()])
    for model, bound in ((wide(), "arithmetic"), (norm, "memory")):
        step = roofline.work(model, 8192)
        for device in roofline.devices().values():
            assert roofline.predict(step, device).bound == bound, device.name


def test_predicted_speedups_lie_between_one_and_the_ratio_of_the_peaks():
    found = roofline.compare(roofline.works(models.mnist_cnn, 512), roofline.devices().values())
    assert len(found) == 3 * len(roofline.devices())
    for _, row in found.iterrows():
        device = roofline.devices()[row["device"]]
        best = max(device.peak("float16") / device.peak("float32"), 2)
        # A measured device may be slower in 16 bits, and a GPU before tensor cores is.
        slower = device.measured or (device.compute_capability or 9) < 7
        assert (0 if slower else 1) <= row["speedup"] <= best, row
    assert (found[found["policy"] == "float32"]["speedup"] == 1).all()


def test_a_t4_has_no_units_for_bfloat16_and_says_so():
    steps = roofline.works(models.mnist_cnn, 512)
    table = roofline.compare(steps, [T4]).set_index("policy")
    told = table.loc["mixed_bfloat16", "notes"]
    assert told == "T4 has no units for bfloat16: taken at the rate of float32."
    assert not table.loc["mixed_float16", "notes"]
    assert table.loc["mixed_bfloat16", "speedup"] < table.loc["mixed_float16", "speedup"]
    del steps["float32"]
    assert roofline.compare(steps, [T4])["speedup"].isna().all()


def test_tf32_is_what_float32_runs_in_unless_switched_off():
    a100 = roofline.devices()["A100 40 GB"]
    step = roofline.work(wide(), 8192)
    fast, slow = (roofline.predict(step, a100, tf32).ms for tf32 in (True, False))
    assert 4 < slow / fast <= 8


def test_the_recorded_cpu_beside_its_prediction():
    """Roofs of that machine from the same file, its memory's speed among them."""
    table = roofline.predicted_and_measured()
    assert (table["times"] > 1).all()  # nothing runs above its roof
    table = table[table["model"] == "cnn"].set_index(["settings", "policy"])
    fast, slow = table.loc[("", "mixed_bfloat16")], table.loc[("", "mixed_float16")]
    # bfloat16: both say faster, and the roof, which is a best case, says more. float16: the roof
    # of a product promises far more than convolutions reach.
    assert 1.2 < fast["measured_speedup"] < fast["predicted_speedup"]
    assert fast["predicted_speedup"] < 1.6 * fast["measured_speedup"]
    assert slow["measured_speedup"] < slow["predicted_speedup"] / 2
    assert table.loc[("", "float32"), "times"] < 3 < slow["times"]


def recorded(**more):
    """A measurement of the first kind: no roofs, no block; with what is added to it."""
    row = {"policy": "float32", "step_ms": 30.0, "speedup": 1.0, "memory_ratio": 1.0}
    other = {**row, "policy": "mixed_bfloat16", "step_ms": 15.0, "speedup": 2.0}
    rates = {"float32": 400.0, "bfloat16": 800.0}
    return {
        "device": "some CPU",
        "cpu": "some CPU, 2 cores (avx2)",
        "settings": {},
        "date": "2026-11-20",
        "conditions": {"model": "mnist_cnn (32-64-128)", "batch_size": 8, **more.pop("more", {})},
        "cnn": [row, other],
        "matmul": [{"size": 9, "dtype": d, "gflops": n} for d, n in rates.items()]
        + [{"size": 8, "dtype": "float32", "gflops": 1.0}],
        **more,
    }


def test_a_device_without_known_memory_is_bound_by_arithmetic_and_says_so():
    device = roofline.recorded_device(recorded())
    assert device.kind == "CPU" and device.gb_per_s is None
    assert device.tflops == {"float32": 0.4, "bfloat16": 0.8}
    found = roofline.predict(roofline.work(small(), 8), device)
    assert found.bound == "arithmetic" and "was not measured" in found.notes[-1]
    assert roofline.recorded_device(recorded(), gb_per_s=25).gb_per_s == 25
    floor, nearer = (roofline.predicted_and_measured([recorded()], gb) for gb in (None, 25))
    assert (nearer["predicted_ms"] > floor["predicted_ms"]).all()
    assert (nearer["times"] < floor["times"]).all()


def test_recorded_roofs_are_the_best_of_all_that_was_recorded():
    cases = [("float32", 0.5), ("float32", 0.3), ("tf32", 3.0), ("memory", 10.0), ("memory", 20.0)]
    roofs = [{"figure": figure, "value": value} for figure, value in cases]
    device = roofline.recorded_device(recorded(ceilings=roofs), gb_per_s=99)
    assert device.gb_per_s == 20 and device.tflops["float32"] == 0.5
    assert device.tflops["bfloat16"] == 0.8
    tensor = recorded(ceilings=roofs, more={"tf32": True}, cpu="x · GPU some GPU")
    device = roofline.recorded_device(tensor)
    assert device.kind == "GPU" and device.tflops["float32"] == 0.5 and device.tflops["tf32"] == 3.0
    tensor["matmul"] = [{"size": 9, "dtype": "float32", "gflops": 9000.0}]  # through TF32
    device = roofline.recorded_device(tensor)
    assert device.tflops["float32"] == 0.5 and device.tflops["tf32"] == 9.0


def test_both_models_of_a_record_stand_beside_their_prediction():
    block = {"tokens": 8, "width": 16, "heads": 2, "batch_size": 4}
    both = recorded(transformer=recorded()["cnn"], more={"transformer": block})
    jax = {**recorded(), "versions": {"backend": "jax"}}
    empty = {**recorded(), "matmul": []}
    table = roofline.predicted_and_measured([recorded(), both, jax, empty])
    assert table["model"].tolist() == ["cnn"] * 4 + ["transformer"] * 2 + ["cnn"] * 2
    assert table["settings"].tolist() == [""] * 6 + ["Keras/JAX"] * 2
    build = lambda: models.transformer_block(8, 16, 2)  # noqa: E731
    step = roofline.works(build, 4, ["float32"])["float32"]
    expected = roofline.predict(step, roofline.recorded_device(both)).ms
    assert table["predicted_ms"][4] == pytest.approx(expected)
    assert table["times"][4] == pytest.approx(30 / expected) and not step.unknown


# ------------------------------------------------------------------ limits


def prediction(ms, bound="memory"):
    table = pd.DataFrame({"ms": [float(ms)], "bound": [bound]})
    return roofline.Prediction(table, T4)


@pytest.mark.parametrize(
    "measured, predicted, load, floor, kind",
    [
        (20, 10, 30, None, "input"),
        (20, 10, 19, None, "memory"),
        (20, 10, 0, 12, "launch"),
        (20, 10, 0, 5, "memory"),
        (20, 5, 0, 5, "kernels"),
        (20, 5, 0, 12, "launch"),
    ],
)
def test_the_limit_of_a_step(measured, predicted, load, floor, kind):
    found = roofline.limit(measured, prediction(predicted), load, floor)
    assert found.kind == kind and found.reason.endswith(".")


def test_nothing_predicted_is_no_limit():
    sine = keras.Sequential([keras.Input((3,)), Mine()])
    assert roofline.limit(5, roofline.predict(roofline.work(sine, 2), T4)).kind == "unknown"


def test_a_step_with_one_sample_is_the_floor():
    def build():
        model = small()
        model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        return model

    trainee = Trainee(build, "float32")
    x, y = np.zeros((64, 12, 12, 3), "float32"), np.zeros(64, "int32")
    assert roofline.floor_ms(trainee, x, y, seconds=0) > 0
    assert trainee.model.optimizer.iterations == 5


def test_the_verdict():
    assert roofline.verdict(1.9, 1.8).endswith("1.8: it did.")
    assert roofline.verdict(1.02, 1.0).endswith("there was little to gain.")
    assert roofline.verdict(3.0, 1.5).endswith("it gained less.")
    slow = roofline.limit(112, prediction(12))
    said = roofline.verdict(0.9, 0.2, slow)
    assert "it did not help. The step takes 9.33 times what the roofs allow" in said


@pytest.mark.parametrize(
    ("predicted", "measured", "end"),
    [(1.04, 0.94, "little to gain."), (0.98, 1.0, "little to gain."), (0.9, 0.2, "not help."),
     (1.0, 1.5, "it gained more.")],
)  # fmt: skip
def test_roofs_that_promise_nothing_are_said_to(predicted, measured, end):
    said = roofline.verdict(predicted, measured)
    assert said.startswith("The roofs promise no more speed than float32, and you measured ")
    assert said.endswith(end)
    assert "promise 1.1 times the speed of float32" in roofline.verdict(1.06, measured)


# ------------------------------------------------------------------ measured


@pytest.fixture(scope="module")
def table():
    return roofline.ceilings(seconds=0.5, kind="CPU", size=128)


def test_the_roofs_of_this_machine(table):
    assert set(table["figure"]) == {"float32", "bfloat16", "float16", "memory"}
    assert (table["q1"] <= table["value"]).all() and (table["value"] <= table["q3"]).all()
    assert (table["runs"] >= 3).all() and (table["q1"] > 0).all()
    device = roofline.measured_device(table)
    assert device.measured and set(device.tflops) == {"float32", "bfloat16", "float16"}
    assert device.gb_per_s == table[table["figure"] == "memory"]["value"].max()
    assert roofline.predict(roofline.work(small(), 8), device).ms > 0


def test_a_product_is_counted_as_two_operations_a_multiplication(monkeypatch):
    case = measure._product("float32", 100)
    assert case.amount == pytest.approx(2e6 / 1e12)
    into_new, in_place = measure._sums(8)
    assert into_new.amount == pytest.approx(2 * 8 * 2**20 / 1e9)
    assert in_place.amount == pytest.approx(3 * 8 * 2**20 / 1e9)


@pytest.mark.parametrize(
    "isa, tried", [("", True), ("AVX2", False), ("AVX2_VNNI", False), ("AVX512_CORE", True)]
)
def test_no_bfloat16_where_it_would_end_the_process(monkeypatch, isa, tried):
    machine = hardware.Hardware("Linux x86_64", "some CPU", 2, (), max_isa=isa)
    monkeypatch.setattr(hardware, "detect", lambda: machine)
    assert ("bfloat16" in measure._dtypes("CPU")) is tried


def test_tf32_is_tried_where_the_gpu_has_it(monkeypatch):
    for capability, tried in ((7.5, False), (8.0, True)):
        gpu = Accelerator("GPU", "some GPU", True, compute_capability=capability)
        machine = hardware.Hardware("Linux x86_64", "some CPU", 2, (), accelerators=(gpu,))
        monkeypatch.setattr(hardware, "detect", lambda machine=machine: machine)
        assert ("tf32" in measure._dtypes("GPU")) is tried


def test_measuring_leaves_tf32_as_it_was():
    set_to = tf.config.experimental.enable_tensor_float_32_execution
    now = tf.config.experimental.tensor_float_32_execution_enabled
    try:
        for state in (False, True):
            set_to(state)
            roofline.ceilings(0, dtypes=("tf32",), kind="CPU", size=8)
            assert now() is state
    finally:
        set_to(True)


def test_an_interrupt_keeps_what_was_measured(monkeypatch, capsys):
    ran = []

    def time(case):
        ran.append(case)
        if len(ran) > 12:
            raise KeyboardInterrupt
        return 0.5

    monkeypatch.setattr(measure, "_time", time)
    found = roofline.ceilings(1, dtypes=("float32",), kind="CPU", size=8)
    assert "Interrupted" in capsys.readouterr().out
    assert list(found["runs"]) == [2, 2, 2] and found["value"].iloc[0] == 2e-12 * 8**3 / 0.5
    with pytest.raises(ValueError, match="no float32 product"):
        roofline.measured_device(found[found["figure"] == "memory"])


def test_a_row_for_the_catalogue_tells_how_it_was_measured(table):
    row = roofline.catalogue_row(table, "My laptop")
    device = roofline.device_from_row(row)
    assert device.name == "My laptop" and device.measured
    assert f"tensorflow {tf.__version__}" in row["measured"]
    for figure in (*row["tflops"].values(), row["gb_per_s"]):
        assert figure["quartiles"][0] <= figure["value"] <= figure["quartiles"][1]
        assert "runs" in figure["derived"]


# ------------------------------------------------------------------ where steps stand, drawn


def dots(device=T4, **options):
    steps = roofline.works(models.mnist_cnn, 256)
    return roofline.points({p: roofline.predict(s, device) for p, s in steps.items()}, **options)


def test_points_lie_on_or_below_the_roof():
    for by_layer in (False, True):
        for _, dot in dots(by_layer=by_layer).iterrows():
            roof = T4.roof(dot["dtype"], dot["intensity"]) / 1e12
            assert 0 < dot["tflops"] <= roof * (1 + 1e-9), dot["label"]


def test_a_measured_step_stands_below_its_predicted_dot():
    found = dots(measured_ms={"float32": 10.0})
    assert list(found["measured"]) == [False, True, False, False]
    predicted, measured = found.iloc[0], found.iloc[1]
    assert predicted["intensity"] == measured["intensity"]
    step = roofline.work(models.mnist_cnn(), 256)
    assert measured["tflops"] == pytest.approx(step.flops / 10e-3 / 1e12)


def test_layers_keep_their_names_from_policy_to_policy():
    found = dots(by_layer=True)
    assert (found.groupby("label").size() == 3).all() and found["label"].nunique() == 5
    conv = found[found["label"] == found["label"].iloc[2]].set_index("dtype")
    assert conv.loc["float16", "intensity"] > 1.9 * conv.loc["float32", "intensity"]


def lines(picture):
    """{label: (x, y)} of the lines of the figure."""
    drawn = picture.figure.axes[0].lines
    return {line.get_label(): line.get_data() for line in drawn if " " in line.get_label()}


def test_the_figure_shows_a_roof_for_each_dtype_from_its_ridge():
    picture = roofline_figure(T4, dots())
    drawn = lines(picture)
    assert set(drawn) == {"float32 8.1 TFLOP/s", "float16 65 TFLOP/s", "memory 320 GB/s"}
    for dtype, (x, y) in (("float32", drawn["float32 8.1 TFLOP/s"]),
                          ("float16", drawn["float16 65 TFLOP/s"])):  # fmt: skip
        assert x[0] == pytest.approx(T4.ridge(dtype)) and list(y) == [T4.tflops[dtype]] * 2
    x, y = drawn["memory 320 GB/s"]
    assert np.allclose(np.array(y) / np.array(x), 0.32)
    ax = picture.figure.axes[0]
    assert ax.get_xscale() == ax.get_yscale() == "log"


def test_changing_the_dtype_moves_the_dot_and_the_roof():
    picture = roofline_figure(T4, dots())
    arrows = [text for text in picture.figure.axes[0].texts if not text.get_text()]
    assert len(arrows) == 2  # to bfloat16 and to float16
    for arrow in arrows:
        assert arrow.xy[0] > 1.4 * arrow.xyann[0] and arrow.xy[1] > arrow.xyann[1]
    assert "step in float16, predicted: 25.7 operations per byte, 8.22 TFLOP/s" in picture.alt


def test_hollow_is_predicted_and_full_is_measured():
    markers = [
        line
        for line in roofline_figure(T4, dots(measured_ms={"float32": 10.0})).figure.axes[0].lines
        if line.get_marker() != "None" and len(line.get_xdata())
    ]
    assert [line.get_markerfacecolor() != "none" for line in markers] == [False, True, False, False]
    assert [line.get_marker() for line in markers] == ["o", "o", "s", "^"]


def test_equal_rates_are_one_roof_and_unknown_memory_has_no_slope():
    assert "bfloat16 and float16 989 TFLOP/s" in lines(roofline_figure(roofline.devices()["H200"]))
    device = roofline.recorded_device(recorded())
    picture = roofline_figure(device, dots(device))
    assert not any(label.startswith("memory") for label in lines(picture))
    assert "GFLOP/s" in picture.alt and "no slope" in picture.alt and "inf" not in picture.alt


@pytest.mark.parametrize("name", ["T4", "H200", "TPU v5e"])
def test_it_is_drawn_and_reads_on_light_and_dark(name):
    device = roofline.devices()[name]
    picture = roofline_figure(device, dots(device, by_layer=True))
    image = Image.open(io.BytesIO(picture.png())).convert("RGBA")
    assert image.getpixel((0, 0))[3] == 0 and 700 < image.width < 1800
    assert picture.alt.startswith(f"roofs of {name}: ") and picture.alt.endswith(".")
    for text in picture.figure.findobj(Text):
        if text.get_text().strip() and text.get_visible():
            for background in ("#ffffff", "#111111"):
                assert contrast(text.get_color(), background) > 4, text.get_text()
