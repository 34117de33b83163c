"""ScaleScope as a learner uses it, on a bare page: its numbers are held to Python's."""

import itertools
import re

import numpy as np
import pytest
from explorer_pages import SET, Panel
from playwright.sync_api import expect

from course_utils import formats, gradients
from course_utils.explorers import ScaleScope, scalescope

pytestmark = pytest.mark.browser

CLASSES = ["zero", "subnormal", "normal", "overflow"]


def late(count=3000, seed=0, mean=-24, sd=5, zeros=0.4):
    """Gradients as they are late in training: log-normal, many of them zero."""
    generator = np.random.default_rng(seed)
    return 2.0 ** generator.normal(mean, sd, count) * (generator.random(count) >= zeros)


class Shown(Panel):
    explorer = ScaleScope

    def __init__(self, place):
        super().__init__(place)
        self.slider = self.inside.get_by_role("slider", name="loss scale")
        self.step = self.inside.get_by_role("slider", name="step", exact=True)
        self.format = self.inside.get_by_label("format")
        self.growth = self.inside.get_by_label("doubles after")
        self.picture = self.inside.locator(".chart")
        self.sentence = self.inside.locator(".sentence")
        self.summary = self.inside.locator(".player .note").first

    def best(self):
        return self.inside.locator(".best:visible").all_inner_texts()

    def move(self, scale):
        self.slider.evaluate(SET, scale)

    def go(self, step):
        self.step.evaluate(SET, step)


SEEN = """root => [
  [...root.querySelectorAll(".tile dd")].map((node) => node.textContent),
  root.querySelector(".chart").getAttribute("aria-label"),
  root.querySelector(".scale-text").textContent,
  [...root.querySelectorAll(".chart .shift rect")]
    .map((bar) => [bar.className.baseVal, Number(bar.getAttribute("height"))])]"""


def test_the_readout_and_the_picture_say_what_survives(show):
    panel = show(late())
    layer = gradients.OctaveHistogram.from_values(late())
    for name, scale in itertools.product(formats.FORMATS, (0, 7, 24)):
        panel.format.select_option(name)
        panel.move(scale)
        tiles, label, head, bars = panel.inside.evaluate(SEEN)
        right = layer.survival(name, scale)
        counts = [right.rounded_to_zero, right.subnormal, right.normal, right.overflow]
        shares = [scalescope.percent(n / right.total) for n in (right.zero, *counts)]
        assert tiles == [*shares, scalescope.percent(right.norm_lost)], scale
        assert label.startswith(f"At scale 2^{scale} in {name}: {shares[0]} already zero, ")
        assert f"{shares[4]} overflow; {tiles[5]} of ‖g‖² lost." in label
        assert head.endswith(f" = {2**scale}")
        drawn = {kind.split()[1] for kind, height in bars if height}
        assert drawn == {kind for kind, n in zip(CLASSES, counts, strict=True) if n}
    assert panel.inside.locator(".ladder").count() == 0


def test_the_ladder_says_what_survives_of_each_layer(show):
    layers = {"wide": late(500, mean=-24, sd=9), "late": late(500, seed=1), "bad": [np.nan, 1e9]}
    layers |= {"empty": [], "a_name_that_is/longer/than_fits/into_a_cell": [1.0, 2.0**-30]}
    panel = show(layers)
    panel.move(7)
    rows = panel.inside.locator(".ladder tbody tr")
    texts = rows.evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('td:not(.strip-cell)')]"
        ".map(cell => cell.textContent))"
    )
    for values, cells in zip(layers.values(), texts, strict=True):
        found = gradients.OctaveHistogram.from_values(values).survival("float16", 7)
        total = found.total or 1
        shares = found.rounded_to_zero / total, found.norm_lost, found.overflow / total
        assert cells == [scalescope.percent(share) for share in shares]
    assert "1 NaN or infinite" in rows.nth(2).inner_text()
    last = rows.last.locator("th")
    assert last.text_content() == list(layers)[-1][:39] + "…"
    assert last.get_attribute("title") == list(layers)[-1]


