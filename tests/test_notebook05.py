"""What notebook 05 promises: its own cells run here on other data, and are looked at.

Bits, bytes, dtypes and names are asserted, never a time. What TensorFlow does in it is
held by the canaries, what the roofline counts and promises by its own tests.
"""

import gzip
import importlib.util
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

from course_utils import profiling, roofline
from tools.cells import Cells

pytestmark = pytest.mark.slow
NOTEBOOK = Cells("05_profiling")
DEFINED = ("network", "cast-operations", "panel-models")
POLICIES = ("float32", "mixed_bfloat16", "mixed_float16")


@pytest.fixture(scope="module")
def notebook():
    """The names that the notebook's cells define, with data that no other test has."""
    rng = np.random.default_rng(5)
    names = {"roofline": roofline, "pd": pd, "tf": tf, "pair": POLICIES[:2]}
    names |= {
        "here": roofline.devices()["T4"],
        "x": rng.random((16, 28, 28, 1), dtype="float32"),
        "y": rng.integers(0, 10, 16),
    }
    NOTEBOOK.run(*DEFINED, names=names)
    return NOTEBOOK.run("record", names=names, until="first =")  # `training` alone


@pytest.fixture(scope="module")
def traces(notebook):
    """{policy: trace of two steps of the notebook's network}"""
    return {
        p: profiling.record(notebook["training"](p, batch=16), steps=2)
        for p in POLICIES
    }


def test_a_trace_and_what_is_saved_of_it_hold_names_and_none_of_the_data(
    notebook, traces
):
    (file,) = traces["float32"].folder.glob("*.xplane.pb")
    saved = profiling.save_for_perfetto(
        traces["float32"], file.with_name("s.trace.json.gz")
    )
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
        assert (weights, backward - weights, found.sum() - backward) == (2, 1, 2), (
            policy
        )
    names = profiling.op_times(traces["float32"], by="name")["op"]
    assert names[names.str.contains("Backprop")].str.startswith("gradient_tape/").all()


def test_casting_by_hand_gives_the_same_result(notebook):
    for dtype, bits in (("float16", 11), ("bfloat16", 8)):
        names = {**notebook, "two_ways": partial(notebook["two_ways"], dtype=dtype)}
        names["numbers"] = tf.random.normal((2**12,), seed=5)
        NOTEBOOK.run("casts", names=names, until="cases =")
        for name, parts in names["operations"].items():
            found = {part: run() for part, run in parts.items()}
            assert found["direct"].dtype == found["back"].dtype == dtype, name
            assert found["compute"].dtype == found["to float32"].dtype == "float32", (
                name
            )
            direct, back = (
                tf.cast(found[part], "float32").numpy() for part in ("direct", "back")
            )
            error = np.linalg.norm(direct - back) / np.linalg.norm(back)
            assert error < 4 * 2.0**-bits, name


def test_the_table_says_what_the_roofs_promise(notebook):
    counted = [
        notebook["count_work"]("CNN", n)["mixed_float16"] for n in (1, 8, 64, 512)
    ]
    right = [work.flops / work.bytes for work in counted]
    assert right == sorted(right) and right[1] > 3 * right[0]
    ratios = NOTEBOOK.run("peak-ratios", names=dict(notebook))["peak_ratios"]
    for name, row in ratios.items():
        ampere_on = name.startswith(("A100", "L4", "H100", "H200", "RTX"))
        wanted = 1 if name.startswith(("TPU", "GTX")) else 2 if ampere_on else 8
        assert row["peaks"] == pytest.approx(wanted, rel=0.02), name
        assert row["CNN, batch 128"] < 2.2, name


def test_where_nothing_is_told_of_memory_it_is_counted(notebook):
    told = SimpleNamespace(notes=["Not told."], peak_mb=0)
    names = {
        **notebook,
        "profile_figures": None,
        "display": print,
        "memories": {"float32": told},
    }
    lines = NOTEBOOK.printed("memory-figure", names=names)
    assert lines[0].startswith("Not told.") and not names["reported"]
    assert names["counted"]["float32"].activations == 256 * 139_688
    assert lines[-1].startswith("float32: ") and "mixed_bfloat16: " in lines[-1]


def test_without_tensorboard_or_xprof_the_notebook_says_so(traces, monkeypatch):
    find = importlib.util.find_spec
    names = {"first_trace": traces["float32"]}
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda p: None if p == "xprof" else find(p)
    )
    magics = (
        ("%load_ext tensorboard", "pass"),
        ("%tensorboard --logdir {logs} --port 0", "pass"),
    )
    lines = NOTEBOOK.printed("tensorboard", names=names, replaced=magics)
    assert lines == ["Not installed here: xprof · the tables above do without."]
    assert NOTEBOOK.printed("tensorboard-stop", names=names) == []
    assert any(names["logs"].rglob("*.xplane.pb"))  # what TensorBoard would be shown
