"""One test for each behavior of TensorFlow that the first half of notebook 05 teaches.

When a new release changes one of them, the test that fails names the notebook to mend. The second
half is in test_canaries05_memory.py. Traces are read for what ran, never for how long.
"""

import os
import re
import subprocess
import sys
import time

import keras
import numpy as np
import pytest
import tensorflow as tf

from course_utils import hardware, models, profiling, roofline
from course_utils.stepping import dtype_policy

PRODUCTS = ["convolution", "matrix product"]
X = np.random.default_rng(0).random((64, 28, 28, 1), dtype="float32")
Y = np.arange(64) % 10
ON_CPU = not tf.config.list_physical_devices("GPU")


def trained(policy, build=models.mnist_cnn):
    """The trace of a step of a compiled model."""
    with dtype_policy(policy):
        model = build()
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.Adam(), loss, jit_compile=False)
    return profiling.record(lambda: model.train_on_batch(X, Y), steps=1)


@pytest.fixture(scope="module")
def products():
    """{policy: names of the operations that are products}"""
    found = {}
    for policy in ("float32", "mixed_bfloat16", "mixed_float16"):
        ops = profiling.op_times(trained(policy))
        found[policy] = set(ops["op"][ops["kind"].isin(PRODUCTS)])
    return found


# Which library multiplies


def test_05_float32_products_go_through_onednn_on_x86(products):
    if not any(name.startswith("_Mkl") for name in products["float32"]):
        pytest.skip("oneDNN is off here, or this is no x86 CPU")
    assert all(name.startswith("_Mkl") for name in products["float32"])


def test_05_bfloat16_products_go_through_onednn_where_the_cpu_has_them(products):
    if "bf16" not in " ".join(hardware.detect().instruction_sets or ()) or not any(
        name.startswith("_Mkl") for name in products["float32"]
    ):
        pytest.skip("oneDNN is off here, or this CPU has no bfloat16 units")
    assert all(name.startswith("_Mkl") for name in products["mixed_bfloat16"])


def test_05_float16_products_of_a_cpu_are_tensorflow_s_own(products):
    if not ON_CPU or {"avx512_fp16", "amx_fp16"} & set(hardware.detect().instruction_sets or ()):
        pytest.skip("this device multiplies float16 by itself")
    gradients = {name for name in products["mixed_float16"] if "Backprop" in name}
    assert gradients == {"Conv2DBackpropFilter", "Conv2DBackpropInput"}
    assert "MatMul" in products["mixed_float16"]


@pytest.mark.skipif(not hardware.merged_float16_is_slow(), reason="no CPU with float16 units")
def test_05_a_cpu_with_float16_instructions_takes_float16_through_onednn(products):
    assert all(name.startswith("_Mkl") for name in products["mixed_float16"])


def onednn_kernels(code, *arguments, **variables):
    """{(operation, kernel, direction)} that oneDNN names while a process of its own runs code."""
    own = {**os.environ, "ONEDNN_VERBOSE": "1", "CUDA_VISIBLE_DEVICES": "-1", **variables}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, env=own, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-1000:]
    lines = [line.split(",") for line in done.stdout.splitlines() if ",exec,cpu," in line]
    return {tuple(fields[5:8]) for fields in lines}


MERGED = """
import sys, tensorflow as tf
tf.config.optimizer.set_experimental_options({"remapping": sys.argv[1] == "on"})
x, w, b = (tf.zeros(shape, sys.argv[2]) for shape in ((32, 256), (256, 64), (64,)))
tf.function(lambda: tf.nn.relu(tf.nn.bias_add(x @ w, b)))()
"""


@pytest.mark.skipif(not hardware.merged_float16_is_slow(), reason="no CPU with float16 units")
@pytest.mark.parametrize(
    "remapping, dtype, slow",
    [("on", "float16", True), ("off", "float16", False), ("on", "bfloat16", False)],
)
def test_05_merged_with_its_bias_a_float16_product_runs_in_the_reference_kernel(
    remapping, dtype, slow
):
    found = onednn_kernels(MERGED, remapping, dtype)
    names = {kernel for operation, kernel, _ in found if operation in ("inner_product", "matmul")}
    assert names and ("ref:any" in names) is slow, found


