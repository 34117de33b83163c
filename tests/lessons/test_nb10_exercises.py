"""Exercises of notebook 10: other right answers, and the card of guesses."""

import re

import keras
import numpy as np
from helpers.tasks import CELLS

from course_utils import exercises
from course_utils.lessons.nb10 import judge
from tools.notebook_cells import Cells


def test_other_repairs_are_right():
    from keras import ops

    class InCall(keras.layers.Layer):
        """Waves from NumPy, in the dtype of what comes in."""

        def build(self, shape):
            angles = np.arange(shape[1])[:, None] * 1e-4 ** (np.arange(32) / 32)
            self.waves = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)

        def call(self, x):
            return x + ops.cast(self.waves, x.dtype)

    q = exercises.load("10")
    for head in ("float32", keras.DTypePolicy("float32")):
        found = q[1].check({"positions": InCall, "attention": None, "head": head})
        assert found.status == "correct", found


def test_a_decision_says_what_its_interval_allows():
    q = exercises.load("10")
    for difference, margin, right in (
        (0.3, 0.8, "the same"),
        (1.0, 0.4, "the same"),  # surely better, by less than matters
        (1.5, 24.9, "cannot tell"),
        (26.4, 24.9, "better"),
        (-3.1, 0.9, "worse"),
    ):
        numbers = {"difference": difference, "margin": margin}
        plan = {"plan": "mine", "MB": np.float32(16), "times": 3, **numbers}
        for says in judge.SAYS:
            found = q[2].check(plan | {"accuracy": says})
            assert (found.status == "correct") == (says == right)


def test_the_order_has_the_same_limits_in_text_and_cell_and_judge():
    size, times = judge.LIMITS.values()
    text = CELLS["10"]["predict"]
    assert f"**{size} MB**" in text and f"**{judge.POINTS} points**" in text
    assert "**three times as long**" in text and times == 3
    limits = f"{size} MB", f"{times} times as long", f"{judge.POINTS} points"
    cell = Cells("10_capstone").sources["order"]
    assert re.findall('"at most (.*?)"', cell) == [*limits]
    assert re.findall(r"kept\((\w+), (\d+)\)", cell) == [
        ("mb", f"{size}"),
        ("times", f"{times}"),
    ]
