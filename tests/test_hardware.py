"""What the machine is, seen through fake machines: files, commands and crashing probes."""

import json
import os
import subprocess
import sys

import pytest

from course_utils import accelerators, hardware
from course_utils.accelerators import Accelerator
from course_utils.hardware import Hardware, policy_reason, recommended_policy


def gpu(cc, works=True):
    return Accelerator("GPU", "some GPU", works, "" if works else "broken.", cc, 16 * 2**30)


def machine(sets=("avx2",), found=(), **options):
    return Hardware("Linux x86_64", "some CPU", 4, sets, accelerators=tuple(found), **options)


CASES = [
    (machine(), "float32"),
    (machine(None), "float32"),
    (machine(()), "float32"),
    (machine(("avx2", "avx512f", "avx512_bf16")), "mixed_bfloat16"),
    (machine(("amx_bf16",)), "mixed_bfloat16"),
    (machine(("avx512_bf16",), onednn=False), "float32"),
    (machine(("avx512_bf16",), max_isa="AVX512_CORE"), "float32"),
    (machine(("avx512_bf16",), max_isa="AVX512_CORE_BF16"), "mixed_bfloat16"),
    (machine(("avx512_bf16",), max_isa="AVX512_CORE_AMX"), "mixed_bfloat16"),
    (machine(("avx512_bf16",), max_isa="AVX512_CORE_FP16"), "mixed_bfloat16"),
    (machine(("avx512_bf16",), max_isa="AVX10_1_512"), "mixed_bfloat16"),
    (machine(found=[gpu(6.1)]), "float32"),
    (machine(found=[gpu(7.0)]), "mixed_float16"),
    (machine(found=[gpu(7.5)]), "mixed_float16"),
    (machine(found=[Accelerator("GPU", "Tesla T4", True, "", 7.5)]), "mixed_float16"),
    (machine(found=[Accelerator("GPU", "NVIDIA T600", True, "", 7.5)]), "float32"),
    (machine(found=[Accelerator("GPU", "GeForce GTX 1660 Ti", True, "", 7.5)]), "float32"),
    (machine(found=[Accelerator("GPU", "GeForce RTX 2080", True, "", 7.5)]), "mixed_float16"),
    (machine(found=[gpu(8.0)]), "mixed_bfloat16"),
    (machine(found=[gpu(9.0), gpu(7.5)]), "mixed_float16"),
    (machine(found=[gpu(9.0, works=False)]), "float32"),
    (machine(found=[Accelerator("TPU", "v5e-1", True)]), "mixed_bfloat16"),
    (machine(found=[Accelerator("TPU", "v5e-1", False, "broken.")]), "float32"),
]


@pytest.mark.parametrize(
    "found, slow",
    [
        (machine(("avx512_bf16", "avx512_fp16")), True),
        (machine(("amx_fp16",)), True),
        (machine(("amx_bf16",)), False),
        (machine(("avx512_fp16",), onednn=False), False),
        (machine(("avx512_fp16",), found=[gpu(7.5)]), False),
        (machine(("avx512_fp16",), found=[gpu(7.5, works=False)]), True),
        (machine(("asimdhp", "bf16")), False),
        (machine(None), False),
    ],
)
def test_where_a_merged_float16_product_is_slow(found, slow):
    assert hardware.merged_float16_is_slow(found) is slow


@pytest.mark.parametrize(("hw", "policy"), CASES)
def test_the_policy_follows_from_the_hardware(hw, policy):
    assert recommended_policy(hw) == policy
    reason = policy_reason(hw)
    assert reason.endswith(".") and reason.count(". ") == 0 and len(reason) < 200


def test_a_broken_gpu_is_named_with_its_problem():
    assert "some GPU" in str(machine(found=[gpu(9.0, works=False)]))
    assert "broken." in str(machine(found=[gpu(9.0, works=False)]))


@pytest.fixture
def no_accelerator(monkeypatch):
    for name in ("TPU_ACCELERATOR_TYPE", "COLAB_TPU_1VM", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)


def fake_smi(tmp_path, monkeypatch, text, status=0):
    script = tmp_path / "nvidia-smi"
    script.write_text(f"#!/bin/sh\nprintf '%s' \"{text}\"\nexit {status}\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")


T4 = "Tesla T4, 7.5, 15360\n"
GOOD = {"name": "Tesla T4", "cc": "7.5", "problem": ""}
BAD = {**GOOD, "name": "Old Card", "problem": "InternalError"}


def prints(found):
    return f"print('PROBE' + {json.dumps(found)!r})"


PROBES = {
    "works": (prints([GOOD]), True, ""),
    "segfault": ("import os; os.kill(os.getpid(), 11)", False, "ended its process"),
    "raises": ("raise SystemExit(3)", False, "ended its process"),
    "prints nothing": ("pass", False, "ended its process"),
    "prints rubbish": ("print('PROBE{')", False, "ended its process"),
    "no kernel": (prints([{**GOOD, "problem": "InternalError"}]), False, "InternalError"),
    "not seen": (prints([]), False, "TensorFlow does not see it"),
}


