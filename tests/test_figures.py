"""Figures show the values they are given, say them in words, and read on light and dark."""

import io

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from PIL import Image

from course_utils import figures, formats, models, roofline
from course_utils.benchmark import Comparison
from course_utils.figures import base
from course_utils.gradients import OctaveHistogram
from course_utils.memory import MemoryAccount
from course_utils.precision import dtype_flow

POLICIES = ["float32", "mixed_bfloat16", "mixed_float16"]
GRADIENTS = OctaveHistogram.from_values(2.0 ** np.arange(-30, 0))
TRACE = pd.DataFrame({"step": [1, 2, 3], "scale": [8.0, 4.0, 4.0], "applied": [False, True, True]})


@pytest.fixture
def comparison():
    table = pd.DataFrame(
        {
            "step_ms": [20.0, 10.0, 80.0],
            "step_ms_q1": [19.0, 9.0, 70.0],
            "step_ms_q3": [22.0, 12.0, 90.0],
            "speedup": [1.0, 2.0, 0.25],
            "peak_mb": [100.0, 50.0, np.nan],
            "memory_ratio": [1.0, 0.5, np.nan],
            "accuracy": [0.9, 0.91, np.nan],
            "accuracy_se": [0.01, 0.01, np.nan],
            "steps": [7, 7, 7],
        },
        index=pd.Index(POLICIES, name="policy"),
    )
    return Comparison(table, pd.DataFrame(), pd.DataFrame(), 64, False, "CPU:0")


@pytest.fixture
def every_picture(comparison):
    account = MemoryAccount(1, 2, 3, 4, 5)
    steps = [(p, s, n, 1 / (n + 1 + s)) for p in POLICIES for s in (0, 1) for n in range(5)]
    sweep = [(p, b, 1.0, b * 1e3, float(b)) for p in POLICIES for b in (64, 256)]
    rates = [(n, d, n * 2.0, n * 1.0, n * 3.0) for n in (8, 16) for d in base.MARKERS]
    row = {"device": "V100 32GB", "baseline": "float32"}
    return {
        "speedups": figures.speedups(comparison, guess=1.5),
        "comparison": figures.comparison(comparison, guess=0.5),
        "matmul": figures.matmul(
            pd.DataFrame(rates, columns=["size", "dtype", "gflops", "q1", "q3"])
        ),
        "loss_curves": figures.loss_curves(
            pd.DataFrame(steps, columns=["policy", "seed", "step", "loss"])
        ),
        "batch_sweep": figures.batch_sweep(
            pd.DataFrame(
                sweep, columns=["policy", "batch_size", "step_ms", "samples_per_s", "peak_mb"]
            )
        ),
        "memory_accounts": figures.memory_accounts(
            {(64, "float32"): account}, {(64, "float32"): 1.0}
        ),
        "published": figures.published(
            [row | {"speedup": s, "same_batch": b} for s, b in ((0.9, True), (5.0, None))],
            [("mine", "mixed_float16", [1.8, 0.2])],
        ),
        "binades": figures.binades(),
        "spacing": figures.spacing(),
        "rounding_errors": figures.rounding_errors(
            np.linspace(1, 2, 9), {"rounded": np.zeros(9), "dropped": -np.ones(9)}, unit=2
        ),
        "lost_updates": figures.lost_updates({d: {2: 0.0, 4: 1.0} for d in base.MARKERS}),
        "long_sum": figures.long_sum({d: np.arange(16.0) for d in base.MARKERS}, guess=99),
        "dtype_flow": figures.dtype_flow(dtype_flow(models.mnist_cnn())),
        "digits": figures.digits(np.zeros((12, 28, 28), np.uint8), np.arange(12)),
        "histogram": figures.histogram({"early": GRADIENTS, "late": GRADIENTS}, log2_scale=-9),
        "lost_by_scale": figures.lost_by_scale({"early": GRADIENTS}, scales=range(41)),
        "histories": figures.histories({p: [2.0, 1.0] for p in (*POLICIES, "float16")}, "Four"),
        "loss_scale": figures.loss_scale(TRACE),
        "roofline": figures.roofline(roofline.devices()["T4"]),
        "updates": figures.updates({"right": (1, 1), "half": (0.5, 0.5)}, (1, 1), "Steps"),
        "training": figures.training([{"step": 1, "loss": 2.0, "accuracy": 0.1, "loss_scale": 8}]),
    }


