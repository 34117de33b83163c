"""One test for each behaviour that sections 6 to 13 of notebook 05 teach.

When a new release changes one of them, the test that fails names the notebook to mend.
"""

import gc
import json
import math
import re
import time
from collections import Counter

import keras
import numpy as np
import pytest
import tensorflow as tf

from course_utils import energy, hardware, legs, models, profiling, stepping

X, Y = np.zeros((256, 28, 28, 1), "float32"), np.zeros(256, "int32")
needs_allocator = pytest.mark.skipif(
    not stepping.counts_memory() or stepping.device() != "CPU:0",
    reason="this is about oneDNN's allocator, which is not in use here",
)


# 6: memory over one step


@pytest.fixture(scope="module")
def memories():
    found = {}
    for policy in ("float32", "mixed_bfloat16"):
        gc.collect()
        with stepping.dtype_policy(policy):
            model = models.mnist_cnn()
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.Adam(), loss, jit_compile=False)
        trace = profiling.record(lambda model=model: model.train_on_batch(X, Y), steps=3)
        found[policy] = profiling.memory(trace, model)
    return found


def asked(memory):
    """The peak without what is older than the step, and without the allocator's rounding."""
    return memory.peak_mb - memory.parts["other"] - memory.parts["rounding"]


@needs_allocator
def test_05_a_trace_of_a_cpu_shows_the_memory_that_a_policy_saves(memories):
    assert asked(memories["mixed_bfloat16"]) < 0.8 * asked(memories["float32"])
    assert memories["float32"].peak_ms > memories["float32"].backward_ms > 0


@needs_allocator
@pytest.mark.parametrize(("numbers", "told"), [(2**16 - 1, False), (2**16, True)])
def test_05_a_trace_of_a_cpu_tells_of_blocks_of_256_kib_and_more(numbers, told):
    values = tf.ones(numbers)
    trace = profiling.record(tf.function(lambda: tf.reduce_sum(tf.cumsum(values))), steps=2)
    blocks = [event for event in trace.events if event.name == "MemoryAllocation"]
    assert (f"[{numbers}]" in [str(event.stats.get("shape")) for event in blocks]) == told


@needs_allocator
def test_05_every_saved_activation_has_exactly_its_bytes(memories):
    convolution = {}
    for policy, memory in memories.items():
        kept = memory.tensors.query("part == 'activations'")
        for row in kept.itertuples():
            size = math.prod(json.loads(row.shape)) * tf.as_dtype(row.dtype).size
            assert size / 1e6 == pytest.approx(row.mb, rel=1e-3), row
        first = kept[kept["shape"] == "[256,26,26,32]"]
        assert len(first) == 1
        convolution[policy] = first["mb"].iloc[0]
    assert convolution["float32"] == 2 * convolution["mixed_bfloat16"]


@needs_allocator
def test_05_the_pooling_s_notes_take_a_byte_each_whatever_the_policy(memories):
    for memory in memories.values():
        notes = memory.tensors[memory.tensors["dtype"] == "uint8"]
        assert list(notes["mb"]) == [pytest.approx(256 * 13 * 13 * 32 / 1e6)]


# 7: the order of operations, and the allocator's options


def six_products(one_after_another):
    @tf.function
    def run(a):
        total = tf.constant(0.0)
        for i in range(6):
            with tf.control_dependencies([total] if one_after_another else []):
                product = tf.matmul(a + float(i), a)
            total += tf.reduce_max(product)
        return total

    return run


def peak_of(run, a):
    run(a)
    tf.config.experimental.reset_memory_stats("CPU:0")
    before = tf.config.experimental.get_memory_info("CPU:0")["current"]
    result = float(run(a))
    return result, tf.config.experimental.get_memory_info("CPU:0")["peak"] - before


@needs_allocator
def test_05_a_forced_order_needs_less_memory_for_the_same_result():
    a = tf.random.uniform((1024, 1024), seed=0)
    result, free = peak_of(six_products(False), a)
    same, forced = peak_of(six_products(True), a)
    assert result == same and forced < 0.8 * free


def test_05_memory_growth_is_an_option_of_gpus_alone():
    (cpu,) = tf.config.list_physical_devices("CPU")
    with pytest.raises(ValueError, match="memory growth on non-GPU"):
        tf.config.experimental.set_memory_growth(cpu, True)


# 9: one policy, opposite outcomes


@pytest.fixture(scope="module")
def kernels():
    if not {"avx512_bf16", "amx_bf16"} & set(hardware.detect().instruction_sets or ()):
        pytest.skip("this CPU has no bfloat16 instructions")
    outcomes = legs.measure(seconds=1, timeout=240)
    assert not any(outcome.problem for outcome in outcomes.values()), outcomes
    table = legs.kernels(outcomes)
    return lambda leg, policy: table[(table["leg"] == leg) & (table["policy"] == policy)]


@pytest.mark.slow
def test_05_onednn_s_bfloat16_kernels_run_by_default_and_can_be_hidden(kernels):
    native = r"_bf16$|amx"
    shown = {leg: kernels(leg, "mixed_bfloat16") for leg in legs.SETTINGS}
    default, hidden, off = (shown[leg]["kernel"] for leg in legs.SETTINGS)
    assert default.str.contains(native).any()
    assert len(hidden) and not hidden.str.contains(native).any()
    assert not off.str.contains(native).any()
    assert "bf16" not in set(shown["oneDNN off"]["dtype"])


