"""What is told of a small `fit` on several devices: its reason, and how much is lost."""

import keras
import numpy as np

from course_utils.lessons.nb07 import fit_attempts

REPLICAS = """Attempt to convert a value (PerReplica:{
  0: <tf.Tensor: shape=(32, 784), dtype=float32, numpy=array([[0.6, 0.2]])>,
  1: <tf.Tensor: shape=(32, 784), dtype=float32, numpy=array([[0.1, 0.9]])>
}) with an unsupported type (<class 'values.PerReplica'>) to a Tensor."""


def test_a_long_reason_keeps_its_end():
    told = fit_attempts.reason(REPLICAS)
    assert told.startswith("Attempt to convert a value (PerReplica:")
    assert told.endswith(
        "with an unsupported type (<class 'values.PerReplica'>) to a Tensor."
    )
    assert "\n" not in told and len(told) <= 110


def test_the_line_that_says_why_is_told_of_several():
    text = "Graph execution error:\n{{node a}} You must feed a value for placeholder x"
    assert fit_attempts.reason(text) == "You must feed a value for placeholder x"


def test_a_share_is_one_of_weights_and_not_of_arrays(monkeypatch):
    """Kernels that are NaN beside finite biases: half of the arrays, 0.1 % of the
    weights.
    """
    shapes = (784, 64), (64,), (64, 10), (10,)
    weights = [np.full(s, np.nan if len(s) == 2 else 0.0) for s in shapes]
    monkeypatch.setattr(keras.Model, "get_weights", lambda model: weights)
    told = fit_attempts.attempt(bright=0)
    assert told == "0.145% of the weights finite"
