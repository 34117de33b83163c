"""Notebook 03's picture of a dtype flow, against Keras's own names and TensorFlow's
graph.
"""

import math

import keras
import numpy as np
import pytest
import tensorflow as tf
from helpers.flow_models import Branches, transformer
from keras import layers
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle
from mixed_precision_lint.calls import symbols

from course_utils import models
from course_utils.figures.looks import COLORS
from course_utils.lessons.nb03 import figures, reader
from course_utils.precision import dtype_flow
from course_utils.training import dtype_policy

POLICIES = ("float32", "mixed_float16")


def test_a_cast_at_the_door_of_a_subclassed_model_is_hollow():
    with dtype_policy("mixed_float16"):
        flow = dtype_flow(Branches())
    ax = figures.draw_dtypes(flow).figure.axes[0]
    (hollow,) = (x for x in ax.lines if x.get_markerfacecolor() == "none")
    assert hollow.get_xdata()[0] == 0
    # 2 rows of 5 numbers, each read in 4 bytes and written in 2
    assert [text.get_text() for text in ax.texts].count("60 B") == 1


@pytest.mark.parametrize("policy", POLICIES)
def test_a_policy_repaints_the_pipes_and_never_the_weights(policy):
    low = policy.removeprefix("mixed_")
    wide = COLORS["float32"]
    with dtype_policy(policy):
        flow = dtype_flow(models.mnist_cnn())
    ax = figures.draw_dtypes(flow).figure.axes[0]
    pipes, weights = [], []
    for box in (patch for patch in ax.patches if isinstance(patch, Rectangle)):
        which = weights if box.get_linewidth() else pipes
        which.append(to_hex(box.get_facecolor()).upper())
    assert weights == 4 * [wide] and set(pipes) == {wide, COLORS[low]}
    # Each of the six layers has two pieces, and one more to cast into.
    assert pipes[-1] == wide and pipes.count(COLORS[low]) >= 12
    diamonds = [line for line in ax.lines if line.get_marker() == "D"]
    # two of inputs, three of kernels and biases
    assert len(diamonds) == (0 if policy == "float32" else 5)


def casts_of_the_graph(model, x):
    """Bytes that all casts from float to float in TensorFlow's graph read and write."""
    graph = tf.function(lambda x: model(x)).get_concrete_function(x).graph
    casts = [op for op in graph.get_operations() if op.type == "Cast"]
    return sum(
        math.prod(op.inputs[0].shape)
        * (op.inputs[0].dtype.size + op.outputs[0].dtype.size)
        for op in casts
        if op.inputs[0].dtype.is_floating and op.outputs[0].dtype.is_floating
    )


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "kind",
    [models.mnist_cnn, reader, transformer, Branches],
)
def test_the_bytes_of_all_casts_are_those_of_tensorflows_graph(kind, policy):
    with dtype_policy(policy):
        model = kind()
    flow = dtype_flow(model, batch_size=8)
    symbol = symbols(model, 8)
    wanted = casts_of_the_graph(model, tf.zeros(symbol.shape, symbol.dtype))
    assert figures.total_cast_bytes(flow) == wanted
    assert bool(wanted) == (policy != "float32")
    assert bool(flow.attrs["borders"]) == (kind is Branches and wanted > 0)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_leak_is_ringed_and_named_in_the_title(policy):
    with dtype_policy(policy):
        add = layers.Lambda(lambda x: keras.ops.add(x, np.float32(1)), name="leak")
        model = keras.Sequential([keras.Input((4,)), add, layers.Dense(2)])
    picture = figures.draw_dtypes(dtype_flow(model))
    rings = [line.get_marker() for line in picture.figure.axes[0].lines].count("o")
    named = picture.alt.count("leak: its policy says 16 bits, and it hands on float32")
    assert rings == named == (policy != "float32")
