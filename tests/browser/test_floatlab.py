"""FloatLab as a learner uses it: in JupyterLab by mouse and keys, untrusted, exported, offline."""

import re

import ml_dtypes
import nbformat
import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from harness import browsing
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_notebook, new_output
from playwright.sync_api import expect, sync_playwright

from course_utils import formats
from course_utils.explorers import FloatLab

pytestmark = [pytest.mark.browser, pytest.mark.slow]

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
START = "import sys; sys.path.insert(0, '..')\nfrom course_utils.explorers import FloatLab\n"
NO_CDN = {  # what nbconvert's own template would ask of other hosts
    f"{name}_url": ""
    for name in ("require_js", "mathjax", "jquery", "mermaid_js", "jupyter_widgets_base")
}
CHIPS = ["0.1", "pi", "2^-24", "65504", "65520", "-4200000000", "nan"]


class Panel:
    """One FloatLab on a page; `inside` finds things in its shadow root."""

    def __init__(self, place):
        self.inside = place.locator(".floatlab")
        self.entry = self.inside.get_by_label("Number or code")
        self.message = self.inside.locator(".toolbar .message")
        self.slider = self.inside.get_by_role("slider")

    def row(self, name):
        return self.inside.locator(f".row[data-format={name}]")

    def bit(self, name, index):
        return self.row(name).locator(f".bit[data-index='{index}']")

    def bits(self, name):
        return "".join(self.row(name).locator(".bit").all_inner_texts())

    def value(self, name):
        return self.row(name).locator(".value").inner_text()

    def hex(self, name):
        return self.row(name).locator(".hex").inner_text()

    def kind(self, name):
        return self.row(name).locator(".kind").inner_text()

    def button(self, name):
        return self.inside.get_by_role("button", name=name, exact=True)

    def tab(self, name):
        self.inside.get_by_role("tab", name=name).click()

    def state(self):
        """Everything that FloatLab's arguments decide."""
        rows = self.inside.locator(".rows .row:visible")
        names = [row.get_attribute("data-format") for row in rows.all()]
        return {
            "codes": {name: self.hex(name) for name in names},
            "errors": [row.locator(".error").inner_text() for row in rows.all()],
            "rounding": self.inside.get_by_label("rounding").input_value(),
            "saturate": self.inside.get_by_label("saturate").is_checked(),
            "tab": self.inside.get_by_role("tab", selected=True).inner_text(),
        }


def notebook(one, two):
    cells = [new_code_cell(one, id="one"), new_code_cell(two, id="two")]
    return new_notebook(cells=cells, metadata={"kernelspec": KERNEL})


@pytest.fixture(scope="module")
def window(jupyterlab):
    """One JupyterLab window with a notebook of two FloatLabs, for all tests of this file."""
    with sync_playwright() as playwright, browsing(playwright, jupyterlab) as lab:
        lab.frames = []

        def watch(socket):
            socket.on("framesent", lambda frame: lab.frames.append(frame))

        lab.context.on("page", lambda page: page.on("websocket", watch))
        lab.context.grant_permissions(["clipboard-read", "clipboard-write"])
        lab.write("notebooks/floatlab.ipynb", notebook(START + "FloatLab()", "FloatLab('7.5')"))
        lab.open("notebooks/floatlab.ipynb")
        lab.run("one")
        yield lab


@pytest.fixture
def show(window):
    """A function that shows `FloatLab(arguments)` anew; at the end nothing may have gone wrong."""

    window.errors.clear()
    window.outside.clear()

    def run(arguments="", cell="one"):
        window.set_source(cell, f"FloatLab({arguments})")
        window.run(cell)
        return Panel(window.output(cell))

    yield run
    assert window.errors == []
    assert window.outside == []


def test_a_click_flips_a_bit_and_every_row_follows(show):
    panel = show()
    assert panel.bits("float16") == "0010111001100110"
    panel.bit("float16", 0).click()
    assert panel.bits("float16") == "1010111001100110"
    assert panel.value("float16") == panel.value("float32") == "−0.0999755859375"
    assert panel.hex("bfloat16") == formats.encode("-0.0999755859375", "bfloat16").hex
    assert panel.bit("float16", 0).get_attribute("aria-pressed") == "true"
    assert panel.entry.input_value() == "-0.0999755859375"
    assert panel.row("float16").locator(".error").inner_text() == "exact"
    panel.bit("float8_e5m2", 7).click()
    assert panel.value("float16") == panel.value("float8_e5m2") == "−0.109375"


