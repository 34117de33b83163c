"""BitSplit as a learner uses it, on a bare page: its numbers are held to Python's."""

import numpy as np
import pytest
from explorer_pages import SET, Panel
from playwright.sync_api import expect

from course_utils.explorers import BitSplit, scalescope
from course_utils.gradients import splits

pytestmark = pytest.mark.browser

BITS = splits.EXPONENT_BITS


class Shown(Panel):
    explorer = BitSplit

    def __init__(self, place):
        super().__init__(place)
        self.border = self.inside.get_by_role("slider", name="exponent bits")
        self.slider = self.inside.get_by_role("slider", name="loss scale")
        self.chart = self.inside.locator(".errors .chart")
        self.split = self.inside.locator(".split")
        self.verdict = self.inside.locator(".verdict")

    def move(self, bits, scale):
        self.border.evaluate(SET, bits)
        self.slider.evaluate(SET, scale)


def test_the_recorded_tensors_lead_to_three_places(show):
    panel = show()
    found = panel.inside.locator(".found:visible")
    expect(panel.verdict).to_have_text("Off by 1.8 %: gradients, epoch 85.")
    assert "bfloat16" not in found.all_text_contents()
    for bits, scale, name, verdict in (
        (5, 0, ": float16", "Off by 1.8 %: gradients, epoch 85."),
        (5, 10, ": float16", "All within 0.2 %, the worst 0.02 %."),
        (4, 9, "", "Overflow: gradients, epoch 5."),
        (6, 0, ": DLFloat's split", "All within 0.2 %, the worst 0.04 %."),
        (8, 0, ": bfloat16", "All within 0.2 %, the worst 0.17 %."),
    ):
        panel.move(bits, scale)
        told = f"{bits} exponent + {15 - bits} fraction bits{name}"
        expect(panel.split).to_have_text(told)
        expect(panel.border).to_have_attribute("aria-valuetext", told)
        expect(panel.verdict).to_have_text(verdict)
    assert found.all_text_contents() == ["float16", "DLFloat", "bfloat16"]
    errors = [one["kept"][0][BITS.index(8)][0] for one in BitSplit().tensors.values()]
    texts = [scalescope.percent(error) for error in errors]
    assert panel.inside.locator("dd").all_inner_texts() == [f"{t} ✓" for t in texts]
    label = panel.chart.get_attribute("aria-label")
    assert all(text in label for text in texts)
    expect(panel.spoken).to_contain_text(
        "bfloat16. All within 0.2 %, the worst 0.17 %."
    )


def test_a_click_or_a_touch_moves_the_border(show, pages):
    panel = show()
    for at, act in ((5, pages.page.mouse.click), (8, pages.page.touchscreen.tap)):
        box = panel.inside.locator(".box").nth(at).bounding_box()
        act(box["x"] + box["width"], box["y"] + 20)
        expect(panel.border).to_have_js_property("value", str(at))
        letters = "".join(panel.inside.locator(".box").all_inner_texts())
        assert letters == "S" + "E" * at + "F" * (15 - at)


def test_a_scale_moves_gradients_alone_and_the_bands_move_with_the_border(show):
    panel = show(weights=[1.0, 2.0**-9], gradients=[2.0**-20, 2.0**-30])
    bands = (
        "all => all.map((band) => band.className.baseVal + band.getAttribute('width'))"
    )
    at = "node => new DOMMatrix(getComputedStyle(node).transform).m41"
    bars = panel.inside.locator(".silhouette.zero")
    drawn = panel.inside.locator(".strip .band")
    panel.move(5, 0)
    before = drawn.evaluate_all(bands)
    places = [bar.evaluate(at) for bar in bars.all()]
    expect(panel.inside.locator(".lost").last).to_have_text(
        "zero 50 % · subnormal 50 %"
    )
    panel.move(5, 12)
    expect(panel.inside.locator(".lost").last).to_have_text("× 2¹² · subnormal 50 %")
    weights, gradients = (bar.evaluate(at) for bar in bars.all())
    assert weights == places[0] and gradients > places[1] + 50
    assert drawn.evaluate_all(bands) == before
    panel.move(6, 12)
    assert drawn.evaluate_all(bands) != before
    panel = show(weights=[1.0])
    expect(panel.slider).to_be_hidden()


def test_what_is_no_number_is_told_and_odd_tensors_are_drawn(show):
    panel = show(
        weights=[np.nan, np.inf, 1.0], empty=[], zero=[0.0], far=[2.0**-1000, 2.0**1000]
    )
    expect(panel.inside.locator(".note")).to_contain_text(
        "NaN or infinite, so left out: 2 values of weights. "
    )
    for bits in BITS:
        panel.border.evaluate(SET, bits)
        expect(panel.verdict).to_have_text("Overflow: far.")


def test_nothing_moves_by_a_drag(show):
    for width in (280, 360, 480, 700):
        panel = show(width=width)
        heights = set()
        for bits in BITS:
            panel.move(bits, 3 * bits)
            heights.add(panel.inside.bounding_box()["height"])
        assert len(heights) == 1
