"""What notebook 11 says of scales: blind steps, recipes, both rules, sums, transposes."""

import re

import keras
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

from course_utils.formats import blocks
from course_utils.lessons.nb11 import compare_recipes, draw_blind_steps
from tools.notebook_cells import Cells

NOTEBOOK = Cells("11_eight_bits")
ROWS = np.random.default_rng(0).normal(size=(512, 128))
VALUES = {  # float32 (512, 128)
    "normal": ROWS,
    "rows of many sizes": ROWS
    * 10.0 ** np.random.default_rng(1).uniform(-8, 0, (512, 1)),
    "heavy tails": np.random.default_rng(2).standard_t(3, (512, 128)),
}
VALUES = {name: values.astype("float32") for name, values in VALUES.items()}


@pytest.fixture(scope="module")
def names():
    """The names that the cells find: ten kinds of images, and a network that knows them."""
    rng = np.random.default_rng(0)
    kinds = rng.random((10, 784)) < 0.2
    labels = rng.integers(0, 10, 2000)
    images = np.where(rng.random((2000, 784)) < 0.9, kinds[labels], 0.5)
    images = images.astype("float32")
    found = {"np": np, "tf": tf, "keras": keras, "layers": layers}
    found |= {"images": images[:1000], "labels": labels[:1000]}
    found["tests"] = images[1000:], labels[1000:]
    NOTEBOOK.run("network", names=found)
    found["model"] = found["build"]()
    found["train"](found["model"], steps=60)
    return found


@pytest.mark.slow
def test_fp8_needs_no_scale_of_its_own_until_tensors_differ_in_size(names):
    NOTEBOOK.run("rounded", "eight-bit-dense", names=names)
    NOTEBOOK.run("uneven", until="ways = ", names=names)
    build, uneven = names["build"], names["uneven"]
    bare, scaled = names["Unscaled"], names["EightBitDense"]
    plain, each, loss_alone = (
        names["train"](model, factor, steps=60)[-1]
        for model, factor in (
            (build(bare), 1.0),
            (uneven(scaled, 0), 1.0),
            (uneven(bare, 0), 1024.0),
        )
    )
    assert min(plain, each) > 0.9 and loss_alone < 0.8, (plain, each, loss_alone)


@pytest.mark.slow
def test_one_bad_batch_blinds_keras_for_1024_steps(names):
    NOTEBOOK.run("blind", names=names)
    points = [0, 1, 512, 1024, 1025, 1027]
    shares = names["after_bad_batch"](1e6, points)
    assert list(shares) == points
    blind = [step for step, share in shares.items() if share < 0.2]
    assert blind == [1, 512, 1024]
    assert min(shares[0], shares[1025], shares[1027]) > 0.8


@pytest.mark.slow
@pytest.mark.parametrize(
    "times, sees", [(255, True), (100_000, True), (448 * 2**10, False)]
)
def test_a_batch_blinds_from_the_factor_on_that_makes_every_pixel_zero(
    names, times, sees
):
    NOTEBOOK.run("blind", names=names)
    share = names["after_bad_batch"](times, [0, 1])[1]
    assert share > 0.8 if sees else share < 0.2
    white = np.float32(448 / times).astype(ml_dtypes.float8_e4m3fn)
    assert (white > 0) == sees


@pytest.mark.slow
@pytest.mark.parametrize("length, rate", [(6, 0.0), (8, 0.0), (8, 0.01)])
def test_it_is_blind_for_as_long_as_the_history_is(names, length, rate):
    NOTEBOOK.run("window", names=names)
    assert names["blind_steps"](length, rate) == length


def test_the_picture_shows_each_share_at_its_step_and_the_last_ten_again():
    seen = {255: {0: 0.9, 1: 0.8, 1030: 0.9}, 1e6: {0: 0.9, 1: 0.1, 1030: 0.7}}
    picture = draw_blind_steps(seen, guess=16)
    left, right = picture.figure.axes
    for ax in (left, right):
        for line, shares in zip(ax.lines, seen.values(), strict=False):
            assert list(line.get_xdata()) == list(shares)
            assert list(line.get_ydata()) == list(shares.values())
    assert left.lines[-1].get_xdata()[0] == 16
    assert right.get_xlim()[0] <= 1020 and right.get_xlim()[1] >= 1030
    assert "× 1,000,000" in picture.alt and "your guess" in picture.alt


