"""What notebook 05 promises: its own cells run here on other data, and are looked at.

Bits, bytes, dtypes and names are asserted, never a time. What TensorFlow does in it is held by
the canaries, what the roofline counts and promises by its own tests.
"""

import gzip
import importlib.util
import os
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
DEFINED = ("network", "pipeline", "cast-operations", "chain", "panel-models")
POLICIES = ("float32", "mixed_bfloat16", "mixed_float16")


@pytest.fixture(scope="module")
def notebook():
    """The names that the notebook's cells define, with data that no other test has."""
    rng = np.random.default_rng(5)
    pictures, labels = rng.integers(0, 256, (64, 28, 28), "uint8"), rng.integers(0, 10, 64)
    names = {
        "digits": SimpleNamespace(x_train=pictures, y_train=labels),
        "q": SimpleNamespace(guess=None),
        **{"sixteen": "mixed_bfloat16", "slower": "mixed_float16", "timed_ms": 1.0},
        "pair": ("float32", "mixed_bfloat16"),
        "x": rng.random((1024, 28, 28, 1), dtype="float32"),
        "y": rng.integers(0, 10, 1024),
        **{"profiling": profiling, "roofline": roofline, "benchmark": benchmark, "pd": pd},
        **{"partial": partial, "os": os},
        "here": roofline.devices()["T4"],
        "works": roofline.works(models.mnist_cnn, 128),
    }
    NOTEBOOK.run(*DEFINED, names=names)
    return NOTEBOOK.run("record", names=names, until="first =")  # `training` alone


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


def test_a_trace_and_what_is_saved_of_it_hold_names_and_none_of_the_data(notebook, traces):
    (file,) = traces["float32"].folder.glob("*.xplane.pb")
    saved = profiling.save_for_perfetto(traces["float32"], file.with_name("s.trace.json.gz"))
    for data in (file.read_bytes(), gzip.decompress(saved.read_bytes())):
        assert b"Conv2D" in data
        assert not any(picture.tobytes()[:32] in data for picture in notebook["x"][:16])


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


def test_with_and_without_prefetch_the_batches_are_the_same_and_nothing_else_works_ahead(notebook):
    for prefetch in (False, True):
        source = notebook["pipeline"](prefetch)
        for start in (0, 128):
            images, labels = (part.numpy() for part in next(source))
            assert np.array_equal(images, notebook["x"][start : start + 128])
            assert np.array_equal(labels, notebook["y"][start : start + 128])


def test_a_predicted_step_has_the_launch_of_a_narrow_network_and_the_roofs_products(printed):
    asked = []

    def in_turns(cases, **_):
        asked.extend(cases)
        return {case: 100.0 if case[1] != "launch" else 7.0 for case in cases}

    _, names = printed("launch", in_turns=in_turns, training=lambda *_: None)
    lines, names = printed("predicted", **names)
    assert len(lines) == 9 and sum("measured  100.0 ms" in line for line in lines) == 6
    assert sum("measured   1.00" in line for line in lines) == 3  # the speedup
    assert {n for _, n in asked} == {32, 128, 512, "launch"}
    found = names["predicted"]("float32", 128)
    floor = roofline.predict(names["works"]["float32"], names["here"])
    assert found["launch"] == 7 and sum(found.values()) == pytest.approx(7 + floor.ms)
    assert found["products"] > found["other"] > 0


def test_the_rule_of_prefetch_adds_up_or_takes_the_longer_one(printed):
    shown = []
    names = {
        **{"budgets": {"float32": {"products": 20.0}}, "input_traces": {}, "pause_ms": 30.0},
        "ways": {"as written": False, "with prefetch": True},
        "readings": {(way, "float32"): None for way in ("as written", "with prefetch")},
        "figures": SimpleNamespace(time_budget=shown.append),
        "profiling": SimpleNamespace(budget=lambda trace: {}),
    }
    names["input_traces"] = dict.fromkeys(names["readings"])
    printed("input-budgets", **names)
    rows = {name: sum(row.values()) for name, row in shown[0].items() if row}
    assert list(rows.values()) == [50, 30]


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


def test_where_nothing_is_told_of_memory_it_is_counted(printed):
    told, shown = SimpleNamespace(notes=["Not told."], peak_mb=0), []
    fakes = {"profile_figures": None, "display": print, "memories": {"float32": told}}
    fakes["figures"] = SimpleNamespace(memory_accounts=shown.append)
    lines, names = printed("memory-figure", **fakes)
    assert lines[0].startswith("Not told.") and not names["reported"]
    assert shown[0][256, "float32"].activations == 256 * 139_688


def test_the_walks_are_those_of_the_notebook_s_own_recordings(printed):
    pair, given = ("float32", "mixed_bfloat16"), []
    fake = SimpleNamespace(
        record_in_turns=lambda cases: {p: f"chain {p}" for p in cases},
        diagnose=lambda before, after: given.append((before, after)),
    )
    names = {
        **{"profiling": fake, "figures": SimpleNamespace(walks=list), "training": lambda *_: None},
        "traces": {p: f"CNN {p}" for p in POLICIES},
        "input_traces": {("as written", p): f"input {p}" for p in pair},
    }
    printed("walks", **names)
    before, after = zip(*given, strict=True)
    assert before == ("input float32", "chain float32", "CNN float32", "CNN float32")
    bf16 = "mixed_bfloat16"
    assert after == (f"input {bf16}", f"chain {bf16}", "CNN mixed_float16", f"CNN {bf16}")


def test_without_tensorboard_or_xprof_the_notebook_says_so(traces, printed, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda p: None if p == "xprof" else find(p))
    magics = ("%load_ext tensorboard", "pass"), ("%tensorboard --logdir {logs} --port 0", "pass")
    lines, names = printed("tensorboard", *magics, first_trace=traces["float32"])
    assert lines == ["Not installed here: xprof · the tables above do without."]
    assert printed("tensorboard-stop", **names)[0] == []
    assert any(names["logs"].rglob("*.xplane.pb"))  # what TensorBoard would be shown