def test_the_best_scales_are_said_and_marked(show):
    panel = show([1.0])
    assert panel.best() == [
        "Keeps 99.9 % of ‖g‖² and overflows nowhere: every scale from 2⁻²⁴ or less to 2¹⁵."
        " It continues left of the slider.",
        "Every nonzero value is normal: 2⁻¹⁴ to 2¹⁵.",
    ]
    box = panel.inside.locator(".span.both").bounding_box()
    track = panel.inside.locator(".track").bounding_box()
    right = (box["x"] + box["width"] - track["x"]) / track["width"] * 24
    assert right == pytest.approx(15, abs=0.1)
    for values, name, words in (
        ([0.0, 0.0], "float16", "no scale helps"),
        ([1.0, 1e-9] * 9, "float4_e2m1fn", "Keeps 99.9 %"),
        ([1.0] + [2.0**-9] * 300_000, "float4_e2m1fn", "No single scale is good"),
        ([2.0**60], "float16", "even at the smallest"),
        ([2.0**-80], "float16", "even the largest"),
        ([1.0], "bfloat16", "every scale from 2⁻²⁴ to 2⁴⁰"),
    ):
        panel = show(values)
        panel.format.select_option(name)
        assert words in panel.best()[0]
    expect(panel.inside.locator(".toolbar")).to_contain_text("inside the normal range of bfloat16")


def test_bad_inputs_are_counted_and_said(show):
    panel = show([np.nan, np.inf, 1.0, 0.0])
    expect(panel.inside.locator(".readout .note")).to_contain_text(
        "2 values of them (50 %) came in as NaN or infinity"
    )
    assert "50 % NaN or infinity before scaling" in panel.picture.get_attribute("aria-label")
    for values in ([], [0.0], [np.nan]):
        panel = show(values)
        panel.move(7)
        panel.tab("Controller")
        panel.go(200)
        expect(panel.sentence).to_contain_text("step 200")
    panel = show([2.0**-1000, 2.0**1000])
    panel.format.select_option("float32")
    expect(panel.inside.locator(".aside").last).to_contain_text("50 % lie farther right")


def test_the_table_of_octaves(show):
    panel = show([2.0**-25, 2.0**-25, 3 * 2.0**-26, 65520.0, 0.0, 1.0])
    panel.inside.locator(".octaves summary").click()
    rows = panel.inside.locator(".octaves tbody tr")
    expect(rows).to_have_count(4)  # it is filled in the next task
    assert [row.split("\t") for row in rows.all_inner_texts()] == [
        ["0", "1", "already zero"],
        ["2⁻²⁵ to 2⁻²⁴", "3", "2 rounded to zero, 1 subnormal"],
        ["2⁰ to 2¹", "1", "normal"],
        ["2¹⁵ to 2¹⁶", "1", "overflow"],
    ]
    panel.button("1024").click()
    expect(rows.nth(1)).to_have_text(re.compile("3subnormal$"))
    expect(rows.nth(2)).to_contain_text("normal")


def test_the_slider_by_keyboard_and_the_chips(show):
    panel = show(late())
    panel.slider.focus()
    for key, scale in [("ArrowRight", 1), ("ArrowUp", 2), ("End", 24), ("Home", 0)]:
        panel.press(key)
        assert panel.slider.input_value() == str(scale)
        assert panel.slider.get_attribute("aria-valuetext") == f"2^{scale} = {2**scale}"
        assert panel.picture.get_attribute("aria-label").startswith(f"At scale 2^{scale} in")
    panel.button("1024").click()
    assert panel.slider.input_value() == "10"
    assert panel.button("1024").get_attribute("aria-pressed") == "true"
    panel.button("1").focus()
    panel.press("ArrowRight")
    panel.press("Enter")
    assert panel.slider.input_value() == "3"


def test_the_histogram_slides_and_the_bands_stand(show):
    panel = show(late())
    bands, bars = panel.inside.locator(".chart .bands"), panel.inside.locator(".chart .shift")
    before, places = bands.inner_html(), []
    for scale in (0, 8, 24):
        panel.move(scale)
        places.append(bars.evaluate("node => new DOMMatrix(getComputedStyle(node).transform).m41"))
    assert places[0] == 0 and places[2] == pytest.approx(3 * places[1], abs=0.02) and places[1] > 40
    assert bands.inner_html() == before


