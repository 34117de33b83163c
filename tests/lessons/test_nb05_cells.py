"""Notebook 05's cells whose values are taught."""

import re

import tensorflow as tf

from tools.notebook_cells import Cells


def test_the_gradient_of_a_bias_is_added_up_in_bfloat16_but_under_xla():
    with tf.device("CPU:0"):
        lines = Cells("05_profiling").printed("who-adds", names={"tf": tf})
    sums = {line.split()[0]: re.findall(r"\d[\d,]*\d", line[9:]) for line in lines}
    assert sums["float32"][0] == sums["float16"][0] == "4,096"
    assert sums["bfloat16"][0] == "256"
    for found in sums.values():
        assert found[1:] in ([], ["4,096"])  # tensorflow-tpu has no XLA for CPUs
