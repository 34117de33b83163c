"""What several canaries share."""

import os
import subprocess
import sys

import keras
import pytest
import tensorflow as tf


@pytest.fixture
def on_the_cpu():
    with tf.device("CPU:0"):
        yield


def apart(code, **settings):
    """Code in a process of its own, on the CPU, with environment variables added."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1", **settings},
        capture_output=True,
        text=True,
        timeout=120,
    )


def number(variable):
    """The value of a variable, or a tensor, that holds one number."""
    return float(keras.ops.convert_to_numpy(variable).item())
