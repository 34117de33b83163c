"""SoftmaxCliff as a learner uses it, on a bare page: its words and lines are Python's
numbers.
"""

import numpy as np
import pytest
from explorer_pages import SET, Panel
from playwright.sync_api import expect

from course_utils.explorers import SoftmaxCliff

pytestmark = pytest.mark.browser
SAMPLES = [-9, 0.5, 6, 14, 17, 30, 31]


def cliff(policy, gaps, scale):
    """The gradients of notebook 03, by its formulas."""
    right = 1 / (1 + np.exp(gaps))
    is_zero = (policy != "float32") & (right < 1e-7)
    overflows = (policy == "mixed_float16") & (scale / right > 65504)
    return np.where(is_zero, 0, np.where(overflows, np.nan, 1 - right))


class Shown(Panel):
    explorer = SoftmaxCliff

    def highest(self, dtype):
        """Where in the picture a line comes up to, in pixels from the top."""
        return self.inside.locator(f".curve.{dtype}").evaluate(
            "line => line.getBBox().y"
        )


def test_the_scale_moves_the_cliff_by_mouse_and_keyboard(show):
    panel = show(cliff, SAMPLES, width=360)
    explorer = SoftmaxCliff(cliff, SAMPLES)
    slider = panel.slider("loss scale")
    batch = panel.inside.get_by_label("samples in the batch")
    assert panel.inside.locator(".dot").count() == len(SAMPLES)
    assert panel.inside.locator(".dot.lost").count() == 3
    slider.focus()
    for scale in range(25):
        until = explorer.outcome("float16", scale - 5).split(",")[0].split()[-1]
        expect(panel.sentence).to_contain_text(f"not finite from a gap of {until} ")
        label = panel.inside.locator("svg").get_attribute("aria-label")
        assert label == f"Scale 2^{scale}, batch of 32: {panel.sentence.inner_text()}"
        found = cliff("mixed_float16", np.clip(SAMPLES, 0, 20), 2.0 ** (scale - 5))
        beyond = int(np.isnan(found).sum())
        expect(panel.inside.locator(".dot.skipped")).to_have_count(beyond)
        expect(panel.sentence).to_contain_text(
            f"Of 7 samples 3 teach nothing in bfloat16. In float16 3 teach nothing, and "
            f"the gradient of {beyond} is not finite"
        )
        panel.press("ArrowRight")
    slider.evaluate(SET, 15)
    expect(panel.sentence).to_contain_text("4.2 (the right class gets 1.5 %) on")
    assert (
        panel.highest("float16") < panel.highest("float32") < panel.highest("bfloat16")
    )
    batch.select_option("256")
    slider.evaluate(SET, 0)
    expect(panel.sentence).to_contain_text("finite at every gap")
    expect(panel.spoken).to_contain_text("Scale 2^0, batch of 256: ")
    assert panel.highest("float16") > panel.highest("bfloat16")
