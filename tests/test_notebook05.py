"""What notebook 05 promises: its own cells run here, on other data, and are looked at.

Bits, bytes, dtypes and names are asserted, never a time.
"""

import importlib.util
import re
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from IPython.core.inputtransformer2 import TransformerManager

from course_utils import memory, models, profiling, roofline, stepping

sys.path.insert(0, str(Path(__file__).parent / "tools"))
from canonical import COURSE, read

CELLS = {cell.id: cell.source for cell in read(COURSE / "notebooks/05_profiling.ipynb").cells}
DEFINED = ("network", "in-turns", "photos", "pipelines", "cast-operations", "small", "order",
           "walk", "panel-models", "xla-functions", "tensor-core")  # fmt: skip
SEED = 5
POLICIES = ("float32", "mixed_bfloat16", "mixed_float16")
T4 = roofline.devices()["T4"]
ON_CPU = stepping.device() == "CPU:0"
on_cpu = pytest.mark.skipif(not ON_CPU, reason="said of CPUs")
needs_allocator = pytest.mark.skipif(
    not ON_CPU or not stepping.counts_memory(), reason="oneDNN's allocator is not in use here"
)


@pytest.fixture(scope="module")
def notebook():
    """The names that the notebook's cells define, with data that no other test has."""
    rng = np.random.default_rng(SEED)
    names = {"digits": SimpleNamespace(x_train=rng.integers(0, 256, (64, 28, 28), "uint8"),
                                       y_train=rng.integers(0, 10, 64))}  # fmt: skip
    names["x"] = rng.random((1024, 28, 28, 1), dtype="float32")
    names["y"] = rng.integers(0, 10, 1024)
    names |= {"profiling": profiling, "pd": pd, "roofline": roofline, "stepping": stepping}
    names |= {"sixteen": "mixed_bfloat16", "here": T4, "q": SimpleNamespace(guess=None)}
    names["partial"] = partial  # imported in section 4
    names["cnn_work"] = roofline.works(models.mnist_cnn, 128)
    for cell in DEFINED:
        exec(CELLS[cell], names)
    exec(CELLS["traces"].partition("trainings =")[0], names)  # `training` alone
    return names


@pytest.fixture(scope="module")
def traces(notebook):
    """{policy: trace of two steps of the notebook's network}"""
    return {p: profiling.record(notebook["training"](p, batch=16), steps=2) for p in POLICIES}


def printed(cell, names, capsys, *replaced):
    """What a cell prints when it runs once more, as a list of lines."""
    source = CELLS[cell]
    for old, new in replaced:
        assert old in source, (cell, old)
        source = source.replace(old, new)
    capsys.readouterr()
    exec(source, names)
    return capsys.readouterr().out.splitlines()


# Time: the trace and its tables


def test_a_trace_is_one_file_with_names_and_none_of_the_data(notebook, capsys):
    names = dict(notebook)
    lines = printed("record", names, capsys, ("x[:128]", "x[:16]"), ("y[:128]", "y[:16]"))
    assert len(lines) == 1 and lines[0].startswith("a file *.xplane.pb of ")
    (file,) = names["files"]
    content = file.read_bytes()
    assert b"Conv2D" in content
    assert not any(picture.tobytes()[:32] in content for picture in names["x"][:16])


def test_the_products_of_a_step_come_forward_and_twice_backward(traces):
    for policy, trace in traces.items():
        ops = profiling.op_times(trace)
        found = ops[ops["kind"] == "convolution"]
        back = found["op"].str.contains("Backprop")
        weights = found["op"].str.contains("BackpropFilter")
        assert found["calls"][weights].sum() == 2, policy  # two layers
        assert found["calls"][back & ~weights].sum() == 1, policy  # the pictures need no gradient
        assert found["calls"][~back].sum() == 2, policy
    names = profiling.op_times(traces["float32"], by="name")["op"]
    backward = names[names.str.contains("Backprop")]
    assert len(backward) and backward.str.startswith("gradient_tape/").all()


def test_16_bit_layers_cast_and_weights_and_slots_stay_float32(notebook, traces):
    casts = {}
    for policy, trace in traces.items():
        ops = profiling.op_times(trace)
        casts[policy] = ops["calls"][ops["kind"] == "cast"].sum()
        network = notebook["build_model"](policy)
        network.optimizer.build(network.trainable_variables)
        slots = [
            v for v in network.optimizer.variables if v.path.endswith(("momentum", "velocity"))
        ]
        assert len(slots) == 2 * len(network.variables) == 16
        assert {v.dtype for v in (*network.variables, *slots)} == {"float32"}
        assert {layer.compute_dtype for layer in network.layers[:-1]} == {
            policy.removeprefix("mixed_")
        }
    assert min(casts["mixed_bfloat16"], casts["mixed_float16"]) >= casts["float32"] + 10
    assert keras.config.dtype_policy().name == "float32"


