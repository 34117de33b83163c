"""What several canaries share."""

import keras
import pytest
import tensorflow as tf


@pytest.fixture
def on_the_cpu():
    with tf.device("CPU:0"):
        yield


def number(variable):
    """The value of a variable, or a tensor, that holds one number."""
    return float(keras.ops.convert_to_numpy(variable).item())
