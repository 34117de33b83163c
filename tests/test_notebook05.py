"""What notebook 05 promises: its own cells run here on other data, and are looked at.

Bits, bytes, dtypes and names are asserted, never a time. What TensorFlow does in it is held by
the canaries, what the roofline counts and promises by its own tests.
"""

import importlib.util
import re
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from cells import Cells

from course_utils import benchmark, models, profiling, roofline

pytestmark = pytest.mark.slow
NOTEBOOK = Cells("05_profiling")
DEFINED = ("network", "in-turns", "photos", "pipelines", "cast-operations", "walk", "panel-models")
POLICIES = ("float32", "mixed_bfloat16", "mixed_float16")


@pytest.fixture(scope="module")
def notebook():
    """The names that the notebook's cells define, with data that no other test has."""
    rng = np.random.default_rng(5)
    pictures, labels = rng.integers(0, 256, (64, 28, 28), "uint8"), rng.integers(0, 10, 64)
    names = {
        "digits": SimpleNamespace(x_train=pictures, y_train=labels),
        "q": SimpleNamespace(guess=None),
        "sixteen": "mixed_bfloat16",
        "x": rng.random((1024, 28, 28, 1), dtype="float32"),
        "y": rng.integers(0, 10, 1024),
        **{"profiling": profiling, "roofline": roofline, "benchmark": benchmark, "pd": pd},
        "partial": partial,
        "here": roofline.devices()["T4"],
        "cnn_work": roofline.works(models.mnist_cnn, 128),
    }
    NOTEBOOK.run(*DEFINED, names=names)
    return NOTEBOOK.run("traces", names=names, until="trainings =")  # `training` alone


@pytest.fixture(scope="module")
def traces(notebook):
    """{policy: trace of two steps of the notebook's network}"""
    return {p: profiling.record(notebook["training"](p, batch=16), steps=2) for p in POLICIES}


@pytest.fixture
def printed(notebook):
    """Runs a cell once more, with other names and other pieces of code: (lines, names)."""

    def run(cell, *replaced, **names):
        names = {**notebook, **names}
        return NOTEBOOK.printed(cell, names=names, replaced=replaced), names

    return run


def test_a_trace_is_one_file_with_names_and_none_of_the_data(printed):
    lines, names = printed("record", ("x[:128]", "x[:16]"), ("y[:128]", "y[:16]"))
    assert len(lines) == 1 and lines[0].startswith("a file *.xplane.pb of ")
    (file,) = names["files"]
    assert b"Conv2D" in file.read_bytes()
    assert not any(picture.tobytes()[:32] in file.read_bytes() for picture in names["x"][:16])


def test_the_products_of_a_step_come_forward_and_twice_backward(traces):
    for policy, trace in traces.items():
        ops = profiling.op_times(trace)
        found = ops[ops["kind"] == "convolution"].set_index("op")["calls"]
        weights = found.filter(like="BackpropFilter").sum()
        backward = found.filter(like="Backprop").sum()
        # Two layers; nothing needs the gradient of the pictures.
        assert (weights, backward - weights, found.sum() - backward) == (2, 1, 2), policy
    names = profiling.op_times(traces["float32"], by="name")["op"]
    assert names[names.str.contains("Backprop")].str.startswith("gradient_tape/").all()


def test_of_two_recordings_the_one_less_disturbed_counts(printed):
    times, order = iter([5.0, 9.0, 4.0, 7.0, 8.0, 3.0]), []

    def record(step, **options):
        order.append((step, options))
        return pd.DataFrame({"step_ms": [next(times)] * 3 + [1000.0]})

    fake = SimpleNamespace(record=record, step_times=lambda t: t)
    _, names = printed("in-turns", profiling=fake)
    best = names["record_in_turns"]({"a": 1, "b": 2, "c": 3}, steps=6)
    assert order == [(step, {"steps": 6}) for step in (1, 2, 3, 1, 2, 3)]
    assert {name: t["step_ms"].iloc[0] for name, t in best.items()} == {"a": 5, "b": 8, "c": 3}


def test_every_pipeline_gives_the_same_batches(notebook):
    names = dict(notebook)
    NOTEBOOK.run("input-figure", names=names, until="pipelines =")
    assert [*names["variants"]][0] == "as written" and len(names["variants"]) == 5
    order, digits = np.arange(144) % 64, names["digits"]
    for name, added in names["variants"].items():
        data = names["pipeline"](**added)
        by_itself = data.options().experimental_optimization.inject_prefetch
        assert by_itself == (name == "the same, left to TensorFlow")
        batches = zip(*data.take(9).as_numpy_iterator(), strict=True)  # over two epochs of four
        pictures, labels = (np.concatenate(parts) for parts in batches)
        assert pictures.shape == (144, 28, 28, 1) and pictures.dtype == np.float32
        lost = np.abs(pictures - digits.x_train[order, ..., None] / 255)
        assert lost.max() < 0.02, name  # JPEG loses a little
        assert np.array_equal(labels, digits.y_train[order])