def test_of_two_recordings_the_one_less_disturbed_counts(notebook):
    times, order = iter([5.0, 9.0, 4.0, 7.0, 8.0, 3.0]), []

    def record(step, **options):
        order.append((step, options))
        return pd.DataFrame({"step_ms": [next(times)] * 3 + [1000.0]})

    names = dict(notebook, profiling=SimpleNamespace(record=record, step_times=lambda t: t))
    exec(CELLS["in-turns"], names)
    best = names["record_in_turns"]({"a": 1, "b": 2, "c": 3}, steps=6)
    assert order == [(step, {"steps": 6}) for step in (1, 2, 3, 1, 2, 3)]
    assert {name: t["step_ms"].iloc[0] for name, t in best.items()} == {"a": 5, "b": 8, "c": 3}


def test_the_libraries_share_out_all_products(notebook, traces, capsys):
    names = dict(notebook, traces=traces)
    printed("libraries", names, capsys)
    for policy, trace in traces.items():
        kinds = profiling.op_times(trace).groupby("kind")["ms"].sum()
        wanted = kinds["convolution"] + kinds["matrix product"]
        assert names["by_library"][policy].sum() == pytest.approx(wanted)
    assert set(names["by_library"].index) <= {"oneDNN, ms", "TensorFlow's own, ms"}


@pytest.mark.parametrize(("share", "wanted"), [(0.6, (1.43, 2.11, 2.5)), (0.0, (1, 1, 1))])
def test_amdahl_s_law_limits_what_products_can_give(share, wanted, notebook, capsys):
    table = pd.DataFrame({"kind": ["matrix product", "other"], "share": [share, 1 - share]})
    fake = SimpleNamespace(op_times=lambda trace: table[table["share"] > 0])
    names = dict(notebook, profiling=fake, traces={"float32": None})
    lines = printed("amdahl", names, capsys)
    assert f"take {share:.0%}." in lines[0] and "You guessed nothing" in lines[0]
    gains = [float(re.search(r"would be ([\d.]+) times", line)[1]) for line in lines[1:]]
    assert gains == pytest.approx(wanted, abs=0.01)


# The input


def test_every_pipeline_gives_the_same_batches(notebook, capsys):
    names = dict(notebook)
    source = CELLS["input-figure"].partition("pipelines =")[0]
    exec(source, names)
    assert [*names["variants"]][0] == "as written" and len(names["variants"]) == 5
    for name, added in names["variants"].items():
        data = names["pipeline"](**added)
        assert data.options().experimental_optimization.inject_prefetch == (
            name == "the same, left to TensorFlow"
        )
        batches = [*data.take(9).as_numpy_iterator()]  # more than two epochs of four
        pictures = np.concatenate([p for p, _ in batches])
        labels = np.concatenate([n for _, n in batches])
        assert pictures.shape == (144, 28, 28, 1) and pictures.dtype == np.float32
        original = names["digits"].x_train[np.arange(144) % 64, ..., None] / 255
        assert np.abs(pictures - original).max() < 0.02, name  # JPEG loses a little
        assert np.array_equal(labels, names["digits"].y_train[np.arange(144) % 64])


# What is not faster


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_casting_by_hand_gives_the_same_result(dtype, notebook, capsys):
    names = dict(notebook, in_turns=lambda cases, **_: dict.fromkeys(cases, 1.0))
    names["operation_figures"] = SimpleNamespace(casts=lambda table: table)
    names["numbers"] = tf.random.normal((2**12,), seed=SEED)
    names["two_ways"] = partial(notebook["two_ways"], dtype=dtype)
    exec(CELLS["casts"], names)
    assert names["cast_ms"].shape == (4, 4)
    for name, parts in names["operations"].items():
        found = {part: run() for part, run in parts.items()}
        assert found["direct"].dtype == found["back"].dtype == dtype, name
        assert found["compute"].dtype == found["to float32"].dtype == "float32", name
        direct, back = (tf.cast(found[part], "float32").numpy() for part in ("direct", "back"))
        error = np.linalg.norm(direct - back) / np.linalg.norm(back)
        assert error < 4 * 2.0 ** -(8 if dtype == "bfloat16" else 11), name


