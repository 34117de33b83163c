"""The loss scale in plain Python against Keras's LossScaleOptimizer, step by step."""

import fractions
import math

import keras
import numpy as np
import pytest
import tensorflow as tf

from course_utils.loss_scale import LARGEST, SMALLEST_NORMAL, DynamicLossScale

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


STARTS = [2**-149, 1e-40, 1 / 3, 16_777_217, 65_537.3, LARGEST, 2**30]
SHORT = [(start, 9, [True]) for start in STARTS] + [
    # The first one, halved and rounded to float32, would be the smallest normal number.
    (BELOW_TWO * SMALLEST_NORMAL, 5, [False, True]),
    (1.5 * SMALLEST_NORMAL, 5, [False, True]),
    (2**15, 1, [True] * 115 + [False] * 5 + [True]),
    (2**15, 1, [False] * 143 + [True] * 3),
]


@pytest.mark.parametrize("start, growth, finite", SHORT)
def test_it_starts_and_ends_where_keras_does(start, growth, finite):
    assert own_scales(start, growth, finite)[0] == keras_scales(start, growth, finite)[0].tolist()


def test_both_ends_are_final():
    up, down = (own_scales(*each)[0] for each in SHORT[-2:])
    assert up[111:] == [2.0**127] + [math.inf] * 9
    assert down[140:] == [SMALLEST_NORMAL] + [0] * 5
    for sunk in SHORT[-4:-2]:
        assert own_scales(*sunk)[0] == [0, 0]


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


NO_SCALES = [0, -1, -0.0, math.inf, math.nan, 1e39, 10**400, "2", None, True, [2.0], 1j]
NO_STEPS = [0, -1, 2.0, 1.5, "3", None, True, np.ones(1)]


@pytest.mark.parametrize(
    "name, values, told",
    [
        ("initial_scale", [*NO_SCALES, np.ones(2)], "a positive number"),
        ("growth_steps", NO_STEPS, "a whole number"),
    ],
)
def test_what_is_refused(name, values, told):
    for value in values:
        with pytest.raises(ValueError, match=rf"^{name} is (.|\n)*: give {told} .*\.$"):
            DynamicLossScale(**{name: value})
