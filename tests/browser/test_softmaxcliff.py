"""SoftmaxCliff as a learner uses it, on a bare page: its words and lines are Python's
numbers.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf
from explorer_pages import SET, Panel
from playwright.sync_api import expect

from course_utils.explorers import SoftmaxCliff
from tools.cells import Cells

pytestmark = pytest.mark.browser
IMPORTED = {"keras": keras, "np": np, "tf": tf}
SAMPLES = [-9, 0.5, 6, 14, 17, 30, 31]
CLIFF = Cells("03_policy").run("gradients", names=IMPORTED, until="\nfor")["gradients"]


class Shown(Panel):
    explorer = SoftmaxCliff

    def __init__(self, place):
        super().__init__(place)
        self.slider = self.inside.get_by_role("slider", name="loss scale")
        self.batch = self.inside.get_by_label("samples in the batch")
        self.sentence = self.inside.locator(".sentence")

    def highest(self, dtype):
        """Where in the picture a line comes up to, in pixels from the top."""
        return self.inside.locator(f".curve.{dtype}").evaluate(
            "line => line.getBBox().y"
        )


def test_the_scale_moves_the_cliff_by_mouse_and_keyboard(show):
    panel = show(CLIFF, SAMPLES, width=360)
    explorer = SoftmaxCliff(CLIFF, SAMPLES)
    told = explorer.told
    expect(panel.batch).to_have_value("32")
    expect(panel.sentence).to_contain_text(
        "not finite from a gap of 14.5 on. Below it is right"
    )
    assert panel.inside.locator(".dot").count() == len(SAMPLES)
    assert panel.inside.locator(".dot.lost").count() == explorer.lost("bfloat16") == 3
    panel.slider.focus()
    for scale in range(25):
        until = (
            told("float16", scale - 5).split(",")[0].removeprefix("not finite from ")
        )
        expect(panel.sentence).to_contain_text(f"not finite from a gap of {until} ")
        label = panel.inside.locator("svg").get_attribute("aria-label")
        assert label == f"Scale 2^{scale}, batch of 32: {panel.sentence.inner_text()}"
        assert panel.too_far_out() == []
        beyond = panel.inside.locator(".dot.skipped").count()
        gaps = np.clip(SAMPLES, 0, 20).astype("float32")
        found = CLIFF("mixed_float16", gaps, 2.0 ** (scale - 5))
        assert beyond == (~np.isfinite(found)).sum(), scale
        expect(panel.sentence).to_contain_text(
            f"Of 7 samples 3 teach nothing in bfloat16. In float16 3 teach nothing, and "
            f"the gradient of {beyond} is not finite"
        )
        panel.press("ArrowRight")
    panel.slider.evaluate(SET, 15)
    expect(panel.sentence).to_contain_text("4.2 (the right class gets 1.5 %) on")
    assert (
        panel.highest("float16") < panel.highest("float32") < panel.highest("bfloat16")
    )
    panel.batch.select_option("256")
    panel.slider.evaluate(SET, 0)
    expect(panel.sentence).to_contain_text("finite at every gap")
    expect(panel.spoken).to_contain_text("Scale 2^0, batch of 256: ")
    assert panel.highest("float16") > panel.highest("bfloat16")


def test_without_samples_there_are_no_dots(show):
    panel = show(CLIFF, width=800)
    assert not panel.inside.locator(".dot").count()
    expect(panel.sentence).not_to_contain_text("samples")
