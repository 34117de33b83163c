"""Notebook 02's exercises: every answer computed again, another way than the judges do."""

import itertools
import math
import re

import numpy as np
import pytest

from course_utils import exercises
from course_utils.exercises import scaler, scales
from course_utils.exercises.functions import edited
from course_utils.loss_scale import DynamicLossScale


def verdict(number, answer):
    return exercises.load("02")[number].check(answer)


def float16(values):
    with np.errstate(over="ignore"):
        return np.asarray(values, np.float64).astype(np.float16)


def test_the_scales_that_fit_and_what_is_said_of_the_others():
    fitting = []
    for s in range(-60, 61):
        small, large = float16(2.0 ** (np.array([-31, -9]) + s))
        if small >= np.finfo(np.float16).smallest_normal and np.isfinite(large):
            fitting.append(s)
        said = verdict(1, {"smallest": s, "largest": 24}).message
        if s != 17:
            assert said.startswith(f"smallest: s = {s} ")
            assert ("rounds to zero" in said or "goes to 0" in said) == (small == 0 and s >= 0)
            assert ("smaller s" in said) == (s > 17) and ("the range" in said) == np.isinf(large)
        if bits := re.search(r"has (\d+) bits", said):
            below = np.nextafter(small, np.float16(np.inf)) - small  # one step
            assert 2 ** (int(bits[1]) - 1) == small / below
        said = verdict(1, {"smallest": 17, "largest": s}).message
        if s != 24:
            assert said.startswith(f"smallest is right. largest: s = {s} ")
            assert ("65,504" in said or "brings" in said) == np.isinf(large)
            assert ("a larger s" in said) == (17 <= s < 24)
            assert ("not normal yet" in said) == (0 <= s < 17)
    assert scales.BRACKET.right == {"smallest": fitting[0], "largest": fitting[-1]}
    assert len(fitting) == 8  # as `right` says


@pytest.mark.parametrize("low, high, said", [
    (64, 512, "You gave scales."), (1000, 1001, "You gave scales."),
    (64, 1000, "You gave a scale."), (32, 64, "s = 32 turns the"), (17, 64, "s = 64 turns 2**-9"),
])  # fmt: skip
def test_scales_in_place_of_exponents(low, high, said):
    assert said in verdict(1, {"smallest": low, "largest": high}).message


def overflows(last, growth_steps=2000, start=15):
    """The steps that overflow, by counting all of them."""
    s = DynamicLossScale(2.0**start, growth_steps)
    return [n for n in range(1, last + 1) if not s.update(np.isfinite(float16(0.031 * s.scale)))]


def test_the_first_overflow():
    found = overflows(20_000)
    assert found == [scales.FIRST_OVERFLOW.right, 16002, 18003]  # one in 2,001 from then on
    assert overflows(14_010, growth_steps=2001) == [14008] and overflows(44_001, start=0) == [44001]
    for step, exponent in [(1, 15), (2000, 15), (2001, 16), (4001, 17), (12_002, 21), (13_999, 21)]:
        said = verdict(4, step).message
        assert f"At step {step:,} the scale is 2**{exponent}, and" in said


def test_each_mistake_of_a_scaler_is_told_where_it_first_shows():
    right = {run: scaler.keras_run(*run) for run in scaler.TRIALS}
    reached = [scale for steps in right.values() for scale, _ in steps]
    assert min(reached) < 1 / 1000 and max(reached) > 2**40  # below 1, and beyond float16
    assert len(reached) == 265 and len(scaler.TRIALS) == 5  # as the task says
    seen = set()
    for update, _ in scaler.WRONG:
        said = scaler.judge(update)
        growth, step = map(int, re.search(r"`growth_steps` = (\d+), step (\d+) \(", said).groups())
        run = next(run for run in scaler.TRIALS if run[1] == growth)
        wanted, given = right[run][:step], scaler.trace(update, run)[0][:step]
        assert wanted[:-1] == given[:-1] and wanted[-1] != given[-1]
        assert ("(not finite)" in said) == (run[2][step - 1] == "F")
        for after in (wanted[-1][0], given[-1][0]) if wanted[-1][0] != given[-1][0] else ():
            assert f" {scaler.power(after)}" in said
        seen.add(str([scaler.trace(update, run) for run in scaler.TRIALS]))
    assert len(seen) == len(scaler.WRONG)  # no two look alike


def other_bookkeeping(scale, count, finite, growth_steps):
    """Right: the count is a list, the scale a float32."""
    history = [] if count == 0 else count
    if not finite:
        return np.float32(scale) / np.float32(2), [], np.False_
    history = [*history, scale]
    if len(history) >= growth_steps:
        return np.float32(scale) * 2, [], np.True_
    return [scale, history, True]


def test_other_right_scalers():
    halves = edited(scaler.CODE, "update", {"/ 2": "* 0.5", "==": ">="})
    assert [verdict(2, f).status for f in (other_bookkeeping, halves)] == ["correct"] * 2


def played(order, limit, S=1024.0):
    """The weight after a step of these lines, or None where one needs what is not there yet."""
    lines = {
        "forward": "loss = 2.0",
        "scale": "scaled = S * loss",
        "backward": "g = 0.5 * scaled / loss",
        "unscale": "g = g / S",
        "clip": "g = g * min(1, limit / abs(g))",
        "update": "w = w - 0.1 * g",
    }
    names = {"w": 1.0, "S": S, "limit": limit}
    try:
        exec("\n".join(map(lines.get, order)), names)
    except NameError:
        return None
    return names["w"]


def test_one_order_of_a_step_is_right():
    for order in itertools.permutations(scales.STEP):
        ends = [played(order, limit) for limit in (0.2, 0.8)]
        right = ends == pytest.approx([0.98, 0.95]) if None not in ends else False
        assert right == (scales.ORDER(list(order)) is None)


def test_the_scales_that_are_accepted_for_the_array():
    g, right = scales.layer_gradients().astype(np.float64), []
    for s in range(-30, 60):
        cast = float16(g * 2.0**s)
        lost = math.fsum(g[cast == 0] ** 2) / math.fsum(g**2)
        said = scales.check_scale(s)
        assert (said is None) == (not np.isinf(cast).any() and lost < 0.001)
        assert said is None or ("overflow" in said) == np.isinf(cast).any()
        right += [s] * (said is None)
    assert right == list(range(6, 37)) and "s = 6 to 36" in exercises.load("02")[5].exercise.right
