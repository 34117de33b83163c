"""Recorded measurements: whole, honest, written by the command, and readable."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from course_utils import __main__ as command
from course_utils import measurements

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


def test_the_recorded_cpu_shows_both_outcomes_of_one_policy():
    """What notebooks 00 and 04 build on: bfloat16 with its kernels, and without them."""
    table = measurements.table([json.loads(path.read_text(encoding="utf-8")) for path in RECORDED])
    rows = table[table["policy"] == "mixed_bfloat16"].set_index("settings")
    assert rows.loc["", "speedup"] >= 1.3 and rows.loc["", "memory_ratio"] <= 0.65
    assert rows.loc["TF_ENABLE_ONEDNN_OPTS=0", "speedup"] < 0.5
    slow = table[(table["policy"] == "mixed_float16") & (table["settings"] == "")]
    assert (slow["speedup"] < 0.7).all()


def test_bench_writes_what_it_prints(tmp_path):
    output = tmp_path / "new" / "mine.json"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "course_utils",
            "bench",
            "--seconds",
            "1",
            "--name",
            "Ana",
            "--output",
            output,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    (measurement,) = measurements.load(output.parent)
    assert measurement["device"] == "Ana" and "Ana" in done.stdout and str(output) in done.stdout
    table = measurements.table([measurement])
    assert list(table["policy"]) == ["float32", "mixed_bfloat16", "mixed_float16"]


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


def test_a_folder_is_refused_before_anything_is_measured(tmp_path, capsys):
    with pytest.raises(SystemExit):
        command.main(["bench", "--output", str(tmp_path)])
    assert "is a folder: give the name of a file" in capsys.readouterr().err


def test_a_measurement_that_cannot_be_written_is_not_lost(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    row = {"policy": "float32", "step_ms": 1.0, "speedup": 1.0, "memory_ratio": 1.0, "steps": 3}
    fake = {"device": "d", "settings": {}, "date": "2026-01-02", "cnn": [row]}
    monkeypatch.setattr(measurements, "record", lambda seconds, name: fake)
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
