"""What runs, and in which memory, on this device, as notebooks 04 and 05 teach it.

When a new release changes one of these behaviours, the test that fails names the
notebook to mend. Traces are read for what ran, never for how long.
"""

import re
import tempfile
import time
from collections import Counter
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from common import apart

from course_utils import benchmark, hardware, models, profiling
from course_utils.hardware import xla
from course_utils.training import dtype_policy
from tools.notebook_cells import Cells

NOTEBOOK = Cells("05_profiling")
PRODUCTS = ["convolution", "matrix product"]
SOURCE = np.random.default_rng(0)
# Few: on some CPUs each float16 picture takes oneDNN's reference kernels tens of
# milliseconds.
X = SOURCE.random((16, 28, 28, 1), dtype="float32")
Y = SOURCE.integers(0, 10, 16)
ON_CPU = not tf.config.list_physical_devices("GPU")
FLOAT16 = {"avx512_fp16", "amx_fp16"}
SETS = set(hardware.detect().instruction_sets or ())
needs_allocator = pytest.mark.skipif(
    not benchmark.counts_memory() or not ON_CPU,
    reason="this is about oneDNN's allocator, which is not in use here",
)
needs_float16 = pytest.mark.skipif(
    not hardware.merged_float16_is_slow(hardware.detect()),
    reason="no CPU with float16 units",
)


def compiled(policy):
    with dtype_policy(policy):
        model = models.mnist_cnn()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(), loss, jit_compile=False)
    return model


def operations_of(policy):
    """The operations of one step."""
    model = compiled(policy)
    return profiling.op_times(
        profiling.record(lambda: model.train_on_batch(X, Y), steps=1)
    )


@pytest.fixture(scope="module")
def steps():
    return {p: operations_of(p) for p in ("float32", "mixed_bfloat16", "mixed_float16")}


@pytest.fixture(scope="module")
def products(steps):
    """{policy: names of the operations that are products}"""
    return {p: set(ops["op"][ops["kind"].isin(PRODUCTS)]) for p, ops in steps.items()}


# Which library multiplies


def test_05_products_go_through_onednn_where_the_cpu_has_their_dtype(products):
    if not any(name.startswith("_Mkl") for name in products["float32"]):
        pytest.skip("oneDNN is off here, or this is no x86 CPU")
    units = {"mixed_bfloat16": {"avx512_bf16", "amx_bf16"}, "mixed_float16": FLOAT16}
    for policy, names in products.items():
        if policy == "float32" or units[policy] & SETS:
            assert all(name.startswith("_Mkl") for name in names), policy
    if not FLOAT16 & SETS:  # then they are TensorFlow's own
        gradients = {name for name in products["mixed_float16"] if "Backprop" in name}
        assert gradients == {"Conv2DBackpropFilter", "Conv2DBackpropInput"}
        assert "MatMul" in products["mixed_float16"]


def test_13_a_bias_and_a_relu_go_with_a_product_that_has_a_fast_routine(steps):
    """What rule 4 of the count leaves out. It holds with oneDNN off, too."""
    alone = {p: {"BiasAdd", "Relu"} & set(ops["op"]) for p, ops in steps.items()}
    if not ON_CPU:
        pytest.skip("this is about CPUs")
    assert not alone["float32"]
    if not FLOAT16 & SETS:
        assert alone["mixed_float16"] == {"BiasAdd", "Relu"}


CONVOLUTION = """
import tensorflow as tf
x, w = tf.zeros((8, 14, 14, 8), "float16"), tf.Variable(tf.zeros((3, 3, 8, 16), "float16"))
with tf.GradientTape() as tape:
    y = tf.nn.conv2d(x, w, 1, "SAME")
tape.gradient(y, w)
"""


# Where oneDNN has only its reference kernel for float16 is held by `test_upstream.py`.
@needs_float16
def test_05_float16_is_refused_where_a_setting_hides_its_instructions():
    """TensorFlow asks the CPU whether it has them, and oneDNN then has no kernel."""
    done = apart(CONVOLUTION, ONEDNN_MAX_CPU_ISA="AVX512_CORE")
    assert "could not create a primitive descriptor" in done.stderr and done.returncode


def test_05_a_16_bit_policy_adds_casts_to_the_step(steps):
    calls = {
        p: ops.loc[ops["kind"] == "cast", "calls"].sum() for p, ops in steps.items()
    }
    # weights, their gradients, inputs
    assert calls["mixed_bfloat16"] >= calls["float32"] + 10


# The input pipeline


def pipeline(counted, parallel=None, prefetch=False, by_itself=False):
    """Batches of 4 numbers; `counted` gets a 1 for each number that was prepared."""

    def prepare(number):
        counted.append(1)
        return number

    data = tf.data.Dataset.range(16)
    data = data.map(
        lambda n: tf.numpy_function(prepare, [n], tf.int64), num_parallel_calls=parallel
    )
    data = data.repeat().batch(4)
    data = data.prefetch(2) if prefetch else data
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = by_itself
    return iter(data.with_options(options))


