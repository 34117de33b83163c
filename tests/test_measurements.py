"""Recorded measurements: whole, honest, written by the command, and readable."""

import importlib.util
import json
import math
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from course_utils import __main__ as command
from course_utils import hardware, measurements, stepping
from course_utils.bench import job, parts, record, start

ROOT = Path(__file__).resolve().parent.parent
RECORDED = sorted(
    path for path in measurements.FOLDER.glob("*.json") if path.name != "gradients.json"
)


def test_something_is_recorded():
    assert RECORDED


@pytest.mark.parametrize("path", RECORDED, ids=lambda p: p.stem)
def test_a_record_is_complete_and_consistent(path):
    m = json.loads(path.read_text(encoding="utf-8"))
    assert m["device"] and m["cpu"]
    assert {"python", "tensorflow", "keras", "system"} <= set(m["versions"])
    assert m["conditions"]["batch_size"] > 0 and m["conditions"]["jit_compile"] is False
    assert path.stem.endswith(m["date"])
    rows = {row["policy"]: row for row in m["cnn"]}
    assert set(rows) == {"float32", "mixed_bfloat16", "mixed_float16"}
    for row in rows.values():
        assert 0 < row["step_ms_q1"] <= row["step_ms"] <= row["step_ms_q3"]
        assert row["speedup"] == pytest.approx(
            rows["float32"]["step_ms"] / row["step_ms"], rel=1e-3
        )
        assert row["steps"] >= 20, "too few steps for a record"
    assert {case["dtype"] for case in m["matmul"]} == {"float32", "bfloat16", "float16"}
    if "backend" not in m["versions"]:
        return  # the first measurements: the CNN and matrix products
    assert set(measurements.PARTS) <= set(m)
    assert {row["policy"] for row in m["transformer"]} == set(rows)
    assert {"float32", "bfloat16", "float16", "memory"} <= {row["figure"] for row in m["ceilings"]}
    assert all(row["q1"] <= row["value"] <= row["q3"] for row in m["ceilings"])
    assert len({row["batch_size"] for row in m["batches"]}) >= 3
    assert m["energy"] or any("reports no energy" in note for note in m["notes"])


def test_the_recorded_cpu_shows_both_outcomes_of_one_policy():
    """What notebooks 00 and 04 build on: bfloat16 with its kernels, and without them."""
    table = measurements.table([json.loads(path.read_text(encoding="utf-8")) for path in RECORDED])
    rows = table[table["policy"] == "mixed_bfloat16"].set_index("settings")
    assert rows.loc["", "speedup"] >= 1.3 and rows.loc["", "memory_ratio"] <= 0.65
    assert rows.loc["TF_ENABLE_ONEDNN_OPTS=0", "speedup"] < 0.5
    slow = table[(table["policy"] == "mixed_float16") & (table["settings"] == "")]
    assert (slow["speedup"] < 0.7).all()


def bench(folder, *options, **variables):
    """Runs the command; returns what it printed and the measurement that it wrote."""
    output = folder / "new" / "mine.json"
    command = [sys.executable, "-m", "course_utils", "bench", "--seconds", "1", "--name", "Ana"]
    done = subprocess.run(
        [*command, "--output", output, *options],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert "Ana" in done.stdout and str(output) in done.stdout
    (measurement,) = measurements.load(output.parent)
    return done.stdout, measurement


@pytest.mark.slow
def test_bench_writes_what_it_prints(tmp_path):
    printed, measurement = bench(tmp_path, "--parts", "cnn,ceilings,energy")
    assert measurement["device"] == "Ana" and measurement["versions"]["backend"] == "tensorflow"
    table = measurements.table([measurement])
    assert list(table["policy"]) == ["float32", "mixed_bfloat16", "mixed_float16"]
    assert f"{table['step_ms'][0]:.4f}".rstrip("0") in printed
    found = {case["figure"] for case in measurement["ceilings"]}
    assert {"float32", "bfloat16", "float16", "memory"} <= found
    assert "matmul" not in measurement and "batches" not in measurement
    assert measurement["energy"] or any("no energy" in note for note in measurement["notes"])


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("jax"), reason="JAX is not installed")
def test_bench_runs_on_jax_without_tensorflow_and_says_so(tmp_path):
    (tmp_path / "tensorflow.py").write_text("raise ModuleNotFoundError('tensorflow')")
    paths = {"PYTHONPATH": str(tmp_path), "KERAS_BACKEND": "jax"}
    printed, measurement = bench(tmp_path, "--parts", "cnn,ceilings", **paths)
    assert "tensorflow" not in measurement["versions"] and "jax" in measurement["versions"]
    assert measurement["conditions"]["jit_compile"] is True
    assert set(measurements.table([measurement])["settings"]) == {"Keras/JAX"}
    assert "Keras/JAX" in printed
    for row in measurement["cnn"]:
        assert row["step_ms"] > 0 and row["steps"] >= 3
    assert {"float32", "memory"} <= {case["figure"] for case in measurement["ceilings"]}


