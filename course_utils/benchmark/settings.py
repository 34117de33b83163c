"""Steps of the course's CNN under several settings of oneDNN, each in a process of its
own.

oneDNN looks at its environment variables once, when TensorFlow is imported. So each
setting takes a process (a *leg*), and one that ends its process takes no other down.
"""

import os
import re
import time

import keras
import numpy as np
import pandas as pd

from course_utils import hardware, models
from course_utils.benchmark.compare import POLICIES
from course_utils.benchmark.ratios import paired
from course_utils.benchmark.records import SWITCHES
from course_utils.benchmark.timer import rounds
from course_utils.hardware.accelerators import CPU_ALONE
from course_utils.processes import Outcome, call
from course_utils.progress import tqdm
from course_utils.training import dtype_policy

SETTINGS = {
    "default": {},
    "AVX-512 without bfloat16": {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE"},
    "oneDNN off": {"TF_ENABLE_ONEDNN_OPTS": "0"},
}
# The CPU is asked, also where there is a GPU or a TPU, and always by TensorFlow.
ALWAYS = {
    **CPU_ALONE,
    "KERAS_BACKEND": "tensorflow",
    "ONEDNN_VERBOSE": "1",
}
PRODUCTS = ("convolution", "inner_product", "matmul", "gemm_api")
# One of ONEDNN_VERBOSE's lines: operation, kernel, dtype and milliseconds. The dtype of
# the input reads "src:bf16::blocked:acdb::f0 wei:…", and "src_f32::blocked:ab:f0 …" for
# gemm_api.
LINE = re.compile(
    r"onednn_verbose,(?:v1,primitive,)?exec,cpu,(\w+),([^,]*),\w*,[a-z]+[:_](\w+?):.*,([\d.]+)"
)
MARK = "@step "  # in a leg's output, before the lines of that step


def measure(
    seconds: float = 6, timeout: float = 60, batch_size: int = 128
) -> dict[str, Outcome]:
    """Steps of the MNIST CNN on this CPU, one leg of `SETTINGS` after the other: {leg:
    `Outcome`}.

    In each leg the policies take turns. `seconds` are for the steps of all legs
    together, at least four of each policy in each; importing TensorFlow and tracing
    come on top, some 7 s a leg on two cores. A leg is ended after `timeout` seconds. An
    interrupt ends the leg under way and keeps those before it.

    Example:
        table(measure(seconds=2, batch_size=64))
    """
    arguments = {"seconds": seconds / len(SETTINGS), "batch_size": batch_size}
    outcomes = {}
    try:
        for leg, variables in tqdm(SETTINGS.items(), desc="settings"):
            # Whatever the notebook's own process has is unset where a leg does not set
            # it.
            own = {**dict.fromkeys(SWITCHES), **ALWAYS, **variables}
            if unable := cannot_run(variables):
                outcomes[leg] = Outcome(None, "", unable)
            else:
                outcomes[leg] = call(steps, arguments, own, timeout)
    except KeyboardInterrupt:
        print("Interrupted: you get the legs measured until then.")
    return outcomes


def cannot_run(variables: dict, machine=None) -> str:
    """Why a leg would show nothing on a machine (default: this one), a sentence; "" if
    it can.

    Example:
        >>> laptop = hardware.Hardware("Linux x86_64", "some CPU", 4, ("avx2",))
        >>> cannot_run({"ONEDNN_MAX_CPU_ISA": "AVX512_CORE"}, laptop)
        'Not run: this CPU has no bfloat16 instructions that the setting could leave out.'
    """
    machine = machine or hardware.detect()
    if variables and not any(
        name in machine.system.lower() for name in ("x86", "amd64")
    ):
        return f"Not run: oneDNN's switches are for x86 CPUs, and this is {machine.system}."
    sets = machine.instruction_sets  # None where the system does not tell
    without = sets is not None and not {"avx512_bf16", "amx_bf16"} & set(sets)
    if variables.get("ONEDNN_MAX_CPU_ISA") and without:
        return "Not run: this CPU has no bfloat16 instructions that the setting could leave out."
    return ""


def steps(seconds: float, batch_size: int) -> list[list]:
    """What one leg does, never under XLA: [policy, median ms of its steps, median of the
    paired ratios of float32's to them, note] of each, NaN where there is none.
    """
    rng = np.random.default_rng(0)
    x = rng.random((batch_size, 28, 28, 1), dtype="float32")
    y = rng.integers(0, 10, batch_size)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    networks = {}
    rows = []
    for policy in POLICIES:
        with dtype_policy(policy):
            network = models.mnist_cnn()
            network.compile(keras.optimizers.Adam(1e-3), loss, jit_compile=False)
        try:
            for _ in range(2):  # the first traces
                network.train_on_batch(x, y)
            networks[policy] = network
        except Exception as error:  # oneDNN has no kernel for it under this setting
            rows.append([policy, np.nan, np.nan, sentence(error)])
    times = {policy: [] for policy in networks}
    for _ in rounds(seconds, "steps", at_least=4):
        for policy, network in networks.items():
            # past Python's buffer, as oneDNN's lines
            os.write(1, f"{MARK}{policy}\n".encode())
            start = time.perf_counter()
            network.train_on_batch(x, y)
            times[policy].append(1e3 * (time.perf_counter() - start))
    for policy, own in times.items():
        speedup = paired(own, times["float32"]).median
        rows.append([policy, float(np.median(own)), speedup, ""])
    return rows


def table(outcomes: dict):
    """The legs of `measure` as a DataFrame: leg, policy, step_ms, speedup, kernels,
    note.

    step_ms is the median; speedup, against float32 in the same leg, is that of paired
    ratios; kernels names
    those of oneDNN's kernels for products that took a sixth of their time or more, with
    the dtype of their input and the calls a step. A leg or policy without a result has
    NaN, and a note says why.
    """
    named = kernels(outcomes)
    rows = []
    for leg, outcome in outcomes.items():
        none = [["", np.nan, np.nan, outcome.problem]]
        for policy, ms, speedup, note in outcome.result or none:
            mine = named[(named["leg"] == leg) & (named["policy"] == policy)]
            rows.append([leg, policy, ms, speedup, _most(mine), note])
    columns = ["leg", "policy", "step_ms", "speedup", "kernels", "note"]
    return pd.DataFrame(rows, columns=columns)


def kernels(outcomes: dict):
    """What oneDNN reported in the legs of `measure`, read from the lines of
    ONEDNN_VERBOSE.

    A DataFrame: leg, policy, operation, kernel, dtype (of the input), calls and ms (by
    oneDNN's own clock; means over the timed steps), the longest first in each leg and
    policy. "gemm_api" is oneDNN's plain product, which TensorFlow's own (Eigen) kernels
    call inside, for small blocks that they have converted to float32 first where
    needed.
    """
    rows = []
    for leg, outcome in outcomes.items():
        for step in outcome.printed.split(MARK)[1:]:
            policy, *lines = step.splitlines()
            steps = outcome.printed.count(f"{MARK}{policy}\n")
            for found in filter(None, map(LINE.fullmatch, lines)):
                operation, kernel, dtype, ms = found.groups()
                names = (leg, policy, operation, kernel or operation, dtype)
                rows.append((*names, 1 / steps, float(ms) / steps))
    keys = ["leg", "policy", "operation", "kernel", "dtype"]
    calls = pd.DataFrame(rows, columns=[*keys, "calls", "ms"])
    means = calls.groupby(keys, as_index=False).sum()
    order = {"by": ["leg", "policy", "ms"], "ascending": [True, True, False]}
    return means.sort_values(**order, ignore_index=True)


def _most(mine):
    """The kernels for products that took a sixth of the products' time or more, in
    words.
    """
    # A convolution's gradient names two kernels, "brg_conv_bwd:… + brg_conv_fwd:…".
    mine = mine.assign(kernel=mine["kernel"].str.split("+").str[0])
    products = mine[mine["operation"].isin(PRODUCTS)].groupby(["dtype", "kernel"])
    sums = products[["calls", "ms"]].sum().sort_values("ms", ascending=False)
    shown = sums[sums["ms"] >= sums["ms"].sum() / 6].itertuples()
    return "; ".join(f"{' '.join(row.Index)} ×{row.calls:.0f}" for row in shown)


def sentence(error: Exception) -> str:
    """One sentence on an exception; of TensorFlow's long ones the part that says why.

    Example:
        >>> sentence(ValueError("so not"))
        'It raised ValueError: so not'
    """
    text = " ".join(str(error).split())
    # oneDNN's, in the middle
    why = re.search(r"message: (.+?)(?:\. |, in file|$)", text)
    text = why[1] if why else text
    return f"It raised {type(error).__name__}: {text[:200]}{'…' * (len(text) > 200)}"