@pytest.mark.slow
def test_05_onednn_has_no_16_bit_kernel_for_float16_without_such_instructions(kernels):
    for leg in legs.SETTINGS:
        if leg == "oneDNN off" or not hardware.merged_float16_is_slow():
            assert set(kernels(leg, "mixed_float16")["dtype"]) <= {"f32"}, leg


@pytest.mark.slow
@pytest.mark.skipif(not hardware.merged_float16_is_slow(), reason="no CPU with float16 units")
def test_05_the_default_leg_shows_the_reference_kernel_of_float16(kernels):
    default = kernels("default", "mixed_float16").sort_values("ms").iloc[-1]
    assert (default["dtype"], default["kernel"]) == ("f16", "ref:any")
    assert kernels("AVX-512 without bfloat16", "mixed_float16").empty  # TensorFlow asks in vain


# 10: XLA


def chain(a):
    for _ in range(10):
        a = a * 1.01 + 0.5
    return a


def product(a):
    return tf.matmul(a, a)


def operations(function, dtype):
    """{(dtype, operation): count} on whole arrays, in what XLA makes of a function on a CPU."""
    with tf.device("CPU:0"):
        compiled = tf.function(function, jit_compile=True)
        text = compiled.experimental_get_compiler_ir(tf.zeros((64, 64), dtype))("optimized_hlo")
    pattern = r"= (\w+)\[64,64\]\S* (multiply|add|dot|convert|fusion)\("
    return Counter(re.findall(pattern, text))


def test_05_xla_fuses_a_chain_into_one_loop():
    found = operations(chain, "float32")
    assert found["f32", "multiply"] == found["f32", "add"] == 10
    assert found["f32", "fusion"] == 1


@pytest.mark.skipif(stepping.device() != "CPU:0", reason="this is about XLA on CPUs")
@pytest.mark.parametrize(("function", "operation"), [(chain, "multiply"), (product, "dot")])
def test_05_xla_on_a_cpu_computes_bfloat16_in_float32(function, operation):
    found = operations(function, "bfloat16")
    assert found["f32", operation] > 0 and found["bf16", operation] == 0
    assert found["f32", "convert"] and found["bf16", "convert"]


# 11: the accumulator


def tensor_core(a, b, c, accumulator):
    d = c.astype(accumulator)
    for k in range(a.shape[1]):
        product = np.float32(a[:, k, None]) * np.float32(b[None, k, :])
        d = (np.float32(d) + product).astype(accumulator)
    return d


def test_05_products_of_float16_are_exact_in_float32():
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    every = every[np.isfinite(every)]
    other = np.random.default_rng(0).permutation(every)
    assert np.array_equal(np.float32(every) * np.float32(other), every.astype(float) * other)


def test_05_a_float16_accumulator_stands_still_at_2048():
    ones, zero = np.ones((1, 4096), np.float16), np.zeros((1, 1))
    assert tensor_core(ones, ones.T, zero, np.float16) == 2048
    assert tensor_core(ones, ones.T, zero, np.float32) == 4096
    assert tensor_core(ones, ones.T, zero + 1, np.float32) == 4097  # C is in the sum


def test_05_tensorflow_s_float16_products_accumulate_in_more_than_float16():
    rng = np.random.default_rng(0)
    a, b = (np.float16(rng.random(shape)) for shape in ((16, 16384), (16384, 16)))
    exact = a.astype(float) @ b.astype(float)

    def error(d):
        return np.linalg.norm(np.asarray(d, float) - exact) / np.linalg.norm(exact)

    assert error(tf.matmul(a, b)) < 1e-3
    assert error(tensor_core(a, b, np.zeros((16, 16)), np.float16)) > 0.1


# 12: energy


def test_05_energy_is_a_positive_number_or_said_to_be_unknown():
    found = energy.per_run(lambda: time.sleep(0.01), "CPU", seconds=0.3)
    assert "no energy" in energy.sentence(found) if found is None else found.joules > 0


# Common mistakes


def test_05_a_timestamp_of_tensorflow_has_no_strftime():
    with pytest.raises(AttributeError, match="strftime"):
        tf.timestamp().strftime("%Y")


def test_05_two_recordings_within_a_second_leave_one_file(tmp_path):
    a = tf.ones((4, 4))
    profiling.record(lambda: a + a, steps=1)  # the first start of the profiler is slow
    for attempt in range(5):
        folder = tmp_path / str(attempt)
        time.sleep(1 - time.time() % 1)  # a second begins
        names = [profiling.record(lambda: a + a, steps=1, folder=folder).folder.name for _ in "12"]
        assert all(re.fullmatch(r"\d{4}(_\d\d){5}", name) for name in names)
        files = list(folder.rglob("*.xplane.pb"))
        assert len(files) == len(set(names))
        if len(files) == 1:
            return
    pytest.skip("this machine is too slow for two recordings in one second")
