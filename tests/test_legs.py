"""Legs: a process for each setting, ended for certain, and read back whole."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from course_utils import hardware, legs, processes
from course_utils.legs import runs
from course_utils.legs.kernels import MARK


def outcome(result=None, printed="", problem=""):
    return legs.Outcome(result, printed, problem, 1.0)


# ------------------------------------------------------------------ a function in a process


def test_a_call_returns_what_the_function_returns_and_what_was_printed():
    found = legs.call("json:dumps", {"obj": {"a": [1, None]}})
    assert found.result == '{"a": [1, null]}' and found.problem == "" and found.seconds > 0
    assert legs.call("os:getpid").result != os.getpid()
    assert legs.call("os:system", {"command": "echo from a child"}).printed == "from a child\n"
    assert legs.call(json.loads, {"s": "[1]"}).result == [1]


def test_variables_are_set_and_unset(monkeypatch):
    monkeypatch.setenv("COURSE_A", "here")
    found = legs.call("os:getenv", {"key": "COURSE_A"}, {"COURSE_A": None, "COURSE_B": "x"})
    assert found.result is None and found.problem == ""
    assert legs.call("os:getenv", {"key": "COURSE_A"}).result == "here"
    assert legs.call("os:getenv", {"key": "COURSE_B"}, {"COURSE_B": "x"}).result == "x"
    assert os.environ["COURSE_A"] == "here"


@pytest.mark.parametrize(
    "function, arguments, said",
    [
        ("os:abort", {}, "Its process was ended by SIGABRT."),
        ("os:_exit", {"status": 3}, "Its process ended with exit code 3."),
        ("json:loads", {"s": "["}, "It raised JSONDecodeError: Expecting value"),
        ("no_such_module:f", {}, "It raised ModuleNotFoundError: No module named"),
        ("json:no_such", {}, "It raised AttributeError"),
        ("os:getcwdb", {}, "It raised TypeError: Object of type bytes is not JSON"),
    ],
)
def test_what_goes_wrong_is_one_sentence(function, arguments, said):
    found = legs.call(function, arguments)
    assert found.problem.startswith(said) and found.result is None
    assert "\n" not in found.problem


def test_the_part_of_a_long_message_that_says_why():
    text = "Graph execution error:\n\nDetected at node x defined at\n" + "  File y\n" * 50
    text += "\nReceived an exception:Status: 3, message: no primitive for it. Run with ONEDNN"
    assert legs.sentence(RuntimeError(text)) == "It raised RuntimeError: no primitive for it"
    assert len(legs.sentence(ValueError("a" * 999))) < 250


@pytest.mark.parametrize("function", [lambda: 1, test_variables_are_set_and_unset.__call__, 5, "f"])
def test_a_function_without_a_module_is_refused(function):
    with pytest.raises(ValueError, match="give a function of a module"):
        legs.call(function)


def gone(pid):
    """Whether a process ended; init may take a moment to take its entry away."""
    for _ in range(50):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        state = open(f"/proc/{pid}/stat").read() if os.path.exists(f"/proc/{pid}/stat") else ") Z"
        if state.rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.1)
    return False


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs POSIX")
def test_time_up_ends_the_process_and_what_it_started(tmp_path):
    command = f"sleep 60 & echo $! > {tmp_path}/pid; wait"
    start = time.perf_counter()
    found = legs.call("os:system", {"command": command}, timeout=2)
    assert found.problem == "It was stopped after 2 seconds." and found.result is None
    assert time.perf_counter() - start < 30
    assert gone(int((tmp_path / "pid").read_text()))


def test_an_interrupt_ends_the_process(monkeypatch):
    started = []
    real = processes.subprocess.Popen

    class Popen(real):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            started.append(self)

        def wait(self, timeout=None):
            if timeout:
                raise KeyboardInterrupt
            return super().wait()

    monkeypatch.setattr(processes.subprocess, "Popen", Popen)
    with pytest.raises(KeyboardInterrupt):
        legs.call("time:sleep", {}, timeout=60)
    assert started[0].returncode is not None


PARENT = """
import sys
from course_utils import legs
legs.call("os:system", {"command": f"echo $PPID > {sys.argv[1]}; sleep 60"})
"""


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs POSIX")
def test_a_process_whose_parent_was_killed_ends_itself(tmp_path):
    told = tmp_path / "pid"
    parent = subprocess.Popen([sys.executable, "-c", PARENT, told], cwd=processes.ROOT)
    for _ in range(300):
        if told.exists() and told.read_text().strip():
            break
        time.sleep(0.1)
    parent.kill()
    parent.wait()
    assert gone(int(told.read_text()))


# ------------------------------------------------------------------ what oneDNN said

LINES = f"""
onednn_verbose,v1,info,oneDNN v3.7.3 (commit N/A)
onednn_verbose,v1,primitive,exec,cpu,convolution,jit:avx512_core,forward,src:f32:a:b:f0,,,9,50.0
{MARK}float32
onednn_verbose,v1,primitive,exec,cpu,convolution,brg_conv_fwd:avx512_core,forward_training,\
src:f32::blocked:acdb::f0 wei:f32:a:blocked:Adcb16a::f0,attr-scratchpad:user,alg:x,mb128,2.0
onednn_verbose,v1,primitive,exec,cpu,gemm_api,,undef,\
src_f32::blocked:ba:f0 wei_f32::blocked:ab:f0 dst_f32::blocked:ab:f0,,,128x10,0.5
onednn_verbose,v1,primitive,exec,cpu,gemm_api,,undef,src_f32::blocked:ba:f0,,,128x10,0.5
onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src:f32::blocked:cdba::f0,,,32x1,90.0
onednn_verbose,v1,graph,exec,cpu,matmul,jit,undef,src:f32::blocked:cdba::f0,,,32x1,90.0
onednn_verbose,v1,primitive,exec,cpu,convolution
something else,exec,cpu
{MARK}mixed_bfloat16
onednn_verbose,exec,cpu,convolution,brg_conv_bwd:avx512_core_bf16+brg_conv_fwd:avx512_core_bf16,\
backward_data,src:bf16::blocked:acdb::f0,,,x,3.0
{MARK}float32
onednn_verbose,v1,primitive,exec,cpu,convolution,brg_conv_fwd:avx512_core,forward_training,\
src:f32::blocked:acdb::f0 wei:f32:a:blocked:Adcb16a::f0,attr-scratchpad:user,alg:x,mb128,4.0
"""


def test_kernels_are_read_from_the_timed_steps():
    found = legs.kernels({"default": outcome([], LINES), "broken": outcome(problem="It died.")})
    rows = [tuple(row) for row in found.itertuples(index=False)]
    both = "brg_conv_bwd:avx512_core_bf16+brg_conv_fwd:avx512_core_bf16"
    assert rows == [
        ("default", "float32", "reorder", "jit:uni", "f32", 0.5, 45.0),
        ("default", "float32", "convolution", "brg_conv_fwd:avx512_core", "f32", 1.0, 3.0),
        ("default", "float32", "gemm_api", "gemm_api", "f32", 1.0, 0.5),
        ("default", "mixed_bfloat16", "convolution", both, "bf16", 1.0, 3.0),
    ]
    assert legs.kernels({}).empty and list(legs.kernels({})) == list(found)


def test_the_table_compares_within_a_leg_and_says_what_is_missing():
    rows = [("float32", 10.0, ""), ("mixed_bfloat16", 5.0, ""), ("mixed_float16", np.nan, "None.")]
    result = [dict(zip(("policy", "step_ms", "note"), row, strict=True)) for row in rows]
    slow = [{"policy": "float32", "step_ms": 40.0, "note": ""}]
    table = legs.table(
        {"default": outcome(result, LINES), "off": outcome(slow), "dead": outcome(problem="Died.")}
    )
    assert table["leg"].tolist() == ["default"] * 3 + ["off", "dead"]
    assert table["speedup"].tolist()[:2] == [1.0, 2.0] and table["speedup"][3] == 1.0
    assert table["note"].tolist() == ["", "", "None.", "", "Died."]
    assert table["step_ms"].isna().tolist() == [False, False, True, False, True]
    assert table["kernels"][0] == "f32 brg_conv_fwd:avx512_core ×1"  # products, most of their time
    assert table["kernels"][1] == "bf16 brg_conv_bwd:avx512_core_bf16 ×1"
    assert legs.table({}).empty


# ------------------------------------------------------------------ the legs


def test_each_leg_gets_its_own_variables_and_no_other_switch(monkeypatch):
    asked = []
    monkeypatch.setattr(runs, "cannot_run", lambda variables: "")

    def call(function, arguments, variables, timeout):
        asked.append((function, arguments, variables, timeout))
        return outcome([])

    monkeypatch.setattr(runs, "call", call)
    settings = {"a": {}, "b": {"TF_ENABLE_ONEDNN_OPTS": "0"}}
    found = legs.measure(settings, ("float32",), seconds=4, timeout=9, batch_size=8)
    assert list(found) == ["a", "b"] and {row[0] for row in asked} == {runs.steps}
    arguments = {"policies": ["float32"], "seconds": 2.0, "batch_size": 8}
    assert [row[1] for row in asked] == [arguments] * 2
    first, second = (row[2] for row in asked)
    assert first["TF_ENABLE_ONEDNN_OPTS"] is None and second["TF_ENABLE_ONEDNN_OPTS"] == "0"
    assert first["ONEDNN_MAX_CPU_ISA"] is None and second["ONEDNN_MAX_CPU_ISA"] is None
    assert first["CUDA_VISIBLE_DEVICES"] == "-1" and first["ONEDNN_VERBOSE"] == "1"
    assert first["KERAS_BACKEND"] == "tensorflow" and asked[0][3] == 9


def test_an_interrupt_keeps_the_legs_before_it(monkeypatch, capsys):
    monkeypatch.setattr(runs, "cannot_run", lambda variables: "")
    answers = iter([outcome([{"policy": "float32", "step_ms": 1.0, "note": ""}])])

    def call(*args):
        try:
            return next(answers)
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr(runs, "call", call)
    assert legs.run({"a": {}, "b": {}, "c": {}})["leg"].tolist() == ["a"]
    assert "Interrupted" in capsys.readouterr().out


@pytest.mark.parametrize(
    "system, sets, cap, off",
    [
        ("Linux x86_64", ("avx2", "avx512f", "avx512_bf16"), "", ""),
        ("Windows AMD64", None, "", ""),
        ("Linux x86_64", ("avx2",), "no bfloat16 instructions", ""),
        ("Linux aarch64", ("bf16",), "for x86 CPUs", "for x86 CPUs"),
        ("Darwin arm64", (), "for x86 CPUs", "for x86 CPUs"),
    ],
)
def test_a_setting_that_shows_nothing_here_is_not_run(system, sets, cap, off):
    machine = hardware.Hardware(system, "some CPU", 2, sets)
    default, capped, switched = (
        legs.cannot_run(variables, machine) for variables in legs.SETTINGS.values()
    )
    assert default == ""
    for said, expected in ((capped, cap), (switched, off)):
        assert expected in said and bool(said) == bool(expected)


def test_what_cannot_run_stands_in_the_table(monkeypatch):
    laptop = hardware.Hardware("Linux x86_64", "some CPU", 2, ("avx2",))
    monkeypatch.setattr(hardware, "detect", lambda: laptop)
    table = legs.run({"capped": {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE"}})
    assert table["note"][0].startswith("Not run: this CPU") and table["step_ms"].isna().all()


def test_a_policy_without_kernels_leaves_the_others(monkeypatch, capfd):
    from course_utils import stepping

    class Trainee:
        def __init__(self, build_model, policy):
            self.policy = policy

        def step(self, x, y):
            if self.policy == "mixed_bfloat16":
                raise RuntimeError("none")
            return stepping.Step(0.25, None, 1.0)

    monkeypatch.setattr(stepping, "Trainee", Trainee)
    rows = runs.steps(["float32", "mixed_bfloat16"], seconds=0)
    assert rows[0] == {"policy": "float32", "step_ms": 250.0, "note": ""}
    assert np.isnan(rows[1]["step_ms"]) and rows[1]["note"] == "It raised RuntimeError: none"
    assert capfd.readouterr().out.splitlines() == [f"{MARK}float32"] * 4


def has_bfloat16():
    machine = hardware.detect()
    sets = machine.instruction_sets or ()
    return "x86" in machine.system and {"avx512_bf16", "amx_bf16"} & set(sets)


@pytest.mark.slow
@pytest.mark.skipif(not has_bfloat16(), reason="this CPU has no bfloat16 instructions")
def test_one_policy_computes_in_other_kernels_under_each_setting():
    """Names and dtypes, no times: what section 9 of notebook 05 shows."""
    outcomes = legs.measure(seconds=0, timeout=300)
    assert not any(found.problem for found in outcomes.values()), outcomes
    found = legs.kernels(outcomes)
    found = found[found["operation"].isin(("convolution", "matmul", "inner_product", "gemm_api"))]
    default, capped, off = (found[found["leg"] == leg] for leg in legs.SETTINGS)

    def long(rows, policy):  # not the output layer, which computes in float32 and takes no time
        rows = rows[rows["policy"] == policy]
        return rows[rows["ms"] > 0.02 * rows["ms"].sum()]

    bfloat16 = long(default, "mixed_bfloat16")
    assert set(bfloat16["dtype"]) == {"bf16"} and bfloat16["kernel"].str.contains("bf16|amx").any()
    capped_16 = long(capped, "mixed_bfloat16")
    assert set(capped_16["dtype"]) == {"bf16"}
    assert not capped_16["kernel"].str.contains("core_bf16|amx").any()
    # float16 on this CPU, and everything with oneDNN off: TensorFlow's own kernels, which multiply
    # small blocks in float32.
    if "avx512_fp16" not in hardware.detect().instruction_sets:
        assert set(long(default, "mixed_float16")["kernel"]) == {"gemm_api"}
    assert set(off["kernel"]) == {"gemm_api"} and set(off["dtype"]) == {"f32"}
    table = legs.table(outcomes)
    refused = (table["leg"] == "AVX-512 without bfloat16") & (table["policy"] == "mixed_float16")
    refused &= hardware.merged_float16_is_slow()  # then the setting hides float16's kernels too
    assert table["note"][refused].str.contains("primitive descriptor").all()
    assert table["step_ms"][refused].isna().all()
    rest = table[~refused]
    assert len(table) == 9 and (rest["step_ms"] > 0).all() and (rest["note"] == "").all()
