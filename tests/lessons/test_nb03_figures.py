"""Notebook 03's figure: the dtypes in a model."""

from functools import partial

import keras
import pytest
from helpers import figures as checks

from course_utils import precision
from course_utils.lessons.nb03 import figures
from course_utils.training import dtype_policy

with dtype_policy("mixed_float16"):
    MODEL = [keras.Input((4,)), keras.layers.Dense(4), keras.layers.ReLU()]
    MODEL = keras.Sequential([*MODEL, keras.layers.Dense(2, dtype="float32")])
FLOW = precision.dtype_flow(MODEL)
EXAMPLES = {"draw_dtypes": partial(figures.draw_dtypes, FLOW)}


def test_every_figure_has_an_example():
    assert checks.makers(figures) == {*EXAMPLES}


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_is_drawn_and_told_and_reads_on_its_card(name):
    checks.check_picture(EXAMPLES[name]())


def test_what_cannot_be_drawn_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match="no layer that is called"):
        figures.draw_dtypes(FLOW[:0])