def test_the_chain_has_more_operations_and_less_work_than_the_cnn(notebook, traces):
    chain = profiling.record(notebook["training"]("float32", 8, notebook["build_chain"]), 2)
    calls = [profiling.op_times(t)["calls"].sum() for t in (chain, traces["float32"])]
    assert calls[0] > 1.3 * calls[1]
    weights = [notebook[b]("float32").count_params() for b in ("build_chain", "build_model")]
    assert 50 * weights[0] < weights[1] and weights[1] == 1_011_466  # "a million weights"


# The roofline


def test_16_bits_move_the_dot_to_the_right_and_change_the_roof(notebook):
    steps = notebook["cnn_work"]
    for policy in POLICIES[1:]:
        products = [s.table["forward_flops"].sum() for s in (steps[policy], steps["float32"])]
        assert products[0] == products[1]
        assert 0.5 < steps[policy].bytes / steps["float32"].bytes < 0.8  # not half
    dots = roofline.points({p: roofline.predict(w, T4) for p, w in steps.items()})
    for dot in dots.itertuples():
        assert 1e12 * dot.tflops <= 1.0001 * T4.roof(dot.dtype, dot.intensity)
    assert T4.peak("float16") == pytest.approx(8 * T4.peak("float32"), rel=0.01)


def test_who_gets_to_the_ratio_of_the_peaks(notebook, capsys):
    names = dict(notebook)
    printed("peak-ratios", names, capsys)
    ratios = pd.DataFrame(names["peak_ratios"]).T
    for name, row in ratios.drop(index="GTX 1080 Ti").iterrows():
        ampere_on = name.startswith(("A100", "L4", "H100", "H200", "RTX"))
        wanted = 1 if name.startswith("TPU") else 2 if ampere_on else 8
        assert row["peaks"] == pytest.approx(wanted, rel=0.02), name
        assert row["CNN, batch 128"] < 2.2, name
        if not name.startswith("TPU"):
            assert row["wide dense, batch 4096"] > 0.7 * wanted, name
    assert ratios.loc["A100 40 GB", "peaks, no TF32"] == pytest.approx(16, rel=0.01)
    assert ratios.loc["T4", "wide dense, batch 4096"] > 5


def test_bytes_give_2_and_units_their_ratio(notebook, capsys):
    lines = printed("ideal", dict(notebook), capsys)
    gains = [float(re.search(r"at best ([\d.]+)", line)[1]) for line in lines]
    assert gains[0] == 2 and gains[-1] == pytest.approx(8, rel=0.01) and gains == sorted(gains)
    assert roofline.ideal_speedup(T4, 1, "bfloat16") == 2  # bytes alone
    assert roofline.ideal_speedup(T4, 256, "bfloat16") == 1  # a T4 has no units for it


def test_the_panel_says_what_the_roofs_promise(notebook, capsys):
    names, titles = dict(notebook, display=lambda picture: None), []
    figures = SimpleNamespace(roofline=lambda device, points, title: titles.append(title))
    names["figures"] = figures
    printed("panel", names, capsys)

    def gains(*chosen):
        names["panel"](*chosen)
        return [float(n) for n in re.findall(r"float16 ([\d.]+) ×", titles[-1])]

    bfloat16, float16 = gains("T4", 4096, "wide dense")
    assert 1 <= bfloat16 <= 1.2 and float16 > 5
    assert gains("T4", 64, "CNN")[1] < 2.5 and max(gains("TPU v4", 512, "wide dense")) < 1.3
    assert titles[-2].startswith("CNN, batch 64: bfloat16 ")
    right = [
        names["count_work"]("CNN", n)["mixed_float16"].intensity for n in (1, 8, 64, 512, 4096)
    ]
    assert right == sorted(right) and right[1] > 3 * right[0] and right[4] < 1.25 * right[3]
    assert names["count_work"]("CNN, 4 × as wide", 512)["float32"].intensity > right[3]


def test_a_gtx_1080_ti_gains_bytes_alone(notebook, capsys):
    lines = printed("pascal", dict(notebook), capsys)
    assert lines[0] == "rate of float16 arithmetic: 1/64 of float32's"
    assert float(lines[1].split()[-1]) < 0.1 and 1 <= float(lines[2].split()[-1]) < 1.5
    assert 50 < int(re.search(r"(\d+)% of float32's", lines[3])[1]) < 80