def contrast(color, background):
    """Contrast ratio of WCAG 2."""

    def luminance(c):
        linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in to_rgb(c)]
        return np.dot(linear, (0.2126, 0.7152, 0.0722))

    high, low = sorted((luminance(color), luminance(background)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_every_figure_is_drawn_and_told(every_picture):
    assert set(every_picture) == set(figures.__all__) - {"COLORS", "Picture"}
    for name, picture in every_picture.items():
        image = Image.open(io.BytesIO(picture.png())).convert("RGBA")
        assert image.getpixel((0, 0))[3] == 0, name
        assert 700 < image.width < 1800, name
        assert len(picture.alt) > 20 and picture.alt.endswith("."), name


def test_all_text_reads_on_light_and_dark(every_picture):
    """4:1 for every piece of text against white and against JupyterLab's dark background."""
    for name, picture in every_picture.items():
        picture.png()
        for text in picture.figure.findobj(Text):
            if text.get_text().strip() and text.get_visible():
                for background in ("#ffffff", "#111111"):
                    assert contrast(text.get_color(), background) > 4, (name, text.get_text())


def test_policies_differ_by_more_than_color():
    for signs in (base.COLORS, base.HATCHES, base.MARKERS, base.LINES):
        assert len({signs[d] for d in ("float32", "bfloat16", "float16")}) == 3


def test_bars_show_the_values_and_the_guess(comparison):
    picture = figures.speedups(comparison, guess=1.5)
    ax = picture.figure.axes[0]
    assert [bar.get_width() for bar in ax.patches] == [1.0, 2.0, 0.25]
    assert "your guess 1.5×" in [t.get_text() for t in ax.texts]
    assert "you guessed 1.5" in picture.alt
    assert "guess" not in figures.speedups(comparison).alt


def test_what_is_unknown_is_called_unknown(comparison):
    picture = figures.comparison(comparison)
    shown = [t.get_text() for ax in picture.figure.axes for t in ax.texts]
    assert shown.count("unknown") == 2  # the peak and the accuracy of one policy
    assert "peak unknown" in picture.alt and "nan" not in picture.alt


def strokes(picture, panel, row):
    """Where the strokes of one row of `binades` stand."""
    lines = picture.figure.axes[panel].collections[row]
    return [segment[0][0] for segment in lines.get_segments()]


def test_binades_shows_the_numbers_that_the_formats_have():
    rows = (16, 15, 0, -14, -16, -20, -24, -25)
    picture = figures.binades(("bfloat16", "float16"), rows)
    for panel, name in enumerate(("bfloat16", "float16")):
        for row, exponent in enumerate(rows):
            here, wanted = formats.encode(f"2^{exponent}", name), []
            if here.value == 2.0**exponent:
                while here.value < 2.0**exponent * 17 / 16:
                    wanted.append(here.value / 2.0**exponent)
                    here = here.next
            assert strokes(picture, panel, row) == wanted, (name, exponent)
    assert "bfloat16: the same 8 numbers" in picture.alt
    assert "none at 2^16 and 2^-25" in picture.alt


def test_spacing_is_the_gap_above_each_power_of_two():
    lines = figures.spacing().figure.axes[0].lines
    assert [line.get_label() for line in lines] == list(figures.formats.SPACING)
    for line in lines:
        for x, y in zip(*line.get_data(), strict=True):
            here = formats.encode(x, line.get_label())
            assert here.value == x and float(here.ulp / here.exact) == y


def test_a_histogram_shows_what_becomes_zero():
    picture = figures.histogram({"all": GRADIENTS}, log2_scale=-1)
    bars = [bar for bar in picture.figure.axes[0].patches if bar.get_height() > 1]
    assert "23 % of the nonzero gradients become zero" in picture.alt  # 7 of 30: to 2^-25 scaled
    hatched = {bar.get_x() + bar.get_width() / 2 for bar in bars if bar.get_hatch()}
    assert hatched == {octave + 0.5 for octave in range(-31, -25)}


def test_lost_by_scale_shows_survival_and_crosses_where_something_overflows():
    picture = figures.lost_by_scale({"all": GRADIENTS}, scales=range(20))
    line, cross, *_ = picture.figure.axes[0].lines
    shares = [GRADIENTS.survival("float16", s).rounded_to_zero / 30 for s in range(20)]
    assert list(line.get_ydata()) == [share for share in shares if share]
    assert list(line.get_xdata()) == [s for s, share in enumerate(shares) if share]
    assert list(cross.get_xdata()) == [17]  # 2^-1 times 2^17 is beyond float16
    assert "overflow from 2^17 on" in picture.alt


def test_skipped_steps_are_crossed():
    picture = figures.loss_scale(TRACE)
    assert list(picture.figure.axes[0].lines[1].get_xdata()) == [1]
    assert "1 of them" in picture.alt


def test_the_guess_stands_in_the_figure_of_the_long_sum():
    sums = {"float16": np.arange(16.0)}
    with_guess, without = figures.long_sum(sums, 99), figures.long_sum(sums)
    assert "you guessed 99" in with_guess.alt and "guessed" not in without.alt
    assert with_guess.figure.axes[0].collections and not without.figure.axes[0].collections


def test_a_figure_leaves_nothing_behind_in_pyplot(every_picture):
    import matplotlib.pyplot as plt

    assert plt.get_fignums() == []
