"""DoesItPay as a learner uses it, on a bare page: its words are Python's numbers."""

import re

import pytest
from explorer_pages import SET, Panel
from helpers.memory import share_saved
from playwright.sync_api import expect

from course_utils.explorers import DoesItPay
from course_utils.explorers.doesitpay import BATCHES, NETWORKS

pytestmark = pytest.mark.browser
POINTS = [(64, "float32", 40e6), (64, "mixed_bfloat16", 30e6), (200, "float32", 9e7)]


class Shown(Panel):
    explorer = DoesItPay

    def __init__(self, place):
        super().__init__(place)
        self.network = self.inside.get_by_label("network")

    def share(self):
        """What part of float32's memory the sentence says is saved."""
        text = self.sentence.inner_text()
        part = float(re.search(r"\(([\d.e-]+)\s%\)", text)[1]) / 100
        return part if " save " in text else -part

    def label(self):
        return self.inside.locator("svg").get_attribute("aria-label")


def test_each_preset_says_what_python_counts(show):
    panel = show()
    for network in NETWORKS:
        panel.network.select_option(label=network.name)
        counts = network.count(network.places, network.width)
        for step in (0, 1, 5, 12):
            panel.slider("batch").evaluate(SET, step)
            right = share_saved(counts, BATCHES[step])
            assert panel.share() == pytest.approx(right, rel=0.06)
            assert panel.inside.locator(".fine").count() == (right > 0)
        assert panel.inside.locator(".wall").count() == (counts.break_even >= 1)


def test_by_keyboard_and_said(show):
    panel = show(width=360)
    expect(panel.sentence).to_contain_text("16 bits cost 1.95 MB on top of 16.3 MB")
    panel.slider("batch").focus()
    for _ in range(5):
        panel.press("ArrowRight")
    verdict = "At batch 32 and 28 × 28 pixels, 16 bits save"
    expect(panel.sentence).to_contain_text(verdict)
    expect(panel.spoken).to_contain_text(f"The course's CNN, width 32. {verdict}")
    assert verdict in panel.label()
    panel.network.select_option(label="GPT-2")
    expect(panel.slider("tokens")).to_have_attribute("aria-valuetext", "1,024")


def test_points_belong_to_the_network_that_was_measured(show):
    panel = show(POINTS)
    points = panel.inside.locator(".point")
    expect(points).to_have_count(1)
    assert "bfloat16 at batch 64: 25 %" in panel.label()
    expect(panel.inside.get_by_text("measured in bfloat16")).to_be_visible()
    panel.slider("width").evaluate(SET, 0)
    expect(points).to_have_count(0)
    assert "Measured" not in panel.label()
