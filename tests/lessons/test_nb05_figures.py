"""Notebook 05's figures: what ran in a step, and what is asked about it."""

from functools import partial

import pytest
from helpers import figures as checks

from course_utils import profiling
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
BARS = {
    "reads": ({"products": 9, "other": 1}, {"input": 9, "products": 3, "other": 1}),
    "slow": ({"products": 9, "other": 1}, {"products": 36, "other": 4}),
}
LIMITED = {name: profiling.explain(*bars) for name, bars in BARS.items()}
EXAMPLES = {
    "draw_op_times": partial(figures.draw_op_times, OPS),
    "draw_timeline": partial(figures.draw_timeline, {"a trace": RAN, "another": RAN}),
    "draw_limits": partial(figures.draw_limits, LIMITED),
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


def test_the_limit_of_each_step_has_a_plate_beside_its_gain():
    ax = checks.drawn(EXAMPLES["draw_limits"]())
    plates = [
        text.get_text()
        for text in ax.texts
        if text.get_bbox_patch().get_edgecolor()[:3] == (0.2, 0.2, 0.2)
    ]
    assert plates == ["69%", "90%\n0.25× as fast"]
    rows = [name.split(":")[0] for name in checks.written(ax.get_yticklabels())]
    assert rows == [*LIMITED["slow"].shares]
