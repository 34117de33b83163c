"""Figures show the values they are given, say them in words, and read on light and
dark.
"""

import base64
import importlib
import inspect
import io
import pkgutil
import re
from functools import cache, partial
from itertools import combinations, pairwise
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import keras
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from matplotlib.text import Text
from PIL import Image
from test_elimination import invented

from course_utils import (
    benchmark,
    clinic,
    figures,
    formats,
    precision,
    profiling,
)
from course_utils.benchmark import records
from course_utils.figures import (
    base,
    boards,
    looks,
    numbers,
    traces,
)
from course_utils.figures.words import described
from course_utils.gradients import OctaveHistogram, splits
from course_utils.profiling.peaks import PEAKS
from course_utils.training import dtype_policy


def rows(names, found, index=None):
    return pd.DataFrame(found, index, names.split())


POLICIES = ["float32", "mixed_bfloat16", "mixed_float16"]
GRADIENTS = OctaveHistogram.from_values(2.0 ** np.arange(-30, 0))
TRACE = [
    (1, 8.0, False, 5.0),
    (2, 4.0, True, 5.0),
    (3, 4.0, True, 6.0),
    (4, 4.0, True, 6.0),
]
TRACE = rows("step scale applied ceiling", TRACE)
DTYPES = ("float32", "bfloat16", "float16")
# The same operations as oneDNN and as TensorFlow itself call them.
MKL = "_MklNativeFusedConv2D _MklNativeConv2DBackpropFilterWithBias _MklMatMul _FusedMatMul"
MKL = {
    **dict(zip(MKL.split(), [5.0, 4.0, 2.0, 1.0], strict=True)),
    "FusedBatchNormV3": 0.5,
}
PLAIN = {"Conv2D": 50.0, "Conv2DBackpropFilter": 40.0, "MatMul": 30.0, "Cast": 0.25}
PLAIN |= {letter: 0.125 for letter in "ABCDE"}
OPS = {
    "float32": rows("op ms", MKL.items()),
    "mixed_float16": rows("op ms", PLAIN.items()),
}
STEPS = {"predicted": {"launch": 2, "products": 9, "exchange": None}}
STEPS |= {
    "measured": {"input": 4, "products": 8, "other": 2},
    "timed": {"step": 20, "launch": 3},
}
RAN = [("Python", "step", "step 1", 0, 9), ("Python", "input", "waiting", 0, 3)]
RAN += [("thread 1", "products", "_MklMatMul", 4, 8)]
RAN = rows("lane part op start end", RAN)
ASKED = [
    ("Does the step wait for input?", "0%", False),
    ("Are the gaps between operations long?", "82%", True),
]
WALKS = [
    ("launch", ASKED, "In 82% it idles."),
    ("done", [(*a[:2], False) for a in ASKED], "Done."),
]
WALKS = {n: SimpleNamespace(name=n, walk=w, sentence=said) for n, w, said in WALKS}
SINGLE = ["float32", "float32"]
SPED = [
    ("a CPU", "mixed_float16", 0.5),
    ("a CPU", "own", 0.7),
    ("a GPU", "mixed_bfloat16", 2.0),
]
SPED = rows(
    "device policy speedup", [*SPED, ("a TPU", "", np.nan), ("another", "", 1e9)]
)
with dtype_policy("mixed_float16"):
    MODEL = [keras.Input((4,)), keras.layers.Dense(4), keras.layers.ReLU()]
    MODEL = keras.Sequential([*MODEL, keras.layers.Dense(2, dtype="float32")])
