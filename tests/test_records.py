"""What is recorded on devices: whole, honest, written by the commands, readable, as
shown.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import types

import numpy as np
import pandas as pd
import pytest

from course_utils import __main__ as command
from course_utils import hardware, models, records, roofline
from course_utils.benchmark import measure
from course_utils.gradients import OctaveHistogram
from tools import record
from tools.canonical_form import COURSE

FILES = sorted(records.FOLDER.glob("*.json"))
OTHERS = [path for path in FILES if "kind" in json.loads(path.read_text("utf-8"))]
RECORDED = [path for path in FILES if path not in OTHERS]
POLICIES = ("float32", "mixed_bfloat16", "mixed_float16")


def run(*arguments, **variables):
    """What a command printed."""
    command = [sys.executable, "-m", "course_utils", *map(str, arguments)]
    options = {"cwd": COURSE, "env": {**os.environ, **variables}, "timeout": 600}
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", RECORDED, ids=lambda p: p.stem)
def test_a_record_is_complete_and_consistent(path):
    m = json.loads(path.read_text(encoding="utf-8"))
    assert m["device"] and m["cpu"] and m["date"] in path.stem
    assert set(records.versions()) <= set(m["versions"])
    for model in set(records.MODELS) & set(m):
        rows = {row["policy"]: row for row in m[model]}
        assert set(rows) == set(m["conditions"].get("policies", POLICIES))
        for row in rows.values():
            once = rows["float32"]["step_ms"] / row["step_ms"]
            assert row["speedup"] == pytest.approx(once, rel=0.2)
            low, high = (
                row.get(f"speedup_{end}", row["speedup"]) for end in ("low", "high")
            )
            assert 0 < low <= row["speedup"] <= high
            seconds = row["steps"] * max(r["step_ms"] for r in rows.values()) / 1e3
            assert row["steps"] >= 20 or seconds > 30, "too few steps for a record"
    assert {"float32", "bfloat16", "float16", "memory"} <= {
        row["figure"] for row in m["ceilings"]
    }
    about = {"device", "cpu", "versions", "date", "settings", "conditions", "notes"}
    # Too few rounds of the block fitted on the H100.
    lacks = {"transformer"} if "NVIDIA" in m["device"] else set()
    assert set(m) == {*about, *records.PARTS} - lacks, "a part that nobody reads"


def test_the_recorded_cpus_show_both_outcomes_of_one_policy():
    """What notebooks 00 and 04 build on: bfloat16 with its kernels, and without them."""
    found = [json.loads(path.read_text("utf-8")) for path in RECORDED]
    table = records.table(found)
    table = table[~table["device"].str.contains("NVIDIA")]
    laptop = ~table["device"].str.contains("avx512")
    off = laptop | (table["settings"] == "TF_ENABLE_ONEDNN_OPTS=0")
    assert laptop.any()
    of = {policy: table["policy"] == policy for policy in POLICIES}
    bfloat16 = table[of["mixed_bfloat16"] & ~off]
    assert len(bfloat16) >= 2
    assert (bfloat16["speedup"] >= 1.3).all()
    assert (bfloat16["memory_ratio"] <= 0.65).all()
    assert (table[of["mixed_bfloat16"] & off]["speedup"] < 0.5).all()
    assert (table[of["mixed_float16"]]["speedup"] < 0.7).all()
    with_float16 = table["device"].str.contains("avx512_fp16") & of["mixed_float16"]
    assert (table[with_float16]["speedup"] < 0.05).all()  # why XLA compiles it there
    assert (table[with_float16]["memory_ratio"] < 0.8).all()


def test_the_recorded_gpu_saves_memory_and_no_time_on_a_small_network():
    """What notebook 00 says of it: its products are fast in 16 bits, its step is not."""
    (gpu,) = (m for m in records.load(records.FOLDER) if "NVIDIA" in m["device"])
    steps = records.table([gpu]).set_index("policy").drop("float32")
    assert (steps["speedup"] < 1.1).all() and (steps["memory_ratio"] < 0.6).all()
    best = pd.DataFrame(gpu["ceilings"]).groupby("figure")["value"].max()
    assert best["bfloat16"] > 10 * best["float32"]
    assert best["tf32"] > 5 * best["float32"]


@pytest.mark.slow
def test_bench_writes_what_it_prints_and_says_where_onednn_is_off(tmp_path):
    """With oneDNN off, which stands for a laptop without AVX-512; no peak is made up
    there.
    """
    output = tmp_path / "new" / "mine.json"
    printed = run(
        "bench",
        *("--seconds", 1, "--name", "Ana"),
        *("--parts", "cnn", "ceilings", "--output", output),
        TF_ENABLE_ONEDNN_OPTS="0",
        CUDA_VISIBLE_DEVICES="-1",
    )
    assert "Ana" in printed and str(output) in printed
    (measurement,) = records.load(output.parent)
    assert measurement["device"] == "Ana"
    table = records.table([measurement])
    assert list(table["policy"]) == list(POLICIES)
    assert set(table["settings"]) == {"TF_ENABLE_ONEDNN_OPTS=0"}
    assert f"{table['step_ms'][0]:.4f}".rstrip("0") in printed
    assert measurement["cnn"][0]["peak_mb"] is None
    assert any("allocator" in note for note in measurement["notes"])
    figures = {case["figure"] for case in measurement["ceilings"]}
    assert {"float32", "bfloat16", "float16", "memory"} <= figures
    assert all(f": {roof['value']:.3g} " in printed for roof in measurement["ceilings"])
    assert "transformer" not in measurement


@pytest.mark.parametrize(
    "odd", ["--seconds 0", "--seconds nan", "--parts gpu", "--output ."]
)
def test_odd_arguments_are_refused_before_anything_starts(odd, monkeypatch):
    monkeypatch.setattr(command.session, "setup", None)
    with pytest.raises(SystemExit, match="2"):
        command.main(["bench", *odd.split()])


def test_a_measurement_that_cannot_be_written_is_not_lost(
    tmp_path, monkeypatch, capsys
):
    (tmp_path / "file").write_text("")
    fake = {**OLD, "cnn": [{**ROW, "steps": 3}], "versions": {}, "notes": []}
    monkeypatch.setattr(measure, "record", lambda *_: fake)
    monkeypatch.setattr(roofline, "network", lambda: (32, 256))
    assert command.main(["bench", "--output", str(tmp_path / "file" / "x.json")]) == 1
    said = capsys.readouterr()
    assert '"step_ms": 1.0' in said.out and "could not be written" in said.err


def test_a_missing_package_is_a_sentence_and_a_status(monkeypatch, capsys):
    def setup():
        raise command.session.SetupError("Run make lab.")

    monkeypatch.setattr(command.session, "setup", setup)
    assert command.main(["bench"]) == 1
    assert capsys.readouterr().err == "Run make lab.\n"


ROW = {"policy": "float32", "step_ms": 1.0, "speedup": 1.0, "memory_ratio": None}
OLD = {"device": "d", "settings": {"A": "0"}, "date": "2026-01-02", "cnn": [ROW]}
NEW = {**OLD, "settings": {}, "transformer": [{**ROW, "step_ms": 2.0}]}


def test_the_file_name_says_device_settings_and_date(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "OWN", tmp_path / "own")
    empty = {
        "device": "My CPU × 2",
        "settings": {"A_B": "0"},
        "date": "2026-01-02",
        "cnn": [],
    }
    path = records.save(empty)
    assert path.parent == tmp_path / "own"
    assert re.fullmatch(r"my-cpu-2-a-b-0-2026-01-02-[0-9a-f]{8}\.json", path.name)
    other = records.save(empty | {"notes": ["of another machine of this name"]})
    # never over another, here or where files are collected
    assert other != path and path.exists()
    assert [m["device"] for m in records.load(tmp_path)] == ["My CPU × 2"] * 2
    assert records.table(records.load(tmp_path)).empty


def test_a_file_of_before_is_read_like_a_newer_one():
    found = records.table([OLD, OLD, NEW])
    assert found["settings"].tolist() == ["A=0", "A=0", ""]
    assert found["device"].tolist() == ["d", "d (2)", "d"]  # two machines of one name
    assert records.table([OLD, NEW], "transformer")["step_ms"].tolist() == [2.0]
    paired = OLD | {"cnn": [ROW | {"speedup_low": 0.9}]}
    assert records.table([OLD, paired])["speedup_low"].fillna(0).tolist() == [0, 0.9]


HALF = {**ROW, "policy": "mixed_float16", "step_ms": None, "speedup": None}
DAMAGED = [{"device": ["x"]}, {"settings": []}]
DAMAGED += [{"cnn": [{**HALF, "speedup": odd}]} for odd in ("fast", [])]
DAMAGED += [{"transformer": [{"policy": "float32"}]}]


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", None, *[json.dumps(OLD | change) for change in DAMAGED]],
)
def test_a_file_that_is_no_measurement_is_named_and_the_others_are_shown(
    text, tmp_path, capsys
):
    odd = tmp_path / "odd.json"
    odd.mkdir() if text is None else odd.write_text(text)
    right = OLD | {"cnn": [ROW, HALF]}
    (tmp_path / "right.json").write_text(json.dumps(right))
    assert records.load(tmp_path) == [right]
    assert "Left out odd.json, which is not a measurement" in capsys.readouterr().out
    assert len(records.table([right])) == 2


def test_remapping_is_among_the_settings_where_it_is_off(monkeypatch):
    import tensorflow as tf

    for found, settings in (({}, {}), ({"remapping": False}, {"remapping": "off"})):
        monkeypatch.setattr(
            tf.config.optimizer, "get_experimental_options", lambda found=found: found
        )
        assert measure._remapping() == settings


def test_the_parts_follow_each_other_until_an_interrupt(monkeypatch):
    """On a CPU on which bfloat16 would end the process."""
    machine = hardware.Hardware("Linux x86_64", "some CPU", 2, (), max_isa="AVX2")
    interrupts = [False, True]

    def compared(build_model, x, y, policies, batch_size, seconds):
        assert policies == ("float32", "mixed_float16")
        assert len(x) == len(y) >= batch_size
        table = pd.DataFrame({"policy": policies, "accuracy": 1.0, "gap_se": 0.0})
        notes = ("Twice.",)
        return types.SimpleNamespace(
            table=table.set_index("policy"),
            notes=notes,
            interrupted=interrupts.pop(0),
        )

    monkeypatch.setattr(hardware, "detect", lambda: machine)
    monkeypatch.setattr(measure.compare, "compare_policies", compared)
    found = measure.record(parts=("ceilings", "cnn", "transformer"))
    assert len(found["cnn"]) == len(found["transformer"]) == 2
    assert "ceilings" not in found and found["device"] == "some CPU 2 cores"
    assert [note[:5] for note in found["notes"]] == ["No bf", "Twice"]
    assert measure.record(parts=())["cnn"] == []  # which every file has


def test_a_part_that_raises_is_a_note_and_leaves_the_others(monkeypatch, capsys):
    def compared(*arguments):
        raise MemoryError("too\nlarge")

    monkeypatch.setattr(measure.compare, "compare_policies", compared)
    monkeypatch.setattr(measure.rates, "ceilings", lambda *_: pd.DataFrame([{"a": 1}]))
    found = measure.record(parts=("cnn", "ceilings"))
    assert (found["cnn"], found["ceilings"]) == ([], [{"a": 1}])
    assert "No cnn: MemoryError: too large" in found["notes"]
    assert command.main(["bench", "--parts", "cnn"]) == 1
    assert "too large\nNo step was measured" in capsys.readouterr().err


def test_published_figures_have_their_sources():
    published = json.loads((COURSE / "data/published.json").read_text(encoding="utf-8"))
    for row in published["rows"]:
        assert row["source"].startswith("https://") and row["checked"]
        if row["baseline_throughput"] and row["mixed_throughput"]:
            ratio = row["mixed_throughput"] / row["baseline_throughput"]
            assert ratio == pytest.approx(row["speedup"], rel=0.02), row["model"]


def whole(layers):
    return sum(layers.values(), OctaveHistogram.from_values([]))


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.stem)
def test_a_record_of_another_kind_says_how_it_was_made(path):
    made = json.loads(path.read_text(encoding="utf-8"))
    assert made["kind"] == path.stem in record.KINDS and made["cpu"] and made["date"]
    assert {"python", "tensorflow", "keras"} <= set(made["versions"])


@pytest.mark.slow
def test_a_recorded_training_is_written_as_it_is_read(tmp_path, monkeypatch, capsys):
    output = tmp_path / "measurements" / "gradients.json"
    monkeypatch.setattr(record, "DATA", tmp_path)
    monkeypatch.setattr(record, "EPOCHS", (0, 1))
    record.main("gradients")
    assert str(output) in capsys.readouterr().out
    monkeypatch.setattr(records, "FOLDER", output.parent)
    recorded = records.gradients()
    assert list(recorded) == list(records.gradients(of="weights")) == [0, 1]
    assert records.gradients(of="loss")[0] == pytest.approx(np.log(10), rel=0.05)
    sizes = {int(np.prod(one.output.shape[1:])) for one in models.mnist_cnn().layers}
    counts = {histogram.total for histogram in recorded[0].values()}
    assert counts == {record.BATCH * record.BATCHES * size for size in sizes}
    # Training moves the gradients to smaller octaves from its first epoch on.
    before, after = (whole(layers).survival("float16") for layers in recorded.values())
    assert before.rounded_to_zero < after.rounded_to_zero
    assert records.load(output.parent) == []  # speeds are something else


def test_the_commands_of_the_checklist_are_read_to_their_end(monkeypatch, capsys):
    broken = types.SimpleNamespace(setup=None, SetupError=TypeError)
    monkeypatch.setattr(command, "session", broken)
    text = (records.FOLDER / "CHECKLIST.md").read_text("utf-8")
    lines = re.findall(r"^!(?:\S+ )?python -m course_utils (.+)$", text, re.MULTILINE)
    for words in lines:
        assert command.main(shlex.split(words)) == 1
        assert "not callable" in capsys.readouterr().err
    assert len(lines) == 2
