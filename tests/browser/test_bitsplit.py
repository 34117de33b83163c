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
        self.border, self.scale = (
            self.slider("exponent bits"),
            self.slider("loss scale"),
        )
        self.verdict = self.inside.locator(".verdict")

    def move(self, bits, scale):
        self.border.evaluate(SET, bits)
        self.scale.evaluate(SET, scale)


def test_the_recorded_tensors_lead_to_three_places(show):
    panel = show()
    names = panel.inside.locator(".found:visible")
    expect(panel.verdict).to_have_text("Off by 1.8 %: gradients, epoch 85.")
    for bits, scale, name, verdict in (
        (5, 10, ": float16", "All within 0.2 %, the worst 0.02 %."),
        (4, 9, "", "Overflow: gradients, epoch 5."),
        (6, 0, ": DLFloat's split", "All within 0.2 %, the worst 0.04 %."),
        (8, 0, ": bfloat16", "All within 0.2 %, the worst 0.17 %."),
    ):
        panel.move(bits, scale)
        text = f"{bits} exponent + {15 - bits} fraction bits{name}"
        expect(panel.inside.locator(".split")).to_have_text(text)
        expect(panel.border).to_have_attribute("aria-valuetext", text)
        expect(panel.verdict).to_have_text(verdict)
    assert names.all_text_contents() == ["float16", "DLFloat", "bfloat16"]
    errors = [one["kept"][0][BITS.index(8)][0] for one in BitSplit().tensors.values()]
    texts = [scalescope.percent(error) for error in errors]
    assert panel.inside.locator("dd").all_inner_texts() == [f"{t} ✓" for t in texts]
    label = panel.inside.locator(".errors .chart").get_attribute("aria-label")
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
    lost = panel.inside.locator(".lost").last

    def seen():
        """Where the bars of both tensors are, and the bands' widths."""
        bars = panel.inside.locator(".silhouette.zero").evaluate_all(
            "all => all.map((bar) => new DOMMatrix(getComputedStyle(bar).transform).m41)"
        )
        bands = panel.inside.locator(".strip .band").evaluate_all(
            "all => all.map((band) => band.className.baseVal + band.getAttribute('width'))"
        )
        return *bars, bands

    panel.move(5, 0)
    weights, gradients, bands = seen()
    expect(lost).to_have_text("zero 50 % · subnormal 50 %")
    panel.move(5, 12)
    expect(lost).to_have_text("× 2¹² · subnormal 50 %")
    scaled = seen()
    assert (scaled[0], scaled[2]) == (weights, bands) and scaled[1] > gradients + 50
    panel.move(6, 12)
    assert seen()[-1] != bands
    panel = show(weights=[1.0])
    expect(panel.scale).to_be_hidden()


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