FLOW = precision.dtype_flow(MODEL)
PEAK_TFLOPS = {"float32": 8.0, "bfloat16": 65.0, "float16": 65.0}
DEVICE = SimpleNamespace(
    name="a chip", tflops=PEAK_TFLOPS, gb_per_s=300.0, bandwidth=3e11
)
POINTS = [
    ("dense 1, forward", "float32", 9.0, 2.0, 4.0),
    ("Adam", "float16", 18.0, 5.0, 1.0),
]
POINTS = rows("label dtype intensity tflops ms", POINTS)
COMPARED = [
    (20.0, 1.0, 1.0, 1.0, 100.0, 0.9, 0.01, 7),
    (10.0, 2.0, 1.8, 2.2, 50.0, 0.91, 0.01, 7),
    (80.0, 0.25, np.nan, np.nan, np.nan, np.nan, np.nan, 7),
]
COLUMNS = "step_ms speedup speedup_low speedup_high peak_mb accuracy gap_se steps"
COMPARED = rows(COLUMNS, COMPARED, pd.Index(POLICIES, name="policy"))
COMPARED["verdict"] = [np.nan, "mixed_bfloat16", "cannot tell"]
TAKEN = [(p, n, 0.01, 8.0 - n) for p in POLICIES for n in range(7)]
TAKEN = rows("policy round seconds loss", TAKEN)
COMPARISON = SimpleNamespace(table=COMPARED, steps=TAKEN, batch_size=64, device="CPU:0")


def replica_rows(decided_alone):
    """Replica 1 of two overflows in step 1; the scale was 8."""
    sums = [["gradients"]] * 3
    if not decided_alone:
        sums = [["flag", "gradients"], ["flag"], ["flag", "gradients"]]
    return [
        {
            "step": step,
            "replica": replica,
            "overflow": (step, replica) == (1, 1),
            "taken": decided_alone or step != 1,
            "finite": not decided_alone or step < 1,
            "scale": 8.0 if decided_alone or step < 1 else 4.0,
            "sums": sums[step],
        }
        for step in range(3)
        for replica in range(2)
    ]


TIMELINES = {"Keras's own": replica_rows(True), "all decide": replica_rows(False)}
LOSSES = [
    (p, s, n, 1 / (n + 1 + s)) for p in POLICIES for s in (0, 1) for n in range(5)
]
PEAK_ROWS = [(p, b, 9, b, 5, b + 4, b + 6) for b in (64, 256) for p in POLICIES[:2]]
ROW = {"model": "A net, batch 8", "baseline_batch": 8, "mixed_batch": 12}
AGAIN = {("float32", "kept"): (50e6, 0.1), ("float32", "remat"): (None, 0.2)}
AGAIN = {
    key: 3 * [[SimpleNamespace(peak_bytes=b, seconds=s)]]
    for key, (b, s) in AGAIN.items()
}
CARD = dict(quantity="speedup", unit="×", guess=None, predicted=1.8, measured=1.5)

CLINIC = invented(5, 5, 2, 2)  # some of the causes cannot be told apart

# A figure for every function that draws one: the function and what it is given.
GIVEN = [
    (figures.lanes, TIMELINES, "Two runs"),
    (figures.comparison, COMPARISON, 0.5),
    (figures.dtype_flow, FLOW),
    (figures.histogram, {"early": GRADIENTS, "late": GRADIENTS}),
    (figures.histories, {p: [2.0, 1.0] for p in (*POLICIES, "float16")}, "Four"),
    (figures.loss_curves, rows("policy seed step loss", LOSSES)),
    (figures.loss_scale, TRACE, {1: 3, 3: 9}),
    (
        figures.bathtub,
        {"early": {0: 0.001, 3: np.inf}, "run": {0: 0.5, 3: 0.005, 6: np.nan}},
        {3: "8"},
    ),
    (figures.falling_scale, {"run": TRACE}),
    (
        figures.alive,
        {p: [1.0, 5.0, 2.0] for p in POLICIES[:2]},
        {
            p: [SimpleNamespace(name=f"{of}op") for of in ("", "gradient_tape/", "")]
            for p in POLICIES[:2]
        },
    ),
    (figures.peak_parts, rows(" ".join(PEAKS), PEAK_ROWS)),
    (figures.roofline, DEVICE, POINTS),
    (figures.spacing, DTYPES, {"weights": splits.survey(2.0 ** np.arange(-40.0, 0))}),
    (figures.bit_strips, "0.1", DTYPES),
    (figures.policies, COMPARISON, 1.5),
    (figures.remat, AGAIN, {key: 40.0 for key in AGAIN}),
    (
        figures.sensitivity,
        {"conv": {0: 0.9, 80: 0.5}, "dense": {0: 0.9, 80: 0.9}},
        "weights set to zero, %",
        "One layer",
    ),
    (figures.front, records.smaller(), 10_000),
    (figures.report_card, [CARD, {**CARD, "guess": 9, "measured": None}]),
    (boards.curve, {"float32": [2.0, 1.0], "own $\\frac{$": [3.0, None]}, "Loss"),
    (boards.speed_by_device, SPED),
    (
        boards.guesses,
        pd.DataFrame({"guess": [2, 3, 2e9], "measured": [4, 5, np.nan]}),
        "a",
        "b",
    ),
    (
        figures.waterfall,
        {
            "float32": (
                {"products": 3.0, "other": 1.0},
                {"products": 5.0, "other": 0.5, "launch": 1.0},
                9.0,
            )
        },
        "One step",
    ),
    (figures.forecasts, profiling.recorded_forecasts()),
    (figures.gallery, CLINIC),
    (traces.op_times, OPS),
    (traces.time_budget, STEPS),
    (traces.timeline, {"a trace": RAN, "another": RAN}),
    (traces.walks, WALKS),
]
EXAMPLES = {draw.__name__: partial(draw, *given) for draw, *given in GIVEN}
# Lines that end in one point, and words that stand close on purpose.
MEET = ("comparison", "alive", "report_card")
OKABE_ITO = "#000000 #e69f00 #56b4e9 #009e73 #f0e442 #0072b2 #d55e00 #cc79a7".split()


