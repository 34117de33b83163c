"""Figures that several notebooks show: they show the values they are given, say them
in words, and read on light and dark.
"""

import importlib
import pkgutil
from functools import partial
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from helpers import figures as checks
from matplotlib.colors import to_rgba

from course_utils import benchmark, clinic, figures, precision
from course_utils.figures import base, boards, looks
from course_utils.figures.words import described
from course_utils.gradients import OctaveHistogram

GRADIENTS = OctaveHistogram.from_values(2.0 ** np.arange(-30, 0))
STEPS = {"predicted": {"launch": 2, "products": 9, "exchange": None}}
STEPS |= {
    "measured": {"input": 4, "products": 8, "other": 2},
    "timed": {"step": 20, "launch": 3},
}
STEP = {"step": 0, "replica": 0, "overflow": True, "taken": False, "finite": True}
STEP |= {"scale": 4.0, "sums": ["flag"]}
SPED = [
    ("a CPU", "mixed_float16", 0.5),
    ("a CPU", "own", 0.7),
    ("a GPU", "mixed_bfloat16", 2.0),
]
SPED = checks.rows(
    "device policy speedup", [*SPED, ("a TPU", "", np.nan), ("another", "", 1e9)]
)

PLANS = pd.DataFrame(
    {"bits": [32, 16, 32, 16], "MB": [47, 35, 13, 9.8], "times": [1, 0.95, 1.5, 1.3]},
    ["float32", "mixed_bfloat16", "float32, 4 × 64", "mixed_bfloat16, 4 × 64"],
)
ORDER = {"MB": 14.0, "times": 1.4}