def test_a_nan_keeps_the_bits_that_were_clicked(show):
    panel = show("'nan', formats=['float16', 'float8_e4m3fn', 'float4_e2m1fn']")
    assert panel.value("float4_e2m1fn") == "no NaN here"
    panel.bit("float16", 15).click()
    panel.bit("float16", 0).click()
    assert panel.hex("float16") == "0xFE01" and panel.kind("float16") == "NaN"
    panel.bit("float16", 1).click()
    assert panel.kind("float16") == "normal"


def test_dragging_paints_the_bits_on_the_way(show, window):
    panel = show("'0'")
    mouse = window.page.mouse
    boxes = [panel.bit("float16", index).bounding_box() for index in (1, 9)]
    start, end = [(box["x"] + box["width"] / 2, box["y"] + 10) for box in boxes]
    mouse.move(*start)
    mouse.down()
    mouse.move(*end, steps=3)  # so fast that bits are skipped
    mouse.up()
    assert panel.bits("float16") == "0111111111000000"
    mouse.down()  # the last bit is 1: this stroke clears
    mouse.move(*start, steps=20)
    mouse.up()
    assert panel.bits("float16") == "0" * 16


def test_a_finger_that_scrolls_changes_nothing(show):
    panel = show("'1'")
    send = """(bit, types) => { for (const type of types) bit.dispatchEvent(new PointerEvent(type, {
        bubbles: true, pointerId: 7, pointerType: "touch", button: 0})) }"""
    bit = panel.bit("bfloat16", 0)
    bit.evaluate(send, ["pointerdown", "pointercancel"])
    assert panel.value("bfloat16") == "1"
    bit.evaluate(send, ["pointerdown", "pointerup"])
    assert panel.value("bfloat16") == "−1"


def test_numbers_and_codes_are_typed_and_bad_ones_explained(show):
    panel = show()
    panel.entry.fill("")
    panel.entry.press_sequentially("65520")
    assert panel.value("float16") == "infinity" and panel.kind("float16") == "infinity"
    assert "too large for float8_e4m3fn" in panel.row("float8_e4m3fn").inner_text()
    panel.entry.fill("0x3C01")
    assert panel.value("float16") == panel.value("float32") == "1.0009765625"
    panel.entry.fill("0b1_1")
    expect(panel.message).to_contain_text("0b1_1")
    assert panel.value("float16") == "1.0009765625"
    panel.entry.fill("0b0011110000000000")
    assert panel.value("float16") == "1"
    expect(panel.message).to_be_empty()
    panel.inside.get_by_label("codes are read as").select_option("bfloat16")
    assert panel.value("bfloat16") == "0.0078125"  # the same bits
    panel.entry.fill("0x12345")
    expect(panel.message).to_contain_text("16 bits")
    panel.entry.fill("1,5")
    expect(panel.message).to_contain_text("comma")
    assert panel.entry.get_attribute("aria-invalid") == "true"


def test_markup_in_an_entry_is_text(show, window):
    evil = "</script><img src=x onerror=document.title='evil'>"
    panel = show(repr(evil))
    expect(panel.message).to_contain_text("</script><img src=x")
    panel.entry.fill(evil + "!")
    expect(panel.message).to_contain_text("</script>")
    assert panel.entry.input_value() == evil + "!"
    panel.bit("float16", 15).click()
    panel.entry.fill(evil)
    panel.button("Copy as code").click()
    assert window.page.title() != "evil"
    assert panel.inside.locator("img").count() == 0


def test_chips(show):
    panel = show("formats=list(__import__('course_utils').formats.FORMATS)[:6]")
    for text in CHIPS:
        panel.inside.locator(f".chip[data-entry='{text.replace('pi', 'π')}' i]").click()
        for name in ("float32", "float16", "float8_e4m3fn"):
            assert panel.hex(name) == formats.encode(text, name).hex, (text, name)
    panel.button("2048+1").click()
    result = panel.inside.locator(".results tr[data-format=float16]")
    expect(result).to_contain_text("2048 + 1")
    expect(result).to_contain_text("second number lost")
    assert "exact" in panel.inside.locator(".results tr[data-format=float32]").inner_text()