@cache
def made(name):
    return EXAMPLES[name]()


def drawn(name):
    """The axes of an example: one, or a list."""
    axes = made(name).figure.axes
    return axes[0] if len(axes) == 1 else axes


def ends(ax):
    """Where each bar ends."""
    return [[bar.get_x() + bar.get_width() for bar in group] for group in ax.containers]


def written(texts):
    return [t.get_text() for t in texts]


@pytest.mark.parametrize("package", (benchmark, clinic, figures, precision))
def test_a_package_lists_and_has_the_names_that_it_loads_late(package):
    assert dir(package) and all(hasattr(package, name) for name in dir(package))
    assert not hasattr(package, "nothing")


# What holds for all of them


def test_every_figure_has_an_example():
    found = set()
    for module in pkgutil.iter_modules(figures.__path__):
        module = importlib.import_module(f"course_utils.figures.{module.name}")
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__annotations__.get("return") is base.Picture:
                found.add(name)
    assert found == {*EXAMPLES, "described"}  # which makes the words


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_is_drawn_and_told_and_reads_on_its_card(name):
    picture = made(name)
    image = Image.open(io.BytesIO(picture.png())).convert("RGBA")
    corner = np.array(image.getpixel((0, 0)))
    assert np.abs(corner - 255 * np.array(to_rgba(base.CARD))).max() <= 2
    assert 700 < image.width < 1800 and image.height < 1300
    assert len(picture.alt) > 20 and picture.alt.endswith(".")
    assert "nan" not in picture.alt
    for text in picture.figure.findobj(Text):
        if text.get_text().strip() and text.get_visible():
            on_a_box = text.get_bbox_patch() is not None
            assert on_a_box or text.get_color() == base.INK, text.get_text()
            assert text.get_fontsize() >= 9, text.get_text()
    for ax in picture.figure.axes:
        words = [text for text in ax.texts if text.get_text().strip()]
        boxes = [text.get_window_extent().padded(-1) for text in words]
        overlaps = [a.overlaps(b) for a, b in combinations(boxes, 2)]
        assert not any(overlaps) or name in MEET, words
    for color in re.findall("(?:fill|stroke): (#\\w{6})", picture.svg()):
        gray = len({color[1:3], color[3:5], color[5:]}) == 1
        assert gray or color in (*OKABE_ITO, base.CARD), color


def test_ink_stands_out_from_the_card_by_13_to_1():
    colors = np.array([to_rgba(color)[:3] for color in (base.CARD, base.INK)])
    light, dark = ((colors + 0.055) / 1.055) ** 2.4 @ [0.2126, 0.7152, 0.0722] + 0.05
    assert light / dark >= 13


def test_policies_differ_by_more_than_color():
    for signs in (looks.COLORS, looks.HATCHES, looks.MARKERS, looks.LINES):
        assert len({signs[d] for d in DTYPES}) == 3
    hatches = {looks.bar_look(d)["hatch"] for d in DTYPES}
    assert len(hatches) == 3 and {*looks.bar_looks(DTYPES)["hatch"]} == hatches


