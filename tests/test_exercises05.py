"""Notebook 05's exercises: every number found a second way, other right and wrong measurements."""

import math
import statistics

import numpy as np
import pytest

from course_utils import exercises, roofline
from course_utils.exercises import limits, measurement
from course_utils.exercises.functions import edited
from course_utils.exercises.measurement import Device

_, ROOFLINE, LIMITS, MEASURE = exercises.load("05").exercises


def test_the_roofline_gives_the_speedup():
    t4 = roofline.devices()["T4"]
    assert (t4.tflops["float32"], t4.tflops["float16"], t4.gb_per_s) == (8.1, 65, 320)
    assert ROOFLINE.answer.right == pytest.approx(roofline.ideal_speedup(t4, 50, "float16"))


@pytest.mark.parametrize("step", limits.STEPS)
def test_the_task_and_the_last_word_name_the_same_numbers(step):
    waiting, products, others, nothing = limits.STEPS[step]
    assert f"| {step} | {waiting:g} | {products} | {others} | {nothing} |" in LIMITS.task
    assert f"{limits.speedup(step):.1f}" in LIMITS.right


def test_the_extremes_are_those_of_all_four():
    speedups = sorted(map(limits.speedup, limits.STEPS))
    ends = [limits.RIGHT[f"{which} speedup"] for which in ("smallest", "largest")]
    assert ends == [speedups[0], speedups[-1]]


# --- measure it honestly ------------------------------------------------------------------------


def solution(edits=()):
    return edited(MEASURE.solution, "call_ms", edits)


@pytest.mark.parametrize("trial, typical", [(0, 20), (1, 300)])
def test_the_solution_measures_the_typical_call(trial, typical):
    kind, seconds = measurement.TRIALS[trial]
    device = Device(*kind)
    result = solution()(device.f, seconds, device.clock)
    assert result == pytest.approx(typical, rel=0.02)
    mean = 1000 * statistics.mean(device.took[1:])
    assert (mean > 1.5 * result) == (trial == 0)  # the slow calls, in the first trial
    assert device.waited == len(device.took) >= 4


def chained(f, seconds, clock):
    """One reading serves as the end of a call and the start of the next."""
    np.asarray(f())
    marks = [clock()]
    while marks[-1] - marks[0] < seconds:
        f().block_until_ready()
        marks.append(clock())
    return np.float32(1000 * np.median(np.diff(marks)))


def swallows(f, seconds, clock):
    while True:
        try:
            f()
        except Exception:
            return 20.0


EARLY = {"start = [], clock()": "start = [], 0", "not times or ": ""}


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
@pytest.mark.parametrize("function, text", [
    (chained, None),
    (solution({"statistics.median": "statistics.median_low", "not times": "len(times) < 3"}), None),
    (solution({**EARLY, "statistics.median": "__import__('numpy').median"}), "measures no call"),
    (solution({measurement.LIMIT: "for _ in range(50)"}), "goes on for 15"),
    (solution({"1000 * statistics.median": "2000 * min"}), "the median of the calls after the"),
    (lambda f, seconds, clock: (f().numpy(), clock(), math.nan)[-1], "measures no call"),
    (swallows, "goes on and on"),
])  # fmt: skip
def test_other_measurements_right_and_wrong(function, text):
    said = MEASURE.answer(function)
    assert said is None if text is None else text in said