def test_rounding_and_saturation(show):
    panel = show("'65520'")
    for rounding in formats.ROUNDINGS:
        for saturate in (True, False):
            panel.inside.get_by_label("rounding").select_option(rounding)
            panel.inside.get_by_label("saturate").set_checked(saturate)
            for name in formats.FORMATS:
                expected = formats.encode("65520", name, rounding, saturate)
                assert panel.hex(name) == expected.hex, (rounding, saturate, name)


def test_keys_on_the_bits(show, window):
    panel = show("'1'")
    press = window.page.keyboard.press
    focused = "n => Number(n.getRootNode().activeElement?.dataset.index ?? -1)"

    def at():
        return panel.inside.evaluate(focused)

    panel.bit("float16", 0).focus()
    for key, index in [("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", 15),
                       ("ArrowRight", 15), ("Home", 0), ("e", 1), ("f", 6), ("s", 0), ("m", 6),
                       ("E", 1)]:  # fmt: skip
        press(key)
        assert at() == index, key
    press("s")
    press("Space")
    assert panel.value("float16") == "−1" and at() == 0
    press("Enter")
    assert panel.value("float16") == "1"
    press("ArrowUp")
    assert panel.value("float16") == "1.0009765625"
    press("ArrowDown")
    press("ArrowDown")
    assert panel.value("float16") == "0.99951171875"
    assert at() == 0
    # One stop per row: Tab goes to the next format's bits, and comes back to the same bit.
    press("f")
    press("Tab")
    assert panel.row("bfloat16").get_attribute("class").split() == ["row", "selected"]
    press("Shift+Tab")
    assert at() == 6
    assert "selected" in panel.row("float16").get_attribute("class")


def test_steps_to_the_neighbors(show):
    panel = show("'65504', formats=['float16', 'float4_e2m1fn']")
    panel.button("next value in float16").click()
    assert panel.value("float16") == "infinity"
    assert panel.button("next value in float16").is_disabled()
    panel.button("previous value in float16").click()
    assert panel.value("float16") == "65504"
    assert panel.button("next value in float4_e2m1fn").is_disabled()


def test_bits_and_terms_light_each_other(show):
    panel = show("'1.5'")
    lit = panel.inside.locator(".formula .term.lit")
    panel.bit("float16", 6).focus()
    assert lit.all_inner_texts() == ["512/1024".replace("/", "∕"), "2−1"]
    panel.bit("float16", 2).hover()
    assert lit.all_inner_texts() == ["215 − 15", "8"]
    panel.inside.locator(".formula .term.sign").hover()
    assert panel.row("float16").locator(".bit.lit").evaluate_all(
        "bits => bits.map(bit => bit.dataset.index)") == ["0"]  # fmt: skip
    label = panel.bit("float16", 2).get_attribute("aria-label")
    assert label == "exponent bit 3, weight 8"


def test_the_lens_moves_x_across_the_overflow(show, window):
    panel = show("'65519'")
    panel.slider.focus()
    assert "65504" in panel.slider.get_attribute("aria-valuetext")
    window.page.keyboard.press("ArrowRight")
    assert panel.entry.input_value() == "65520"
    assert panel.value("float16") == "infinity"
    assert "infinity" in panel.slider.get_attribute("aria-valuetext")
    window.page.keyboard.press("PageDown")
    assert panel.entry.input_value() == "65504"
    lens, mouse = panel.inside.locator("svg.lens").bounding_box(), window.page.mouse
    y = lens["y"] + 50
    mouse.move(lens["x"] + lens["width"] * 0.3, y)
    mouse.down()
    first = float(panel.entry.input_value())
    mouse.move(lens["x"] + lens["width"] * 0.9, y, steps=8)
    mouse.up()
    assert first < 65504 < float(panel.entry.input_value())
    assert panel.value("float16") == "infinity"
    panel.entry.fill("nan")
    expect(panel.inside.get_by_text("NaN is not on the number line")).to_be_visible()