def test_the_controller_tab(show):
    panel = show(late(mean=-10, sd=2), tab="controller")
    panel.go(1)
    expect(panel.sentence).to_have_text("step 1: scale 2¹⁵, applied; next scale 2¹⁵")
    before = panel.summary.inner_text()
    panel.go(5)
    panel.button("Inject overflow").click()
    expect(panel.sentence).to_have_text(
        "step 5: scale 2¹⁵, skipped: an overflow was injected; next scale 2¹⁴"
    )
    panel.go(25)
    expect(panel.sentence).to_contain_text("next scale 2¹⁵, after 20 finite steps")
    panel.button("Clear").click()
    expect(panel.summary).to_have_text(before)
    panel.growth.fill("1")
    panel.step.focus()
    for key, step in [("Home", 1), ("ArrowRight", 2), ("End", 200)]:
        panel.press(key)
        assert panel.step.get_attribute("aria-valuetext").startswith(f"step {step}, scale 2^")
    said = []
    for step in range(1, 12):
        panel.go(step)
        said.append(panel.sentence.inner_text())
    assert any("skipped: the scaled gradients overflow float16; next scale 2" in s for s in said)
    assert panel.inside.locator(".trace .skips").get_attribute("d").count("M") > 20
    panel.growth.fill("0")
    assert panel.growth.get_attribute("aria-invalid") == "true"


def test_the_controller_falls_to_zero_and_rises_to_infinity(show):
    panel = show(late(), tab="controller")
    for step in range(1, 142, 10):
        panel.go(step)
        panel.button("10 in a row").click()
    expect(panel.summary).to_contain_text("at scale 0 the next finite gradient is divided by zero")
    panel.go(151)
    expect(panel.sentence).to_contain_text("0 / 0 makes the weights NaN")
    panel.go(152)
    expect(panel.sentence).to_contain_text("skipped: the weights are NaN")
    panel = show(late(), tab="controller", growth_steps=1)
    panel.format.select_option("bfloat16")
    panel.go(200)
    expect(panel.sentence).to_contain_text("scale ∞, skipped")
    expect(panel.summary).to_contain_text("Nothing stops its rise")
    panel = show([np.nan, 1.0], tab="controller")
    expect(panel.sentence).to_contain_text("hold NaN or infinity at every scale")
    panel.format.select_option("float4_e2m1fn")
    expect(panel.inside.get_by_text("float4_e2m1fn has no infinity")).to_be_visible()


def test_playing_and_reduced_motion(show, pages):
    panel = show(late(), tab="controller")
    panel.button("Play").click()
    expect(panel.button("Pause")).to_be_visible()
    expect(panel.step).not_to_have_value("1")
    panel.button("Pause").click()
    at = panel.step.input_value()
    pages.page.wait_for_timeout(300)
    assert panel.step.input_value() == at
    pages.page.emulate_media(reduced_motion="reduce")
    try:
        panel = show(late(), tab="controller")
        for step in ("2", "3"):
            panel.button("Next step").click()
            assert panel.step.input_value() == step
        pages.page.wait_for_timeout(300)
        assert panel.step.input_value() == "3"
        panel.go(200)
        panel.button("Next step").click()
        assert panel.step.input_value() == "1"
    finally:
        pages.page.emulate_media(reduced_motion="no-preference")


def test_an_overflow_injected_as_the_play_starts_over_is_in_its_first_step(show):
    panel = show(late(mean=-10, sd=2), tab="controller")
    panel.go(200)
    buttons = panel.inside.locator(".player button")
    buttons.evaluate_all("([play, inject]) => { play.click(); inject.click(); }")  # within a tick
    panel.go(1)
    expect(panel.sentence).to_contain_text("step 1: scale 2¹⁵, skipped: an overflow was injected")


def test_the_last_picture_is_said_aloud_and_loading_is_not(show):
    panel = show(late())
    assert panel.spoken.inner_text() == ""
    heard = panel.heard(".spoken")
    for scale in range(8):
        panel.move(scale)
    expect(panel.spoken).to_contain_text("At scale 2^7 in float16: ")
    assert len(heard()) == 1


def test_nothing_stands_out_of_a_narrow_page(show):
    layers = {f"a_rather_long_scope/block_{k}/dense/kernel": late(seed=k) for k in range(3)}
    for width in (360, 480, 700):
        panel = show(layers, width=width)
        panel.move(24)
        panel.inside.locator(".octaves summary").click()
        for name in formats.FORMATS:
            panel.format.select_option(name)
            for tab in ("Controller", "Gradients"):
                panel.tab(tab)
                assert panel.too_far_out() == []
