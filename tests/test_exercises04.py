"""Exercises of notebook 04: the numbers counted again, and other correct answers."""

import math
import re

from course_utils import exercises
from course_utils.exercises import nb04
from course_utils.models import mnist_cnn


def test_the_cnn_has_the_numbers_that_the_tasks_name():
    model = mnist_cnn()
    sizes = [math.prod(each.output.shape[1:]) for each in model.layers if "flat" not in each.name]
    assert (model.count_params(), sum(sizes)) == (nb04.WEIGHTS, nb04.OUTPUTS) == (1_011_466, 34_922)
    task = exercises.load("04").exercises[0].task
    named = [int(n.replace(",", "")) for n in re.findall(r"= ([\d,]+) \|", task)]
    assert [*named, 128, 10] == sizes


def test_the_mistakes_follow_from_those_numbers():
    fixed, per_image = 4 * 4 * 1_011_466, 4 * 34_922
    sizes = [(fixed, 2 * nb04.WEIGHTS, batch * per_image) for batch in (128, 1024)]
    twice = [(kept + copy + outputs) / (kept + 2 * outputs) for kept, copy, outputs in sizes]
    assert "gradients of the outputs" in nb04.RATIOS(dict(zip((128, 1024), twice, strict=True)))
    without_copy = [(kept + outputs / 2) / (kept + outputs) for kept, _, outputs in sizes]
    assert [round(r, 2) for r in without_copy] == [0.74, 0.55]
    wrong = [answer for answer, *_ in nb04.BATCH.rules[:5]]
    assert wrong == [round(fixed * share / per_image) for share in (2, 1 / 4, 2 / 4, 3 / 4, 4)]


def test_a_guess_may_be_a_percentage():
    q = exercises.load("04")
    assert "Read as 80 %" in q.predict(80).message and q.guess == 0.8
    assert q.predict(3).status == "not yet" and q.guess == 0.8
    assert "Read" not in q.predict(1.2).message and q.guess == 1.2
