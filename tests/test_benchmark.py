"""Comparisons are fair, bounded, interruptible, and say what they could not see."""

import math
import os

import keras
import numpy as np
import pytest

from course_utils import benchmark, figures, hardware, models, stepping, sweeps
from course_utils.stepping import Trainee, batches, dtype_policy, rounds

RNG = np.random.default_rng(0)
X = RNG.random((300, 28, 28, 1), dtype="float32")
Y = (X.mean((1, 2, 3)) > 0.5).astype("int32")


def build_tiny():
    model = keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            keras.layers.Flatten(),
            keras.layers.Dense(8, activation="relu"),
            keras.layers.Dense(10, dtype="float32"),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, jit_compile=False)
    return model


def build_cnn():
    model = models.mnist_cnn()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, jit_compile=False)
    return model


def compare(**options):
    settings = {"batch_size": 32, "seconds": 0.3, **options}
    return benchmark.compare_policies(build_tiny, X, Y, **settings)


def test_the_table_follows_from_the_steps(monkeypatch):
    real = benchmark._accuracy
    monkeypatch.setattr(benchmark, "_accuracy", lambda *args: real(*args[:-1], 1e9))
    result = compare(validation_data=(X, Y))
    table, steps = result.table, result.steps
    assert list(table.index) == list(benchmark.POLICIES)
    for policy, row in table.iterrows():
        seconds = steps.loc[steps["policy"] == policy, "seconds"]
        assert row["step_ms"] == pytest.approx(1e3 * seconds.median())
        assert row["step_ms_q1"] <= row["step_ms"] <= row["step_ms_q3"]
        assert row["speedup"] == pytest.approx(table.loc["float32", "step_ms"] / row["step_ms"])
        p = row["accuracy"]
        assert row["accuracy_se"] == pytest.approx(math.sqrt(p * (1 - p) / 300))
    assert table["steps"].nunique() == 1 and table["steps"].iloc[0] >= 3
    assert result.batch_size == 32 and result.jit_compile is False
    assert keras.config.dtype_policy().name == "float32"


def test_loss_scaling_is_there_for_float16_alone():
    scale = compare().table["loss_scale"]
    assert scale["mixed_float16"] == 2**15
    assert math.isnan(scale["float32"]) and math.isnan(scale["mixed_bfloat16"])


def test_policies_take_turns_and_nobody_always_goes_first():
    steps = compare().steps
    first = steps.groupby("round")["policy"].first()
    assert set(first) == set(benchmark.POLICIES)
    assert (steps.groupby("round")["policy"].nunique() == 3).all()


def test_every_policy_sees_the_same_start_and_batches():
    loss = compare(policies=("float32", "mixed_bfloat16")).steps.pivot(
        index="round", columns="policy", values="loss"
    )
    assert np.allclose(loss["float32"], loss["mixed_bfloat16"], rtol=0.02)
    assert not np.allclose(loss["float32"].iloc[0], loss["float32"].iloc[1], rtol=1e-6)


def test_without_time_there_are_three_rounds():
    result = compare(seconds=0)
    assert (result.table["steps"] == 3).all()
    if not result.peaks.empty:
        assert (result.peaks.groupby("policy").size() == 3).all()


@pytest.mark.parametrize("when", ["warm-up", "rounds", "accuracy"])
def test_an_interrupt_keeps_complete_rounds(when, monkeypatch):
    calls = {"n": 0}
    real = Trainee.step

    def step(self, x, y):
        calls["n"] += 1
        if calls["n"] == {"warm-up": 2, "rounds": 12}.get(when):
            raise KeyboardInterrupt
        return real(self, x, y)

    def correct(self, x, y):
        raise KeyboardInterrupt

    monkeypatch.setattr(Trainee, "step", step)
    monkeypatch.setattr(Trainee, "correct", correct)
    result = compare(validation_data=(X, Y))
    assert any("interrupted" in note for note in result.notes)
    assert result.peaks.empty and result.table["peak_mb"].isna().all()
    assert result.table["steps"].nunique() == 1
    assert result.table["accuracy"].isna().all()
    assert (result.table["steps"].iloc[0] > 0) == (when != "warm-up")
    assert len(result.table) == 3
    assert "unknown" in figures.comparison(result, guess=0.5).alt
    assert ("unknown" in figures.speedups(result, guess=2.0).alt) == (when == "warm-up")