# Memory


@needs_allocator
@pytest.mark.parametrize("batch", [96, 256])
def test_every_saved_activation_has_the_bytes_of_its_dtype(batch, notebook, capsys):
    names = dict(notebook, tqdm=lambda them: them)
    printed(
        "memory-record", names, capsys, ("x[:256]", f"x[:{batch}]"), ("y[:256]", f"y[:{batch}]")
    )
    lines = printed("saved", names, capsys)
    sizes = {}
    for line in lines:
        counted, measured = re.search(r"= +([\d.]+) MB, measured +([\d.]+)", line).groups()
        assert float(counted) == pytest.approx(float(measured), rel=0.01, abs=0.02), line
        policy, _, shape, dtype, *_ = line.split()
        sizes.setdefault((shape, dtype == "uint8"), {})[policy] = float(counted)
    first = sizes[f"[{batch},26,26,32]", False]
    assert first["float32"] == pytest.approx(2 * first["mixed_bfloat16"], abs=0.02)
    for (_, notes), found in sizes.items():
        if notes:  # oneDNN's, one byte each whatever the policy
            assert len(set(found.values())) == 1


def test_activations_halve_but_for_the_last_layer_s(notebook, capsys):
    names = dict(notebook, memories={"float32": SimpleNamespace(notes=["Not told."], peak_mb=0)})
    names["profile_figures"], names["display"] = None, print
    lines = printed("memory-figure", names, capsys)
    assert lines[0].startswith("Not told.") and not names["reported"]
    before, after = (names["counted"][256, p] for p in POLICIES[:2])
    assert before.activations == 139_688 * 256
    assert 2 * after.activations - before.activations == 256 * 10 * 4  # the logits stay float32
    assert before.weights == after.weights == before.gradients == before.optimizer // 2
    assert 2 * after.weight_copies < after.weights and not before.weight_copies


def test_where_nothing_is_told_the_largest_batch_is_counted_exactly(notebook, capsys):
    names = dict(notebook, reported=False, tqdm=lambda them, **_: them, memory=memory)
    names["counted"] = {}
    for policy in POLICIES[:2]:
        with stepping.dtype_policy(policy):
            names["counted"][256, policy] = memory.account(models.mnist_cnn(), 256)
    assert printed("peaks", names, capsys)[0].startswith("This device's allocator does not tell")
    printed("lines", names, capsys)
    printed("near", names, capsys)
    fixed, each = names["lines"]["float32"]
    assert each == pytest.approx(0.139688) and fixed == pytest.approx(16.183, abs=0.01)
    assert names["lines"]["mixed_bfloat16"][1] == pytest.approx(each / 2, rel=0.001)
    budget, near = names["budget_mb"], names["near"]
    assert (near["peak_mb"] <= budget).all()
    whole = near[near["batch_size"] < len(names["x"])]
    assert (whole["peak_mb"] > budget - 0.15).all()  # one more would not fit
    assert 1.8 < names["largest"]["mixed_bfloat16"] / names["largest"]["float32"] < 2


@needs_allocator
def test_a_forced_order_has_fewer_matrices_at_once(notebook, capsys):
    lines = printed("order-peaks", dict(notebook, reported=True, math=np), capsys)
    found = [re.findall(r"(?:result|peak) ([\d.]+)", line) for line in lines]
    results, peaks = zip(*found, strict=True)
    assert results[0] == results[1] and float(peaks[1]) < 0.8 * float(peaks[0])
    assert float(peaks[1]) > 2 * 1024**2 * 4 / 1e6  # the sum and the product


# The tree


@pytest.mark.parametrize(
    ("before", "after", "question"),
    [
        ({"input": 6, "convolution": 4}, {"input": 6, "convolution": 2}, "wait for input"),
        ({"overhead": 6, "convolution": 4}, {"overhead": 6, "convolution": 2}, "nothing run"),
        ({"other": 9, "convolution": 1}, {"other": 9, "convolution": 1}, "few products"),
        ({"other": 5, "matrix product": 5}, {"other": 5, "matrix product": 6}, "no faster"),
        ({"other": 5, "matrix product": 5}, {"other": 7, "matrix product": 2}, "other work"),
        ({"other": 5, "convolution": 5}, {"other": 4, "convolution": 2}, None),
    ],
)
def test_the_tree_stops_at_the_first_yes(before, after, question, notebook):
    parts = ("input", "convolution", "matrix product", "cast", "other", "overhead")
    table = pd.DataFrame({"before_ms": before, "after_ms": after}).reindex(parts).fillna(0.0)
    table["saved_ms"] = table["before_ms"] - table["after_ms"]
    fake = SimpleNamespace(compare=lambda *traces: SimpleNamespace(table=table))
    names = dict(notebook, profiling=fake)
    exec(CELLS["walk"], names)
    said = [asked for asked, yes, _ in names["walk"](None, None) if yes]
    assert question in said[0] if question else not said


