"""Settings of oneDNN: a process for each, ended for certain, and read back whole."""

import keras
import numpy as np
import pytest

from course_utils import hardware, models
from course_utils.benchmark import settings
from course_utils.processes import Outcome


def outcome(result=None, printed="", problem=""):
    return Outcome(result, printed, problem)


def test_the_part_of_a_long_message_that_says_why():
    text = (
        "Graph execution error:\n\nDetected at node x defined at\n" + "  File y\n" * 50
    )
    text += "\nReceived an exception:Status: 3, message: no primitive for it. Run with ONEDNN"
    assert (
        settings.sentence(RuntimeError(text))
        == "It raised RuntimeError: no primitive for it"
    )
    assert len(settings.sentence(ValueError("a" * 999))) < 250


# ------------------------------------------------------------------ what oneDNN said

LINES = f"""
onednn_verbose,v1,info,oneDNN v3.7.3 (commit N/A)
onednn_verbose,v1,primitive,exec,cpu,convolution,jit:avx512_core,forward,src:f32:a:b:f0,,,9,50.0
{settings.MARK}float32
onednn_verbose,v1,primitive,exec,cpu,convolution,brg_conv_fwd:avx512_core,forward_training,\
src:f32::blocked:acdb::f0 wei:f32:a:blocked:Adcb16a::f0,attr-scratchpad:user,alg:x,mb128,2.0
onednn_verbose,v1,primitive,exec,cpu,gemm_api,,undef,\
src_f32::blocked:ba:f0 wei_f32::blocked:ab:f0 dst_f32::blocked:ab:f0,,,128x10,0.5
onednn_verbose,v1,primitive,exec,cpu,gemm_api,,undef,src_f32::blocked:ba:f0,,,128x10,0.5
onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src:f32::blocked:cdba::f0,,,32x1,90.0
onednn_verbose,v1,graph,exec,cpu,matmul,jit,undef,src:f32::blocked:cdba::f0,,,32x1,90.0
onednn_verbose,v1,primitive,exec,cpu,convolution
something else,exec,cpu
{settings.MARK}mixed_bfloat16
onednn_verbose,exec,cpu,convolution,brg_conv_bwd:avx512_core_bf16+brg_conv_fwd:avx512_core_bf16,\
backward_data,src:bf16::blocked:acdb::f0,,,x,3.0
{settings.MARK}float32
onednn_verbose,v1,primitive,exec,cpu,convolution,brg_conv_fwd:avx512_core,forward_training,\
src:f32::blocked:acdb::f0 wei:f32:a:blocked:Adcb16a::f0,attr-scratchpad:user,alg:x,mb128,4.0
"""


def test_the_tables_hold_the_timed_steps_and_say_what_is_missing():
    result = [
        ["float32", 10.0, 1.0, ""],
        ["mixed_bfloat16", 5.0, 2.0, ""],
        ["mixed_float16", np.nan, np.nan, "No."],
    ]
    outcomes = {
        "default": outcome(result, LINES),
        "off": outcome([["float32", 40.0, 1.0, ""]]),
    }
    outcomes["dead"] = outcome(problem="Died.")
    found = settings.kernels(outcomes)
    both = "brg_conv_bwd:avx512_core_bf16+brg_conv_fwd:avx512_core_bf16"
    assert [tuple(row) for row in found.itertuples(index=False)] == [
        ("default", "float32", "reorder", "jit:uni", "f32", 0.5, 45.0),
        (
            "default",
            "float32",
            "convolution",
            "brg_conv_fwd:avx512_core",
            "f32",
            1.0,
            3.0,
        ),
        ("default", "float32", "gemm_api", "gemm_api", "f32", 1.0, 0.5),
        ("default", "mixed_bfloat16", "convolution", both, "bf16", 1.0, 3.0),
    ]
    table = settings.table(outcomes)
    assert table["leg"].tolist() == ["default"] * 3 + ["off", "dead"]
    assert table["speedup"].tolist()[:2] == [1.0, 2.0] and table["speedup"][3] == 1.0
    assert table["note"].tolist() == ["", "", "No.", "", "Died."]
    assert table["step_ms"].isna().tolist() == [False, False, True, False, True]
    # products, most of their time
    assert table["kernels"][0] == "f32 brg_conv_fwd:avx512_core ×1"
    assert table["kernels"][1] == "bf16 brg_conv_bwd:avx512_core_bf16 ×1"
    assert settings.table({}).empty and list(settings.kernels({})) == list(found)


# ------------------------------------------------------------------ the legs


def test_each_leg_gets_its_own_variables_and_an_interrupt_keeps_those_before_it(
    monkeypatch, capsys
):
    asked = []
    monkeypatch.setattr(settings, "cannot_run", lambda variables: "")

    def call(function, arguments, variables, timeout):
        asked.append((function, arguments, timeout, variables))
        if len(asked) == 3:
            raise KeyboardInterrupt
        return outcome([])

    monkeypatch.setattr(settings, "call", call)
    legs = {"a": {}, "b": {"TF_ENABLE_ONEDNN_OPTS": "0"}, "c": {}}
    monkeypatch.setattr(settings, "SETTINGS", legs)
    found = settings.measure(seconds=6, timeout=9, batch_size=8)
    assert list(found) == ["a", "b"] and "Interrupted" in capsys.readouterr().out
    arguments = {"seconds": 2.0, "batch_size": 8}
    assert [leg[:3] for leg in asked] == [(settings.steps, arguments, 9)] * 3
    first, second, _ = (leg[3] for leg in asked)
    switch = "TF_ENABLE_ONEDNN_OPTS"
    assert (
        first[switch] is first["ONEDNN_MAX_CPU_ISA"] is None and second[switch] == "0"
    )
    assert first.items() >= settings.ALWAYS.items()


@pytest.mark.parametrize(
    "system, sets, cap, off",
    [
        ("Linux x86_64", ("avx2", "avx512f", "avx512_bf16"), "", ""),
        ("Windows AMD64", None, "", ""),
        ("Linux aarch64", ("bf16",), "for x86 CPUs", "for x86 CPUs"),
        ("Darwin arm64", (), "for x86 CPUs", "for x86 CPUs"),
    ],
)
def test_a_setting_that_shows_nothing_here_is_not_run(system, sets, cap, off):
    machine = hardware.Hardware(system, "some CPU", 2, sets)
    for variables, expected in zip(
        settings.SETTINGS.values(), ("", cap, off), strict=True
    ):
        said = settings.cannot_run(variables, machine)
        assert expected in said and bool(said) == bool(expected)


def test_a_policy_without_kernels_leaves_the_others(monkeypatch, capfd):
    class Network:
        def __init__(self):
            self.policy = keras.config.dtype_policy().name

        def compile(self, *args, jit_compile):
            assert jit_compile is False

        def train_on_batch(self, x, y):
            if self.policy == "mixed_bfloat16":
                raise RuntimeError("none")

    monkeypatch.setattr(models, "mnist_cnn", Network)
    monkeypatch.setattr(settings, "POLICIES", ("float32", "mixed_bfloat16"))
    bad, good = settings.steps(seconds=0, batch_size=2)
    assert good[0] == "float32" and good[1] > 0 and good[2:] == [1.0, ""]
    assert np.isnan(bad[1:3]).all() and bad[3] == "It raised RuntimeError: none"
    assert capfd.readouterr().out.splitlines() == [f"{settings.MARK}float32"] * 4
