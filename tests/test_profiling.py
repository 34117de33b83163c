"""Facts put into a step on purpose are found again in its trace."""

import json
import os
import time

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

from course_utils import models, profiling
from course_utils.benchmark import counts_memory, device
from course_utils.profiling import recordings
from course_utils.profiling.trace import Event

MB = 1_000_000
needs_allocator = pytest.mark.skipif(
    not counts_memory(), reason="the allocator does not count"
)


def compiled(model):
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("sgd", loss, jit_compile=False)
    return model


def made(*events):
    """A trace from (line, name, start, end) or (…, stats)."""
    events = [Event("/host:CPU", *e[:4], (e[4] if len(e) > 4 else {})) for e in events]
    return tuple(sorted(events, key=lambda e: (e.start, -e.end)))


def step(start, end, number=0):
    return ("python", "train", start, end, {"step_num": number})


# --- recording and reading back


def test_record_calls_warm_up_and_steps_and_marks_only_the_steps(tmp_path):
    calls = []
    trace = profiling.record(
        lambda: calls.append(1), steps=4, warm_up=3, folder=tmp_path
    )
    assert len(calls) == 7 and list(profiling.step_times(trace)["step"]) == [0, 1, 2, 3]
    # where TensorBoard looks
    profiles = tmp_path / "plugins/profile"
    # The newest of several is read.
    old = (profiles / "z/a.xplane.pb", *profiles.glob("*/*.xplane.pb"))
    assert len(old) == 2
    old[0].parent.mkdir()
    for file in old:
        file.touch()
        os.utime(file, (1, 1))
    again = profiling.record(lambda: None, steps=2, folder=tmp_path)
    assert len(profiling.step_times(again)) == 2


def test_what_cannot_be_recorded_is_refused_in_one_sentence(tmp_path):
    with pytest.raises(ValueError, match="No trace lies below"):
        profiling.read(tmp_path)
    tf.profiler.experimental.start(str(tmp_path))
    with pytest.raises(ValueError, match="Another trace is being recorded"):
        profiling.record(lambda: None)
    tf.profiler.experimental.stop()  # the other one still runs


@pytest.mark.parametrize("where", ["start", "stop", "error"])
def test_an_interrupt_or_an_error_leaves_no_profiler_running(
    where, monkeypatch, tmp_path
):
    kind = ZeroDivisionError if where == "error" else KeyboardInterrupt

    def fail(*arguments):
        raise kind

    session = tf.profiler.experimental.start.__globals__[
        "_pywrap_profiler"
    ].ProfilerSession
    with monkeypatch.context() as patch:
        # In TensorFlow's own code, which forgets its session at other errors alone.
        if name := {"start": "start", "stop": "export_to_tb"}.get(where):
            patch.setattr(session, name, fail)
        with pytest.raises(kind):
            profiling.record(print if name else fail, warm_up=0, folder=tmp_path)
    assert profiling.record(lambda: tf.ones(3) + 1, steps=1)


# --- the time of operations


def test_operations_that_run_eagerly_and_compiled_by_xla():
    a = tf.random.normal((300, 300), seed=1)

    def run():
        return tf.reduce_sum(tf.matmul(a, a))

    eager = profiling.op_times(profiling.record(run)).set_index("op")
    assert eager["calls"]["MatMul"] == 1 and "Sum" in eager.index
    # XLA may keep the product apart or fuse it with the sum, depending on its version.
    xla = profiling.op_times(profiling.record(tf.function(run, jit_compile=True)))
    assert xla["ms"].sum() > 0 and xla["kind"][0] in ("matrix product", "fused by XLA")


def test_what_xla_fused_is_not_told_apart():
    trace = made(
        step(0, 10),
        ("a", "__inference_step_1:__inference_step_1", 0, 9),
        ("a", "ynn_fusion.2", 1, 8, {"hlo_op": "ynn_fusion.2"}),
    )
    assert profiling.op_times(trace)["op"][0] == "ynn_fusion"
    found = profiling.diagnose(trace, trace)
    assert found.name == "fused" and "without jit_compile" in found.sentence


def test_the_time_of_an_operation_inside_another_is_its_own():
    trace = made(
        step(0, 10),
        ("a", "outer:While", 0, 10),
        ("a", "inner:MatMul", 2, 5),
        ("a", "inner:MatMul", 5, 6),
        ("b", "other:MatMul", 3, 4),
    )
    table = profiling.op_times(trace).set_index("op")
    assert table["ms"].to_dict() == {"While": 6, "MatMul": 5}
    assert table["calls"].to_dict() == {"While": 1, "MatMul": 3}