CONVOLUTION = """
import tensorflow as tf
x, w = tf.zeros((8, 14, 14, 8), "float16"), tf.zeros((3, 3, 8, 16), "float16")
with tf.GradientTape() as tape:
    tape.watch(w)
    y = tf.nn.conv2d(x, w, 1, "SAME")
tape.gradient(y, w)
"""


@pytest.mark.skipif(not hardware.merged_float16_is_slow(), reason="no CPU with float16 units")
def test_05_without_amx_the_gradients_of_float16_convolutions_are_in_reference_kernels():
    found = onednn_kernels(CONVOLUTION, ONEDNN_MAX_CPU_ISA="AVX512_CORE_AMX")
    assert {kernel for _, kernel, way in found if way == "backward_weights"} == {"ref:any"}



# Casts


@pytest.mark.skipif(not ON_CPU, reason="said of CPUs")
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("function", [tf.exp, tf.tanh, lambda v: v + v], ids=["exp", "tanh", "add"])
def test_05_element_wise_operations_round_once_as_by_way_of_float32(dtype, function):
    values = tf.cast(tf.random.normal((4096,), seed=0), dtype)
    direct = tf.cast(function(values), tf.float32).numpy()
    around = tf.cast(tf.cast(function(tf.cast(values, tf.float32)), dtype), tf.float32).numpy()
    unit = 2.0 ** -(7 if dtype == "bfloat16" else 10)  # one ULP, relative
    assert np.max(np.abs(direct - around) / np.abs(around)) <= unit
    if function is not tf.tanh:  # which has a formula of its own for float16
        assert np.mean(direct == around) > 0.99


def test_05_float16_products_keep_their_sums_in_float32():
    ones = tf.ones((1, 4096), tf.float16)
    assert tf.matmul(ones, ones, transpose_b=True).numpy().item() == 4096  # float16 stops at 2048


def test_05_a_16_bit_policy_adds_casts_to_the_step():
    calls = {}
    for policy in ("float32", "mixed_bfloat16"):
        ops = profiling.op_times(trained(policy))
        calls[policy] = ops.loc[ops["kind"] == "cast", "calls"].sum()
    assert calls["mixed_bfloat16"] >= calls["float32"] + 10  # weights, their gradients, inputs


# The input pipeline


def pipeline(counted, **options):
    """Batches of 4 numbers; `counted` gets a 1 for each number that was prepared."""

    def prepare(number):
        counted.append(1)
        return number

    parallel = options.pop("parallel", None)
    data = tf.data.Dataset.range(16)
    data = data.map(
        lambda n: tf.numpy_function(prepare, [n], tf.int64), num_parallel_calls=parallel
    )
    data = data.cache() if options.pop("cache", False) else data
    data = data.repeat().batch(4)
    data = data.prefetch(2) if options.pop("prefetch", False) else data
    settings = tf.data.Options()
    settings.experimental_optimization.inject_prefetch = options.pop("by_itself")
    return iter(data.with_options(settings))


def prepared(counted, at_least, seconds=20):
    """How many were prepared, after a while."""
    end = time.monotonic() + seconds
    while len(counted) < at_least and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.2)  # for more than that
    return len(counted)


@pytest.mark.parametrize("prefetch, by_itself", [(False, False), (True, False), (False, True)])
def test_05_prefetch_works_ahead_and_tensorflow_adds_it_by_itself(prefetch, by_itself):
    counted = []
    batches = pipeline(counted, prefetch=prefetch, by_itself=by_itself)
    next(batches)
    if prefetch:  # a batch or two more are made in advance
        assert prepared(counted, 12) >= 12
    elif by_itself:  # its buffer grows from nothing as it is found empty
        for _ in range(6):
            next(batches)
        assert prepared(counted, 29) > 28
    else:
        assert prepared(counted, 5, seconds=0) == 4


