"""Exercises of notebook 10: other right answers, and the card of guesses."""

import keras
import numpy as np

from course_utils import exercises
from course_utils.exercises import capstone


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


def test_other_scales_and_verdicts_are_right():
    q = exercises.load("10")

    def smaller(gradients):  # any scale that loses little will do
        largest = np.concatenate([np.ravel(g) for g in gradients]).__abs__().max()
        return np.float32(2.0 ** (int(np.log2(8000 / largest) // 1) - 2))

    def by_hand(a, b, t):
        differences = [one - other for one, other in zip(a, b, strict=True)]
        mean = sum(differences) / len(a)
        spread = sum((d - mean) ** 2 for d in differences) / (len(a) - 1)
        error = (spread / len(a)) ** 0.5
        return "cannot tell" if abs(mean) <= t * error else "ba"[mean > 0]

    assert q[2].check(smaller).status == q[4].check(by_hand).status == "correct"


def test_made_gradients_need_another_scale_each():
    names = {}
    exec(capstone.CHOOSE, names)
    chosen = [names["choose"](capstone.made_gradients(size)) for size in capstone.SIZES]
    assert len(set(chosen)) == len(capstone.SIZES) and min(chosen) <= 1 < 2**15 < max(
        chosen
    )
