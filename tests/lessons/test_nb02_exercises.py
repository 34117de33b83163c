"""Notebook 02's exercises: every answer computed again, another way than the judges do."""

import numpy as np
import tensorflow as tf

from course_utils import exercises
from course_utils.exercises.functions import edited
from course_utils.gradients import OctaveHistogram
from course_utils.lessons.nb02 import array_judge, numpy_autoencoder, scaler_judge
from course_utils.lessons.nb02.models import autoencoder


def verdict(number, answer):
    return exercises.load("02")[number].check(answer)


def test_the_scales_that_are_accepted_for_the_array_and_what_is_said_of_the_others():
    histogram = OctaveHistogram.from_values(array_judge.layer_gradients())
    errors = {s: histogram.relative_error("float16", s) for s in range(-30, 64)}
    right = []
    for s in range(-30, 60):
        fits = errors[s] < 0.001 and errors[s + 3] < np.inf  # eight times as large
        said = verdict(2, {"s": s, "overflow": 37})
        assert (said.status == "correct") == fits
        if fits:
            right.append(s)
        else:
            assert ("infinity" in said.message) == np.isinf(errors[s])
            assert ("eight times" in said.message) == (errors[s] < 0.001)
    assert right == list(range(12, 34))  # as the text of a right answer says
    assert next(s for s in errors if np.isinf(errors[s])) == 37


def test_the_network_is_that_of_the_notebook_in_each_dtype():
    images = numpy_autoencoder.pictures()[:16]  # those of step 178
    weights = numpy_autoencoder.first_weights()
    for dtype, policy in (("float32", "float32"), ("float16", "mixed_float16")):
        model = autoencoder(policy)
        assert np.array_equal(numpy_autoencoder.flat(model.get_weights()), weights)
        with tf.GradientTape() as tape:
            lost = tf.reduce_mean((model(images) - images) ** 2)
            loss = lost * 2.0**8
        exact = numpy_autoencoder.flat(tape.gradient(loss, model.trainable_variables))
        ours = numpy_autoencoder.flat(
            numpy_autoencoder.backward(weights, 178, 2.0**8, dtype)
        )
        assert np.linalg.norm(ours - exact) < 1e-3 * np.linalg.norm(exact)


def test_a_right_scaler_survives_and_learns_and_keras_rule_does_not():
    runs = scaler_judge.runs(edited(scaler_judge.CODE, "after_backward"))
    ends = {name: missing[-1] for name, missing in runs.items()}
    assert ends["float32"] < 0.2 and ends["yours"] < 0.3 and ends["Keras's rule"] > 1
    assert list(scaler_judge.runs(lambda *state: None)) == ["float32", "Keras's rule"]


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