def test_an_allocator_that_does_not_count_is_said_so(monkeypatch):
    monkeypatch.setattr(stepping, "_start_memory", lambda: None)
    result = compare()
    assert result.table["peak_mb"].isna().all()
    assert any("allocator" in note for note in result.notes)


def test_without_float32_there_is_no_speedup_to_show():
    assert compare(policies=("mixed_bfloat16",)).table["speedup"].isna().all()


def test_errors_are_one_sentence():
    with pytest.raises(ValueError, match="choose a smaller batch_size"):
        compare(batch_size=301)
    with pytest.raises(ValueError, match="must return a compiled model"):
        benchmark.compare_policies(models.mnist_cnn, X, Y, batch_size=32, seconds=0)


def test_the_same_seed_gives_the_same_batches():
    def take(seed):
        return [next(source)[1].tolist() for source in [batches(X, Y, 50, seed)] for _ in range(9)]

    assert take(1) == take(1) != take(2)
    everything = batches(np.arange(300), np.arange(300), 100, 0)
    assert sorted(np.concatenate([next(everything)[0] for _ in range(3)])) == list(range(300))


def test_rounds_count_to_a_number_or_to_a_time(monkeypatch):
    assert list(rounds(0, "x", at_least=2)) == [0, 1]
    assert list(rounds(100, "x", exactly=4)) == [0, 1, 2, 3]
    clock = iter(np.arange(0, 100, 0.25))
    monkeypatch.setattr(stepping.time, "perf_counter", lambda: float(next(clock)))
    assert list(rounds(2.0, "x")) == [0, 1, 2, 3]  # two readings of the clock a round


def test_the_policy_is_restored_after_an_error():
    with pytest.raises(RuntimeError), dtype_policy("mixed_float16"):
        raise RuntimeError
    assert keras.config.dtype_policy().name == "float32"


def test_a_restart_is_a_new_training_of_the_same_graph():
    trainee = Trainee(build_tiny, "mixed_float16", seed=5)
    source = [(X[:64], Y[:64])] * 4
    first = [trainee.step(*batch).loss for batch in source]
    trainee.restart(5)
    assert [trainee.step(*batch).loss for batch in source] == first
    trainee.restart(6)
    assert [trainee.step(*batch).loss for batch in source] != first
    assert trainee.loss_scale == 2**15


def test_loss_curves_have_equal_lengths_and_share_their_start():
    curves = sweeps.loss_curves(build_tiny, X, Y, batch_size=32, seconds=1)
    assert curves.groupby(["policy", "seed"]).size().nunique() == 1
    start = curves[curves["step"] == 0].pivot(index="seed", columns="policy", values="loss")
    assert np.allclose(start["float32"], start["mixed_float16"], rtol=0.01)
    assert start["float32"].nunique() == 3


@pytest.mark.parametrize("after", [0, 1, 10, 25])
def test_interrupted_curves_can_be_drawn(after, monkeypatch):
    """Before the first step, in the first seed, in the second seed."""
    calls = {"n": 0}
    real = Trainee.step

    def step(self, x, y):
        calls["n"] += 1
        if calls["n"] > after:
            raise KeyboardInterrupt
        return real(self, x, y)

    monkeypatch.setattr(Trainee, "step", step)
    monkeypatch.setattr(sweeps, "rounds", lambda *args, **options: iter(range(6)))
    curves = sweeps.loss_curves(build_tiny, X, Y, batch_size=32, seconds=1)
    picture = figures.loss_curves(curves)
    assert picture.png() and picture.alt.endswith(".")


def test_a_sweep_whose_first_batch_does_not_fit_says_so(monkeypatch):
    class ResourceExhaustedError(Exception):
        pass

    def step(self, x, y):
        raise ResourceExhaustedError("out of memory")

    monkeypatch.setattr(Trainee, "step", step)
    with pytest.raises(ResourceExhaustedError):
        sweeps.batch_sweep(build_tiny, X, Y, (32, 64), ("float32",), seconds=0.2)


def test_a_sweep_ends_at_the_batch_that_does_not_fit(monkeypatch, capsys):
    class ResourceExhaustedError(Exception):
        pass

    real = Trainee.step

    def step(self, x, y):
        if len(x) > 100:
            raise ResourceExhaustedError
        return real(self, x, y)

    monkeypatch.setattr(Trainee, "step", step)
    sweep = sweeps.batch_sweep(build_tiny, X, Y, (32, 64, 256), ("float32",), seconds=0.2)
    assert sweep["batch_size"].tolist() == [32, 64]
    assert "256 does not fit" in capsys.readouterr().out
    row = sweep.iloc[0]
    assert row["samples_per_s"] == pytest.approx(32e3 / row["step_ms"])