def test_the_lens_bins_are_where_rounding_changes(show):
    panel = show("'1'")
    note = panel.inside.locator(".lens-panel .note")
    ends = re.compile(r"Between (\S+) and (\S+), every number becomes (\S+) in (\w+)")
    for rounding in formats.ROUNDINGS:
        panel.inside.get_by_label("rounding").select_option(rounding)
        for entry in ("1.01", "-1.01", "0.00001"):
            panel.entry.fill(entry)
            low, high, value, name = ends.match(note.inner_text()).groups()
            low, high, value = (float(text.replace("−", "-")) for text in (low, high, value))
            assert low <= float(entry) <= high
            inside = (low + (high - low) / 50, high - (high - low) / 50)
            for number in inside:
                rounded = formats.encode(number, name, rounding).value
                assert rounded == pytest.approx(value, rel=1e-6), (rounding, entry, number)
            for number in (low - (high - low) / 50, high + (high - low) / 50):
                rounded = formats.encode(number, name, rounding).value
                assert rounded != pytest.approx(value, rel=1e-6), (rounding, entry, number)


def added(value, times, dtype):
    """The sum that a loop over NumPy scalars gives."""
    total, addend = dtype(0), dtype(value)
    with np.errstate(over="ignore"):
        for _ in range(times):
            total = dtype(total + addend)
    return float(total)


def test_long_sums_agree_with_a_loop_and_block_no_frame(show):
    panel = show("tab='arithmetic'")
    panel.button("long sum").click()
    said = panel.inside.locator(".sums-list")
    expect(said).to_contain_text("float16 stalls at 2048 after 2048 additions")
    expect(said).to_contain_text("bfloat16 stalls at 256 after 256 additions")
    expect(said).to_contain_text("float32 reaches 10000, exactly")
    number = panel.inside.get_by_label("add", exact=True)
    times = panel.inside.get_by_label("this many times")
    dtypes = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32}
    for value, count in (
        ("0.1", 3000),
        ("-0.0123", 2345),
        ("3.7", 777),
        ("30000", 5),
        ("0.00048828125", 5000),
        ("0.3", 4000),
    ):
        number.fill(value)
        times.fill(str(count))
        panel.button("Add them up").click()
        for name, dtype in dtypes.items():
            line = said.locator(f"[data-format={name}]").inner_text()
            text = re.search(r"(?:reaches|stalls at) (?:≈ )?(−?[\w.+-]+)", line).group(1)
            shown = float(text.replace("−", "-"))
            assert shown == pytest.approx(added(value, count, dtype), rel=1e-8), (value, name)
    number.fill("1e-7")
    times.fill("1000000")
    longest = panel.inside.evaluate(
        """async node => {
          const button = node.querySelector(".long-sum button");
          const before = performance.now();
          button.click();
          return performance.now() - before;
        }"""
    )
    assert longest < 50
    expect(said).to_contain_text("true sum 0.1")
    times.fill("2000000")
    panel.button("Add them up").click()
    expect(panel.inside.get_by_text("from 1 to 1000000")).to_be_visible()


def test_arithmetic_in_every_format(show):
    panel = show("'1', tab='arithmetic'")
    panel.button("1 + ε").click()
    row = panel.inside.locator(".results tr[data-format=float16]")
    expect(row).to_contain_text("exact")
    panel.button("1 + ε/2").click()
    expect(row).to_contain_text("second number lost")
    first, second = (panel.inside.get_by_label(f"{n} number") for n in ("first", "second"))
    first.fill("1")
    second.fill("3")
    panel.inside.get_by_label("operation").select_option("div")
    expect(row.locator("b")).to_have_text("0.333251953125")
    second.fill("three")
    expect(panel.inside.locator(".arithmetic-panel .message").first).to_contain_text("three")
    expect(row.locator("b")).to_have_text("0.333251953125")
    first.fill("0")
    second.fill("0")
    expect(row.locator("b")).to_have_text("NaN")
    e2m1 = panel.inside.locator(".results tr[data-format=float4_e2m1fn]")
    expect(e2m1).to_contain_text("no NaN")


def test_the_live_region_says_the_last_value(show):
    panel = show()
    for text in ("1", "12", "0.1"):
        panel.entry.fill(text)
    spoken = panel.inside.locator(".spoken")
    expect(spoken).to_have_text("float16: 0.0999755859375, normal, error 2.44e-5")