# The function and what it is given.
EXAMPLES = {
    "trade_off": partial(figures.trade_off, PLANS, ORDER),
    "comparison": partial(figures.comparison, checks.COMPARISON, 0.5),
    "histogram": partial(figures.histogram, {"early": GRADIENTS, "late": GRADIENTS}),
    "histories": partial(
        figures.histories,
        {p: [2.0, 1.0] for p in (*checks.POLICIES, "float16")},
        "Four",
    ),
    "curve": partial(
        boards.curve,
        {"float32": [2.0, 1.0], "own $\\frac{$": [3.0, None]},
        "Loss",
    ),
    "speed_by_device": partial(boards.speed_by_device, SPED),
    "guesses": partial(
        boards.guesses,
        pd.DataFrame({"guess": [2, 3, 2e9], "measured": [4, 5, np.nan]}),
        "a",
        "b",
    ),
    "lanes": partial(figures.lanes, {"one": [STEP], "two": [STEP]}, "One step"),
    "waterfall": partial(
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
    "time_budget": partial(figures.time_budget, STEPS),
}
# Lines that end in one point.
MEET = ("comparison",)


@pytest.mark.parametrize("package", (benchmark, clinic, figures, precision))
def test_a_package_lists_and_has_the_names_that_it_loads_late(package):
    assert dir(package) and all(hasattr(package, name) for name in dir(package))
    assert not hasattr(package, "nothing")


# What holds for all of them


def test_every_figure_has_an_example():
    found = set()
    for module in pkgutil.iter_modules(figures.__path__):
        module = importlib.import_module(f"course_utils.figures.{module.name}")
        found |= checks.makers(module)
    assert found == {*EXAMPLES, "described"}  # which makes the words


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_is_drawn_and_told_and_reads_on_its_card(name):
    checks.check_picture(EXAMPLES[name](), name in MEET)


def test_ink_stands_out_from_the_card_by_13_to_1():
    colors = np.array([to_rgba(color)[:3] for color in (base.CARD, base.INK)])
    light, dark = ((colors + 0.055) / 1.055) ** 2.4 @ [0.2126, 0.7152, 0.0722] + 0.05
    assert light / dark >= 13


def test_policies_differ_by_more_than_color():
    for signs in (looks.COLORS, looks.HATCHES, looks.MARKERS, looks.LINES):
        assert len({signs[d] for d in checks.DTYPES}) == 3
    hatches = {looks.bar_look(d)["hatch"] for d in checks.DTYPES}
    assert len(hatches) == 3 and {*looks.bar_looks(checks.DTYPES)["hatch"]} == hatches


def test_a_line_has_the_color_of_the_dtype_it_names_and_no_zero_on_a_logarithm():
    runs = {"tuned, bfloat16": [2, 1, 0], "mine": [2, 1, 3]}
    tuned, mine = figures.histories(runs, "Losses").figure.axes[0].lines[:2]
    assert (tuned.get_color(), np.isnan(tuned.get_ydata()[2])) == ("#D55E00", True)
    assert mine.get_color() not in looks.COLORS.values()


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
    assert sorted(checks.written(picture.figure.axes[0].texts)) == [
        "a: nan from epoch 3 on",
        "b: nan from epoch 1 on",
        "c: inf from epoch 2 on",
    ]


SAID = [  # what is no line's course
    ("comparison", "mixed_bfloat16: 91.00; mixed_float16: unknown."),
    ("guesses", "guessed: median 3 of 3; measured: median 4.5 of 2."),
    ("speed_by_device", "a GPU: 2.00×, 1 report: mixed_bfloat16 2; a CPU: 0.60×, 2"),
    ("time_budget", "not divided 17. In all: predicted 11 ms, measured 14"),
]


@pytest.mark.parametrize(("name", "words"), SAID)
def test_the_words_say_what_is_seen(name, words):
    assert words in EXAMPLES[name]().alt


SHOWN = [
    # End to end, a prediction pale, and nothing for what no row has.
    (
        lambda ax: [[b.get_x() for b in group] for group in ax.containers],
        [[0, 0, 0], [0, 4, 0], [2, 4, 3], [11, 12, 3], [11, 14, 3]],
    ),
    (lambda ax: [bar.get_alpha() for bar in ax.containers[2]], [0.45, None, None]),
]


@pytest.mark.parametrize(("look", "wanted"), SHOWN)
def test_a_time_budget_shows_the_values(look, wanted):
    assert look(checks.drawn(EXAMPLES["time_budget"]())) == wanted


def test_a_histogram_hatches_what_becomes_zero():
    ax = checks.drawn(EXAMPLES["histogram"]())[0]
    shown = [bar for bar in ax.patches if bar.get_height() > 1]
    hatched = {bar.get_x() + bar.get_width() / 2 for bar in shown if bar.get_hatch()}
    assert hatched == {octave + 0.5 for octave in range(-30, -25)}


def test_a_picture_is_shown_with_its_words_folded(monkeypatch):
    """Every page that reads an output's `alt` has them as well; a terminal has them as
    text.
    """
    shown = checks.displayed(monkeypatch)
    picture = base.Picture(base.canvas()[0], 'The <small> & "large" ones.')
    picture._ipython_display_()
    image, words = shown
    assert image._repr_mimebundle_()[1]["image/png"]["alt"] == picture.alt
    fold = ElementTree.fromstring(words["text/html"])
    assert fold.tag == "details" and fold.get("open") is None
    assert ["".join(part.itertext()) for part in fold] == ["In words", picture.alt]
    assert words["text/plain"] == f"In words: {picture.alt}"


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


# --- plans and an order


def test_what_lies_in_the_corner_keeps_the_order():
    ax = checks.drawn(figures.trade_off(PLANS, ORDER))
    (corner,) = ax.collections
    (area,) = corner.get_paths()
    inside = {
        line.get_label() for line in ax.lines if area.contains_point(*line.get_xydata())
    }
    assert inside == {"mixed_bfloat16, 4 × 64"}


def test_a_limit_below_all_plans_shades_what_lies_below_it():
    ax = checks.drawn(figures.trade_off(PLANS, {"MB": 7.8, "times": 1.4}))
    (corner,) = ax.collections
    (area,) = corner.get_paths()
    heights = area.vertices[:, 1]
    assert heights.max() == 7.8 and heights.min() == ax.get_ylim()[0] < 7


def test_without_an_order_no_corner_is_shaded():
    ax = checks.drawn(figures.trade_off(PLANS))
    assert not ax.collections and ax.get_title() == "Memory and time of each plan"
