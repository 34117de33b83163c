"""FloatLab as a learner uses it, on a bare page: mouse, keys, fingers, and what is said
aloud.
"""

import itertools
import re

import numpy as np
import pytest
from explorer_pages import SET, Panel
from playwright.sync_api import expect

from course_utils import exercises, formats
from course_utils.explorers import FloatLab

pytestmark = pytest.mark.browser


# The digits, which style sheets write
DIGITS = """bits => bits
  .map((bit) => JSON.parse(getComputedStyle(bit, "::before").content)).join("")"""


class Shown(Panel):
    explorer = FloatLab

    def __init__(self, place):
        super().__init__(place)
        self.entry = self.inside.get_by_label("Number or code")
        self.message = self.inside.locator(".toolbar .message")
        self.slider = self.inside.get_by_role("slider")
        self.codes = self.inside.get_by_label("codes are read as")

    def row(self, name):
        return self.inside.locator(f".row[data-format={name}]")

    def bit(self, name, index):
        return self.row(name).locator(f".bit[data-index='{index}']")

    def bits(self, name):
        return self.row(name).locator(".bit").evaluate_all(DIGITS)

    def text(self, name, part="value"):
        return self.row(name).locator(f".{part}").inner_text()


def test_a_click_flips_a_bit_and_every_row_follows(show):
    panel = show()
    assert panel.bits("float16") == "0010111001100110"
    panel.bit("float16", 0).click()
    assert panel.bits("float16") == "1010111001100110"
    assert panel.text("float16") == panel.text("float32") == "−0.0999755859375"
    code = formats.encode("-0.0999755859375", "bfloat16").hex
    assert panel.text("bfloat16", "hex") == code
    assert panel.bit("float16", 0).get_attribute("aria-pressed") == "true"
    assert panel.entry.input_value() == "-0.0999755859375"
    expect(panel.spoken).to_have_text("float16: −0.0999755859375, normal, no error")
    # A NaN keeps the bits that were clicked.
    panel.entry.fill("nan")
    assert panel.text("float4_e2m1fn") == "no NaN here"
    panel.bit("float16", 15).click()
    panel.bit("float16", 0).click()
    assert panel.text("float16", "hex") == "0xFE01"
    panel.entry.fill("65504")
    panel.button("step up in float16").click()
    assert panel.text("float16") == "infinity"
    assert panel.button("step up in float16").is_disabled()


def test_bad_entries_are_told_after_a_pause_and_leave_what_was_there(show):
    panel = show("twelve", width=900)
    expect(panel.message).to_contain_text("twelve")
    expect(panel.inside.locator(".rows")).to_be_hidden()  # there is no number yet
    panel.entry.fill("65520")
    expect(panel.message).to_be_empty()
    told = panel.heard(".toolbar .message")
    for text in ["", "-", "-2^", "-2^-24", "65520"]:
        panel.entry.evaluate(SET, text)
    assert told() == [] and panel.entry.get_attribute("aria-invalid") is None
    place = panel.row("float32").bounding_box()
    panel.entry.fill("0x12345")
    # What is shown is that of the number before it, which is said and seen.
    expect(panel.message).to_contain_text("to 0xFFFF. The rows still show 65520.")
    assert panel.entry.get_attribute("aria-invalid") == "true"
    assert panel.text("float16") == "infinity"
    assert panel.row("float32").bounding_box() == place
    stale = panel.inside.locator(".stale")
    expect(stale).to_have_css("opacity", "0.45")
    for part in (".rows", ".formula", ".lens-panel"):
        expect(stale.locator(part)).to_be_visible()
    panel.entry.fill("2")
    expect(panel.inside.locator(".stale")).to_have_count(0)
    panel.entry.press_sequentially("x")
    panel.press("Tab")  # or at once where the field is left
    assert "2x" in panel.message.inner_text()