def prepared(counted, at_least, seconds=20):
    """How many were prepared, after a while."""
    end = time.monotonic() + seconds
    while len(counted) < at_least and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.2)  # for more than that
    return len(counted)


def test_05_prefetch_works_ahead_and_tensorflow_adds_it_by_itself():
    counted = []
    next(pipeline(counted))
    assert prepared(counted, 5, seconds=0) == 4
    for ahead, enough in (({"prefetch": True}, 12), ({"parallel": 3}, 5)):
        counted = []
        batches = pipeline(counted, **ahead)
        next(batches)  # a batch or two more are made in advance
        assert prepared(counted, enough) >= enough
    counted = []
    batches = pipeline(counted, by_itself=True)
    for _ in range(7):  # its buffer grows from nothing as it is found empty
        next(batches)
    assert prepared(counted, 29) > 28


def test_05_a_trace_shows_the_waiting_for_input_and_what_the_pipeline_does():
    photos = tf.zeros((32, 512, 512, 1))
    data = tf.data.Dataset.from_tensor_slices(photos).repeat()
    data = data.map(lambda photo: tf.image.resize(photo, (28, 28), "area")).batch(8)
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    batches = iter(data.with_options(options))
    trace = profiling.record(lambda: float(tf.reduce_sum(next(batches))), steps=3)
    assert (profiling.step_times(trace)["input_ms"] > 0).all()
    table = profiling.spans(trace, steps=3)  # one step may find its batch made
    assert "ResizeArea" in set(table["op"][table["lane"] == "input pipeline"])


# Memory


@needs_allocator
def test_05_a_forced_order_needs_less_memory_for_the_same_result():
    names = {"tf": tf}
    lines = NOTEBOOK.printed("order", "order-peaks", names=names)
    (result, free), (same, forced) = (
        map(float, re.findall(r"\d+\.\d", line)) for line in lines
    )
    assert result == same and forced < 0.8 * free


# XLA


FOR_XLA = NOTEBOOK.run("xla-functions", names={"tf": tf})
chain = FOR_XLA["chain"]
product = FOR_XLA["product"]


def optimized(function, *arguments):
    """What XLA makes of a function on a CPU."""
    with tf.device("CPU:0"):
        compiler = tf.function(function, jit_compile=True).experimental_get_compiler_ir(
            *arguments
        )
        return compiler("optimized_hlo")


def operations(function, dtype):
    """{(dtype, operation): count} on whole arrays."""
    pattern = r"= (\w+)\[64,64\]\S* (multiply|add|dot|convert|fusion)\("
    return Counter(re.findall(pattern, optimized(function, tf.zeros((64, 64), dtype))))


def test_05_xla_fuses_a_chain_into_one_loop():
    found = operations(chain, "float32")
    assert found["f32", "multiply"] == found["f32", "add"] == 10
    assert found["f32", "fusion"] == 1


@pytest.mark.skipif(not ON_CPU, reason="this is about XLA on CPUs")
@pytest.mark.parametrize(
    ("function", "dtype", "operation"),
    [
        (chain, "bfloat16", "multiply"),
        (product, "bfloat16", "dot"),
        (product, "float16", "dot"),
    ],
)
def test_05_xla_on_a_cpu_computes_in_float32(function, dtype, operation):
    """All of bfloat16, and the products of float16."""
    found = operations(function, dtype)
    short = {"bfloat16": "bf16", "float16": "f16"}[dtype]
    assert found["f32", operation] > 0 and found[short, operation] == 0
    assert found["f32", "convert"] and found[short, "convert"]


@pytest.mark.skipif(not ON_CPU, reason="this is about XLA on CPUs")
def test_05_xla_on_a_cpu_computes_the_gradients_of_float16_convolutions_in_float32():
    """Why MP012 sends them there where oneDNN has no kernel; before 2.21 not on every
    CPU.
    """
    stays = "avx512_fp16" in SETS and not xla.xla_cures_float16()

    def gradient(x, w):
        with tf.GradientTape() as tape:
            tape.watch(w)
            y = tf.nn.conv2d(x, w, 1, "SAME")
        return tape.gradient(y, w)

    text = optimized(
        gradient,
        tf.zeros((8, 14, 14, 8), "float16"),
        tf.zeros((3, 3, 8, 16), "float16"),
    )
    found = set(re.findall(r"= (\w+)\[[\d,]+\]\S* convolution\(", text))
    assert found == {"f16" if stays else "f32"}


# Common mistakes


def test_05_a_timestamp_of_tensorflow_has_no_strftime():
    with pytest.raises(AttributeError, match="strftime"):
        tf.timestamp().strftime("%Y")


def test_05_two_recordings_within_a_second_leave_one_file():
    names = {"profiling": profiling, "matrix": tf.ones((4, 4))}
    names |= {"Path": Path, "tempfile": tempfile}
    for _ in range(6):  # the first start of the profiler is slow
        time.sleep(1 - time.time() % 1)  # a second begins
        wrong, right = NOTEBOOK.printed("mistake-folder", names=names)
        assert right == "right: 2 recordings, 2 left"
        if wrong == "wrong: 2 recordings, 1 left":
            return
    pytest.skip("this machine is too slow for two recordings in one second")
