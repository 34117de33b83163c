"""The loss scale in plain Python against Keras's LossScaleOptimizer, step by step."""

import fractions
import math
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from course_utils.loss_scale import LARGEST, SMALLEST_NORMAL, DynamicLossScale

ROOT = Path(__file__).resolve().parent.parent
STEPS = 10_000
BELOW_TWO = 2 - 2.0**-23  # the largest float32 significand: its half is no float32 below 2**-126


def keras_scales(initial_scale, growth_steps, finite):
    """What Keras makes of a sequence: dynamic_scale after each step, and whether it moved."""
    variable = keras.Variable([1.0])
    optimizer = keras.optimizers.LossScaleOptimizer(
        keras.optimizers.SGD(0.0),
        initial_scale=initial_scale,
        dynamic_growth_steps=growth_steps,
    )
    optimizer.build([variable])

    @tf.function
    def run(finite):
        def step(before, is_finite):
            with tf.control_dependencies(before):
                optimizer.apply([tf.where(is_finite, [1.0], [np.inf])], [variable])
            return optimizer.dynamic_scale.value + 0, tf.cast(optimizer.iterations.value, tf.int32)

        return tf.scan(step, finite, (0.0, 0), parallel_iterations=1)

    with tf.device("CPU:0"):
        scales, iterations = run(tf.constant(finite))
    return scales.numpy(), np.diff(iterations.numpy(), prepend=0) == 1


def own_scales(initial_scale, growth_steps, finite):
    loss_scale = DynamicLossScale(initial_scale, growth_steps)
    applied, scales = [], []
    for is_finite in finite:
        applied.append(loss_scale.update(is_finite))
        scales.append(loss_scale.scale)
    return scales, applied


def sequences():
    """Shares of finite steps that vary, so that scales sink to 0, hover, and climb to inf."""
    rng = np.random.default_rng(2017)
    for growth_steps, share in ((1, 0.5), (1, 0.49), (2, 0.62), (3, 0.68), (20, 0.97)):
        yield 2.0**15, growth_steps, rng.random(STEPS) < share
    yield 2.0**15, 2000, rng.random(STEPS) < 0.9999
    yield 1.0, 1, rng.random(STEPS) < 0.2  # down to 0
    yield 1 / 3, 2, rng.random(STEPS) < 0.1
    yield 1.0, 1, rng.random(STEPS) < 0.8  # up to inf
    yield 1e9 + 7, 4, rng.random(STEPS) < 0.999
    for start in (SMALLEST_NORMAL, SMALLEST_NORMAL * 8, BELOW_TWO * 2.0**-120, BELOW_TWO * 2.0**90):
        yield start, 1, rng.random(STEPS) < 0.5
        yield start, 3, np.sin(np.arange(STEPS) / 100) + rng.normal(size=STEPS) > 0


@pytest.mark.parametrize(
    ("initial_scale", "growth_steps", "finite"),
    list(sequences()),
    ids=lambda value: "" if isinstance(value, np.ndarray) else f"{value:g}",
)
def test_it_is_keras_step_by_step(initial_scale, growth_steps, finite):
    expected, moved = keras_scales(initial_scale, growth_steps, finite)
    scales, applied = own_scales(initial_scale, growth_steps, finite)
    assert applied == moved.tolist() == finite.tolist()
    assert np.array_equal(np.array(scales, np.float32), expected)
    assert scales == expected.tolist()  # nothing that float32 would round


def test_the_sequences_reach_both_ends_and_the_numbers_below_one():
    reached = [set(own_scales(*sequence)[0]) for sequence in sequences()]
    assert sum(0.0 in scales for scales in reached) >= 3
    assert sum(math.inf in scales for scales in reached) >= 3
    assert sum(any(0 < scale < 1 for scale in scales) for scales in reached) >= 5
    assert any({SMALLEST_NORMAL} <= scales for scales in reached)


@pytest.mark.parametrize("start", [BELOW_TWO * SMALLEST_NORMAL, 1.5 * SMALLEST_NORMAL])
def test_what_sinks_below_the_normal_numbers_is_zero(start):
    """The first one, halved and rounded to float32, would be the smallest normal number."""
    assert keras_scales(start, 5, [False, True])[0].tolist() == [0, 0]
    assert own_scales(start, 5, [False, True])[0] == [0, 0]


@pytest.mark.parametrize("start", [2**-149, 1e-40, 1 / 3, 16_777_217, 65_537.3, LARGEST, 2**30])
def test_it_starts_where_keras_starts(start):
    assert own_scales(start, 9, [True])[0] == keras_scales(start, 9, [True])[0].tolist()


def test_both_ends_are_final():
    sequence = [True] * 115 + [False] * 5 + [True]
    assert own_scales(2**15, 1, sequence)[0] == keras_scales(2**15, 1, sequence)[0].tolist()
    assert own_scales(2**15, 1, sequence)[0][111:] == [2.0**127] + [math.inf] * 9
    sequence = [False] * 143 + [True] * 3
    assert own_scales(2**15, 1, sequence)[0][140:] == [SMALLEST_NORMAL] + [0] * 5


def test_the_defaults_are_those_of_keras():
    own, theirs = DynamicLossScale(), keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD())
    assert own.scale == theirs.initial_scale and own.growth_steps == theirs.dynamic_growth_steps


def test_good_steps_count_up_to_the_growth_and_start_anew_after_a_bad_one():
    loss_scale = DynamicLossScale(8, growth_steps=3)
    counts = []
    for finite in (True, True, False, True, True, True, True):
        loss_scale.update(finite)
        counts.append(loss_scale.good_steps)
    assert counts == [1, 2, 0, 1, 2, 0, 1] and loss_scale.scale == 8


def test_numbers_of_other_libraries_are_fine():
    loss_scale = DynamicLossScale(np.float32(4), np.int64(1))
    assert loss_scale.update(np.bool_(True)) is True and loss_scale.scale == 8
    assert loss_scale.update(tf.constant(False)) is False and type(loss_scale.scale) is float
    assert DynamicLossScale(fractions.Fraction(1, 2)).scale == 0.5


@pytest.mark.parametrize(
    "initial_scale",
    [0, -1, -0.0, math.inf, math.nan, 1e39, 10**400, "2", None, True, [2.0], np.ones(2), 1j],
)
def test_an_initial_scale_has_to_be_a_positive_number(initial_scale):
    with pytest.raises(ValueError, match=r"^initial_scale is .*: give a positive number .*\.$"):
        DynamicLossScale(initial_scale)


@pytest.mark.parametrize("growth_steps", [0, -1, 2.0, 1.5, "3", None, True, np.ones(1)])
def test_growth_steps_have_to_be_a_whole_number(growth_steps):
    with pytest.raises(ValueError, match=r"^growth_steps is .*: give a whole number .*\.$"):
        DynamicLossScale(growth_steps=growth_steps)


def test_importing_it_loads_no_framework():
    code = (
        "import sys; from course_utils import loss_scale;"
        "print([m for m in ('tensorflow', 'keras', 'matplotlib', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
