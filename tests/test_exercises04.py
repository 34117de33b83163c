"""Exercises of notebook 04: the numbers counted again, and other correct answers."""

import math

from course_utils import exercises, models
from course_utils.exercises import nb04


def test_the_stack_of_layers_pays_from_its_width_on():
    """Counted anew for one layer: what the copies add against what the activations
    save.
    """
    width = 2048
    added = 2 * width**2
    saved = 2 * width
    assert nb04.PAYS(added / saved) is None
    assert "gradients of the activations" in nb04.PAYS(added / (2 * saved))
    assert "copies of 4 bytes" in nb04.PAYS(2 * added / saved)
    assert "all 8 layers and the activations of one" in nb04.PAYS(8 * added / saved)
    assert "all 8." in nb04.PAYS(added / (8 * saved))


def test_the_cnn_pays_at_some_thirty_images_as_notebook_04_says():
    model = models.mnist_cnn()
    made = sum(
        math.prod(x.output.shape[1:]) for x in model.layers if "flat" not in x.name
    )
    assert 25 < model.count_params() / made < 35


def test_any_way_to_draw_the_line_is_right():
    def by_hand(sizes, peaks, batch):
        slope = (peaks[-1] - peaks[0]) / (sizes[-1] - sizes[0])
        return peaks[0] + slope * (batch - sizes[0])

    assert exercises.load("04")[2].check(by_hand).status == "correct"


def test_a_guess_may_be_a_percentage():
    q = exercises.load("04")
    assert "Read as 80 %" in q.predict(80).message and q.guess == 0.8
    assert q.predict(3).status == "not yet" and q.guess == 0.8
    assert "Read" not in q.predict(1.2).message and q.guess == 1.2
