"""Exercises of notebook 08: the numbers counted again, and other right answers."""

import numpy as np

from course_utils import exercises
from course_utils.exercises.functions import edited
from course_utils.lessons.nb08 import judge


def test_another_way_to_scale_is_right():
    q = exercises.load("08")

    def by_steps(low, high):
        low, high = np.minimum(low, 0), np.maximum(high, 0)
        return np.float32((high - low) / 255), np.int64(
            np.rint(-128 - low * 255 / (high - low))
        )

    assert q[2].check(by_steps).status == "correct"


def test_the_judge_of_a_twin_leaves_the_policy_as_it_was():
    import keras

    before = keras.config.dtype_policy().name
    for edits in ({}, {"with dtype_policy": "if dtype_policy"}):
        function = edited(judge.FLOAT32, "to_float32", edits)
        judge.float32_problem(function, "mixed_bfloat16")
        assert keras.config.dtype_policy().name == before


def test_later_cells_use_the_right_function_of_a_learner_and_no_wrong_one():
    question = exercises.load("08")[1]
    mine = edited(judge.PRUNE, "prune")
    assert question.yours_or_ours(mine) is mine
    ours = question.yours_or_ours(lambda weights, share: None)
    assert np.array_equal(ours(np.array([3.0, -1.0, 2.0, -4.0]), 0.5), [3, 0, 0, -4])
