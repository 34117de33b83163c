"""ScaleScope as a learner uses it, on a bare page: its numbers are held to Python's."""

import numpy as np
import pytest
from explorer_pages import SET, Panel
from playwright.sync_api import expect

from course_utils import gradients
from course_utils.explorers import ScaleScope, scalescope

pytestmark = pytest.mark.browser


def late(mean=-24, sd=5):
    """Gradients as they are late in training: log-normal, many of them zero."""
    generator = np.random.default_rng(0)
    return 2.0 ** generator.normal(mean, sd, 3000) * (generator.random(3000) >= 0.4)


class Shown(Panel):
    explorer = ScaleScope

    def __init__(self, place):
        super().__init__(place)
        self.scale = self.slider("loss scale")
        self.format = self.inside.get_by_label("format")
        self.layer = self.inside.get_by_label("gradients of")
        self.followed = self.inside.get_by_label("gradient to follow")

    def move(self, scale):
        self.scale.evaluate(SET, scale)

    def fate(self):
        """What the followed gradient is stored as, its bits, and what comes back."""
        follow = self.inside.locator(".follow")
        bits = follow.get_by_role("img").get_attribute("aria-label")
        return *follow.locator(".kind, .told").all_inner_texts(), bits


SEEN = """root => [
  [...root.querySelectorAll(".chart .share")].map((node) => node.textContent),
  root.querySelector(".reading").textContent,
  root.querySelector(".chart").getAttribute("aria-label"),
  root.querySelector(".tub").getAttribute("aria-label")]"""


def test_the_picture_says_what_survives_and_how_wrong_it_is(show):
    layers = {"late": late(), "wide": late(sd=9)}
    panel = show(layers)
    for name, of, scale in (("float16", 1, 7), ("bfloat16", 2, 24)):
        panel.format.select_option(name)
        panel.layer.select_option(index=of)
        panel.move(scale)
        shares, error, label, tub = panel.inside.evaluate(SEEN)
        layer = gradients.OctaveHistogram.from_values(list(layers.values())[of - 1])
        right = layer.survival(name, scale)
        counts = [getattr(right, result) for result in scalescope.RESULTS]
        texts = [scalescope.percent(n / sum(counts)) for n in counts]
        assert shares == (texts if name != "bfloat16" else [texts[2]])
        percent = scalescope.in_percent(layer.relative_error(name, scale))
        assert error == scalescope.error_text(percent) and tub.endswith(f": {error}")
        assert all(part in label for part in [name, error, *texts])
        assert f" · {error}" in panel.layer.locator("option").nth(of).inner_text()
    show(late())
    expect(panel.layer).to_be_hidden()


def test_a_gradient_is_followed_from_zero_to_infinity_and_another_one(show):
    panel = show(late())
    assert panel.followed.input_value() == "1.19e-8"
    for scale, *fate in (
        (0, "zero", "lost", "0 00000 0000000000"),
        (9, "subnormal", "0.22 % off", "0 00000 0001100110"),
        (42, "normal", "0.029 % off", "0 11110 1001100100"),
        (43, "infinity", "lost", "0 11111 0000000000"),
    ):
        panel.move(scale)
        assert panel.fate() == tuple(fate)
    panel.format.select_option("float8_e4m3fn")
    assert panel.fate() == ("NaN", "lost", "0 1111 111")
    panel.format.select_option("float16")
    panel.move(3)
    expect(panel.spoken).to_contain_text("At scale 2^3 in float16, relative error ")
    expect(panel.spoken).to_contain_text(
        "1.19e-8 is stored as 0 00000 0000000010, subnormal"
    )
    panel.followed.fill("pi")
    assert panel.fate()[0] == "normal"
    panel.followed.fill("-6e-8")
    assert panel.fate() == ("subnormal", "0.66 % off", "1 00000 0000001000")
    message = panel.inside.locator(".follow").get_by_role("status")
    expect(message).to_be_empty()  # it is there before it has something to say
    for entry in ("", "0", "inf", "1,5"):
        panel.followed.fill(entry)
        panel.press("Tab")
        expect(message).to_contain_text("The pictures still show g = -6e-8.")
        assert panel.followed.get_attribute("aria-invalid") == "true"
        assert panel.fate()[1] == "0.66 % off"
    chart = panel.inside.locator(".chart")
    box = chart.bounding_box()
    x = box["x"] + 8 + (box["width"] - 16) * 3 / 4
    chart.page.mouse.click(x, box["y"] + 80)
    marker = chart.locator(".marker").bounding_box()
    assert marker["x"] + marker["width"] / 2 == pytest.approx(x, abs=1)
    assert panel.fate()[0] == "normal"
    expect(message).to_be_empty()


def test_the_bathtub_shows_its_walls_and_is_a_slider_too(show):
    layer = gradients.OctaveHistogram.from_values(late())
    panel = show(late())
    wall = next(s for s in range(49) if layer.survival("float16", s).overflow)
    zone = panel.inside.locator(".tub .band.overflow").bounding_box()
    thumb = panel.scale.bounding_box()

    def place(scale):
        return thumb["x"] + 8 + (thumb["width"] - 16) * scale / 48

    assert zone["x"] == pytest.approx(place(wall - 0.5), abs=1)
    for scale in (0, 20, 48):
        panel.scale.page.mouse.click(place(scale), zone["y"] + 40)
        assert panel.scale.input_value() == str(scale)
        dot = panel.inside.locator(".tub .dot").bounding_box()
        assert dot["x"] + dot["width"] / 2 == pytest.approx(place(scale), abs=1)
    panel.format.select_option("bfloat16")
    expect(panel.inside.locator(".tub .band")).to_have_count(0)


def test_bad_inputs_are_counted_and_said(show):
    panel = show([np.nan, np.inf, 1.0, 0.0])
    expect(panel.inside.locator(".picture .note")).to_contain_text(
        "25 % of 4 are zero anyway. 2 values came in as NaN or infinity"
    )
    expect(panel.inside.locator(".reading")).to_have_text("∞")
    for values in ([], [0.0], [np.nan]):
        panel = show(values)
        panel.move(7)
        told = "There is no finite gradient but zero."
        assert panel.inside.evaluate(SEEN)[2] == told
