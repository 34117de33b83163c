"""Facts put into a step on purpose are found again in its trace, with XProf and without."""

import gc
import gzip
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from tensorflow.tsl.profiler.protobuf import xplane_pb2

from course_utils import memory, models, profiling
from course_utils.figures import profiling as figures
from course_utils.profiling.trace import Event, Trace
from course_utils.stepping import counts_memory, device, dtype_policy

ROOT = Path(__file__).resolve().parent.parent
PAUSE = 0.08  # seconds; many times as long as a step of the small models here
X, Y = np.zeros((32, 28, 28, 1), "float32"), np.zeros(32, "int32")


def compiled(model, optimizer="sgd"):
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer, loss, jit_compile=False)
    return model


@pytest.fixture(scope="module")
def small():
    with dtype_policy("float32"):
        return compiled(models.mnist_cnn(4))


@pytest.fixture(scope="module")
def cnn_trace(small):
    return profiling.record(lambda: small.train_on_batch(X, Y), steps=3)


def made(*events):
    """A trace from (line, name, start, end) or (…, stats)."""
    events = [Event("/host:CPU", *e[:4], (e[4] if len(e) > 4 else {})) for e in events]
    return Trace(Path("made"), tuple(sorted(events, key=lambda e: (e.start, -e.end))))


# Recording and reading back.


def test_record_calls_warm_up_and_steps_and_marks_only_the_steps(tmp_path):
    calls = []
    trace = profiling.record(lambda: calls.append(1), steps=4, warm_up=3, folder=tmp_path)
    assert len(calls) == 7
    assert list(profiling.step_times(trace)["step"]) == [0, 1, 2, 3]
    assert trace.folder.is_relative_to(tmp_path)
    again = profiling.open_trace(tmp_path)
    assert again.events == trace.events and "events in" in repr(again)


def test_the_newest_trace_is_read(tmp_path):
    for steps in (1, 2):
        profiling.record(lambda: None, steps=steps, folder=tmp_path / str(steps))
    os.utime(next((tmp_path / "1").rglob("*.xplane.pb")), (1, 1))
    assert len(profiling.step_times(profiling.open_trace(tmp_path))) == 2


def test_an_error_in_the_step_is_the_learner_s_and_ends_the_recording():
    def step():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        profiling.record(step, warm_up=0)
    profiling.record(lambda: None, steps=1)  # nothing is still being recorded


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"step": 3}, "step is int: give a function"),
        ({"step": print, "steps": 0}, "steps is 0"),
        ({"step": print, "folder": __file__}, "give a folder that you may write to"),
    ],
)
def test_what_cannot_be_recorded_is_refused_in_one_sentence(arguments, said):
    with pytest.raises(ValueError, match=said):
        profiling.record(**arguments)


@pytest.mark.parametrize("where", ["start", "stop", "step"])
def test_an_interrupt_leaves_no_profiler_running(where, monkeypatch, tmp_path):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    session = tf.profiler.experimental.start.__globals__["_pywrap_profiler"].ProfilerSession
    with monkeypatch.context() as patch:
        if where == "step":
            step = interrupt
        else:  # in TensorFlow's own code, which forgets its session at other errors alone
            patch.setattr(session, {"start": "start", "stop": "export_to_tb"}[where], interrupt)
            step = print
        with pytest.raises(KeyboardInterrupt):
            profiling.record(step, warm_up=0, folder=tmp_path)
    assert profiling.record(lambda: tf.ones(3) + 1, steps=1).events


def test_a_second_recording_at_once_is_refused(tmp_path):
    tf.profiler.experimental.start(str(tmp_path))
    try:
        with pytest.raises(ValueError, match="Another trace is being recorded"):
            profiling.record(lambda: None)
    finally:
        tf.profiler.experimental.stop()


def test_a_folder_without_a_trace_is_refused_in_one_sentence(tmp_path):
    with pytest.raises(ValueError, match="There is no folder"):
        profiling.open_trace(tmp_path / "missing")
    with pytest.raises(ValueError, match="holds no trace"):
        profiling.open_trace(tmp_path)
    file = tmp_path / "plugins" / "profile" / "run" / "host.xplane.pb"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"\x00\x01 no protocol buffer")
    with pytest.raises(ValueError, match="not a trace that this version of TensorFlow can read"):
        profiling.open_trace(tmp_path)
    file.write_bytes(b"")
    with pytest.raises(ValueError, match="is empty"):
        profiling.open_trace(tmp_path)
    # Fields that a later version might write are skipped over; nothing else is in this file.
    file.write_bytes(b"\xfa\x7f\x05later")
    with pytest.raises(ValueError, match="another version of TensorFlow"):
        profiling.open_trace(tmp_path)


# The time of operations.