def test_05_a_parallel_map_works_ahead_too():
    counted = []
    batches = pipeline(counted, parallel=3, by_itself=False)
    next(batches)
    assert prepared(counted, 5) > 4


@pytest.mark.parametrize("cache", [False, True])
def test_05_a_cache_prepares_each_element_once(cache):
    counted = []
    batches = pipeline(counted, cache=cache, by_itself=False)
    for _ in range(8):  # two epochs
        next(batches)
    assert len(counted) == (16 if cache else 32)


def test_05_a_slow_pipeline_is_named_and_what_it_does():
    large = np.kron((255 * X[:16, ..., 0]).astype("uint8"), np.ones((1, 64, 64), "uint8"))
    photos = [tf.io.encode_jpeg(photo[..., None]).numpy() for photo in large]

    def prepare(photo):
        picture = tf.io.decode_jpeg(photo, channels=1)
        return tf.image.resize(picture, (28, 28), "area")

    data = tf.data.Dataset.from_tensor_slices(photos).map(prepare).repeat().batch(8)
    settings = tf.data.Options()
    settings.experimental_optimization.inject_prefetch = False
    batches = iter(data.with_options(settings))
    trace = profiling.record(lambda: float(tf.reduce_sum(next(batches))), steps=3)
    assert profiling.bottleneck(trace).name == "input"
    work = set(profiling.op_times(trace, where="input")["op"])
    assert {"DecodeJpeg", "ResizeArea"} <= work


# Small operations


def test_05_a_chain_of_small_layers_has_more_operations_than_the_cnn():
    def chain():
        layers = [keras.layers.Dense(16, activation="relu") for _ in range(12)]
        ends = keras.layers.Flatten(), *layers, keras.layers.Dense(10, dtype="float32")
        return keras.Sequential([keras.Input((28, 28, 1)), *ends])

    calls = [
        profiling.op_times(trained("float32", build))["calls"].sum()
        for build in (models.mnist_cnn, chain)
    ]
    assert calls[1] > 2 * calls[0]


# The catalogue


def test_05_factors_of_8_and_16_are_ratios_of_peaks_against_true_float32():
    catalogue = roofline.devices()
    ratios = {
        name: (d.peak("float16") / d.peak("float32", tf32=False),
               d.peak("float16") / d.peak("float32"))
        for name, d in catalogue.items() if name in ("T4", "V100 SXM", "A100 40 GB")
    }  # fmt: skip
    for name in ("T4", "V100 SXM"):
        assert ratios[name] == pytest.approx((8, 8), rel=0.01)
    assert ratios["A100 40 GB"] == pytest.approx((16, 2), rel=0.01)


def test_05_a_wide_network_gets_near_the_ratio_and_the_cnn_does_not():
    def wide_dense():
        dense = [keras.layers.Dense(2048, activation="relu") for _ in range(2)]
        return keras.Sequential([keras.Input((2048,)), *dense])

    t4 = [roofline.devices()["T4"]]
    small, wide = (
        roofline.compare(roofline.works(build, batch), t4).set_index("policy")["speedup"]
        for build, batch in ((models.mnist_cnn, 128), (wide_dense, 4096))
    )
    assert small["mixed_float16"] < 2.5 < 5 < wide["mixed_float16"] < 8


def test_05_a_gtx_1080_ti_gains_only_bytes():
    steps = roofline.works(models.mnist_cnn, 128)
    assert 0.5 < steps["mixed_float16"].bytes / steps["float32"].bytes < 0.8
    pascal = roofline.devices()["GTX 1080 Ti"]
    own = roofline.predict(steps["mixed_float16"], pascal).ms
    assert own > 20 * roofline.predict(steps["float32"], pascal).ms
    how = roofline.sources().set_index(["device", "figure"])["how"]["GTX 1080 Ti", "float16"]
    assert re.search(r"1/64 of float32.*compute capability 6\.1", how)