def test_an_accelerator_s_own_events_count_where_there_are_any():
    host = made(step(0, 10), ("tf_Compute", "dense/MatMul:MatMul", 0, 9))
    tf_op = {"tf_op": "dense/MatMul:MatMul"}
    stream = [
        Event("/device:GPU:0", "Stream #1(Compute)", "sgemm_1", 5, 7, tf_op),
        Event("/device:GPU:0", "Stream #1(Compute)", "MemcpyH2D", 7, 8, {}),
        Event(
            "/device:GPU:0", "Stream #1(Compute)", "void cub::Sort<int>(int*)", 8, 9, {}
        ),
    ]
    trace = (*host, *stream)
    table = profiling.op_times(trace).set_index("op")
    assert table["ms"].to_dict() == {"MatMul": 2, "MemcpyH2D": 1, "void cub::Sort": 1}
    assert profiling.step_times(trace)["overhead_ms"][0] == 6


def test_xprof_reads_the_same_operations_from_the_file(tmp_path):
    """A canary for the sentence below the Profile tab: two readings of one file."""
    convert = pytest.importorskip("xprof.convert.raw_to_tool_data").xspace_to_tool_data
    model = compiled(models.mnist_cnn(4))
    x = np.zeros((32, 28, 28, 1))
    y = np.zeros(32)
    step = lambda: model.train_on_batch(x, y)  # noqa: E731
    cnn = profiling.record(step, steps=3, folder=tmp_path)
    files = [str(file) for file in tmp_path.rglob("*.xplane.pb")]

    def columns(tool, *names):
        table = next(t for t in json.loads(convert(files, tool, {})[0]) if t["cols"])
        at = [[c["id"] for c in table["cols"]].index(name) for name in names]
        return [tuple(row["c"][i].get("v") for i in at) for row in table["rows"]]

    theirs = {}
    for kind, us in columns("framework_op_stats", "type", "total_self_time"):
        theirs[kind] = theirs.get(kind, 0) + us / 3000 * (kind != "IDLE")
    heavy = [kind for kind, ms in theirs.items() if ms > 0.02 * sum(theirs.values())]
    ours = profiling.op_times(cnn).set_index("op")["ms"]
    assert len(heavy) >= 3
    assert list(ours[heavy]) == pytest.approx(
        [theirs[kind] for kind in heavy], rel=0.02
    )


# --- what limits a step


def test_what_waits_for_input_is_not_counted_as_computing():
    trace = made(
        step(0, 10),
        ("python", "IteratorGetNextOp::DoCompute", 1, 5),
        ("tf_data_private_threadpool", "map/Decode:DecodeJpeg", 0, 5),
        ("tf_Compute", "dense/MatMul:MatMul", 4, 7),
        ("tf_Compute", "dense/Relu:Relu", 7, 8),
    )
    # 3 ms of operations, 5 to 8: what tf.data does on its own threads is not the
    # step's.
    row = profiling.step_times(trace).loc[0].to_dict()
    assert row == {
        "step": 0,
        "step_ms": 10,
        "input_ms": 4,
        "ops_ms": 3,
        "overhead_ms": 3,
    }
    assert list(profiling.op_times(trace)["op"]) == ["MatMul", "Relu"]


# --- before and after


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
        events += [("a", name, at, at + ms)] * (ms > 0)
        at += ms
    return made(step(0, at), *events)