@pytest.mark.parametrize("text", ["x", "0", "-3", "nan", "1e9"])
def test_bench_refuses_odd_seconds_in_one_sentence(text, capsys):
    with pytest.raises(SystemExit) as error:
        command.main(["bench", "--seconds", text])
    assert error.value.code == 2
    assert "not a number of seconds from 1 to 3600" in capsys.readouterr().err


def test_the_file_name_says_device_settings_and_date(tmp_path, monkeypatch):
    monkeypatch.setattr(measurements, "OWN", tmp_path / "own")
    empty = {"device": "My CPU × 2", "settings": {"A_B": "0"}, "date": "2026-01-02", "cnn": []}
    path = measurements.save(empty)
    assert path == tmp_path / "own" / "my-cpu-2-a-b-0-2026-01-02.json"
    assert measurements.save(empty).name == "my-cpu-2-a-b-0-2026-01-02-2.json"  # never over another
    assert [m["device"] for m in measurements.load(tmp_path)] == ["My CPU × 2"] * 2
    assert measurements.table(measurements.load(tmp_path)).empty


def test_remapping_is_among_the_settings_where_it_is_off(monkeypatch):
    import tensorflow as tf

    for name in measurements.SWITCHES:
        monkeypatch.delenv(name, raising=False)
    optimizer = tf.config.optimizer
    before = optimizer.get_experimental_options().get("remapping", True)
    try:
        for on, settings in ((True, {}), (False, {"remapping": "off"})):
            optimizer.set_experimental_options({"remapping": on})
            assert record._settings() == settings
    finally:
        optimizer.set_experimental_options({"remapping": before})


def test_a_folder_is_refused_before_anything_is_measured(tmp_path, capsys):
    with pytest.raises(SystemExit):
        command.main(["bench", "--output", str(tmp_path)])
    assert "is a folder: give the name of a file" in capsys.readouterr().err


def test_a_measurement_that_cannot_be_written_is_not_lost(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    row = {"policy": "float32", "step_ms": 1.0, "speedup": 1.0, "memory_ratio": 1.0, "steps": 3}
    fake = {"device": "d", "settings": {}, "date": "2026-01-02", "cnn": [row]}
    fake |= {"versions": {}, "notes": []}
    monkeypatch.setattr(record, "record", lambda seconds, name, parts: fake)
    assert command.main(["bench", "--output", str(tmp_path / "file" / "x.json")]) == 1
    said = capsys.readouterr()
    assert '"step_ms": 1.0' in said.out and "could not be written" in said.err


def test_a_missing_package_is_a_sentence_and_a_status(monkeypatch, capsys):
    def setup():
        raise command.session.SetupError("Run make lab.")

    monkeypatch.setattr(command.session, "setup", setup)
    assert command.main(["bench"]) == 1
    assert capsys.readouterr().err == "Run make lab.\n"


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "null", '{"device": 1, "date": 2, "settings": {}, "cnn": [{"policy": 1}]}'],
)
def test_a_file_that_is_no_measurement_is_named(text, tmp_path):
    (tmp_path / "odd.json").write_text(text)
    with pytest.raises(ValueError, match="odd.json is not a measurement"):
        measurements.load(tmp_path)


ROW = {"policy": "float32", "step_ms": 1.0, "speedup": 1.0, "memory_ratio": None}
OLD = {"device": "d", "settings": {"A": "0"}, "date": "2026-01-02", "cnn": [ROW]}


def test_a_file_of_before_is_read_and_a_newer_one_says_its_library(tmp_path):
    new = {**OLD, "versions": {"backend": "jax"}, "transformer": [{**ROW, "step_ms": 2.0}]}
    for name, measurement in {"a": OLD, "b": new}.items():
        measurements.save(measurement, tmp_path / f"{name}.json")
    found = measurements.load(tmp_path)
    assert measurements.table(found)["settings"].tolist() == ["A=0", "Keras/JAX A=0"]
    assert measurements.table(found, "transformer")["step_ms"].tolist() == [2.0]
    with pytest.raises(ValueError, match="There is no model 'gpt'"):
        measurements.table(found, "gpt")
    broken = {**new, "transformer": [{"policy": "float32"}]}
    measurements.save(broken, tmp_path / "c.json")
    with pytest.raises(ValueError, match="c.json is not a measurement"):
        measurements.load(tmp_path)


