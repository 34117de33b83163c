"""Notebook 01's sentences about conditions that its own cells do not run."""

import ml_dtypes
import numpy as np
import tensorflow as tf

from tools.notebook_cells import Cells

NOTEBOOK = Cells("01_floats")
DTYPES = {"float32": np.float32, "bfloat16": ml_dtypes.bfloat16, "float16": np.float16}


def test_a_weight_of_float16_moves_by_steps_of_a_thousandth_and_of_bfloat16_does_not():
    moved = {}
    for rate in ("1e-4", "1e-3"):
        names = {"dtypes": DTYPES}
        lines = NOTEBOOK.printed("sgd", names=names, replaced=[("1e-4", rate)])
        moved[rate] = [line.split()[0] for line in lines if float(line.split()[1]) < 1]
    assert moved == {"1e-4": ["float32"], "1e-3": ["float32", "float16"]}


def test_one_number_in_16384_is_rounded_twice_where_the_result_is_normal():
    rng = np.random.default_rng(1)
    wrong = []
    for low, high in ((1, 2), (100, 1000), (1e-7, 1e-5)):  # the last are subnormal
        numbers = rng.uniform(low, high, 1_000_000)
        cast = tf.cast(tf.constant(numbers), tf.float16).numpy()
        wrong.append((cast != numbers.astype(np.float16)).sum())
    # six standard deviations to both sides
    assert all(abs(count - 1e6 / 2**14) < 47 for count in wrong[:2])
    assert 0 < wrong[2] < 20