def test_letters_reach_floatlab_and_not_the_notebook(show, window):
    panel = show()
    show("'7.5'", "two")
    cells = "return cells.map(c => [c.model.id, c.model.type, c.model.sharedModel.getSource()])"
    before = window.js(cells)
    for focus in (panel.bit("float16", 3), panel.entry):
        focus.click()
        for key in ("a", "b", "x", "d", "d", "z", "m", "ArrowUp", "ArrowDown"):
            window.page.keyboard.press(key)
        window.page.wait_for_timeout(100)
        assert window.js(cells) == before
        assert window.js("return panel.content.mode") in ("command", "edit")
    assert panel.entry.input_value().endswith("abxddzm")
    for focus in (panel.entry, panel.bit("float16", 3)):
        focus.focus()
        window.js("panel.context.model.dirty = true")
        for _ in range(20):  # JupyterLab ignores a save while it ends the one before
            window.page.keyboard.press("Control+s")
            window.page.wait_for_timeout(250)
            if not window.js("return panel.context.model.dirty"):
                break
        else:
            pytest.fail("Ctrl+S does not save.")


def test_two_floatlabs_do_not_disturb_each_other(show, window):
    one, two = show(), show("'7.5', formats=['bfloat16', 'float16']", "two")
    assert two.value("bfloat16") == "7.5"
    before = two.state()
    one.bit("float16", 1).click()
    one.inside.get_by_label("rounding").select_option("up")
    one.tab("arithmetic")
    one.inside.locator("summary").click()
    one.inside.get_by_label("float32", exact=True).last.uncheck()
    assert two.state() == before
    expect(one.row("float32")).to_be_hidden()
    before = one.state()
    two.bit("float16", 0).click()
    two.entry.fill("3")
    assert one.state() == before


CLICKS = """async node => {
  const bits = [...node.querySelectorAll(".row .bit")], times = [], texts = [];
  for (let i = 0; i < 200; i++) {
    const bit = bits[(i * 37) % bits.length], before = performance.now();
    const options = {bubbles: true, composed: true, button: 0, pointerId: 1};
    bit.dispatchEvent(new PointerEvent("pointerdown", options));
    bit.dispatchEvent(new PointerEvent("pointerup", options));
    bit.dispatchEvent(new MouseEvent("click", {...options, detail: 1}));
    node.getBoundingClientRect();
    times.push(performance.now() - before);
    await new Promise(requestAnimationFrame);
    const row = bit.closest(".row");
    texts.push([row.dataset.format, row.querySelector(".hex").textContent]);
  }
  return {times, texts};
}"""


@pytest.mark.parametrize("tab", ["lens", "arithmetic"])
def test_200_clicks_are_fast_and_leave_the_kernel_alone(show, window, tab, capsys):
    panel = show(f"tab='{tab}'")
    window.page.wait_for_timeout(300)
    window.frames.clear()
    found = panel.inside.evaluate(CLICKS)
    assert window.frames == []
    assert len({text for _, text in found["texts"]}) > 50  # the clicks did something
    name, text = found["texts"][-1]
    assert panel.hex(name) == text
    p50, p95 = np.percentile(found["times"], [50, 95])
    with capsys.disabled():
        print(f"\nFloatLab, {tab}: handler and layout p50 {p50:.1f} ms, p95 {p95:.1f} ms")
    assert p50 < 50  # a sanity check; the aim is 8 ms at p95 on a quiet machine