def test_a_line_has_the_color_of_the_dtype_it_names_and_no_zero_on_a_logarithm():
    runs = {"tuned, bfloat16": [2, 1, 0], "mine": [2, 1, 3]}
    tuned, mine = figures.histories(runs, "Losses").figure.axes[0].lines[:2]
    assert (tuned.get_color(), np.isnan(tuned.get_ydata()[2])) == ("#D55E00", True)
    assert mine.get_color() not in looks.COLORS.values()


def test_strips_wear_the_explorers_colors():
    css = (Path(figures.__file__).parents[1] / "explorers/bits.css").read_text("utf-8")
    worn = dict(re.findall(r"--(sign|exponent|fraction): (#\w+);", css))
    fields = {field: numbers.FIELDS[field][0].lower() for field in worn}
    assert len(worn) == 3 and fields == worn


# What each one says and shows


NAN = float("nan")
TOLD = {  # the end of what is said of a line "a" through these points
    "a from 8 at 1 to 4 at 2.": ([1, 2], [8, 4]),
    ", highest 2^15 at 2.": ([1, 2, 3], [8, 2.0**15, 4]),
    ", lowest 2 at 2.": ([1, 2, 3], [8, 2, 4]),
    "a stays 3.": ([1, 2], [3, 3]),
    "a 3 at 1.": ([1], [3]),
    "a 3 at 1, no number in 1 of 2 points.": ([1, 2], [3, NAN]),
    "a has no number.": ([1, 2], [NAN, NAN]),
    # a break in a line is no missing number
    "a from 3 at 1 to 4 at 2.": ([1, NAN, 2], [3, NAN, 4]),
}
SAID = [  # what is no line's course
    ("bathtub", "to 0.005 at 2^3. early overflows from 2^3 on; run"),
    ("comparison", "mixed_bfloat16: 91.00; mixed_float16: unknown."),
    ("guesses", "guessed: median 3 of 3; measured: median 4.5 of 2."),
    ("loss_scale", "At or above the ceiling in 1 steps, 1 of these skipped."),
    # One operation is one row, whichever library ran it.
    ("op_times", "MatMul: float32 3, mixed_float16 30; FusedBatchNormV3: float32 0.5"),
    ("policies", "mixed_bfloat16, 10 ms a step: 2.00×, (1.80 to 2.20); mixed_float16"),
    ("policies", "float32, last quarter: 2.500 from 8 at 1 to 2 at 7"),
    ("remat", "float32, remat: counted 40, unknown. Time of a step (ms)"),
    ("speed_by_device", "a GPU: 2.00×, 1 report: mixed_bfloat16 2; a CPU: 0.60×, 2"),
    ("time_budget", "not divided 17. In all: predicted 11 ms, measured 14"),
]


@pytest.mark.parametrize("end", TOLD)
def test_words_are_read_from_the_axes(end):
    figure, ax = base.canvas()
    ax.plot(*TOLD[end], label="a")
    ax.axhline(1)
    ax.set(title="from $2^{-3}$ to\nmixed_\nfloat16", xlabel="x", ylabel="y")
    words = described(figure).alt
    assert words.startswith("from 2^-3 to, mixed_float16 (y over x): a ")
    assert words.endswith(end)


ENDS = {  # losses, and the value at which each line leaves the figure
    "two that cross": ({"a": [0.5, 0.1], "b": [0.2, 0.9]}, [0.1, 0.9]),
    "one is lost": ({"a": [1.0, 0.4, NAN], "b": [1.0, 0.9, 0.1]}, [0.4, 0.1]),
    "one has no number": ({"a": [NAN, NAN], "b": [1.0, 0.9]}, [0, 0.9]),
    "one reaches 0": ({"a": [1.0, 0.2, 0.0], "b": [1.0, 0.9, 0.8]}, [0, 0.8]),
}


def labels(losses, scale):
    """Where the names of runs stand: from the lowest to the highest pixel, shape (runs,
    2).
    """
    picture = figures.histories(losses, "Losses", scale=scale)
    picture.png()
    (ax,) = picture.figure.axes
    boxes = {text.get_text()[:1]: text.get_window_extent() for text in ax.texts}
    return ax, np.array([boxes[name].intervaly for name in losses])


