"""Notebook 05's figures: what ran in a step, and what is asked about it."""

from functools import partial
from types import SimpleNamespace

import pytest
from helpers import figures as checks

from course_utils.lessons.nb05 import figures

# The same operations as oneDNN and as TensorFlow itself call them.
MKL = "_MklNativeFusedConv2D _MklNativeConv2DBackpropFilterWithBias _MklMatMul _FusedMatMul"
MKL = {
    **dict(zip(MKL.split(), [5.0, 4.0, 2.0, 1.0], strict=True)),
    "FusedBatchNormV3": 0.5,
}
PLAIN = {"Conv2D": 50.0, "Conv2DBackpropFilter": 40.0, "MatMul": 30.0, "Cast": 0.25}
PLAIN |= {letter: 0.125 for letter in "ABCDE"}
OPS = {
    "float32": checks.rows("op ms", MKL.items()),
    "mixed_float16": checks.rows("op ms", PLAIN.items()),
}
RAN = [("Python", "step", "step 1", 0, 9), ("Python", "input", "waiting", 0, 3)]
RAN += [("thread 1", "products", "_MklMatMul", 4, 8)]
RAN = checks.rows("lane part op start end", RAN)
ASKED = [
    ("Does the step wait for input?", "0%", False),
    ("Are the gaps between operations long?", "82%", True),
]
WALKS = [
    ("launch", ASKED, "In 82% it idles."),
    ("done", [(*a[:2], False) for a in ASKED], "Done."),
]
WALKS = {n: SimpleNamespace(name=n, walk=w, sentence=said) for n, w, said in WALKS}
EXAMPLES = {
    "draw_op_times": partial(figures.draw_op_times, OPS),
    "draw_timeline": partial(figures.draw_timeline, {"a trace": RAN, "another": RAN}),
    "draw_walks": partial(figures.draw_walks, WALKS),
}


def test_every_figure_has_an_example():
    assert checks.makers(figures) == {*EXAMPLES}


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_is_drawn_and_told_and_reads_on_its_card(name):
    checks.check_picture(EXAMPLES[name]())


def test_one_operation_is_one_row_whichever_library_ran_it():
    words = "MatMul: float32 3, mixed_float16 30; FusedBatchNormV3: float32 0.5"
    assert words in EXAMPLES["draw_op_times"]().alt


SHOWN = [
    # A long bar has its operation's name.
    (lambda ax: checks.written(ax.get_yticklabels()), ["Python", "thread 1"] * 2),
    (lambda ax: checks.written(ax.texts)[:3], ["a trace", "waiting", "MatMul"]),
]


@pytest.mark.parametrize(("look", "wanted"), SHOWN)
def test_it_shows_the_values(look, wanted):
    assert look(checks.drawn(EXAMPLES["draw_timeline"]())) == wanted


def test_the_passes_stand_between_python_and_the_threads():
    lanes = ["thread 2", "update", "thread 1", "backward", "Python", "forward"]
    part = {"thread 1": "other", "thread 2": "other", "Python": "step"}
    runs = [
        (lane, part.get(lane, "pass"), "Op", n, n + 1) for n, lane in enumerate(lanes)
    ]
    table = checks.rows("lane part op start end", runs)
    ax = checks.drawn(figures.draw_timeline({"a step": table}))
    assert checks.written(ax.get_yticklabels()) == [
        *("Python", "forward", "backward", "update", "thread 1", "thread 2")
    ]