def test_a_sweep_passes_other_errors_on(monkeypatch):
    def step(self, x, y):
        raise RuntimeError("something else")

    monkeypatch.setattr(Trainee, "step", step)
    with pytest.raises(RuntimeError, match="something else"):
        sweeps.batch_sweep(build_tiny, X, Y, (32,), ("float32",), seconds=0.2)


def test_matmul_rates_cover_every_case():
    rates = sweeps.matmul_rates((16, 32), seconds=0.5)
    assert list(zip(rates["size"], rates["dtype"], strict=True)) == [
        (n, d) for n in (16, 32) for d in ("float32", "bfloat16", "float16")
    ]
    assert (rates["q1"] <= rates["gflops"]).all() and (rates["gflops"] <= rates["q3"]).all()
    assert (rates["gflops"] > 0).all()


def test_no_bfloat16_product_where_it_would_end_the_process(monkeypatch, capsys):
    monkeypatch.setattr(hardware, "bfloat16_ends_the_process", lambda: True)
    rates = sweeps.matmul_rates((8,), seconds=0)
    assert rates["dtype"].tolist() == ["float32", "float16"]
    assert "a bfloat16 product ends the process" in capsys.readouterr().out
    assert sweeps.matmul_rates((8,), ["float16"], seconds=0)["dtype"].tolist() == ["float16"]
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "isa, onednn, ends",
    [("AVX2", True, True), ("AVX2_VNNI", True, True), ("SSE41", True, True), ("AVX", True, True),
     ("AVX2", False, False), ("AVX512_CORE", True, False), ("", True, False)],
)  # fmt: skip
def test_which_setting_ends_the_process(isa, onednn, ends):
    machine = hardware.Hardware("Linux x86_64", "some CPU", 2, (), onednn=onednn, max_isa=isa)
    assert hardware.bfloat16_ends_the_process(machine) is ends


def test_tf32_is_set_for_a_block_and_goes_back():
    import tensorflow as tf

    now = tf.config.experimental.tensor_float_32_execution_enabled
    with pytest.raises(RuntimeError), stepping.tf32(False):
        assert now() is False
        with stepping.tf32(True):
            assert now() is True
        assert now() is False
        raise RuntimeError
    assert now() is True


@pytest.mark.parametrize(
    "platform, name", [("gpu", "GPU:0"), ("cuda", "GPU:0"), ("tpu", "TPU:0"), ("cpu", "CPU:0")]
)
def test_the_device_and_tf32_on_jax(platform, name, monkeypatch):
    import contextlib
    import sys
    import types

    asked = []

    @contextlib.contextmanager
    def precision(text):
        asked.append(text)
        yield

    used = types.SimpleNamespace(platform=platform)
    fake = types.SimpleNamespace(devices=lambda: [used], default_matmul_precision=precision)
    monkeypatch.setitem(sys.modules, "jax", fake)
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    assert stepping.device() == name
    for on in (True, False):
        with stepping.tf32(on):
            pass
    assert asked == ["tensorfloat32", "highest"] and not stepping.counts_memory()


def test_the_block_of_a_transformer():
    block = models.transformer_block(8, 16, 2)
    assert block.count_params() == 4 * (16 * 16 + 16) + (16 * 64 + 64) + (64 * 16 + 16) + 4 * 16
    x = RNG.standard_normal((2, 8, 16), dtype="float32")
    assert block(x).shape == (2, 8, 16)
    block.set_weights([np.zeros_like(w) for w in block.get_weights()])
    assert (np.asarray(block(x)) == x).all()  # what comes in is added to what comes out
    with dtype_policy("mixed_bfloat16"):
        model = models.transformer_block(8, 16, 2)
    assert model(x).dtype == "bfloat16" and {v.dtype for v in model.variables} == {"float32"}
    model.compile("adam", "mse", jit_compile=False)
    first = float(model.train_on_batch(x, x))
    assert [float(model.train_on_batch(x, x)) for _ in range(20)][-1] < first
    with pytest.raises(ValueError, match="3 heads cannot share a width of 16"):
        models.transformer_block(8, 16, 3)


