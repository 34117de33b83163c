"""What the machine is, seen through fake machines: files, commands and crashing probes."""

import os
import sys

import pytest
from helpers.memory import parts

from course_utils import hardware, processes, session
from course_utils.benchmark.measure import LARGE
from course_utils.benchmark.rates import likely_dtypes
from course_utils.explorers.doesitpay import cnn, transformer
from course_utils.hardware import Accelerator, Hardware, accelerators


def gpu(cc, works=True):
    return Accelerator(
        "GPU", "some GPU", works, "" if works else "broken.", cc, 16 * 2**30
    )


def machine(sets=("avx2",), found=(), cpu="some CPU", **options):
    return Hardware("Linux x86_64", cpu, 4, sets, accelerators=tuple(found), **options)


def card(name, cc=7.5):
    return machine(found=[Accelerator("GPU", name, True, "", cc)])


CASES = [
    *((machine(sets), "float32") for sets in (("avx2",), None)),
    (machine(("avx2", "avx512f", "avx512_bf16")), "mixed_bfloat16"),
    (machine(("amx_bf16",)), "mixed_bfloat16"),
    (machine(("avx512_bf16",), onednn=False), "float32"),
    (machine(("avx512_bf16", "avx512_fp16"), cpu="Intel(R) Xeon(R)"), "float32"),
    (machine(("avx512_bf16", "amx_bf16"), cpu="Intel(R) Xeon(R)"), "mixed_bfloat16"),
    (machine(("avx512_bf16",), max_isa="AVX512_CORE"), "float32"),
    (machine(("avx512_bf16",), max_isa="AVX512_CORE_BF16"), "mixed_bfloat16"),
    (card("some GPU", 6.1), "float32"),
    (card("some GPU", 7.0), "mixed_float16"),
    (card("GeForce GTX 1660 Ti"), "float32"),
    (card("Quadro T2000"), "float32"),
    (card("NVIDIA GeForce MX550"), "float32"),
    (machine(("avx512_bf16",), max_isa="AVX10_1_512"), "mixed_bfloat16"),
    (machine(found=[gpu(9.0, works=False)]), "float32"),
    (machine(found=[Accelerator("TPU", "v5e-1", True)]), "mixed_bfloat16"),
    (machine(found=[Accelerator("TPU", "v5e-1", False, "broken.")]), "float32"),
]


@pytest.mark.parametrize(
    "found, merged_is_slow, convolutions_are_slow",
    [
        (machine(("avx512_bf16", "avx512_fp16", "amx_bf16")), True, True),
        (machine(("amx_fp16",)), True, False),
        (machine(("avx512_fp16", "amx_fp16"), max_isa="AVX512_CORE_AMX"), True, True),
        (machine(("avx512_fp16", "amx_fp16"), max_isa="ALL"), True, False),
        (machine(("avx512_fp16",), onednn=False), False, False),
        (machine(("avx512_fp16",), found=[gpu(7.5)]), False, False),
        (machine(None), False, False),
    ],
)
def test_where_float16_is_slow_for_want_of_a_kernel(
    found, merged_is_slow, convolutions_are_slow
):
    assert hardware.merged_float16_is_slow(found) is merged_is_slow
    assert hardware.float16_convolutions_are_slow(found) is convolutions_are_slow


@pytest.mark.parametrize("isa", ["AVX2", "AVX2_VNNI", "SSE41", "AVX"])
def test_where_bfloat16_ends_the_process(isa):
    assert hardware.bfloat16_ends_the_process(machine(max_isa=isa))
    assert not hardware.bfloat16_ends_the_process(machine(max_isa=isa, onednn=False))
    assert not hardware.bfloat16_ends_the_process(machine(max_isa="AVX512_CORE"))


def test_which_x86_cpus_have_no_float16():
    tpu = Accelerator("TPU", "v5e-1", True)
    without = [
        machine(),
        machine(("avx512_bf16",), onednn=False),
        machine(found=[gpu(7.5, False)]),
        Hardware("Windows AMD64", "some CPU", 4, ("avx2",)),
    ]
    others = [machine(None), machine(("avx512_fp16",)), machine(found=[gpu(7.5)])]
    others += [machine(found=[tpu]), Hardware("Darwin arm64", "Apple M3", 8, ())]
    assert all(map(hardware.x86_without_float16, without))
    assert not any(map(hardware.x86_without_float16, others))