@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize("case", ENDS)
def test_a_run_is_named_where_its_line_ends(case, scale):
    losses, values = ENDS[case]
    ax, places = labels(losses, scale)
    ends = [ax.transData.transform((1, value))[1] for value in values]
    ends = np.clip(np.nan_to_num(ends), *ax.bbox.intervaly)
    assert np.abs(places.mean(axis=1) - ends).max() <= np.ptp(places, axis=1).max()


def test_runs_that_meet_are_named_one_above_the_other():
    losses = {"l": [1, 0.1]} | {str(n): [1, n / 1000 + 0.5] for n in range(7)}
    _, places = labels(losses, "log")
    apart = np.diff(places.mean(axis=1))
    assert apart.min() > 0.7 * np.ptp(places, axis=1).max()


@pytest.mark.parametrize(
    ("losses", "options", "words"),
    [
        ([2.0, 1.0], {"every": 10}, "a from 2 at 10 to 1 at 20."),
        ([2.0, 1.0], {"every": 10, "first": 0}, "a from 2 at 0 to 1 at 10."),
        ([[3.0, 1.0], [5.0, 2.0]], {}, "a from 4 at 1 to 1.5 at 2."),  # the mean
    ],
)
def test_a_run_stands_at_the_steps_it_was_measured_at(losses, options, words):
    picture = figures.histories({"a": np.array(losses)}, "Losses", **options)
    assert picture.alt.endswith(words)


def test_a_run_that_is_lost_says_so():
    # a NaN that a later loss follows is not where the numbers end
    losses = {"a": [NAN, 0.5, NAN], "b": [NAN, NAN], "c": [1.0, float("inf")]}
    picture = figures.histories(losses, "Losses")
    assert sorted(written(picture.figure.axes[0].texts)) == [
        "a: nan from epoch 3 on",
        "b: nan from epoch 1 on",
        "c: inf from epoch 2 on",
    ]


VERDICTS = {
    "float32": "mixed_bfloat16 is slower than float32: 2.00×",
    "the same within 2 %": "mixed_bfloat16 and float32: the same within 2 %",
    "cannot tell": "mixed_bfloat16: 2.00×, and this run cannot tell more",
}


def test_a_title_says_no_more_than_the_interval_does():
    told = SimpleNamespace(**vars(COMPARISON))
    for verdict, title in VERDICTS.items():
        told.table = COMPARED.assign(verdict=verdict)
        figure = figures.policies(told, 3).figure
        assert figure.get_suptitle() == f"You guessed 3×\n{title}"
    told.table, told.steps = COMPARED.drop(columns="verdict") * NAN, TAKEN[:0]
    assert figures.policies(told).figure.get_suptitle() == "Not measured"


@pytest.mark.parametrize(("name", "words"), SAID)
def test_the_words_say_what_is_seen(name, words):
    assert words in made(name).alt


def test_what_cannot_be_drawn_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match="no layer that is called"):
        figures.dtype_flow(FLOW[:0])
    with pytest.raises(ValueError, match="'empty' has no steps"):
        figures.lanes({"empty": []}, "")


TENTH = "0011110111" + f"{0x3DCCCCCD & 0x7FFFFF:023b}"  # with the 1 that is not stored
SHOWN = [
    # Half as fast is as far from 1 as twice as fast.
    ("policies", lambda axes: axes[0].get_xscale(), "log"),
    ("policies", lambda axes: ends(axes[0]), [[1.0, 2.0, 0.25]]),
    ("policies", lambda axes: list(axes[0].lines[-1].get_xdata()), [1.5, 1.5]),
    # What was drawn is seen whole.
    ("loss_scale", lambda axes: axes[0].get_ylim()[1] > 512, True),
    # End to end, a prediction pale, and nothing for what no row has.
    (
        "time_budget",
        lambda ax: [[b.get_x() for b in group] for group in ax.containers],
        [[0, 0, 0], [0, 4, 0], [2, 4, 3], [11, 12, 3], [11, 14, 3]],
    ),
    (
        "time_budget",
        lambda ax: [bar.get_alpha() for bar in ax.containers[2]],
        [0.45, None, None],
    ),
    # A long bar has its operation's name.
    ("timeline", lambda ax: written(ax.get_yticklabels()), ["Python", "thread 1"] * 2),
    ("timeline", lambda ax: written(ax.texts)[:3], ["a trace", "waiting", "MatMul"]),
    # After 9 bits the digit before the point, after all of them the format and the
    # value.
    ("bit_strips", lambda ax: "".join(written(ax.texts)[:33]), TENTH),
    ("bit_strips", lambda ax: written(ax.texts)[33:35], ["float32", "≈ 0.10000000149"]),
]


