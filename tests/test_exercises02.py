"""Notebook 02's exercises: every answer computed again, another way than the judges do."""

import numpy as np
from helpers.loss_scale import DynamicLossScale

from course_utils import exercises
from course_utils.exercises import scaler, scales
from course_utils.gradients import OctaveHistogram


def verdict(number, answer):
    return exercises.load("02")[number].check(answer)


def test_the_scales_that_are_accepted_for_the_array_and_what_is_said_of_the_others():
    histogram = OctaveHistogram.from_values(scales.layer_gradients())
    right = []
    errors = {s: histogram.relative_error("float16", s) for s in range(-30, 64)}
    for s in range(-30, 60):
        fits = errors[s] < 0.001 and errors[s + 3] < np.inf  # eight times as large
        said = verdict(2, {"s": s, "overflow": 37})
        assert (said.status == "correct") == fits
        if not fits:
            assert ("infinity" in said.message) == np.isinf(errors[s])
            assert ("eight times" in said.message) == (errors[s] < 0.001)
            assert ("divides" in said.message) == (s < 0)
        right += [s] * fits
    assert (
        right == list(range(12, 34))
        and "s = 12 to 33" in exercises.load("02")[2].exercise.right
    )
    assert (
        next(s for s in errors if np.isinf(errors[s]))
        == 37
        == scales.CHOSEN.right["overflow"]
    )


class Keras:
    """The course's own copy of Keras's rule, as a scaler; Keras's own is compared
    elsewhere.
    """

    def __init__(self):
        self.rule = DynamicLossScale(scaler.START, scaler.GROWTH)

    def __call__(self, gradients, scale, good):
        assert scale == self.rule.scale
        applied = self.rule.update(all(np.isfinite(g).all() for g in gradients))
        return (
            [g / scale for g in gradients] if applied else None,
            self.rule.scale,
            None,
        )


def test_a_right_scaler_survives_and_learns_and_keras_rule_does_not():
    right = scaler.train(scaler.RIGHT)[0]
    keras_rule = scaler.train(Keras())[0]
    assert right.fault is None and right.broken is None
    broken = scaler.BROKEN + sum(
        n % 50 == 27 for n in range(scaler.BROKEN, scaler.STEPS)
    )
    # overflows of its own too
    assert scaler.in_float32().skipped == broken <= right.skipped
    assert scaler.in_float32().missing[-1] < 0.2 and right.missing[-1] < 0.3
    assert keras_rule.fault is None and keras_rule.missing[-1] > 1
    assert keras_rule.lowest == 2.0**-85 and right.lowest == 1
    runs = scaler.runs(scaler.RIGHT)
    assert runs["Keras's rule"] == keras_rule.missing and len(runs) == 3
    assert list(scaler.runs(lambda *state: None)) == ["float32", "Keras's rule"]


def other_bookkeeping(gradients, scale, good):
    """Right: the counter is a list, the scale a float32, the gradients come in a tuple."""
    if not np.isfinite(sum(np.sum(np.abs(g)) for g in gradients)):
        return [None, np.float32(max(scale / 2, 1)), []]
    good = [*(good or []), scale]
    full = len(good) == 10
    return (
        tuple(g * (1 / scale) for g in gradients),
        scale * (1 + full),
        [] if full else good,
    )


def test_another_right_scaler():
    assert verdict(1, other_bookkeeping).status == "correct"


def length(order, optimizer="SGD", S=1024.0, limit=1.0, true=0.5, rate=0.1):
    """How far a step moves, played line by line."""
    g = S * true
    for line in order:
        g = min(g, limit) if line == "clip" else g / S
    return rate * g / (abs(g) if optimizer == "Adam" else 1)


def test_the_three_wrong_steps_are_as_wrong_as_they_are_played():
    right = length(["unscale", "clip"])
    answer = {
        "clipped": length(["clip", "unscale"]) / right,
        "kept": length([]) / right,
        "adam": length([], "Adam") / length(["unscale"], "Adam"),
    }
    assert answer == {"clipped": 1 / 512, "kept": 1024, "adam": 1}
    assert verdict(3, answer).status == "correct"
