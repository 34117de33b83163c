"""Notebook 07: the bytes that a step takes for each weight, where TensorFlow counts."""

import json
import subprocess
import sys

import numpy as np
import pytest

from course_utils import benchmark
from tools.canonical_form import COURSE
from tools.notebook_cells import Cells

NOTEBOOK = Cells("07_devices")
POLICIES = ("float32", "mixed_bfloat16", "mixed_float16")
# In a process of its own, in which no other test holds an array.
TAKEN = """
import gc, json
import keras, numpy as np, tensorflow as tf
from course_utils.training import dtype_policy
from tools.notebook_cells import Cells

names = {"keras": keras, "np": np, "tf": tf, "dtype_policy": dtype_policy}
Cells("07_devices").run("peak", names=names)
rows = []
for layers in (4, 16):
    for policy in ("float32", "mixed_bfloat16", "mixed_float16"):
        gc.collect()
        start = names["get_memory_info"](names["device"]())["current"]
        found, count = names["bytes_each"](policy, layers, 512)
        rows.append([layers, policy, ((found - start) / count).tolist()])
print(json.dumps(rows))
"""


@pytest.fixture(scope="module")
def taken():
    """{(layers, policy): bytes for each weight held, and at the peak at least and at
    most}.
    """
    if not benchmark.counts_memory():
        pytest.skip("TensorFlow counts no memory on this device")
    command = [sys.executable, "-c", TAKEN]
    done = subprocess.run(command, cwd=COURSE, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout.splitlines()[-1])
    return {(layers, policy): np.array(found) for layers, policy, found in rows}


@pytest.mark.slow
def test_twelve_bytes_are_held_under_every_policy(taken):
    for held, _, _ in taken.values():
        assert held == pytest.approx(12, abs=0.1)


@pytest.mark.slow
def test_a_mixed_policy_takes_more_at_the_peak(taken):
    """At least: in which order independent operations run is chance, and in an unlucky
    one float32's step with 4 layers takes as much as float16's.
    """
    in_float32, in_bfloat16, in_float16 = (taken[16, policy][1] for policy in POLICIES)
    assert in_float32 + 0.2 < min(in_bfloat16, in_float16)
    assert taken[4, "float32"][1] + 0.5 < taken[4, "mixed_float16"][1]


@pytest.mark.slow
def test_more_layers_take_less_but_for_the_gradients_that_wait_for_the_check(taken):
    """At least: on a busy machine a step in an unlucky order takes more with 16 layers."""
    for policy in POLICIES:
        assert taken[16, policy][1] < taken[4, policy][1], policy
    assert taken[16, "float32"][2] < 14  # a part of the gradients is alive
    assert taken[16, "mixed_float16"][1] > 15.9  # 12, and 4 of each gradient


def test_where_nothing_is_counted_the_cell_says_so():
    lines = NOTEBOOK.printed("peak-table", names={"counts_memory": lambda: False})
    (line,) = lines
    assert line.startswith("Nothing is counted here.") and "TF_ENABLE_ONEDNN" in line