def test_the_planted_slow_operation_takes_most_time():
    a = tf.random.normal((160, 160), seed=1)

    @tf.function(jit_compile=False)
    def step():
        products = tf.matmul(a, a) + tf.nn.relu(a)
        with tf.name_scope("planted"):
            singular = tf.linalg.svd(products, compute_uv=False)
        return tf.reduce_sum(singular)

    trace = profiling.record(step)
    by_type = profiling.op_times(trace)
    assert by_type["op"][0] == "Svd" and by_type["share"][0] > 0.5
    assert by_type["calls"][0] == 1 and by_type["share"].sum() == pytest.approx(1)
    assert profiling.op_times(trace, by="name")["op"][0].startswith("planted/")
    with pytest.raises(ValueError, match='choose "type" or "name"'):
        profiling.op_times(trace, by="layer")
    with pytest.raises(ValueError, match='choose "step" or "input"'):
        profiling.op_times(trace, where="GPU")


def test_kinds_of_operations(cnn_trace):
    kinds = profiling.op_times(cnn_trace).set_index("op")["kind"]
    assert {"convolution", "matrix product", "other"} <= set(kinds)
    assert all(kinds[op] == "convolution" for op in kinds.index if "Conv2D" in op)
    assert all(kinds[op] == "matrix product" for op in kinds.index if "MatMul" in op)


def test_casts_appear_with_the_policy():
    with dtype_policy("mixed_bfloat16"):
        model = compiled(models.mnist_cnn(4))
    trace = profiling.record(lambda: model.train_on_batch(X, Y), steps=2)
    table = profiling.op_times(trace).set_index("kind")
    assert table.loc["cast", "calls"].sum() >= 6  # a copy of each kernel and bias that computes


def test_operations_that_run_eagerly_and_compiled_by_xla():
    a = tf.random.normal((300, 300), seed=1)

    def step():
        return tf.reduce_sum(tf.matmul(a, a))

    eager = profiling.op_times(profiling.record(step))
    assert {"MatMul", "Sum"} <= set(eager["op"])
    assert eager.set_index("op")["calls"]["MatMul"] == 1
    # XLA may keep the product apart or fuse it with the sum, depending on its version.
    trace = profiling.record(tf.function(step, jit_compile=True))
    xla = profiling.op_times(trace)
    assert xla["ms"].sum() > 0 and xla["kind"][0] in ("matrix product", "fused by XLA")


def test_what_xla_fused_is_not_called_arithmetic_or_memory():
    trace = made(
        ("a", "train", 0, 10, {"step_num": 0}),
        ("a", "__inference_step_1:__inference_step_1", 0, 9),
        ("a", "ynn_fusion.2", 1, 8, {"hlo_op": "ynn_fusion.2"}),
    )
    assert profiling.op_times(trace)["op"][0] == "ynn_fusion"
    found = profiling.bottleneck(trace)
    assert found.name == "operations" and "without jit_compile" in found.sentence


def test_the_time_of_an_operation_inside_another_is_its_own():
    trace = made(
        ("a", "train", 0, 10, {"step_num": 0}),
        ("a", "outer:While", 0, 10),
        ("a", "inner:MatMul", 2, 5),
        ("a", "inner:MatMul", 5, 6),
        ("b", "other:MatMul", 3, 4),
    )
    table = profiling.op_times(trace).set_index("op")
    assert table["ms"].to_dict() == {"While": 6, "MatMul": 5}
    assert table["calls"].to_dict() == {"While": 1, "MatMul": 3}


def test_an_accelerator_s_own_events_count_where_there_are_any():
    """A trace made by hand: the course was not run on an accelerator."""
    host = made(
        ("python", "train", 0, 10, {"step_num": 0}),
        ("tf_Compute", "dense/MatMul:MatMul", 0, 9),
    )
    tf_op = {"tf_op": "dense/MatMul:MatMul"}
    stream = [
        Event("/device:GPU:0", "Stream #1(Compute)", "sgemm_1", 5, 7, tf_op),
        Event("/device:GPU:0", "Stream #1(Compute)", "MemcpyH2D", 7, 8, {}),
    ]
    trace = Trace(host.folder, (*host.events, *stream))
    assert profiling.op_times(trace).set_index("op")["ms"].to_dict() == {
        "MatMul": 2,
        "MemcpyH2D": 1,
    }
    assert profiling.step_times(trace)["overhead_ms"][0] == 7


# What limits a step.


def slow_dataset():
    def read(_):
        time.sleep(PAUSE)
        return X, Y

    data = tf.data.Dataset.range(100).map(
        lambda i: tf.numpy_function(read, [i], (tf.float32, tf.int32)), num_parallel_calls=1
    )
    return data.map(lambda x, y: (tf.ensure_shape(x, X.shape), tf.ensure_shape(y, Y.shape)))