def test_digits_beyond_a_float64_count_and_are_shown_as_typed(show):
    panel = show("65519.999999999999999999")
    assert panel.text("float16") == "65504"
    flag = panel.inside.locator(".x-text")
    for entry, error, shown in [
        ("1.00048828125000000000000001", "0.5 ULP", "x ≈ 1.00048828"),
        ("-1e-400", "<1e-250 too high", "x = −1e-400"),
        ("1" * 400, "too large for float16", "x = 11111111111111111…"),
    ]:
        panel.entry.fill(entry)
        assert error in panel.text("float16", "error") and shown in flag.inner_html()
    panel.entry.fill("0b1_01111_0000000000")
    assert panel.text("float16") == "−1" and "x = −1" in flag.inner_html()
    panel.bit("float16", 0).click()
    assert "x = 1" in flag.inner_html()


def test_chips_rounding_and_saturation(show):
    panel = show()
    for text in ["0.1", "pi", "2^-24", "65504", "2049", "-4200000000", "NaN"]:
        panel.button(text).click()
        code = formats.encode(text, "float16").hex
        assert panel.text("float16", "hex") == code, text
    panel.entry.fill("65520")
    panel.inside.get_by_label("rounding").select_option("up, toward +∞")
    assert panel.text("float16", "hex") == "0x7C00"
    panel.inside.get_by_label("saturate").set_checked(True)
    assert panel.text("float16", "hex") == "0x7BFF"


def test_keys_on_the_bits(show):
    panel = show("1")
    panel.bit("float16", 0).focus()
    keys = "ArrowRight ArrowRight ArrowLeft End ArrowRight Home e f S"
    for key, index in zip(keys.split(), (1, 2, 1, 15, 15, 0, 1, 6, 0), strict=True):
        panel.press(key)
        assert panel.active("Number(node.dataset.index)") == index, key
    for key, value in [("Space", "−1"), ("Enter", "1"), ("ArrowUp", "1.0009765625"),
                       ("ArrowDown", "1"), ("ArrowDown", "0.99951171875")]:  # fmt: skip
        panel.press(key)
        assert panel.text("float16") == value, key
    # One stop per row: Tab goes to the next format's bits, and comes back to the same
    # bit.
    panel.press("f")
    panel.press("Tab")
    assert panel.row("bfloat16").get_attribute("class").endswith(" selected")
    panel.press("Shift+Tab")
    assert panel.active("node.dataset.index") == "6"


def test_bits_and_terms_light_each_other(show):
    panel = show("1.5")
    lit = panel.inside.locator(".formula .term.lit")
    panel.bit("float16", 6).focus()
    assert lit.all_inner_texts() == ["512∕1024", "2−1"]
    panel.bit("float16", 2).hover()
    assert lit.all_inner_texts() == ["215 − 15", "8"]
    panel.inside.locator(".formula .term.sign").hover()
    label = panel.row("float16").locator(".bit.lit").get_attribute("aria-label")
    assert label == "sign bit, 1 for negative"


def test_a_code_is_read_as_the_label_says(show):
    panel = show("0", ["float32", "float16", "bfloat16"])
    panel.entry.fill("0x3C00")
    panel.bit("bfloat16", 0).focus()
    expect(panel.codes).to_have_value("bfloat16")
    assert panel.entry.input_value() == panel.text("bfloat16") == "1"
    panel.entry.fill("0x3C00")
    panel.codes.select_option("float16")
    assert panel.entry.input_value() == panel.text("float16", "hex") == "0x3C00"
    # Only shown formats can be chosen.
    panel.inside.locator(".formats summary").click()
    panel.inside.get_by_label("float16", exact=True).uncheck()
    assert panel.entry.input_value() == "1"
    expect(panel.row("float16")).to_be_hidden()
    assert panel.codes.inner_text().split() == ["float32", "bfloat16"]