def test_casting_by_hand_gives_the_same_result(notebook, printed):
    for dtype, bits in (("float16", 11), ("bfloat16", 8)):
        _, names = printed(
            "casts",
            in_turns=lambda cases, **_: dict.fromkeys(cases, 1.0),
            operation_figures=SimpleNamespace(casts=lambda table: table),
            numbers=tf.random.normal((2**12,), seed=5),
            two_ways=partial(notebook["two_ways"], dtype=dtype),
        )
        assert names["cast_ms"].shape == (4, 4)
        for name, parts in names["operations"].items():
            found = {part: run() for part, run in parts.items()}
            assert found["direct"].dtype == found["back"].dtype == dtype, name
            assert found["compute"].dtype == found["to float32"].dtype == "float32", name
            direct, back = (tf.cast(found[part], "float32").numpy() for part in ("direct", "back"))
            error = np.linalg.norm(direct - back) / np.linalg.norm(back)
            assert error < 4 * 2.0**-bits, name


def test_the_panel_and_the_table_say_what_the_roofs_promise(printed):
    titles = []
    fake = SimpleNamespace(roofline=lambda device, points, title: titles.append(title))
    _, names = printed("panel", figures=fake, display=lambda picture: None)
    names["panel"]("T4", 4096, "wide dense")
    bfloat16, float16 = (float(n) for n in re.findall(r"float16 ([\d.]+) ×", titles[-1]))
    assert titles[-1].startswith("wide dense, batch 4096: bfloat16 ")
    assert 1 <= bfloat16 <= 1.2 and float16 > 5
    counted = [names["count_work"]("CNN", n)["mixed_float16"] for n in (1, 8, 64, 512)]
    right = [work.flops / work.bytes for work in counted]
    assert right == sorted(right) and right[1] > 3 * right[0]
    ratios = pd.DataFrame(printed("peak-ratios")[1]["peak_ratios"]).T
    for name, row in ratios.drop(index="GTX 1080 Ti").iterrows():
        ampere_on = name.startswith(("A100", "L4", "H100", "H200", "RTX"))
        wanted = 1 if name.startswith("TPU") else 2 if ampere_on else 8
        assert row["peaks"] == pytest.approx(wanted, rel=0.02), name
        assert row["CNN, batch 128"] < 2.2, name


def test_where_nothing_is_told_the_largest_batch_is_counted_exactly(printed):
    told = SimpleNamespace(notes=["Not told."], peak_mb=0)
    figures = {"profile_figures": None, "display": print, "memories": {"float32": told}}
    lines, names = printed("memory-figure", **figures)
    assert lines[0].startswith("Not told.") and not names["reported"]
    names = printed("peaks", **names)[1]
    names = printed("near", **printed("lines", **names)[1])[1]
    fixed, each = names["lines"]["float32"]
    assert each == pytest.approx(2 * 0.139688) and fixed == pytest.approx(16.183, abs=0.01)
    assert names["lines"]["mixed_bfloat16"][1] == pytest.approx(each / 2, rel=0.001)
    budget, near = names["budget_mb"], names["near"]
    assert (near["peak_mb"] <= budget).all()
    whole = near[near["batch_size"] < len(names["x"])]
    assert (whole["peak_mb"] > budget - each).all()  # one more would not fit
    assert 1.8 < names["largest"]["mixed_bfloat16"] / names["largest"]["float32"] < 2


STOPS = [
    ({"input": 6, "convolution": 4}, {"input": 6, "convolution": 2}, "wait for input"),
    ({"overhead": 6, "convolution": 4}, {"overhead": 6, "convolution": 2}, "nothing run"),
    ({"other": 9, "convolution": 1}, {"other": 9, "convolution": 1}, "few products"),
    ({"other": 5, "matrix product": 5}, {"other": 5, "matrix product": 6}, "no faster"),
    ({"other": 5, "matrix product": 5}, {"other": 7, "matrix product": 2}, "other work"),
    ({"other": 5, "convolution": 5}, {"other": 4, "convolution": 2}, None),
]


def test_the_tree_stops_at_the_first_yes(printed):
    for before, after, question in STOPS:
        parts = ("input", "convolution", "matrix product", "cast", "other", "overhead")
        table = pd.DataFrame({"before_ms": before, "after_ms": after}).reindex(parts).fillna(0.0)
        table["saved_ms"] = table["before_ms"] - table["after_ms"]
        fake = SimpleNamespace(compare=lambda *_, t=table: SimpleNamespace(table=t))
        said = [a for a, yes, _ in printed("walk", profiling=fake)[1]["walk"](None, None) if yes]
        assert question in said[0] if question else not said


def test_without_tensorboard_or_xprof_the_notebook_says_so(traces, printed, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda p: None if p == "xprof" else find(p))
    magics = ("%load_ext tensorboard", "pass"), ("%tensorboard --logdir {logs} --port 0", "pass")
    lines, names = printed("tensorboard", *magics, traces=traces)
    assert lines == ["Not installed here: xprof · the tables above do without."]
    assert printed("tensorboard-stop", **names)[0] == []
    assert any(names["logs"].rglob("*.xplane.pb"))  # what TensorBoard would be shown