def test_a_slow_input_pipeline_is_named_the_bottleneck(small):
    source = iter(slow_dataset())
    trace = profiling.record(lambda: small.train_on_batch(*next(source)))
    found = profiling.bottleneck(trace)
    assert found.name == "input" and found.share > 0.5 and "prefetch" in found.sentence
    steps = profiling.step_times(trace)
    parts = steps[["input_ms", "ops_ms", "overhead_ms"]].sum(axis=1)
    assert np.allclose(parts, steps["step_ms"])
    assert steps["input_ms"].median() > 1000 * PAUSE * 0.3
    pipeline = profiling.op_times(trace, where="input")
    assert pipeline["op"][0] == "PyFunc" and pipeline["kind"][0] == "Python"
    assert "PyFunc" not in set(profiling.op_times(trace)["op"])


def test_a_slow_input_pipeline_is_found_in_a_trace_of_keras_s_own_callback(small, tmp_path):
    callback = keras.callbacks.TensorBoard(tmp_path, profile_batch=(4, 7), write_graph=False)
    small.fit(slow_dataset().take(10), verbose=0, shuffle=False, callbacks=[callback])
    trace = profiling.open_trace(tmp_path)
    assert profiling.bottleneck(trace).name == "input"
    assert 3 <= len(profiling.step_times(trace)) <= 6


def test_input_that_marks_itself_is_known_and_unmarked_pauses_are_overhead(small):
    def step(mark):
        with tf.profiler.experimental.Trace(mark):
            time.sleep(PAUSE)
        small.train_on_batch(X, Y)

    assert profiling.bottleneck(profiling.record(lambda: step("input"))).name == "input"
    found = profiling.bottleneck(profiling.record(lambda: step("thinking")))
    assert found.name == "overhead" and "larger batch" in found.sentence


def test_data_in_memory_is_not_the_bottleneck(cnn_trace):
    assert profiling.step_times(cnn_trace)["input_ms"].sum() == 0
    assert profiling.bottleneck(cnn_trace).name != "input"


def test_large_products_are_arithmetic_and_large_sums_are_memory():
    a = tf.random.normal((1200, 1200), seed=1)
    product = tf.function(lambda: tf.reduce_sum(tf.matmul(a, a)), jit_compile=False)
    found = profiling.bottleneck(profiling.record(product))
    assert found.name == "arithmetic" and found.share > 0.5
    b = tf.random.normal((4_000_000,), seed=1)
    added = tf.function(lambda: tf.reduce_max(tf.sqrt(tf.abs(b) + b * b)), jit_compile=False)
    assert profiling.bottleneck(profiling.record(added)).name == "memory"


def test_what_waits_for_input_is_not_counted_as_computing():
    trace = made(
        ("python", "train", 0, 10, {"step_num": 0}),
        ("python", "IteratorGetNextOp::DoCompute", 1, 5),
        ("tf_data_private_threadpool", "map/Decode:DecodeJpeg", 0, 5),
        ("tf_Compute", "dense/MatMul:MatMul", 4, 7),
        ("tf_Compute", "dense/Relu:Relu", 7, 8),
    )
    row = profiling.step_times(trace).loc[0]
    assert row.to_dict() == {
        "step": 0,
        "step_ms": 10,
        "input_ms": 4,
        "ops_ms": 3,  # 5 to 8: what tf.data does on its own threads is not the step's
        "overhead_ms": 3,
    }
    assert list(profiling.op_times(trace)["op"]) == ["MatMul", "Relu"]
    assert list(profiling.op_times(trace, where="input")["op"]) == ["DecodeJpeg"]


def test_without_marks_a_step_lasts_until_the_next_call_or_is_everything():
    call = {"tf_function_call": "notTraced-nonXla"}
    trace = made(
        ("python", "one_step", 0, 4, call),
        ("python", "inner", 1, 2, call),
        ("python", "one_step", 5, 9, call),
    )
    assert list(profiling.step_times(trace)["step_ms"]) == [5, 4]
    assert list(profiling.step_times(made(("a", "b:Add", 2, 7)))["step_ms"]) == [7]


# Before and after.


def step_of(input_ms=0, product=0, cast=0, relu=0, overhead=0):
    """The trace of one step with parts of these lengths, in ms."""
    events, at = [], 0
    for name, ms in (
        ("IteratorGetNextOp::DoCompute", input_ms),
        ("dense/MatMul:MatMul", product),
        ("dense/Cast:Cast", cast),
        ("dense/Relu:Relu", relu),
        ("Python", overhead),
    ):
        if ms:
            events.append(("a", name, at, at + ms))
        at += ms
    return made(("a", "train", 0, at, {"step_num": 0}), *events)