def test_the_file_name_of_another_library_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(measurements, "OWN", tmp_path)
    assert measurements.save({**OLD, "versions": {"backend": "jax"}}).name.startswith("d-keras-jax")


# ------------------------------------------------------------------ the parts


@pytest.mark.parametrize("text", ["gpu", "cnn,", ""])
def test_an_unknown_part_is_refused_before_anything_starts(text, capsys):
    with pytest.raises(SystemExit):
        command.main(["bench", "--parts", text])
    assert "there are no parts" in capsys.readouterr().err
    with pytest.raises(ValueError, match="There are no parts"):
        record.record(parts=text.split(","))


def test_the_parts_are_those_of_the_command():
    assert tuple(parts.PARTS) == (*measurements.PARTS, "legs")


def test_missing_jax_is_a_sentence_and_a_status(monkeypatch, capsys):
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    monkeypatch.setattr(start.importlib.util, "find_spec", lambda name: None)
    assert command.main(["bench"]) == 1
    assert "`pip install jax`, or unset KERAS_BACKEND" in capsys.readouterr().err


def fake_job(**more):
    machine = hardware.Hardware("Linux x86_64", "some CPU", 2, ())
    found = {"machine": machine, "conditions": {}, "notes": [], "interrupted": False, "tf32": False}
    return types.SimpleNamespace(**{**found, "kind": "CPU", "seconds": 1.0, **more})


def test_the_parts_follow_each_other_until_an_interrupt(monkeypatch):
    mine = fake_job(notes=["Twice.", "Twice."])

    def second(job):
        job.interrupted = True
        return [2]

    functions = {"cnn": lambda job: [1], "transformer": second, "matmul": lambda job: [3]}
    monkeypatch.setattr(record, "Job", lambda seconds: mine)
    monkeypatch.setattr(record, "PARTS", {k: (f, k) for k, f in functions.items()})
    found = record.record(parts=("matmul", "cnn", "transformer"))
    assert found["cnn"] == [1] and found["transformer"] == [2] and "matmul" not in found
    assert found["notes"] == ["Twice."] and found["device"] == "some CPU 2 cores"
    mine.interrupted = False
    assert record.record(parts=("matmul",))["cnn"] == []  # which every file has


def tiny():
    import keras

    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, dtype="float32")])
    model.compile("sgd", "mse", jit_compile=False)
    return model


def test_a_policy_that_does_not_run_is_left_out_and_said(monkeypatch):
    import numpy as np

    real = stepping.Trainee.step

    def step(self, x, y):
        if self.policy == "mixed_float16":
            raise RuntimeError("no kernel")
        return real(self, x, y)

    monkeypatch.setattr(stepping.Trainee, "step", step)
    data = np.ones((8, 3), "float32"), np.ones((8, 2), "float32")
    mine = fake_job(models={"cnn": job.Model("cnn", tiny, *data, 4)}, policies=list(job.POLICIES))
    mine.seconds = 0
    rows = parts.cnn(mine)
    assert [row["policy"] for row in rows] == ["float32", "mixed_bfloat16"]
    assert "No cnn under mixed_float16. It raised RuntimeError: no kernel" in mine.notes


def test_true_float32_is_measured_apart_where_there_is_tf32(monkeypatch):
    import tensorflow as tf

    asked = []

    def steps(job, name, share, policies):
        on = tf.config.experimental.tensor_float_32_execution_enabled()
        asked.append((name, policies, on))
        return [{"policy": "float32"}]

    monkeypatch.setattr(parts, "_steps", steps)
    both = dict.fromkeys(("cnn", "transformer"))
    assert parts.true_float32(fake_job(models=both)) == {} and not asked
    found = parts.true_float32(fake_job(models=both, tf32=True))
    assert found == {name: {"policy": "float32"} for name in both}
    assert asked == [(name, ["float32"], False) for name in both]
    assert tf.config.experimental.tensor_float_32_execution_enabled()


