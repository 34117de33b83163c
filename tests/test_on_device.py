"""The prepared run for whoever has a GPU or TPU for some minutes."""

import json
import os
import re
import stat
import subprocess

import pytest

from course_utils import hardware, profiling, roofline
from course_utils.benchmark import measure
from tools import device_trace
from tools.canonical_form import COURSE

# It stands for Python: it notes how it was called, and fails at the traces.
PYTHON = """#!/bin/sh
echo "$COURSE_PACE $*" >>calls
case "$*" in *trace*) echo no driver; exit 1 ;; esac
"""


def test_a_part_that_fails_is_said_and_leaves_the_others(tmp_path):
    python = tmp_path / "python"
    python.write_text(PYTHON)
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    script = ["sh", COURSE / "tools/on_device.sh"]
    options = {"cwd": tmp_path, "capture_output": True, "text": True}
    variables = os.environ | {"PYTHON": str(python), "SHARE": "0.5"}
    done = subprocess.run([*script, "out"], env=variables, **options)
    calls = (tmp_path / "calls").read_text().splitlines()
    modules = ["course_utils bench"] * 2 + ["tools.device_trace", "course_utils sums"]
    for call, module in zip(calls, modules, strict=True):
        assert call.startswith(f"0.5 -m {module} ")
    limits = re.findall(r"^run (\d+) ", script[1].read_text(), re.MULTILINE)
    assert sum(map(int, limits)) == 8 * 60
    assert "--no-xla" in calls[1] and "--no-xla" not in calls[0]
    assert done.returncode == 0 and done.stdout.count("failed, see out/log") == 1
    assert "no driver" in (tmp_path / "out/log").read_text()
    none = subprocess.run(script, **options)
    assert none.returncode != 0 and "usage: sh tools/on_device.sh" in none.stderr


@pytest.mark.slow
def test_its_traces_open_and_its_record_says_what_compiled(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(roofline, "network", lambda *_: roofline.Network(8, 64))
    device_trace.main(tmp_path)
    assert "Network(width=8, batch_size=64)" in capsys.readouterr().out
    for folder in tmp_path.iterdir():
        assert profiling.budget(profiling.read(folder))["products"] > 0
    assert len(list(tmp_path.iterdir())) == 2
    found = measure.record(1, parts=("cnn",), network=(8, 64), compiler=False)
    conditions = json.loads(json.dumps(found["conditions"]))
    assert conditions["model"] == "mnist_cnn (8-16-32)"
    assert conditions["batch_size"] == 64 and conditions["jit_compile"] is False
    rows = [row["policy"] for row in found["cnn"]]
    assert conditions["policies"] == rows


@pytest.mark.slow
@pytest.mark.parametrize("compiles, notes", [(False, 1), (True, 0)])
def test_a_gpu_whose_xla_compiles_no_convolution_is_noted(compiles, notes, monkeypatch):
    gpu = hardware.Accelerator("GPU", "some GPU", True, compute_capability=8.0)
    machine = hardware.Hardware("Linux x86_64", "some CPU", 2, (), accelerators=(gpu,))
    monkeypatch.setattr(hardware, "detect", lambda: machine)
    build = measure.build

    def built(part, sizes, compiler):
        model = build(part, sizes, compiler)
        model.jit_compile = compiles  # as Keras chooses it on a GPU
        return model

    monkeypatch.setattr(measure, "build", built)
    found = measure.record(1, parts=(), network=(8, 64))
    assert (
        sum("XLA compiles no convolution" in note for note in found["notes"]) == notes
    )
    assert found["conditions"]["policies"][1] == "tf32"