def test_interrupted_matmuls_keep_what_was_measured(monkeypatch, capsys):
    calls = {"n": 0}
    real = keras.ops.matmul

    def matmul(a, b):
        calls["n"] += 1
        if calls["n"] > 10:
            raise KeyboardInterrupt
        return real(a, b)

    monkeypatch.setattr(keras.ops, "matmul", matmul)
    rates = sweeps.matmul_rates((8, 16), seconds=0)
    assert len(rates) == 2 and list(rates.columns) == ["size", "dtype", "gflops", "q1", "q3"]
    assert "Interrupted" in capsys.readouterr().out


def has_fast_bfloat16():
    machine = hardware.detect()
    return not machine.accelerators and hardware.recommended_policy(machine) == "mixed_bfloat16"


@pytest.mark.slow
@pytest.mark.skipif(not has_fast_bfloat16(), reason="this CPU has no bfloat16 instructions")
def test_on_this_cpu_bfloat16_is_faster_and_smaller_and_float16_slower():
    """What notebooks 00 and 04 say of a CPU with avx512_bf16; the margins are wide."""
    table = benchmark.compare_policies(build_cnn, X, Y, batch_size=256, seconds=10).table
    assert table.loc["mixed_bfloat16", "speedup"] > 1.1
    if not hardware.merged_float16_is_slow():  # with float16 instructions it may be fast
        assert table.loc["mixed_float16", "speedup"] < 0.7
    # The peak scatters from build to build; without float16's slow steps there is time for many.
    fast = ("float32", "mixed_bfloat16")
    result = benchmark.compare_policies(build_cnn, X, Y, fast, batch_size=256, seconds=40)
    ratio = result.table.loc["mixed_bfloat16", "memory_ratio"]
    peaks = result.peaks.groupby("policy")["peak_mb"]
    error = ratio * math.hypot(*(peaks.std() / peaks.mean() / np.sqrt(peaks.size())))
    assert error < 0.05 and ratio - 2 * error <= 0.65  # 0.62, standard error 0.02, when written


@pytest.mark.slow
def test_with_onednn_off_both_16_bit_policies_are_slower(tmp_path):
    """The stand-in for a laptop without AVX-512, in a process of its own."""
    import json
    import subprocess
    import sys

    output = tmp_path / "off.json"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "course_utils",
            "bench",
            "--seconds",
            "5",
            "--parts",
            "cnn",
            "--output",
            str(output),
        ],
        env={**os.environ, "TF_ENABLE_ONEDNN_OPTS": "0", "CUDA_VISIBLE_DEVICES": "-1"},
        cwd=hardware.__file__.rsplit("course_utils", 1)[0],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert "Policy to try first here: float32" in done.stdout
    rows = {row["policy"]: row for row in json.loads(output.read_text())["cnn"]}
    assert rows["mixed_bfloat16"]["speedup"] < 0.9 and rows["mixed_float16"]["speedup"] < 0.9
    assert rows["float32"]["peak_mb"] is None  # and nothing is made up


@pytest.mark.slow
@pytest.mark.mnist
def test_real_mnist_is_learned_equally_well():
    """97 % on the full test set after five epochs of 10,000 digits, within a point."""
    from course_utils import datasets

    digits = datasets.load_mnist()
    assert not digits.is_fallback and len(digits.x_test) == 10_000
    x, y = (digits.x_train[:10_000, ..., None] / 255).astype("float32"), digits.y_train[:10_000]
    x_test = (digits.x_test[..., None] / 255).astype("float32")
    accuracy = {}
    for policy in ("float32", "mixed_bfloat16"):
        keras.utils.set_random_seed(0)
        with dtype_policy(policy):
            model = build_cnn()
        model.fit(x, y, batch_size=32, epochs=5, verbose=0)
        accuracy[policy] = np.mean(model.predict(x_test, verbose=0).argmax(-1) == digits.y_test)
    assert min(accuracy.values()) >= 0.97
    assert abs(accuracy["float32"] - accuracy["mixed_bfloat16"]) <= 0.01
    with dtype_policy("mixed_float16"):
        model = build_cnn()
    model.fit(x[:1280], y[:1280], batch_size=128, epochs=1, verbose=0)
    assert isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
    assert all(np.isfinite(w).all() for w in model.get_weights())