def test_peaks_on_jax_come_from_processes_of_their_own(monkeypatch):
    used = types.SimpleNamespace(memory_stats=lambda: {"bytes_in_use": 1})
    config = types.SimpleNamespace(jax_default_matmul_precision="highest")
    fake = types.SimpleNamespace(devices=lambda: [used], config=config)
    monkeypatch.setitem(sys.modules, "jax", fake)
    calls = []

    def call(function, arguments, variables, timeout):
        calls.append((function, arguments, variables))
        return parts.legs.Outcome(2_500_000, "", "", 1.0)

    monkeypatch.setattr(parts.legs, "call", call)
    mine = fake_job(models={"cnn": types.SimpleNamespace(batch_size=7)})
    assert parts._peak_mb(mine, "cnn", "float32") == 2.5
    ((function, arguments, variables),) = calls
    assert function is parts.peak_on_jax and arguments["batch_size"] == 7
    assert variables == {"JAX_DEFAULT_MATMUL_PRECISION": "highest"}
    gone = parts.legs.Outcome(None, "", "It died.", 1.0)
    monkeypatch.setattr(parts.legs, "call", lambda *args: gone)
    assert math.isnan(parts._peak_mb(mine, "cnn", "float32")) and "It died." in mine.notes[0]
    used.memory_stats = lambda: None  # a CPU
    monkeypatch.setattr(parts.legs, "call", pytest.fail)
    assert math.isnan(parts._peak_mb(mine, "cnn", "float32"))


def test_a_job_leaves_out_what_would_end_the_process(monkeypatch):
    for isa, left in (("AVX2", True), ("", False)):
        machine = hardware.Hardware("Linux x86_64", "some CPU", 2, (), max_isa=isa)
        monkeypatch.setattr(job, "machine", lambda machine=machine: machine)
        mine = job.Job(1.0)
        assert ("mixed_bfloat16" not in mine.policies) is left is bool(mine.notes)
    assert mine.models["cnn"].batch_size == 256 and mine.conditions["tf32"] is False


def test_energy_is_recorded_for_both_models_and_every_policy(monkeypatch):
    import numpy as np

    data = np.ones((8, 3), "float32"), np.ones((8, 2), "float32")
    both = {name: job.Model(name, tiny, *data, 4) for name in ("cnn", "transformer")}
    mine = fake_job(models=both, policies=["float32", "mixed_bfloat16"])
    monkeypatch.setattr(parts.energy, "meter", lambda kind: None)
    assert parts.joules(mine) == [] and "reports no energy" in mine.notes[0]
    used = iter(range(0, 10**6, 5))
    meter = parts.energy.Meter("a fake", lambda: next(used), True)
    monkeypatch.setattr(parts.energy, "meter", lambda kind: meter)
    real = parts.energy.per_run
    monkeypatch.setattr(parts.energy, "per_run", lambda run, kind, s: real(run, kind, 0))
    rows = parts.joules(mine)
    assert [(r["model"], r["policy"]) for r in rows] == [
        (model, policy) for model in both for policy in mine.policies
    ]
    assert all(row["joules"] == 5 and row["source"] == "a fake" for row in rows)


def test_the_machine_that_jax_uses(monkeypatch):
    used = types.SimpleNamespace(
        platform="gpu", device_kind="Some H", compute_capability="9.0",
        memory_stats=lambda: {"bytes_limit": 2**37},
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "jax", types.SimpleNamespace(devices=lambda: [used]))
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    hidden = []

    def detect():
        hidden.append(os.environ["CUDA_VISIBLE_DEVICES"])
        return hardware.Hardware("Linux x86_64", "some CPU", 2, ())

    monkeypatch.setattr(hardware, "detect", detect)
    found = start.machine()
    assert start.device_name(found) == "Some H" and " · GPU Some H" in str(found)
    assert found.working("GPU")[0].compute_capability == 9.0
    assert hidden == ["-1"] and os.environ["CUDA_VISIBLE_DEVICES"] == "0"
    used.platform = "cpu"
    assert start.machine().accelerators == ()


def test_published_figures_have_their_sources():
    published = json.loads((ROOT / "data" / "published.json").read_text(encoding="utf-8"))
    speedups = [row["speedup"] for row in published["rows"]]
    assert len(speedups) > 20 and min(speedups) <= 1.0 and max(speedups) == 5.25
    for row in published["rows"]:
        assert row["source"].startswith("https://") and row["checked"]
        assert row["same_batch"] in (True, False, None)
        if row["baseline_throughput"] and row["mixed_throughput"]:
            ratio = row["mixed_throughput"] / row["baseline_throughput"]
            assert ratio == pytest.approx(row["speedup"], rel=0.02), row["model"]
