"""Exercises of notebook 08: the numbers counted again, and other right answers."""

import numpy as np

from course_utils import exercises
from course_utils.exercises import smaller


def test_another_way_to_scale_is_right():
    q = exercises.load("08")

    def by_steps(low, high):
        low, high = np.minimum(low, 0), np.maximum(high, 0)
        return np.float32((high - low) / 255), np.int64(
            np.rint(-128 - low * 255 / (high - low))
        )

    assert q[1].check(by_steps).status == "correct"


def test_the_judge_of_a_twin_leaves_the_policy_as_it_was():
    import keras

    before = keras.config.dtype_policy().name
    keeps = smaller.FLOAT32.replace("with dtype_policy", "if dtype_policy")
    for code in (smaller.FLOAT32, keeps):
        names = {}
        exec(code, names)
        smaller.float32_problem(names["to_float32"], "mixed_bfloat16")
        assert keras.config.dtype_policy().name == before