def test_escape_closes_an_open_popup_first(show, pages):
    panel = show("1")
    heard = "document.addEventListener('keydown', () => document.escapes += 1)"
    pages.page.evaluate(f"document.escapes = 0; {heard}")
    panel.inside.locator(".formats summary").click()
    panel.inside.get_by_label("tf32", exact=True).focus()
    for escapes in (0, 1):
        panel.press("Escape")
        expect(panel.inside.locator(".formats .boxes")).to_be_hidden()
        assert pages.page.evaluate("document.escapes") == escapes


def test_the_lens_moves_x_across_the_overflow(show, pages):
    panel = show("65519")
    panel.slider.focus()
    assert "65504" in panel.slider.get_attribute("aria-valuetext")
    panel.press("ArrowRight")
    assert panel.entry.input_value() == "65520"
    assert panel.text("float16") == "infinity"
    assert "infinity" in panel.slider.get_attribute("aria-valuetext")
    lens = panel.inside.locator("svg.lens")
    lens.scroll_into_view_if_needed()
    box = lens.bounding_box()
    mouse = pages.page.mouse
    y = box["y"] + 50
    mouse.move(box["x"] + box["width"] * 0.3, y)
    mouse.down()
    first = float(panel.entry.input_value())
    mouse.move(box["x"] + box["width"] * 0.9, y, steps=8)
    mouse.up()
    assert first < 65504 < float(panel.entry.input_value())


def test_labels_of_the_lens_tell_neighbors_apart(show):
    panel = show("1", ["float32"])
    for entry in ("3.4e38", "-16777217", "1e-40", "0.1"):
        panel.entry.fill(entry)
        labels = panel.inside.locator(".lens .main .bin-text").all_text_contents()
        assert len(labels) > 3 and len(set(labels)) == len(labels), labels
        place = panel.slider.get_attribute("aria-valuenow")
        assert re.fullmatch(r"\d+(\.\d)?", place)  # no 6e-8


def swipe(page, place, *moves):
    """A finger goes down at a place, moves by steps of (dx, dy), and is lifted."""
    touch = page.context.new_cdp_session(page)
    places = itertools.accumulate([place, *moves], np.add)
    points = [[{"x": float(x), "y": float(y)}] for x, y in places]
    kinds = ["touchStart", *["touchMove"] * len(moves), "touchEnd"]
    for kind, touched in zip(kinds, [*points, []], strict=True):
        event = {"type": kind, "touchPoints": touched}
        touch.send("Input.dispatchTouchEvent", event)
    touch.detach()


def middle(locator):
    locator.scroll_into_view_if_needed()
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_finger_that_scrolls_changes_nothing(show, pages):
    panel = show("0.1", width=360)
    page = pages.page
    up = [(0.5, -6)] * 16
    bits = panel.bits("float32")
    page.evaluate("scrollTo(0, 0)")
    x, y = middle(panel.bit("float32", 25))
    swipe(page, (x, y - 10), *up)  # from one line of bits to the line above
    page.wait_for_function("scrollY > 30")
    assert panel.bits("float32") == bits
    line = panel.inside.locator(".lane.main .lane-box")
    middle(line)
    page.evaluate("scrollBy(0, -120)")
    before = page.evaluate("scrollY")
    swipe(page, middle(line), *up)
    page.wait_for_function("before => scrollY > before + 30", arg=before)
    assert panel.entry.input_value() == "0.1"
    # Sideways it moves x; a touch on the spot does too.
    x, y = middle(line)
    swipe(page, (x, y), *[(6, 0)] * 8)
    moved = panel.entry.input_value()
    assert float(moved) > 0.1
    swipe(page, (x - 40, y))
    expect(panel.entry).not_to_have_value(moved)


def test_a_wrong_answer_unfolds_floatlab_where_one_sees_why(pages):
    question = exercises.load("01")[3]
    page = pages.page
    page.set_viewport_size({"width": 400, "height": 900})
    page.set_content(question.check(65505)._repr_html_())
    panel = Shown(page.locator("[data-floatlab]"))
    expect(panel.entry).to_be_hidden()
    page.locator("summary", has_text="See why in FloatLab").click()
    assert panel.text("float16") == "65504" and panel.too_far_out() == []