def test_the_recipes_differ_in_error_by_format_and_in_zeros_by_what_a_scale_covers():
    gradient = VALUES["rows of many sizes"]
    other = {"gradient_of": lambda batch: 1.1 * gradient, "blocks": blocks}
    found = {"np": np, "ml_dtypes": ml_dtypes, "gradient": gradient, **other}
    found["compare_recipes"] = compare_recipes
    show = "compare_recipes(gradient, kept)"
    NOTEBOOK.run("recipes", names=found, replaced=[(show, f"table = {show}")])
    table = found["table"]
    assert [*table.index] == [
        "delayed", "current", "row-wise", "128 × 128", "MXFP8", "NVFP4",
    ]  # fmt: skip
    error, zeros = table["error, %"], table["become 0, %"]
    assert 1.7 < error["current"] / error["128 × 128"] < 2.3
    assert abs(error["row-wise"] - error["128 × 128"]) < 0.5
    assert zeros["row-wise"] == zeros["MXFP8"] == 0
    assert zeros["128 × 128"] > zeros["current"] + 5
    assert zeros["NVFP4"] > 5 and error["NVFP4"] > 3 * error["MXFP8"]


def off(name, values, **rule):
    kept = blocks.quantize(values, name, **rule).values
    return np.linalg.norm(kept - values) / np.linalg.norm(values)


@pytest.mark.parametrize("kind", VALUES)
def test_rounding_the_scale_up_is_better_in_8_bits(kind):
    values = VALUES[kind]
    assert off("mxfp8_e4m3", values, up=True) < 0.95 * off("mxfp8_e4m3", values)
    one = off("e4m3_tensor", values)
    assert off("mxfp8_e4m3", values, up=True) < 1.05 * one


@pytest.mark.parametrize("seed", [0, 1])
def test_which_rule_is_better_in_4_bits_depends_on_the_values(seed):
    """And the text below the cell `formats` says for which."""
    rng = np.random.default_rng(seed)
    ratios = []
    for values in (
        rng.uniform(-1, 1, (256, 128)),
        rng.normal(size=(256, 128)),
        rng.standard_t(3, (256, 128)),
    ):
        up = off("mxfp4_e2m1", values, up=True)
        ratios.append(up / off("mxfp4_e2m1", values))
    uniform, normal, heavy = ratios
    assert uniform < 0.8 and abs(normal - 1) < 0.02 and heavy > 1.04


def test_nearly_a_fifth_of_the_blocks_is_cut_where_the_scale_is_rounded_down():
    scales = blocks.quantize(ROWS, "mxfp8_e4m3").scales
    tops = abs(ROWS).reshape(-1, 32).max(axis=1)
    assert 0.1 < np.mean(tops / scales > 448) < 0.25


def test_a_sum_of_14_bits_needs_float32_every_128_terms():
    found = {"np": np, "ml_dtypes": ml_dtypes}
    lines = NOTEBOOK.printed("sums", "sums-run", names=found)
    errors = [[float(x) for x in re.findall(r"([\d.]+)%", line)] for line in lines]
    long, lifted = np.transpose(errors)
    assert np.all(np.diff(long) > 0) and long[-1] > 5
    assert lifted.max() < 0.1


def test_the_same_weights_in_blocks_of_either_dimension_are_others(names):
    found = names | {"blocks": blocks}
    lines = NOTEBOOK.printed("transposes", names=found)
    found = [[float(x) for x in re.findall(r"([\d.]+)%", line)] for line in lines]
    same, once, again = np.transpose(found)
    assert same[2] < 40 < 70 < same[1] < 100 and same[0] > 95
    assert np.all(again >= once) and again[2] > 1.2 * once[2]


def test_stochastic_rounding_matters_beside_a_value_that_is_always_large():
    lines = NOTEBOOK.printed("chance", "unlearned", "chance-run", names={"np": np})
    left = [[float(x) for x in re.findall(r"(\d\.\d+)", line)] for line in lines]
    exact, nearest, stochastic = np.transpose(left)
    assert exact.max() < 0.01
    assert nearest[1] == 1 and stochastic[1] < 0.3
    assert nearest[0] > 5 * stochastic[0]
    assert np.all(nearest[2:] < 3 * stochastic[2:])


def test_a_spike_of_a_hundred_thousand_spares_e5m2_and_one_of_a_billion_does_not():
    """After it, with a delayed scale: the largest error of an ordinary gradient."""
    rng = np.random.default_rng(0)
    sizes = 2.0 ** rng.normal(-12, 2, (40, 5000))
    rows = (rng.normal(size=(40, 5000)) * sizes).astype("float32")
    names = {"np": np, "ml_dtypes": ml_dtypes}
    names["gradient_of"] = lambda batch: rows[batch.start // 32].copy()
    worst = {}
    for times in ("100_000", "1_000_000_000"):
        spike = [("100_000", times)]
        errors = NOTEBOOK.run("delayed", names=names, replaced=spike)["errors"]
        current = []
        for dtype in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2):
            worst[times, dtype.__name__] = max(errors(dtype, True)[21:37])
            current.append(np.array(errors(dtype, False)))
        e4m3, e5m2 = current
        assert 1.7 < np.mean(e5m2 / e4m3) < 2.3 and e5m2.max() < 0.1  # the spike, too
    assert worst["100_000", "float8_e5m2"] < 0.1 < worst["1_000_000_000", "float8_e5m2"]
    assert worst["100_000", "float8_e4m3fn"] > 0.3