@pytest.mark.parametrize(("hw", "policy"), CASES)
def test_the_policy_follows_from_the_hardware(hw, policy):
    assert hardware.recommended_policy(hw) == policy
    reason = hardware.policy_reason(hw)
    assert reason.endswith(".") and reason.count(". ") == 0 and len(reason) < 200


# Their names as `nvidia-smi` prints them, compute capability, policy, and whether they
# have TF32.
CARDS = [
    ({"NVIDIA H100 80GB HBM3": 9.0}, "mixed_bfloat16", True),
    ({"Tesla T4": 7.5, "NVIDIA A100-SXM4-40GB": 8.0}, "mixed_float16", False),
]


@pytest.mark.parametrize("cards, policy, tf32", CARDS)
def test_of_several_gpus_the_weakest_decides_and_is_named(cards, policy, tf32):
    found = [Accelerator("GPU", name, True, "", cc) for name, cc in cards.items()]
    for hw in (machine(found=found), machine(found=found[::-1])):
        assert (
            hardware.recommended_policy(hw) == policy
            and ("tf32" in likely_dtypes(hw)) is tf32
        )
        reason = hardware.policy_reason(hw)
        assert reason.startswith(next(iter(cards))) or tf32
        assert ("none for bfloat16" in reason) is (policy == "mixed_float16")
        assert ("TF32" in session._what_differs(hw)) is tf32