@pytest.mark.parametrize(
    ("before", "after", "speedup", "said"),
    [
        ({"product": 8, "relu": 2}, {"product": 3, "relu": 2}, 2, "matrix products saved most"),
        ({"input_ms": 30, "product": 9}, {"input_ms": 33, "product": 6}, 1, "waited for input"),
        ({"overhead": 9, "product": 2}, {"overhead": 9, "product": 2}, 1, "no operation ran"),
        ({"relu": 19, "product": 1}, {"relu": 19, "product": 1}, 1, "would be 1.1 times"),
        ({"relu": 4, "product": 6}, {"relu": 4, "product": 16}, 0.5, "got no faster"),
        (
            {"product": 6, "relu": 2},
            {"product": 3, "relu": 2, "cast": 3},
            1,
            "casts took 3 ms more",
        ),
        # Between no gain and a gain: never "1.1 times as fast, so no gain".
        (
            {"product": 8, "relu": 19},
            {"product": 6, "relu": 19},
            27 / 25,
            "1.08 times as fast, so hardly a gain: products and convolutions saved 7% of the step, "
            "and nothing took it back.",
        ),
        (
            {"product": 14, "relu": 13},
            {"product": 8, "relu": 13, "cast": 4},
            27 / 25,
            "1.08 times as fast, so hardly a gain: products and convolutions got faster, and casts",
        ),
        # The shares are of what was saved, however much another part lost.
        ({"product": 9, "relu": 9}, {"product": 3, "relu": 12}, 1.2, "saved most, 100% of all"),
    ],
)
def test_two_traces_tell_what_a_policy_bought_or_why_it_bought_nothing(
    before, after, speedup, said
):
    found = profiling.compare(step_of(**before), step_of(**after))
    assert found.speedup == pytest.approx(speedup) and said in found.sentence
    for column, parts in (("before_ms", before), ("after_ms", after)):
        assert found.table[column].sum() == pytest.approx(sum(parts.values()))
        assert found.table[column]["matrix product"] == pytest.approx(parts["product"])


# Memory.

needs_allocator = pytest.mark.skipif(not counts_memory(), reason="the allocator does not count")
LAYERS, WIDTH, BATCH = 20, 64, 8192  # every activation 2 MiB in float32, every kernel 16 KiB


def chain(policy):
    with dtype_policy(policy):
        layers = [keras.layers.Dense(WIDTH, activation="relu") for _ in range(LAYERS)]
        head = keras.layers.Dense(10, dtype="float32")
        model = keras.Sequential([keras.Input((WIDTH,)), *layers, head])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(True), jit_compile=False)
    x, y = np.ones((BATCH, WIDTH), "float32"), np.zeros(BATCH, "int32")
    return model, profiling.record(lambda: model.train_on_batch(x, y), steps=2)