def test_a_model_of_one_s_own_is_diagnosed(notebook, capsys):
    names = dict(notebook, tqdm=lambda them, **_: them)
    printed("own", names, capsys, ("(256, 4)", "(24, 3)"), ("build_model(policy)", "mine(policy)"),
            ("def my_model", "def mine(policy):\n    return build_model(policy, width=4)\n\n"
             "def my_model"))  # fmt: skip
    lines = printed("diagnosis", names, capsys)
    for n in (24, 3):
        at = lines.index(f"{n} images, float32 against mixed_bfloat16")
        block = [line.strip() for line in lines[at + 1 : at + 10]]
        assert block[0].split()[0] in ("no", "YES")
        assert any(line.startswith("The roofs promise ") for line in block)
        assert any("times as fast" in line for line in block)


# Going further


@on_cpu
def test_xla_gives_the_same_numbers_and_computes_bfloat16_in_float32(notebook, capsys):
    for function, _ in notebook["for_xla"].values():
        a = tf.random.uniform((64, 64), seed=SEED)
        plain, compiled = (tf.function(function, jit_compile=jit)(a) for jit in (False, True))
        assert np.allclose(plain, compiled, rtol=1e-4)
    lines = [" ".join(line.split()) for line in printed("xla-hlo", dict(notebook), capsys)]
    assert lines[0] == "chain of 20 float32 10 multiply in f32, 10 add in f32"
    assert lines[2] == "product float32 1 dot in f32"
    for line, work in ((lines[1], "10 multiply in f32"), (lines[3], "1 dot in f32")):
        assert work in line and "convert in bf16" in line and "convert in f32" in line
        assert not re.search(r"(multiply|add|dot) in bf16", line)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_accumulator_decides_whatever_the_numbers(seed, notebook, capsys):
    names = dict(notebook)
    shorter = ("(16, 64, 256, 1024, 4096, 16384)", "(16, 1024, 16384)")
    printed(
        "tensor-core-errors", names, capsys, ("default_rng(0)", f"default_rng({seed})"), shorter
    )
    printed("tensor-core-figure", names, capsys)  # asserts the order of the three rules
    errors = names["sum_errors"].set_index(["values", "rule", "k"])["error"].sort_index()
    for values in errors.index.get_level_values("values").unique():
        narrow, mixed, wide = (errors[values, rule[0]] for rule in names["rules"])
        assert narrow[16384] > 10 * narrow[16] and narrow[16384] > 20 * mixed[16384]
        assert mixed.max() < 2.0**-11 and mixed.max() < 2 * mixed.min()  # one rounding
        assert wide.max() < 1e-5
    if ON_CPU:
        first = printed("tensor-core-here", names, capsys)[0]
        assert float(first.split()[-1]) < 1e-3  # a wide accumulator


def test_without_tensorboard_or_xprof_the_notebook_says_so(notebook, traces, capsys, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda p: None if p == "xprof" else find(p))
    names = dict(notebook, traces=traces)
    code = {c: TransformerManager().transform_cell(CELLS[c])
            for c in ("tensorboard", "tensorboard-stop")}  # fmt: skip
    exec(code["tensorboard"], names)
    assert capsys.readouterr().out == "Not installed here: xprof · the tables above do without.\n"
    exec(code["tensorboard-stop"], names)
    assert capsys.readouterr().out == ""
    assert any(names["logs"].rglob("*.xplane.pb"))  # what TensorBoard would be shown


# Common mistakes


def test_the_wrong_lines_go_wrong(notebook, capsys):
    wrong, right = printed("mistake-name", dict(notebook), capsys)
    assert "no attribute 'strftime'" in wrong and re.fullmatch(r"right: \d{8}-\d{6}", right)
    names = dict(notebook, matrix=tf.ones((8, 8)))
    wrong, right = printed("mistake-folder", names, capsys)
    assert wrong in (f"wrong: 2 recordings, {n} left" for n in (1, 2))
    assert right == "right: 2 recordings, 2 left"