def test_the_value_is_there_in_the_next_frame(show):
    panel = show("'1'")
    text = panel.bit("float16", 0).evaluate(
        """async bit => {
          const options = {bubbles: true, composed: true, button: 0, pointerId: 1};
          bit.dispatchEvent(new PointerEvent("pointerdown", options));
          await new Promise(requestAnimationFrame);
          return bit.getRootNode().querySelector("[data-format=float32] .value").textContent;
        }"""
    )
    assert text == "−1"


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "'65520', formats=['bfloat16', 'float16'], rounding='up', saturate=True, tab='arithmetic'",
        "'-0'",
        "'nan', formats=['float16', 'float32']",
    ],
)
def test_the_copied_code_reproduces_the_state(show, window, arguments):
    panel = show(arguments)
    if arguments:
        panel.bit("float16", 15).click()
    panel.button("Copy as code").click()
    expect(panel.inside.get_by_text("copied", exact=True)).to_be_visible()
    code = window.page.evaluate("navigator.clipboard.readText()")
    assert panel.inside.get_by_label("code", exact=True).input_value() == code
    if not arguments:
        assert code == "FloatLab()"
    assert code.startswith("FloatLab(") and code.endswith(")")
    copy = show(code[len("FloatLab(") : -1], "two")
    assert copy.state() == panel.state()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_serious_accessibility_violation(show, window, theme):
    panel = show("'65520'")
    window.set_theme(theme)
    # axe leaves out what is scrolled away, and all in a body without height, as JupyterLab's is.
    window.page.set_viewport_size({"width": 1200, "height": 2800})
    window.page.add_style_tag(content="body { height: 100vh }")
    try:
        panel.bit("float16", 3).focus()
        for tab in ("arithmetic", "lens"):
            panel.tab(tab)
            if tab == "arithmetic":
                panel.button("long sum").click()
            panel.entry.fill("bad" if tab == "lens" else "0.1")
            panel.inside.locator("summary").click()
            found = Axe().run(window.page, context="[data-floatlab]", options={}).response
            colors = [rule for rule in found["passes"] if rule["id"] == "color-contrast"]
            assert len(colors[0]["nodes"]) > 150  # it looked into the shadow root
            bad = [
                (rule["id"], node["target"], node.get("failureSummary"))
                for rule in found["violations"]
                if rule["impact"] in ("serious", "critical")
                for node in rule["nodes"]
            ]
            assert bad == []
    finally:
        window.set_theme("light")
        window.page.set_viewport_size({"width": window.width, "height": window.height})


def stored(*labs):
    """A notebook with FloatLabs in its outputs, as a learner would get it from someone else."""
    cells = []
    for index, lab in enumerate(labs):
        output = new_output("execute_result", data=lab._repr_mimebundle_(), execution_count=1)
        cells.append(new_code_cell("FloatLab()", id=f"s{index}", outputs=[output]))
        cells[-1].execution_count = 1
    return new_notebook(cells=cells, metadata={"kernelspec": KERNEL})


def test_exported_html_works_offline_on_a_phone(window, tmp_path):
    html, _ = HTMLExporter(**NO_CDN).from_notebook_node(
        nbformat.from_dict(stored(FloatLab("65520"), FloatLab("7.5")))
    )
    (tmp_path / "notebook.html").write_text(html, encoding="utf-8")
    page = window.context.browser.new_page(viewport={"width": 360, "height": 800})
    errors, asked = [], []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.context.set_offline(True)
    page.goto(f"file://{tmp_path}/notebook.html")
    hosts = page.locator("[data-floatlab]")
    assert hosts.count() == 2
    panel = Panel(hosts.first)
    assert panel.value("float16") == "infinity"
    panel.bit("float16", 5).click()
    assert panel.value("float16") == "32768"
    assert Panel(hosts.last).value("float16") == "7.5"
    for tab in ("arithmetic", "lens"):
        panel.tab(tab)
        wide = hosts.first.evaluate("h => [h.scrollWidth, h.getBoundingClientRect().width]")
        assert wide[0] <= wide[1] + 1
    panel.button("Copy as code").click()
    expect(panel.inside.get_by_label("code", exact=True)).to_have_value('FloatLab("32768")')
    page.context.close()
    assert errors == []
    assert asked == [f"file://{tmp_path}/notebook.html"]


def test_an_untrusted_notebook_shows_the_table(window):
    window.write("notebooks/foreign.ipynb", stored(FloatLab("65520")))
    window.open("notebooks/foreign.ipynb")
    output = window.output("s0")
    table = output.locator("table")
    expect(table).to_be_visible()
    expect(table.locator("caption")).to_contain_text("65520")
    assert table.locator("th[scope=row]").count() == len(formats.FORMATS)
    assert "infinity" in table.inner_text() and "0x7C00" in table.inner_text()
    assert "{" not in output.inner_text() and ".floatlab" not in output.inner_text()
    assert not window.js("return Boolean(document.querySelector('[data-floatlab]')?.shadowRoot)")
    box = table.bounding_box()
    assert box["width"] < 1100
    assert window.errors == []
