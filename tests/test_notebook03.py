"""Notebook 03's cell on normalization, whose numbers no stored output holds."""

import keras
import numpy as np
import tensorflow as tf

from course_utils.training import dtype_policy
from tools.cells import Cells


def test_normalization_layers_but_one_compute_in_float32_inside():
    """A variance of 250,000 fits into no float16, and all but UnitNormalization get it
    right.
    """
    names = dict(np=np, tf=tf, keras=keras, dtype_policy=dtype_policy)
    *right, unit = Cells("03_policy").printed("norms", names=names)
    for line in (*right, unit):
        kind, _, dtype, _, _, _, error, _, weights = line.split(maxsplit=8)
        assert dtype == "float16," and weights == (
            "['float32']" if line != unit else "[]"
        ), line
        assert (
            float(error.rstrip(",")) < 0.01
            if line != unit
            else float(error.rstrip(",")) > 0.1
        )
    assert [line.split()[0] for line in right] == ["Batch", "Layer", "Group", "RMS"]