# Two steps made for each answer, and what else it says.
TREE = [
    ({"input_ms": 30, "product": 9}, {"input_ms": 33, "product": 6}, "input", "85% of a step"),
    ({"overhead": 9, "product": 2}, {"overhead": 9, "product": 1}, "launch", "In 90% of a step"),
    ({"relu": 4, "product": 6}, {"relu": 4, "product": 16}, "compute", "no fast way"),
    ({"product": 8, "relu": 2}, {"product": 3, "relu": 2}, "compute", "2.7 times as fast as in"),
    # What moves memory gains by itself, with next to no products.
    ({"relu": 19, "product": 1}, {"relu": 9, "product": 1}, "memory", "run 2.1 times as fast as"),
    ({"product": 6, "relu": 2}, {"product": 3, "relu": 2, "cast": 3}, "memory", "casts, or"),
    # A pipeline that works ahead is as slow as before, and the faster step waits for
    # it.
    ({"input_ms": 2, "product": 20}, {"input_ms": 12, "product": 10}, "input", "55% of a step"),
    ({"product": 2}, {"product": 1}, "compute", "at most inf times"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after", "name", "said"), TREE)
def test_the_longest_part_names_the_limit(before, after, name, said):
    found = profiling.diagnose(step_of(**before), step_of(**after))
    assert found.name == name and said in found.sentence
    assert found.shares[name] == max(found.shares.values())
    assert sum(found.shares.values()) == pytest.approx(1)


def test_few_products_do_not_bound_what_other_operations_gain():
    before, after = ({"products": 10, "other": other} for other in (88, 50))
    found = profiling.explain(before, after)
    assert "Faster products alone could make this step at most 1.2" in found.sentence
    assert found.gains == {"compute": 1.0, "memory": 1.76}


def test_the_budget_is_the_step_and_is_shared_out_among_what_ran():
    trace = made(
        step(0, 20),
        ("python", "IteratorGetNextOp::DoCompute", 0, 4),
        ("a", "dense/MatMul:MatMul", 5, 15),
        ("b", "dense/Relu:Relu", 10, 15),  # beside the product
    )
    found = profiling.budget(trace)
    assert found == pytest.approx(
        {"input": 4, "launch": 6, "products": 20 / 3, "other": 10 / 3}
    )


def test_spans_tell_lanes_parts_and_times_since_the_step_began():
    trace = made(
        *(step(start, start + 10, n) for n, start in enumerate((0, 30, 40))),
        ("python", "IteratorGetNext", 30, 33),
        ("python", "IteratorGetNext: inner", 31, 32),  # the same wait
        ("tf_data_1", "map/Decode:DecodeJpeg", 25, 33),
        ("x", "dense/MatMul:MatMul", 34, 38),
        ("y", "dense/Relu:Relu", 38, 44),
        ("w", "dense/Relu:Relu", 39, 39.01),  # hardly busy
        ("z", "dense/Relu:Relu", 60, 61),
    )
    trace = trace[1:]  # without the first step
    found = profiling.spans(trace)
    assert list(found.itertuples(index=False, name=None)) == [
        ("Python", "step", "step 1", 0, 10),
        ("Python", "input", "waiting", 0, 3),
        ("input pipeline", "input", "DecodeJpeg", 0, 3),
        ("thread 1", "products", "MatMul", 4, 8),
        ("thread 2", "other", "Relu", 8, 10),
    ]
    assert profiling.spans(trace, steps=2)["end"].max() == 20


def test_of_one_step_the_passes_are_told_by_name():
    trace = made(
        step(0, 30),
        ("a", "adam/Pow:Pow", 0.5, 1),  # needs no gradient
        ("a", "net/dense/MatMul:MatMul", 1, 8),
        ("a", "gradient_tape/net/dense/MatMul:MatMul", 10, 16),
        ("b", "adam/Sub:Sub", 15, 18),
        ("b", "adam/AssignSubVariableOp:AssignSubVariableOp", 18, 20),
        ("a", "gradient_tape/net/dense/MatMul_1:MatMul", 16, 22),
        ("b", "AssignAddVariableOp:AssignAddVariableOp", 24, 25),  # a metric
    )
    table = profiling.spans(trace)
    passes = table[table["part"] == "pass"]
    assert list(
        passes[["lane", "start", "end"]].itertuples(index=False, name=None)
    ) == [
        ("forward", 1, 8),
        ("backward", 10, 22),
        ("update", 15, 20),
    ]
    assert {*table["lane"]} == {
        *("Python", "forward", "backward", "update", "thread 1", "thread 2")
    }


def test_of_three_recordings_the_one_least_disturbed_counts(monkeypatch):
    times = iter([5.0, 9.0, 4.0, 7.0, 3.0, 8.0])
    calls = []

    def record(step, **options):
        calls.append((step, options))
        return next(times)

    table = lambda ms: pd.DataFrame({"step_ms": [ms] * 3 + [1000.0]})  # noqa: E731
    monkeypatch.setattr(recordings, "record", record)
    monkeypatch.setattr(recordings, "step_times", table)
    # a: 5, 4, 3; b: 9, 7, 8
    assert profiling.record_in_turns({"a": 1, "b": 2}, steps=6) == {"a": 3, "b": 7}
    assert calls == [(number, {"steps": 6}) for number in 3 * (1, 2)]
    monkeypatch.setenv("COURSE_PACE", "0.2")
    times = iter([5.0, 9.0])
    assert profiling.record_in_turns({"a": 1, "b": 2}) == {"a": 5, "b": 9}


def test_a_slow_step_is_recorded_fewer_times_and_at_least_once():
    calls = []

    def slow():
        calls.append(1)
        time.sleep(0.05)

    for seconds, most in ((0.01, 1), (0.17, 3)):
        calls.clear()
        trace = profiling.record(slow, steps=9, warm_up=1, seconds=seconds)
        assert 1 <= len(profiling.step_times(trace)) == len(calls) - 1 <= most


def test_a_slow_first_call_leaves_the_recorded_steps():
    pauses = iter([0.3])  # as of tracing
    trace = profiling.record(
        lambda: time.sleep(next(pauses, 0)), steps=4, warm_up=2, seconds=0.2
    )
    assert len(profiling.step_times(trace)) == 4


@needs_allocator
@pytest.mark.skipif(device() != "CPU:0", reason="this is about oneDNN's allocator")
def test_tensors_below_256_kib_are_not_in_a_trace():
    """A canary for what `profiling.peaks` counts of oneDNN's allocator."""

    def made_by_a_sum(length, dtype="float32"):
        a = tf.ones((length,), dtype)
        trace = profiling.record(lambda: a + a, steps=1)
        return any(event.name == "MemoryAllocation" for event in trace)

    assert not made_by_a_sum(60_000) and made_by_a_sum(70_000)
    # So a measured peak may fall below a half in 16 bits, and not by chance.
    assert not made_by_a_sum(70_000, "bfloat16")