def peaks(policy):
    """Three traces, each of a new model, in a process with one thread for operations.

    With more threads a layer's weight gradients may wait while the next layers go back, and what
    they need stays in memory: up to four blocks more have been seen on a busy machine. One thread
    runs a graph's operations in one order, but not in the same order for each graph.
    """
    code = (
        f"import sys; sys.path[:0] = {[str(ROOT), str(ROOT / 'tests')]}; import tensorflow as tf\n"
        "tf.config.threading.set_inter_op_parallelism_threads(1)\n"
        "import test_profiling as t\n"
        f"for _ in range(3): model, trace = t.chain({policy!r}); t.tell(model, trace)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def tell(model, trace):
    """What the test of the peak asks, as one line of JSON."""
    found = profiling.memory(trace, model)
    mine = found.tensors[found.tensors["part"] == "activations"]
    told = {"parts": found.parts.to_dict(), "peak": found.peak_mb, "notes": list(found.notes)}
    told |= {"tensors": mine[["shape", "dtype", "mb"]].values.tolist()}
    told |= {"highest": found.timeline["mb"].max(), "backward": found.backward_ms}
    change = found.timeline["mb"].diff()[found.timeline["part"] == "activations"]
    told |= {"made": change[change > 0].sum(), "freed": -change[change < 0].sum()}
    told |= {"left": change[found.timeline["ms"] <= found.peak_ms].sum()}  # at the peak
    told |= {
        "ms": found.timeline["ms"].iloc[-1],
        "activations": memory.account(model, BATCH).activations,
    }
    print(json.dumps(told), flush=True)


@needs_allocator
@pytest.mark.parametrize(("policy", "itemsize"), [("float32", 4), ("mixed_bfloat16", 2)])
def test_the_peak_is_that_of_the_known_activations(policy, itemsize):
    activation = BATCH * WIDTH * itemsize / 1e6
    exact = LAYERS * activation + BATCH * 10 * 4 / 1e6
    batch, head = BATCH * WIDTH * 4 / 1e6, BATCH * 10 * 4 / 1e6
    told = peaks(policy)
    assert len(told) == 3
    for found in told:
        assert found["activations"] / 1e6 == pytest.approx(exact)
    if itemsize == 2:
        exact += batch / 2 + batch  # the batch cast to 16 bits, and back for the head in float32
    mine = [BATCH * WIDTH, {4: "float32", 2: "bfloat16"}[itemsize]]
    for found in told:
        parts = found["parts"]
        assert found["made"] == pytest.approx(exact) and found["freed"] == pytest.approx(exact)
        assert found["left"] == pytest.approx(parts["activations"])
        # Block for block: a layer's gradient is as large as its activation, and where an operation
        # that reads the gradients waits, memory stays high until the pass back is nearly over.
        # The peak may come anywhere there. Whole blocks of the layers that are done with are
        # missing then, no part of one, and their gradients are there instead.
        missing = exact - parts["activations"]
        whole = {(n, h): n * activation + h * head for n in range(LAYERS + 1) for h in (0, 1)}
        layers, _ = nearest = min(whole, key=lambda blocks: abs(missing - whole[blocks]))
        assert abs(missing - whole[nearest]) < 0.01 * activation
        assert parts["temporary"] > (layers - 0.01) * activation
        full = [
            mb
            for shape, dtype, mb in found["tensors"]
            if [int(np.prod(json.loads(shape))), dtype] == mine
        ]
        assert len(full) >= LAYERS - layers and np.allclose(full, activation)
        assert sum(parts.values()) == pytest.approx(found["peak"])
        assert 0 < found["backward"] < found["ms"]
        assert found["highest"] == found["peak"] and found["notes"] == []
    lowest = min(found["peak"] - found["parts"]["other"] for found in told)
    assert lowest == pytest.approx(exact + batch, rel=0.15)


@needs_allocator
def test_weights_optimizer_and_gradients_of_a_wide_layer():
    gc.collect()
    model = keras.Sequential([keras.Input((512,)), keras.layers.Dense(2048), keras.layers.Dense(8)])
    compiled(model, "adam")
    x, y = np.ones((8, 512), "float32"), np.zeros(8, "int32")
    trace = profiling.record(lambda: model.train_on_batch(x, y), steps=2)
    parts = profiling.memory(trace, model).parts
    kernel = 512 * 2048 * 4 / 1e6
    assert parts["weights"] == pytest.approx(kernel, rel=0.05)
    assert parts["optimizer"] == pytest.approx(2 * kernel, rel=0.05)
    assert parts["gradients"] == pytest.approx(kernel, rel=0.05)
    without = profiling.memory(trace)
    assert without.parts["weights"] == without.parts["gradients"] == 0
    assert without.parts["other"] >= parts["weights"] + parts["optimizer"]
    assert "Without the model" in without.notes[0]


@needs_allocator
def test_the_copies_of_weights_in_16_bits_are_told_apart():
    with dtype_policy("mixed_bfloat16"):
        model = keras.Sequential([keras.Input((512,)), keras.layers.Dense(2048)])
    compiled(model)
    x, y = np.ones((512, 512), "float32"), np.zeros(512, "int32")
    trace = profiling.record(lambda: model.train_on_batch(x, y), steps=2)
    timeline = profiling.memory(trace, model).timeline
    assert "weight_copies" in set(timeline["part"])


@needs_allocator
@pytest.mark.skipif(device() != "CPU:0", reason="this is about oneDNN's allocator")
def test_tensors_below_256_kib_are_not_in_a_trace():
    """A canary for what `profiling.memory` says of oneDNN's allocator."""

    def made_by_a_sum(length):
        a = tf.ones((length,))
        trace = profiling.record(lambda: a + a, steps=1)
        return any(event.name == "MemoryAllocation" for event in trace.events)

    assert not made_by_a_sum(60_000) and made_by_a_sum(70_000)


@needs_allocator
def test_a_step_without_a_backward_pass_says_so():
    a = tf.ones((1024, 1024))
    trace = profiling.record(lambda: tf.matmul(a, a))
    found = profiling.memory(trace)
    assert any("No backward pass" in note for note in found.notes)
    assert found.parts["temporary"] > 0 and found.parts["activations"] == 0


def test_a_trace_that_tells_nothing_of_memory_says_so():
    found = profiling.memory(made(("python", "train", 0, 10, {"step_num": 0})))
    assert np.isnan(found.peak_mb) and found.parts.isna().all() and len(found.timeline) == 0
    assert "does not tell what is in memory" in found.notes[0]
    with pytest.raises(ValueError, match="does not tell what is in memory"):
        figures.step_memory({"float32": found})


def allocation(at, op, size, in_use, address, **more):
    stats = {"tf_op": op, "requested_bytes": size, "allocation_bytes": size, "addr": address}
    stats |= {"bytes_allocated": in_use, "allocator_name": "mklcpu", "region_type": "output"}
    kind = "MemoryAllocation" if op else "MemoryDeallocation"
    return ("tf_Compute", kind, at, at, stats | more)


def test_every_part_of_a_peak_made_by_hand():
    mb = 1_000_000
    trace = made(
        ("python", "train", 0, 100, {"step_num": 0}),
        allocation(1, "", 0, 11 * mb, 999),  # older than the trace, freed in it
        ("tf_Compute", "gradient_tape/layer/Shape:Shape", 1.5, 1.6),  # needs nothing before it
        allocation(2, "layer/Cast", 2 * mb, 13 * mb, 1, shape="[3,4]"),
        allocation(3, "layer/MatMul", 4 * mb, 17 * mb, 2, shape="[8,4]"),
        allocation(4, "layer/Pad", mb, 18 * mb, 3, region_type="temp"),
        allocation(5, "", mb, 17 * mb, 3),
        ("tf_Compute", "gradient_tape/layer/MatMul:MatMul", 6, 9),
        allocation(7, "gradient_tape/layer/MatMul", 3 * mb, 20 * mb, 4, shape="[3,4]"),
        allocation(8, "gradient_tape/layer/Sum", mb, 22 * mb, 5, allocation_bytes=2 * mb),
        allocation(10, "", 2 * mb, 20 * mb, 5),
    )
    variable = SimpleNamespace(shape=(3, 4), dtype="float32")
    optimizer = SimpleNamespace(variables=[SimpleNamespace(shape=(10**6,), dtype="float32")])
    model = SimpleNamespace(
        variables=[variable], trainable_variables=[variable], optimizer=optimizer
    )
    found = profiling.memory(trace, model)
    assert (found.peak_mb, found.peak_ms, found.backward_ms) == (22, 8, 6)
    assert found.parts.round(6).to_dict() == {
        "weights": 0.000048,
        "optimizer": 4,
        "weight_copies": 2,
        "activations": 4,
        "gradients": 3,
        "batch": 0,
        "temporary": 1,
        "rounding": 1,
        "other": 6.999952,
    }


def test_the_step_with_the_highest_peak_and_what_is_gone_before_the_backward_pass():
    mb = 1_000_000
    trace = made(
        ("python", "train", 0, 10, {"step_num": 0}),
        allocation(1, "layer/MatMul", mb, mb, 1),
        allocation(9, "", mb, 0, 1),
        ("python", "train", 20, 40, {"step_num": 1}),
        allocation(21, "layer/MatMul", 4 * mb, 4 * mb, 1),
        allocation(22, "layer/Exp", 5 * mb, 9 * mb, 2),
        allocation(23, "", 5 * mb, 4 * mb, 2),
        ("tf_Compute", "gradient_tape/layer/MatMul:MatMul", 30, 35),
        allocation(36, "", 4 * mb, 0, 1),
    )
    found = profiling.memory(trace)
    assert (found.peak_mb, found.peak_ms, found.backward_ms) == (9, 2, 10)
    assert (found.parts["activations"], found.parts["temporary"]) == (4, 5)
    assert list(found.timeline["ms"]) == [0, 1, 2, 3, 16]


# XProf, TensorBoard, and doing without.


def test_xprof_sees_the_same_operations_and_steps(cnn_trace):
    pytest.importorskip("xprof")
    theirs = profiling.xprof_tables(cnn_trace)[0]
    theirs = theirs[theirs["type"] != "IDLE"].groupby("type")["total_self_time"].sum() / 3000
    ours = profiling.op_times(cnn_trace).set_index("op")["ms"]
    heavy = theirs[theirs > 0.02 * theirs.sum()]
    assert len(heavy) >= 3
    assert ours[heavy.index].to_numpy() == pytest.approx(heavy.to_numpy(), rel=0.02)
    steps = profiling.xprof_tables(cnn_trace, "input_pipeline_analyzer")[0]
    mine = profiling.step_times(cnn_trace)
    assert mine["step_ms"].to_numpy() == pytest.approx(steps["stepTimeMs"].to_numpy(), rel=1e-3)
    with pytest.raises(ValueError, match="choose another tool"):
        profiling.xprof_tables(cnn_trace, "no_such_tool")


def test_xprof_sees_the_same_wait_for_input(small):
    pytest.importorskip("xprof")
    source = iter(slow_dataset())
    trace = profiling.record(lambda: small.train_on_batch(*next(source)), steps=3)
    theirs = profiling.xprof_tables(trace, "input_pipeline_analyzer")[0]["infeedTimeMs"]
    ours = profiling.step_times(trace)["input_ms"]
    assert ours.to_numpy() == pytest.approx(theirs.to_numpy(), rel=0.05)


@needs_allocator
def test_xprof_sees_the_same_peak():
    pytest.importorskip("xprof")
    from xprof.convert import raw_to_tool_data

    model, trace = chain("float32")
    files = [str(file) for file in trace.folder.glob("*.xplane.pb")]
    data, _ = raw_to_tool_data.xspace_to_tool_data(files, "memory_profile", {})
    summary = json.loads(data)["memoryProfilePerAllocator"]["mklcpu"]["profileSummary"]
    theirs = int(summary["peakStats"]["heapAllocatedBytes"]) / 1e6
    assert profiling.memory(trace, model).peak_mb == pytest.approx(theirs)


def test_without_xprof_only_its_own_tables_are_missing(cnn_trace, monkeypatch):
    monkeypatch.setitem(sys.modules, "xprof", None)
    monkeypatch.setitem(sys.modules, "xprof.convert", None)
    trace = profiling.open_trace(cnn_trace.folder)
    assert len(profiling.op_times(trace)) and profiling.bottleneck(trace)
    with pytest.raises(ValueError, match="pip install xprof"):
        profiling.xprof_tables(trace)


WITHOUT_ONEDNN = """
import numpy as np, tensorflow as tf
from course_utils import profiling
a = tf.ones((700, 700))
step = tf.function(lambda: tf.reduce_sum(tf.matmul(a, a)), jit_compile=False)
trace = profiling.record(step)
table = profiling.op_times(trace)
assert table["op"][0] == "MatMul", table
assert profiling.bottleneck(trace).name == "arithmetic", profiling.step_times(trace)
found = profiling.memory(trace)
assert np.isnan(found.peak_mb), found.parts
print(found.notes[0])
"""


@pytest.mark.slow
def test_without_onednn_and_without_a_network_the_times_stay_and_memory_is_said_to_be_unknown():
    network = ["unshare", "-rn"]
    alone = shutil.which("unshare") and not subprocess.run([*network, "true"]).returncode
    command = [*(network if alone else []), sys.executable, "-c", WITHOUT_ONEDNN]
    env = {**os.environ, "TF_ENABLE_ONEDNN_OPTS": "0", "PYTHONPATH": str(ROOT)}
    env["CUDA_VISIBLE_DEVICES"] = ""
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "does not tell what is in memory" in done.stdout


def needs_tensorboard():
    pytest.importorskip("xprof")
    pytest.importorskip("tensorboard.default")  # 2.20 needs a setuptools that has pkg_resources


def ask(port, path):
    """What a TensorBoard on this port answers."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=60) as answer:
        body = answer.read()
        zipped = answer.headers.get("Content-Encoding") == "gzip"  # asked for or not
        return json.loads(gzip.decompress(body) if zipped else body)


def eventually(port, path, holds):
    """An answer that `holds`: TensorBoard takes its time to start and to find a run."""
    deadline = time.monotonic() + 240
    while True:
        try:
            answer = ask(port, path)
            if holds(answer):
                return answer
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            answer = "no answer"
        assert time.monotonic() < deadline, (path, answer)
        time.sleep(1)


def check_profile_tab(port, trace):
    run, profile = trace.folder.name, "data/plugin/profile"
    eventually(port, "data/plugins_listing", lambda all_: all_["profile"]["enabled"])
    eventually(port, f"{profile}/runs", lambda runs: run in runs)
    tools = ask(port, f"{profile}/run_tools?run={run}")
    wanted = {"overview_page", "framework_op_stats", "memory_profile", "input_pipeline_analyzer"}
    assert wanted <= set(tools)
    assert any(tool.startswith("trace_viewer") for tool in tools)
    host = ask(port, f"{profile}/hosts?run={run}&tag=framework_op_stats")[0]["hostname"]
    query = f"run={run}&tag=framework_op_stats&host={host}"
    assert "MatMul" in str(ask(port, f"{profile}/data?{query}"))


@pytest.fixture
def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.mark.slow
def test_tensorboard_started_from_the_shell_shows_the_run_and_its_tools(cnn_trace, port):
    needs_tensorboard()
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", cnn_trace.folder.parents[2]]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen([*command, "--port", str(port)], **silent)
    try:
        check_profile_tab(port, cnn_trace)
    finally:
        server.terminate()
        server.wait(30)


STOP = """
import os, signal
from tensorboard import manager
for board in manager.get_all():
    if board.port == {port}:
        os.kill(board.pid, signal.SIGTERM)
"""


@pytest.mark.slow
def test_tensorboard_started_from_a_notebook_shows_the_run_and_its_tools(
    cnn_trace, port, monkeypatch
):
    needs_tensorboard()
    nbclient = pytest.importorskip("nbclient")
    from nbformat import v4

    # The magic looks on the PATH, where the tests' environment may not be.
    monkeypatch.setenv("TENSORBOARD_BINARY", str(Path(sys.executable).with_name("tensorboard")))
    magic = f"%tensorboard --logdir {cnn_trace.folder.parents[2]} --port {port}"
    cells = [v4.new_code_cell(s) for s in ("%load_ext tensorboard", magic, STOP.format(port=port))]
    client = nbclient.NotebookClient(v4.new_notebook(cells=cells), timeout=300)
    with client.setup_kernel():
        client.execute_cell(cells[0], 0)
        client.execute_cell(cells[1], 1)
        try:
            assert "Failed to launch" not in str(cells[1].outputs)
            check_profile_tab(port, cnn_trace)
        finally:
            client.execute_cell(cells[2], 2)


# Figures.


@pytest.fixture(scope="module")
def pictures():
    ops = profiling.op_times(
        made(
            ("a", "train", 0, 10, {"step_num": 0}),
            *[("a", f"x/{n}:Op{n}", n, n + 1 - n / 20) for n in range(10)],
        )
    )
    steps = profiling.step_times(
        made(("a", "train", 0, 10, {"step_num": 0}), ("a", "input", 1, 5), ("a", "b:Add", 5, 8))
    )
    mb = 1_000_000
    memories = profiling.memory(
        made(
            ("python", "train", 0, 100, {"step_num": 0}),
            allocation(3, "layer/MatMul", 4 * mb, 17 * mb, 2),
            ("tf_Compute", "gradient_tape/layer/MatMul:MatMul", 6, 9),
            allocation(7, "gradient_tape/layer/MatMul", 3 * mb, 20 * mb, 4),
        )
    )
    policies = ("float32", "mixed_bfloat16", "mixed_float16")
    return {
        "op_times": figures.op_times(dict.fromkeys(policies, ops)),
        "step_times": figures.step_times({"slow": steps, "fast": steps}),
        "step_memory": figures.step_memory(dict.fromkeys(policies, memories)),
    }


def test_the_figures_show_the_values_they_are_given(pictures):
    bars = pictures["op_times"].figure.axes[0]
    assert [t.get_text() for t in bars.get_yticklabels()] == [f"Op{n}" for n in range(8)] + [
        "all others"
    ]
    widths = [bar.get_width() for bar in bars.containers[0]]
    assert widths == pytest.approx([1 - n / 20 for n in range(8)] + [0.6 + 0.55])
    assert "mixed_float16: Op0 1 ms" in pictures["op_times"].alt
    parts = pictures["step_times"].figure.axes[0].containers
    assert [bars[0].get_width() for bars in parts] == [4, 3, 3]
    assert [bars[0].get_x() for bars in parts] == [0, 4, 7]
    assert "slow: waiting for input 4 ms, operations 3 ms, neither 3 ms" in (
        pictures["step_times"].alt
    )
    line, bars = pictures["step_memory"].figure.axes
    assert list(line.lines[0].get_ydata()) == [13, 17, 20]
    assert sum(c[0].get_height() for c in bars.containers) == pytest.approx(20)
    assert "float32 peaks at 20 MB" in pictures["step_memory"].alt


def test_the_figures_read_on_light_and_dark(pictures):
    def luminance(color):
        linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in color]
        return np.dot(linear, (0.2126, 0.7152, 0.0722))

    for name, picture in pictures.items():
        assert len(picture.png()) > 1000 and picture.alt.endswith("."), name
        for text in picture.figure.findobj(Text):
            if text.get_text().strip() and text.get_visible():
                for background in ("#ffffff", "#111111"):
                    pair = sorted(luminance(to_rgb(c)) for c in (text.get_color(), background))
                    assert (pair[1] + 0.05) / (pair[0] + 0.05) > 4, (name, text.get_text())


def test_no_operations_are_refused_in_one_sentence():
    table = profiling.op_times(made(("a", "train", 0, 10, {"step_num": 0})))
    assert len(table) == 0
    with pytest.raises(ValueError, match="hold no operation"):
        figures.op_times({"float32": table})


def test_the_format_of_the_file_is_as_expected():
    """XProf's XSpace, as TensorFlow writes it: what `open_trace` reads."""
    assert {"planes"} <= {f.name for f in xplane_pb2.XSpace.DESCRIPTOR.fields}


def test_a_variable_that_an_earlier_step_of_the_trace_made_anew_is_the_model_s():
    kernel = tf.Variable(tf.zeros((500, 500)))  # 1 MB
    model = SimpleNamespace(
        variables=[kernel],
        trainable_variables=[kernel],
        optimizer=SimpleNamespace(variables=[]),
    )
    mb = 1_000_000
    trace = made(
        ("python", "train", 0, 10, {"step_num": 0}),
        allocation(5, "sgd/AssignSubVariableOp", mb, mb, 1, shape="[500,500]"),
        ("python", "train", 20, 30, {"step_num": 1}),
        allocation(22, "layer/Relu", 4 * mb, 5 * mb, 2),
    )
    parts = profiling.memory(trace, model).parts
    assert (parts["weights"], parts["other"]) == (1, 0)
    assert profiling.memory(trace).parts["other"] == 1