def test_the_largest_batches_fit_twice_into_a_t4():
    """Twice: beside the arrays counted here there is working space, and maybe another
    notebook.
    """
    tokens, width, heads, batch = (
        LARGE[name] for name in ("tokens", "width", "heads", "batch_size")
    )
    steps = [(cnn(28, 32), n) for n in hardware.workload(card("Tesla T4")).batch_sizes]
    steps.append((transformer(tokens, width, 1, width // heads, 0), batch))
    for counts, size in steps:
        whole, half = (sum(parts(counts, size, bits).values()) for bits in (32, 16))
        assert 2 * whole < 15360 * 2**20
        assert 0.5 < half / whole < 1.1  # as notebook 04 asserts


T4 = "Tesla T4, 15360\n"
GOOD = ("Tesla T4", 7.5, "")
DIES = "import os\nos.kill(os.getpid(), 11)"


def returns(value):
    return f"def probe():\n    return {value!r}"


@pytest.fixture
def probe(tmp_path, monkeypatch):
    """Writes what runs in place of the try-outs, and an nvidia-smi that lists cards."""
    for name in ("TPU_ACCELERATOR_TYPE", "COLAB_TPU_1VM", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(accelerators, "compute_on_gpus", "probe:probe")
    # not cached
    monkeypatch.setattr(accelerators, "try_tpu", accelerators.try_tpu.__wrapped__)
    monkeypatch.setattr(accelerators, "compute_on_tpu", "probe:probe")

    def write(code, listed=T4):
        (tmp_path / "probe.py").write_text(code)
        (tmp_path / "nvidia-smi").write_text(f"#!/bin/sh\nprintf '%s' \"{listed}\"\n")
        (tmp_path / "nvidia-smi").chmod(0o755)

    return write


PROBES = [
    (returns([GOOD]), ""),
    (DIES, "ended its process"),
    ("import time\ntime.sleep(60)", "ended its process"),
    (returns([("Tesla T4", 7.5, "InternalError.")]), "InternalError"),
    (returns([]), "TensorFlow does not see it"),
]


@pytest.mark.parametrize(("code", "problem"), PROBES)
def test_a_gpu_counts_only_if_it_computes(code, problem, probe, monkeypatch):
    probe(code)
    monkeypatch.setattr(accelerators, "SECONDS", 0.5 if "sleep" in code else 60)
    (found,) = accelerators.find_accelerators()
    assert (found.kind, found.name) == ("GPU", "Tesla T4")
    assert found.memory_bytes == 15360 * 2**20
    assert found.works == (not problem) and problem in found.problem
    level = ", compute capability 7.5" if found.compute_capability else ""
    told = f"GPU Tesla T4{level}, 15 GiB{problem and ': '}{found.problem}"
    assert told in str(machine(found=[found])) and (level or problem)


IMPORTED = """import os
names = "TF_FORCE_GPU_ALLOW_GROWTH", "CUDA_VISIBLE_DEVICES"
print("imported with", *map(os.environ.get, names))
raise SystemExit"""
SETUP = """from course_utils.hardware import accelerators
accelerators.compute_on_gpus = "probe:probe"
from course_utils import session
session.setup()"""


def test_two_notebooks_leave_each_other_room_and_a_broken_gpu_alone(
    probe, tmp_path, monkeypatch
):
    """A TensorFlow that tells its environment stands in for the real one."""
    probe(returns([GOOD, ("Broken", 12.0, "it fails.")]), f"{T4}Broken, 32607\n")
    (tmp_path / "tensorflow.py").write_text(IMPORTED)
    command = [sys.executable, "-c", SETUP]
    name = "TF_FORCE_GPU_ALLOW_GROWTH"
    kernels = [processes.start(command, {name: own}) for own in (None, "false")]
    printed = [kernel.communicate(timeout=60)[0].splitlines()[-1] for kernel in kernels]
    assert printed == ["imported with true 0", "imported with false 0"]


VISIBLE = [
    ("0", [True], None),
    (None, [False, True], "1"),
    ("GPU-ab,GPU-cd", [True, False], "GPU-ab"),
    (None, [False, False], "-1"),
]


@pytest.mark.parametrize(("visible", "works", "kept"), VISIBLE)
def test_only_broken_gpus_are_hidden(visible, works, kept, monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert accelerators.usable_gpus([gpu(8.0, each) for each in works]) == kept


TPU = {"TPU_ACCELERATOR_TYPE": "v5e-1"}
# what runs, what nvidia-smi prints, variables, what is found and whether it works
FOUND = [
    (returns([GOOD]), f"{T4}{T4}Old Card, 1000\n", {}, [("GPU Tesla T4", True)]),
    (returns([]), "No devices were found", {}, []),
    (returns([GOOD]), T4, {"CUDA_VISIBLE_DEVICES": "-1"}, []),
    (DIES, "", TPU, [("TPU v5e-1", False)]),
    (returns((2, {})), "", TPU, [("TPU v5e-1", True)] * 2),
]


@pytest.mark.parametrize("code, listed, variables, wanted", FOUND)
def test_what_is_found_is_what_computes_whatever_is_listed(
    code, listed, variables, wanted, probe, monkeypatch
):
    probe(code, listed)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = accelerators.find_accelerators()
    assert [(f"{a.kind} {a.name}", a.works) for a in found] == wanted


@pytest.mark.parametrize(
    "level, why", [(12.0, "kernels end at 9.0"), (9.0, "raised Int")]
)
def test_a_gpu_that_cannot_do_one_of_three_things_is_told_with_its_name(
    level, why, monkeypatch
):
    import tensorflow as tf

    def fail(*arguments, **options):
        raise tf.errors.InternalError(None, None, "CUDA_ERROR_INVALID_HANDLE")

    details = {
        "compute_capability": tuple(str(level).split(".")),
        "device_name": "RTX 5090",
    }
    config = tf.config
    monkeypatch.setattr(config, "list_physical_devices", lambda kind: ["a card"])
    monkeypatch.setattr(config.experimental, "get_device_details", lambda gpu: details)
    assert accelerators.compute_on_gpus() == [("RTX 5090", level, "")]
    product = type(tf.ones(1))
    for home, name in ((tf, "matmul"), (tf.nn, "conv2d"), (product, "__mul__")):
        with monkeypatch.context() as patch:
            patch.setattr(home, name, fail)
            ((*_, problem),) = accelerators.compute_on_gpus()
        assert why in problem, name


CPUINFO = "model name\t: Fancy CPU\nflags\t\t: fpu avx2 avx512f avx512_bf16 amx_bf16\n"
SETS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")


@pytest.mark.parametrize(
    "system, arch, cpuinfo, name, sets",
    [
        ("Linux", "x86_64", CPUINFO, "Fancy CPU", SETS),
        ("Windows", "AMD64", None, "", None),
        ("Darwin", "arm64", None, "Apple CPU", ()),
    ],
)
def test_the_cpu_of_each_system_is_named(
    system, arch, cpuinfo, name, sets, monkeypatch
):
    def read(path, **_):
        if cpuinfo is None:
            raise FileNotFoundError(path)
        return cpuinfo

    monkeypatch.setattr(hardware.Path, "read_text", read)
    monkeypatch.setattr(hardware.platform, "system", lambda: system)
    monkeypatch.setattr(hardware.platform, "machine", lambda: arch)
    monkeypatch.setattr(hardware, "find_accelerators", tuple)
    found = hardware.detect.__wrapped__()
    assert found.system == f"{system} {arch}" and found.instruction_sets == sets
    assert found.cpu and name in found.cpu