@pytest.mark.parametrize("case", PROBES)
def test_a_gpu_counts_only_if_the_probe_succeeds(case, tmp_path, monkeypatch, no_accelerator):
    code, works, problem = PROBES[case]
    fake_smi(tmp_path, monkeypatch, T4)
    monkeypatch.setattr(accelerators, "GPU_PROBE", code)
    (found,) = accelerators.find_accelerators()
    assert (found.kind, found.name, found.compute_capability) == ("GPU", "Tesla T4", 7.5)
    assert found.memory_bytes == 15360 * 2**20
    assert found.works is works and problem in found.problem
    assert accelerators.usable_gpus([found]) == (None if works else "-1")


VISIBLE = [
    (None, [GOOD, GOOD], None),
    ("0", [GOOD], None),
    (None, [GOOD, BAD], "0"),
    (None, [BAD, GOOD], "1"),
    ("3,5", [BAD, GOOD], "5"),
    ("GPU-ab,GPU-cd", [GOOD, BAD], "GPU-ab"),
    (None, [BAD, BAD], "-1"),
]


@pytest.mark.parametrize(("visible", "found", "kept"), VISIBLE)
def test_only_broken_gpus_are_hidden(visible, found, kept, tmp_path, monkeypatch, no_accelerator):
    """What TensorFlow sees counts, however many cards nvidia-smi lists."""
    fake_smi(tmp_path, monkeypatch, T4 + T4 + "Old Card, 3.5, 1000\n")
    monkeypatch.setattr(accelerators, "GPU_PROBE", prints(found))
    if visible:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    gpus = accelerators.find_accelerators()
    assert [gpu.name for gpu in gpus] == [gpu["name"] for gpu in found]
    assert accelerators.usable_gpus(gpus) == kept


def test_a_hanging_probe_is_given_up(tmp_path, monkeypatch, no_accelerator):
    fake_smi(tmp_path, monkeypatch, T4)
    monkeypatch.setattr(accelerators, "GPU_PROBE", "import time; time.sleep(60)")
    monkeypatch.setattr(accelerators, "PROBE_SECONDS", 0.5)
    (found,) = accelerators.find_accelerators()
    assert not found.works


@pytest.mark.parametrize("text", ["", "garbage", "No devices were found", ",,,", "a\nb\n\n"])
def test_an_odd_nvidia_smi_never_raises(text, tmp_path, monkeypatch, no_accelerator):
    fake_smi(tmp_path, monkeypatch, text)
    monkeypatch.setattr(accelerators, "GPU_PROBE", prints([]))
    assert all(not a.works for a in accelerators.find_accelerators())


def test_a_hidden_gpu_is_not_probed(tmp_path, monkeypatch, no_accelerator):
    fake_smi(tmp_path, monkeypatch, T4)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert accelerators.find_accelerators() == ()


def test_a_tpu_that_crashes_at_initialization_is_left_alone(monkeypatch, no_accelerator):
    monkeypatch.setenv("TPU_ACCELERATOR_TYPE", "v5e-1")
    monkeypatch.setattr(accelerators, "TPU_PROBE", "import os; os.kill(os.getpid(), 11)")
    (found,) = accelerators.find_accelerators()
    assert (found.kind, found.name, found.works) == ("TPU", "v5e-1", False)


def test_the_real_gpu_probe_reports_what_tensorflow_sees():
    done = subprocess.run(
        [sys.executable, "-c", accelerators.GPU_PROBE], capture_output=True, text=True, timeout=180
    )
    line = [line for line in done.stdout.splitlines() if line.startswith("PROBE")][-1]
    assert isinstance(json.loads(line.removeprefix("PROBE")), list)


CPUINFO = (
    "processor : 0\nmodel name\t: Fancy CPU\nflags\t\t: fpu avx2 avx512f avx512_bf16 amx_bf16\n"
)


def test_a_linux_cpu_is_read_from_proc(monkeypatch):
    monkeypatch.setattr(hardware, "_read", lambda path: CPUINFO)
    assert hardware._cpu_name() == "Fancy CPU"
    assert hardware._instruction_sets() == ("avx2", "avx512f", "avx512_bf16", "amx_bf16")


@pytest.mark.parametrize(
    ("system", "arch", "sets"), [("Windows", "AMD64", None), ("Darwin", "arm64", ())]
)
def test_other_systems_do_not_raise(system, arch, sets, monkeypatch):
    monkeypatch.setattr(hardware, "_read", lambda path: "")
    monkeypatch.setattr(hardware.platform, "system", lambda: system)
    monkeypatch.setattr(hardware.platform, "machine", lambda: arch)
    assert hardware._instruction_sets() == sets
    assert hardware._cpu_name()


def test_workload_sizes_grow_with_the_device():
    cpu, large = hardware.workload(machine()), hardware.workload(machine(found=[gpu(8.0)]))
    assert large.batch_size > cpu.batch_size
    assert cpu.batch_size in cpu.batch_sizes and sorted(cpu.batch_sizes) == list(cpu.batch_sizes)
