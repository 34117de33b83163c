"""BlockLab as a learner uses it, on a bare page: its numbers are Python's."""

import numpy as np
import pytest
from explorer_pages import SET, Panel
from playwright.sync_api import expect

from course_utils.explorers import BlockLab, blocklab
from course_utils.formats import blocks

pytestmark = pytest.mark.browser
VALUES = np.random.default_rng(7).normal(size=(5, 20)) ** 7


class Shown(Panel):
    explorer = BlockLab

    def __init__(self, place):
        super().__init__(place)
        self.format = self.inside.get_by_label("format").first
        self.drawing = self.inside.locator("svg.drawing")

    def cells(self, column):
        """{format: the text in a column of the table}."""
        lines = self.inside.locator("tbody").inner_text().splitlines()
        rows = [line.split("\t") for line in lines]
        return {row[0].removesuffix(" *"): row[column] for row in rows}

    def place(self, value, share):
        """Where on the page a value's bar is, and a share of the plot's height from below."""
        box = self.drawing.bounding_box()
        unit = float(self.inside.locator(".chosen").get_attribute("width"))
        x = box["x"] + 44 + (value - 0.5) * unit
        return x, box["y"] + 204 - share * 198


def wrong(kept, values):
    return f"{100 * np.linalg.norm(kept - values) / np.linalg.norm(values):.2g}"


def test_each_block_of_a_tensor_becomes_what_it_does_in_python(show):
    panel = show(VALUES)
    flat = np.pad(np.float32(VALUES).ravel(), (0, 28)).reshape(4, 32)
    for at, block in enumerate(flat, 1):
        expect(panel.inside.locator("b")).to_have_text(f"block {at} of 4")
        zeros, errors = panel.cells(3), panel.cells(4)
        for name, title in blocklab.TITLES.items():
            kept = blocks.quantize(flat, name).values[at - 1]
            lost = np.count_nonzero((kept == 0) & (block != 0))
            assert zeros[title] == f"{lost} of {np.count_nonzero(block)}"
            assert float(errors[title][:-2]) == float(wrong(kept, block))
        panel.button("next block").click()
    expect(panel.inside.locator("b")).to_have_text("block 1 of 4")
    for name, title in blocklab.TITLES.items():
        kept = blocks.quantize(VALUES, name).values
        assert float(panel.cells(5)[title][:-2]) == float(wrong(kept, VALUES))


def test_dragging_one_value_takes_the_bits_of_the_others(show):
    panel = show(width=360)
    panel.button("even values").click()
    expect(panel.sentence).to_contain_text("0 of 32 nonzero values become 0")
    mouse = panel.inside.page.mouse
    mouse.move(*panel.place(5, 0.5))
    mouse.down()
    for share, lost in ((0.62, 0), (0.8, 31), (0.52, 0), (0.9, 31)):
        # the bar stays the one of the start
        mouse.move(*panel.place(28, share), steps=3)
        expect(panel.sentence).to_contain_text(f" {lost} of 32 nonzero values")
        expect(panel.sentence).to_contain_text("Value 5 ")
    mouse.up()
    assert panel.active("node.ariaLabel") == "its size"
    panel.press("Home")
    expect(panel.sentence).to_contain_text("0 of 31 nonzero values")
    expect(panel.sentence).to_contain_text("Value 5 is 0, becomes 0 and keeps 0 bits.")


def test_by_keyboard_alone_and_said(show):
    panel = show(width=360)
    panel.button("even values").focus()
    panel.press("Enter")
    panel.slider("which value").focus()
    panel.press("Home")
    panel.slider("its size").focus()
    lost = []
    for _ in range(8):
        panel.press("ArrowUp")
        lost.append(int(panel.cells(3)["MXFP4"].split()[0]))
    assert lost == sorted(lost) and (lost[0], lost[-1]) == (0, 31)
    expect(panel.spoken).to_contain_text("In MXFP4 the scale is 2^5, 31 of 32")
    assert panel.drawing.get_attribute("aria-label") == panel.spoken.inner_text()
    panel.format.select_option(label="NVFP4")
    expect(panel.sentence).to_contain_text("the scales are 384 and 2, both")
    expect(panel.sentence).to_contain_text(" 15 of 32 nonzero values")


def test_what_is_not_finite_and_a_single_value_are_shown(show):
    panel = show([1.0, np.nan, *[0.5] * 40, np.inf])
    expect(panel.sentence).to_contain_text(
        "not every value is finite. Value 1 is 1, becomes NaN"
    )
    assert {*panel.cells(4).values(), *panel.cells(5).values()} == {"NaN"}
    panel.slider("which value").evaluate(SET, 1)
    panel.slider("its size").evaluate(SET, 0)  # which gives back a number
    expect(panel.sentence).to_contain_text("Value 2 is ")
    assert panel.cells(4)["MXFP4"] != "NaN"
    panel = show([-3e-42])
    expect(panel.sentence).to_contain_text("1 of 1 nonzero value becomes 0")
    panel.button("zeros").click()
    expect(panel.sentence).to_contain_text("2⁻¹²⁷, and all values are 0. Value 1 is 0")