@pytest.mark.parametrize(("name", "look", "wanted"), SHOWN)
def test_it_shows_the_values(name, look, wanted):
    assert look(drawn(name)) == wanted


def test_a_strip_of_a_subnormal_has_no_1_before_the_point():
    ax = figures.bit_strips([1.0, 2.0**-15], ["float16"]).figure.axes[0]
    assert [written(ax.texts)[19 * row + 6] for row in (0, 1)] == ["1", "0"]
    assert len(ax.patches) == 2 * (16 + 1)


def test_spacing_is_the_gap_above_each_power_of_two():
    top = drawn("spacing")[0]
    assert [line.get_label() for line in top.lines] == list(DTYPES)
    for line in top.lines:
        for power, relative in line.get_xydata():
            here = formats.encode(2.0**power, line.get_label())
            assert here.value == 2.0**power
            assert float(here.ulp / here.exact) == 2.0**relative


def test_spacing_says_which_tensor_float16_loses():
    late = [0.0, 2.0**-25, -(2.0**-30), 2.0**-30, 2.0**-24]  # 3 of 4 become 0
    values = {"weights": 2.0 ** np.arange(-10, 5), "gradients": late}
    surveys = {name: splits.survey(given) for name, given in values.items()}
    picture = figures.spacing(DTYPES, surveys)
    top = picture.figure.axes[0]
    assert top.get_title() == "Too small for float16: 75 % of gradients"
    assert "of weights 0 % become 0 in float16; of gradients 75 %" in picture.alt


def test_a_histogram_hatches_what_becomes_zero():
    shown = [bar for bar in drawn("histogram")[0].patches if bar.get_height() > 1]
    hatched = {bar.get_x() + bar.get_width() / 2 for bar in shown if bar.get_hatch()}
    assert hatched == {octave + 0.5 for octave in range(-30, -25)}


def test_a_bathtub_goes_up_where_something_overflows():
    ax = drawn("bathtub")
    *_, measured, up, marked = ax.lines
    assert measured.get_xydata().tolist() == [[0, 0.5], [3, 0.005]]
    assert list(up.get_xdata()) == [3, 3.5] and up.get_ydata()[1] > ax.get_ylim()[1]
    assert list(marked.get_xdata()) == [3, 3]  # the scale that is tried


def test_the_gallery_has_a_bar_where_a_loss_is_lost():
    axes = drawn("gallery")
    bars = [line.get_ydata() for ax in axes[:2] for line in ax.lines[2:]]
    assert np.array_equal(bars, [[NAN, NAN, NAN], [NAN, 2, 2]], equal_nan=True)
    assert axes[0].lines[0].get_linewidth() < axes[0].lines[1].get_linewidth()


# Steps of many devices


def signs(ax):
    """What stands where: label, step and replica."""
    return {
        (line.get_label(), round(x), round(y))
        for line in ax.lines
        for x, y in line.get_xydata()
    }


def reduced(ax):
    """Of each all-reduce: its step, whether it is one flag's, and the lanes that it
    crosses.
    """
    found = set()
    for bar in ax.patches:
        (left, low), (right, high) = bar.get_bbox().get_points()
        crossed = tuple(lane for lane in range(2) if low < lane < high)
        found.add((round(left + 0.3), right - left < 0.1, crossed))
        # somebody waits alone
        assert (bar.get_linestyle() == "--") == (len(crossed) == 1)
    return found


