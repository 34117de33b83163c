"""Notebook 05's cells whose values are taught."""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf

from course_utils.hardware.xla import has_xla
from tools.notebook_cells import Cells


def test_the_gradient_of_a_bias_is_added_up_in_bfloat16_but_under_xla():
    with tf.device("CPU:0"):
        lines = Cells("05_profiling").printed("who-adds", names={"tf": tf})
    sums = {line.split()[0]: re.findall(r"\d[\d,]*\d", line[9:]) for line in lines}
    assert sums["float32"][0] == sums["float16"][0] == "4,096"
    assert sums["bfloat16"][0] == "256"
    for found in sums.values():
        assert found[1:] in ([], ["4,096"])  # tensorflow-tpu has no XLA for CPUs


@pytest.mark.skipif(not has_xla(), reason="there is no XLA for this device")
@pytest.mark.skipif(
    len(tf.config.list_physical_devices()) > 1, reason="this is about CPUs"
)
def test_xlas_program_for_a_cpu_computes_bfloat16_and_every_product_in_float32():
    lines = Cells("05_profiling").printed("xla-functions", "xla-hlo", names={"tf": tf})
    assert len(lines) == 6
    for line in lines:
        done = re.findall(r"(multiply|add|dot) in (\w+)", line)
        if "custom-call" in line:
            continue  # of a library
        if "float16" not in line.replace("bfloat16", "") or "product" in line:
            assert done and {dtype for _, dtype in done} == {"f32"}, line
            assert ("convert" in line) == ("float32" not in line), line


class Calls(keras.callbacks.Callback):
    """How often `fit` calls back after a batch."""

    def on_train_begin(self, logs=None):
        self.number = 0

    def on_train_batch_end(self, batch, logs=None):
        self.number += 1


def test_several_steps_a_call_make_the_same_updates_and_call_back_less_often():
    x = np.random.default_rng(0).random((8, 4), dtype="float32")
    y = x.sum(axis=1, keepdims=True)
    weights = {}
    for steps, calls in ((1, 8), (4, 2)):
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse", jit_compile=False, steps_per_execution=steps)
        counted = Calls()
        model.fit(x, y, batch_size=1, shuffle=False, verbose=0, callbacks=[counted])
        assert int(model.optimizer.iterations) == 8 and counted.number == calls
        weights[steps] = model.layers[0].kernel.numpy()
    assert np.allclose(weights[1], weights[4], rtol=1e-5)