def test_every_step_of_every_replica_has_its_sign_its_all_reduces_and_what_the_scale_became():
    own, safe = drawn("lanes")
    both = [(step, replica) for step in range(3) for replica in (0, 1)]
    star = {("gradient overflows here", 1, 1)}
    lost = {("weights not finite" if s else "taken", s, r) for s, r in both}
    assert signs(own) == star | lost
    skipped = {("skipped" if s == 1 else "taken", s, r) for s, r in both}
    assert signs(safe) == star | skipped
    assert reduced(own) == {(step, False, (0, 1)) for step in range(3)}
    flags = {(step, True, (0, 1)) for step in range(3)}
    assert reduced(safe) == flags | {(step, False, (0, 1)) for step in (0, 2)}
    # at the start of a lane, and where it changes
    for ax, scales in ((own, "33"), (safe, "3232")):
        assert written(ax.texts) == [f"$2^{{{scale}}}$" for scale in scales]


def test_a_replica_that_waits_for_good_is_seen_to_wait_alone():
    """As in a hang: replica 1 has skipped step 1, replica 0 never finishes it."""
    cured = replica_rows(False)
    hung = [r for r in cured if r["step"] == 0 or (r["step"], r["replica"]) == (1, 1)]
    picture = figures.lanes({"hung": hung, "cured": cured}, "Two", "worker")
    waits, goes_on = picture.figure.axes
    assert waits.get_xlim() == goes_on.get_xlim()  # the missing steps stay empty
    alone = {bar for bar in reduced(waits) if len(bar[2]) == 1}
    assert alone == {(1, False, (0,)), (2, False, (1,))}
    words = "; worker 0 waits in the all-reduce of step 1 for good; worker 1"
    assert words in picture.alt
    assert written(waits.texts).count("waits for ever") == 2


@pytest.fixture
def shown(monkeypatch):
    """What is displayed from now on."""
    found = []
    monkeypatch.setattr("IPython.display.display", lambda data, **_: found.append(data))
    return found


def test_a_picture_is_shown_with_its_words_folded(shown):
    """Every page that reads an output's `alt` has them as well; a terminal has them as
    text.
    """
    picture = base.Picture(base.canvas()[0], 'The <small> & "large" ones.')
    picture._ipython_display_()
    image, words = shown
    assert image._repr_mimebundle_()[1]["image/png"]["alt"] == picture.alt
    fold = ElementTree.fromstring(words["text/html"])
    assert fold.tag == "details" and fold.get("open") is None
    assert ["".join(part.itertext()) for part in fold] == ["In words", picture.alt]
    assert words["text/plain"] == f"In words: {picture.alt}"


# Drawings that are kept as files

SVG = "{http://www.w3.org/2000/svg}"
DRAWINGS = {"strategies": figures.strategies(), "step": figures.step()}


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_is_shown_with_its_words_and_reads_on_light_and_dark(name, shown):
    """As an image, which a page shows that is not trusted too; as text alone it is the
    title.
    """
    picture = DRAWINGS[name]
    root = ElementTree.fromstring(picture.svg)
    assert picture.alt == root.find(f"{SVG}desc").text and picture.alt.endswith(".")
    picture._ipython_display_()
    assert shown[0]["text/plain"] == root.find(f"{SVG}title").text
    image = ElementTree.fromstring(shown[0]["text/html"].replace('">', '"/>'))
    assert image.get("alt") == picture.alt
    data = image.get("src").removeprefix("data:image/svg+xml;base64,")
    assert base64.b64decode(data).decode() == picture.svg
    for color in re.findall(r"#[0-9a-fA-F]{6}", picture.svg):
        assert color.lower() in (*OKABE_ITO, base.INK, base.CARD)


def test_forty_devices_fit_on_a_screen_and_no_label_covers_another():
    table = pd.DataFrame({"speedup": 0.2 * 20 ** (np.arange(40) / 39)})
    long = f"A processor with a {'very ' * 9}long name, number "
    table["device"] = long + table.index.astype(str)
    table["policy"] = "mixed_bfloat16"
    figure = boards.speed_by_device(table).figure
    figure.draw_without_rendering()
    assert figure.get_figheight() * 96 < 950  # pixels of a page
    labels = figure.axes[0].get_yticklabels()
    assert len({label.get_text().split(":")[0] for label in labels}) == 40
    boxes = [label.get_window_extent() for label in labels]
    assert all(above.y0 > below.y1 - 1 for above, below in pairwise(boxes))
