"""ScaleScope as a learner uses it: in JupyterLab by mouse and keys, untrusted, exported, offline.

Its numbers are held to Python's: the pure functions for all formats and scales, and what it shows.
"""

import math
import random
import re

import nbformat
import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from harness import browsing
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_notebook, new_output
from playwright.sync_api import expect, sync_playwright

from course_utils import formats, gradients
from course_utils.explorers import ScaleScope, scalescope
from course_utils.explorers.fragment import FOLDER
from course_utils.loss_scale import DynamicLossScale

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.xdist_group("scalescope")]

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
START = """import sys; sys.path.insert(0, '..')
import numpy as np
from course_utils.explorers import ScaleScope
generator = np.random.default_rng(1)
late = 2.0 ** generator.normal(-24, 5, 20_000) * (generator.random(20_000) > .4)
layers = {f"layer {k}": 2.0 ** generator.normal(-30 + 3 * k, 4, 5000) for k in range(9)}
layers["</script><img src=x onerror=document.title='evil'>"] = [1.0, 2.0**-30]
"""
NO_CDN = {  # what nbconvert's own template would ask of other hosts
    f"{name}_url": ""
    for name in ("require_js", "mathjax", "jquery", "mermaid_js", "jupyter_widgets_base")
}
CLASSES = ["already", "zero", "subnormal", "normal", "overflow"]


def late(count=3000, seed=0, mean=-24, sd=5, zeros=0.4):
    """Gradients as they are late in training: log-normal, many of them zero."""
    generator = np.random.default_rng(seed)
    return 2.0 ** generator.normal(mean, sd, count) * (generator.random(count) >= zeros)


def edges():
    """Values next to every threshold of every format, at many scales, in both directions."""
    found = [0.0, np.inf, -np.inf, np.nan, 5e-324, 1.7e308, 2.0**-25, 3 * 2.0**-26]
    for name in formats.FORMATS:
        facts = formats.facts(name)
        largest = formats.encode(facts["largest"], name)
        half = float(largest.ulp / 2)
        for edge in (facts["largest"] + half, facts["smallest_subnormal"] / 2,
                     facts["smallest_normal"] - facts["smallest_subnormal"] / 2):  # fmt: skip
            for scale in (0, 3, 10, 24, -24, 40):
                scaled = edge * 2.0**-scale
                found += [scaled, math.nextafter(scaled, 0), -math.nextafter(scaled, math.inf)]
    return found


HISTOGRAMS = {
    "late": late(),
    "wide": late(seed=1, mean=-10, sd=40, zeros=0),
    "edges": edges(),
    "powers": 2.0 ** np.arange(-160, 130),
    "zeros": np.zeros(7),
    "none": [],
    "bad": [np.nan, np.inf, 0.0],
    "one": [2.0**-25],
    "ties": [2.0**-25, 2.0**-25, 3 * 2.0**-26, 2.0**-11, 3 * 2.0**-12],
}


class Panel:
    """One ScaleScope on a page; `inside` finds things in its shadow root."""

    def __init__(self, place):
        self.inside = place.locator(".scalescope")
        self.slider = self.inside.get_by_role("slider", name="loss scale")
        self.step = self.inside.get_by_role("slider", name="step", exact=True)
        self.format = self.inside.get_by_label("format")
        self.picture = self.inside.locator(".chart")
        self.sentence = self.inside.locator(".sentence")
        self.summary = self.inside.locator(".player .note").first

    def tile(self, name):
        return self.inside.locator(f".tile[data-class={name}] dd").inner_text()

    def tiles(self):
        return [self.tile(name) for name in (*CLASSES, "lost")]

    def best(self):
        return self.inside.locator(".best:visible").all_inner_texts()

    def button(self, name):
        return self.inside.get_by_role("button", name=name, exact=True)

    def tab(self, name):
        self.inside.get_by_role("tab", name=name, exact=True).click()

    def move(self, scale):
        self.slider.evaluate(SET, scale)

    def go(self, step):
        self.step.evaluate(SET, step)

    def copied(self):
        """What "Copy as code" gives."""
        self.button("Copy as code").click()
        return self.inside.get_by_label("code", exact=True).input_value()

    def state(self):
        """Everything that the arguments decide."""
        tab = self.inside.get_by_role("tab", selected=True).inner_text()
        found = {"format": self.format.input_value(), "tab": tab}
        if tab == "Gradients":
            found |= {"scale": self.slider.input_value(), "tiles": self.tiles()}
        else:
            found |= {"summary": self.summary.inner_text()}
        return found


SET = """(slider, value) => {
  slider.value = value;
  slider.dispatchEvent(new InputEvent("input", {bubbles: true, composed: true}));
}"""


def notebook(*sources):
    cells = [
        new_code_cell(source, id=name) for name, source in zip(("one", "two"), sources, strict=True)
    ]
    return new_notebook(cells=cells, metadata={"kernelspec": KERNEL})


@pytest.fixture(scope="module")
def window(jupyterlab):
    """One JupyterLab window with a notebook of two ScaleScopes, for all tests of this file."""
    with sync_playwright() as playwright, browsing(playwright, jupyterlab) as lab:
        lab.frames = []

        def watch(socket):
            socket.on("framesent", lambda frame: lab.frames.append(frame))

        lab.context.on("page", lambda page: page.on("websocket", watch))
        lab.context.grant_permissions(["clipboard-read", "clipboard-write"])
        lab.write(
            "notebooks/scalescope.ipynb", notebook(START + "ScaleScope(late)", "ScaleScope(late)")
        )
        lab.open("notebooks/scalescope.ipynb")
        lab.run("one")
        yield lab


@pytest.fixture
def show(window):
    """A function that shows `ScaleScope(arguments)` anew; at the end nothing may be wrong."""
    window.errors.clear()
    window.outside.clear()

    def run(arguments="late", cell="one"):
        window.set_source(cell, f"ScaleScope({arguments})")
        window.run(cell)
        return Panel(window.output(cell))

    yield run
    assert window.errors == []
    assert window.outside == []


@pytest.fixture(scope="module")
def browser(window):
    return window.context.browser


@pytest.fixture(scope="module")
def tab(browser):
    """A page without JupyterLab."""
    context = browser.new_context(viewport={"width": 1000, "height": 900})
    yield context.new_page()
    context.close()


@pytest.fixture
def bare(tab):
    """A function that shows ScaleScopes on a bare page; nothing may have gone wrong at the end."""
    errors, asked = [], []
    listen = {
        "pageerror": lambda error: errors.append(str(error)),
        "console": lambda message: errors.append(message.text),
        "request": lambda request: asked.append(request.url),
    }
    for event, listener in listen.items():
        tab.on(event, listener)

    def load(*args, width=1000, **options):
        tab.set_viewport_size({"width": width, "height": 900})
        html = ScaleScope(*args, **options)._repr_mimebundle_()["text/html"]
        meta = '<meta name="viewport" content="width=device-width">'
        tab.set_content(f"<!doctype html><html lang=en>{meta}<body>{html}")
        return Panel(tab)

    yield load
    for event, listener in listen.items():
        tab.remove_listener(event, listener)
    assert errors == [] and asked == []


# The pure functions


@pytest.fixture(scope="module")
def pure(browser):
    """A page that has the functions without a document, and all histograms of this file."""
    page = browser.new_page()
    code = [
        (FOLDER / name).read_text(encoding="utf-8")
        for name in ("survival.js", "controller.js", "scalescope_words.js")
    ]
    page.add_script_tag(content='"use strict";\n' + "\n".join(code))
    page.evaluate(
        """data => {
          globalThis.FORMATS = new Map(data.formats.map((row) => [row.name, row]));
          globalThis.LAYERS = data.layers.map(unpack);
          globalThis.WHOLE = addUp(LAYERS);
        }""",
        ScaleScope(HISTOGRAMS)._data(),
    )
    yield page
    page.close()


SURVIVALS = """name => [...LAYERS, WHOLE].map((layer) => Array.from({length: 65}, (_, index) => {
  const found = survive(layer, FORMATS.get(name), index - 24);
  return [found.alreadyZero, found.roundedToZero, found.subnormal, found.normal, found.overflow,
    found.nonfinite, found.total, found.normLost];
}))"""


@pytest.mark.parametrize("name", formats.FORMATS)
def test_the_counts_are_pythons_at_every_scale(pure, name):
    layers = [gradients.OctaveHistogram.from_values(values) for values in HISTOGRAMS.values()]
    found = pure.evaluate(SURVIVALS, name)
    for layer, rows in zip([*layers, sum(layers[1:], start=layers[0])], found, strict=True):
        for scale, (*counts, lost) in zip(range(-24, 41), rows, strict=True):
            right = layer.survival(name, scale)
            assert counts == [
                right.zero, right.rounded_to_zero, right.subnormal, right.normal, right.overflow,
                right.nonfinite_input, right.total,
            ], (name, scale)  # fmt: skip
            assert lost == pytest.approx(right.norm_lost, rel=1e-8, abs=1e-300)


@pytest.mark.parametrize("name", formats.FORMATS)
def test_the_best_scales_are_those_of_a_search(pure, name):
    found = pure.evaluate("name => LAYERS.map((l) => bestScales(l, FORMATS.get(name)))", name)
    for values, best in zip(HISTOGRAMS.values(), found, strict=True):
        layer = gradients.OctaveHistogram.from_values(values)
        rows = {scale: layer.survival(name, scale) for scale in range(-24, 41)}
        nonzero = int(layer.counts.sum())
        wanted = {
            "both": [s for s, r in rows.items() if r.norm_lost < 0.001 and not r.overflow],
            "tight": [s for s, r in rows.items() if r.normal == nonzero],
        }
        for what, scales in wanted.items():
            if not nonzero or not scales:
                assert best[what] is None
            else:
                assert [best[what]["from"], best[what]["to"]] == [scales[0], scales[-1]]
                assert len(scales) == scales[-1] - scales[0] + 1


def flags(kind, count=10_000):
    chance = random.Random(kind)
    share = {"rare": 0.999, "half": 0.5, "often": 0.05, "all": 1, "none": 0}[kind]
    return [chance.random() < share for _ in range(count)]


@pytest.mark.parametrize("kind", ["rare", "half", "often", "all", "none"])
@pytest.mark.parametrize("growth", [1, 2, 20, 2000])
def test_the_controller_moves_as_pythons(pure, kind, growth):
    for first in (2.0**15, 1.0, 2.0**127, 2.0**-126, 3e38, 1.1754945e-38, 7.0):
        given = flags(kind)
        found = pure.evaluate(
            """([flags, growth, first]) => playLossScale(flags.length, growth, first,
                 (step) => flags[step - 1]).map(({step, scale, applied, next}) =>
                 [step, String(scale), applied, String(next)])""",
            [given, growth, first],
        )
        python, right = DynamicLossScale(first, growth), []
        for step, finite in enumerate(given, start=1):
            scale = python.scale
            right.append([step, scale, python.update(finite), python.scale])
        assert [[s, float(a), b, float(n)] for s, a, b, n in found] == right


@pytest.mark.parametrize("name", formats.FORMATS)
def test_the_controller_skips_where_the_histogram_overflows(pure, name):
    for index, (kind, values) in enumerate(HISTOGRAMS.items()):
        layer = gradients.OctaveHistogram.from_values(values)
        for injected in ([], [3, 57], list(range(30, 200))):
            trace = pure.evaluate(
                """([index, name, injected]) => playOverHistogram(LAYERS[index],
                     FORMATS.get(name), 20, new Set(injected)).map((row) =>
                     ({...row, scale: String(row.scale), next: String(row.next)}))""",
                [index, name, injected],
            )
            python, broken = DynamicLossScale(2**15, 20), False
            for row in trace:
                scale = python.scale
                finite = row["step"] not in injected and not broken
                finite = finite and not layer.nans and not layer.infinities and scale < math.inf
                if finite and scale:
                    finite = not layer.survival(name, round(math.log2(scale))).overflow
                broken |= finite and scale == 0
                assert float(row["scale"]) == scale and row["applied"] == finite, (kind, row)
                python.update(finite)
                assert float(row["next"]) == python.scale


def test_percents_are_those_of_the_static_table(pure):
    chance = random.Random(0)
    shares = [0, 1, 1e-300, 1e-4, 0.9999, 1 - 1e-16, 0.00125, 0.125, 0.0999999, 0.99, 0.01]
    shares += [chance.random() for _ in range(2000)]
    shares += [chance.choice([1, 0]) + chance.choice([-1, 1]) * chance.random() ** 30
               for _ in range(2000)]  # fmt: skip
    assert pure.evaluate("shares => shares.map(percent)", shares) == [
        scalescope.percent(share) for share in shares
    ]


# What is shown


@pytest.mark.parametrize("name", formats.FORMATS)
def test_the_readout_and_the_picture_say_what_survives(bare, tab, name):
    panel = bare(HISTOGRAMS["late"], format=name)
    layer = gradients.OctaveHistogram.from_values(HISTOGRAMS["late"])
    rows = tab.evaluate(
        """async () => {
          const root = document.querySelector("[data-scalescope]").shadowRoot, found = [];
          const slider = root.querySelector(".scale .slider");
          for (let scale = 0; scale <= 24; scale += 1) {
            slider.value = scale;
            slider.dispatchEvent(new InputEvent("input"));
            await new Promise(requestAnimationFrame);
            const bars = [...root.querySelectorAll(".chart .shift rect")].map((bar) => [
              bar.className.baseVal, Number(bar.getAttribute("height"))]);
            found.push([[...root.querySelectorAll(".tile dd")].map((node) => node.textContent),
              root.querySelector(".chart").getAttribute("aria-label"),
              root.querySelector(".scale-text").textContent, bars]);
          }
          return found;
        }"""
    )
    for scale, (tiles, label, head, bars) in enumerate(rows):
        right = layer.survival(name, scale)
        counts = right.zero, right.rounded_to_zero, right.subnormal, right.normal, right.overflow
        shares = [scalescope.percent(count / right.total) for count in counts]
        assert tiles == [*shares, scalescope.percent(right.norm_lost)], scale
        assert label.startswith(f"At scale 2^{scale} in {name}: {shares[0]} already zero, ")
        assert f"{shares[4]} overflow; {tiles[5]} of ‖g‖² lost." in label
        assert head.endswith(f" = {2**scale}")
        drawn = {kind.split()[1] for kind, height in bars if height}
        wanted = {"zero": right.rounded_to_zero, "subnormal": right.subnormal,
                  "normal": right.normal, "overflow": right.overflow}  # fmt: skip
        assert drawn == {kind for kind, count in wanted.items() if count}, scale
    assert panel.inside.locator(".ladder").count() == 0


def test_the_ladder_says_what_survives_of_each_layer(bare):
    layers = {f"layer {k}": late(500, seed=k, mean=-35 + 4 * k, sd=3) for k in range(12)}
    layers |= {"empty": [], "zeros": [0.0], "bad": [np.nan, 1e9]}
    panel = bare(layers, format="float16")
    for name in ("float16", "float8_e5m2", "bfloat16"):
        panel.format.select_option(name)
        for scale in (0, 3, 10, 24):
            panel.move(scale)
            texts = panel.inside.locator(".ladder tbody tr").evaluate_all(
                "rows => rows.map(row => [...row.querySelectorAll('td:not(.strip-cell)')]"
                ".map(cell => cell.textContent))"
            )
            for (key, values), cells in zip(layers.items(), texts, strict=True):
                found = gradients.OctaveHistogram.from_values(values).survival(name, scale)
                total = found.total or 1
                shares = found.rounded_to_zero / total, found.norm_lost, found.overflow / total
                assert cells == [scalescope.percent(share) for share in shares], (key, scale)
    assert "1 NaN or infinite" in panel.inside.locator(".ladder tbody tr").last.inner_text()


def test_the_best_scales_are_said_and_marked(bare):
    panel = bare(late(mean=-18, sd=2, zeros=0))
    both, tight = panel.best()
    said = re.compile(r"2([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
    digits = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
    low, high = (int(text.translate(digits)) for text in said.findall(both.split(":")[1])[:2])
    layer = gradients.OctaveHistogram.from_values(late(mean=-18, sd=2, zeros=0))
    good = [
        scale
        for scale in range(-24, 41)
        if (found := layer.survival("float16", scale)).norm_lost < 0.001 and not found.overflow
    ]
    assert (low, high) == (good[0], good[-1]) and "Every nonzero value is normal" in tight
    box = panel.inside.locator(".span.both").bounding_box()
    track = panel.inside.locator(".track").bounding_box()
    right = (box["x"] + box["width"] - track["x"]) / track["width"] * 24
    assert right == pytest.approx(min(high, 24), abs=0.1)
    for values, name, words in (
        ([0.0, 0.0], "float16", "no scale helps"),
        ([1.0, 1e-9] * 9, "float4_e2m1fn", "Keeps 99.9 %"),
        ([1.0] + [2.0**-9] * 300_000, "float4_e2m1fn", "No single scale is good"),
        ([2.0**60], "float16", "even at the smallest"),
        ([2.0**-80], "float16", "even the largest"),
        ([1.0], "bfloat16", "every scale from 2⁻²⁴ to 2⁴⁰"),
    ):
        assert words in bare(values, format=name).best()[0]
    assert "inside the normal range of bfloat16" in panel.inside.locator(".toolbar").inner_text()


def test_bad_inputs_are_counted_and_said(bare):
    panel = bare([np.nan, np.inf, 1.0, 0.0], format="float16")
    expect(panel.inside.locator(".readout .note")).to_contain_text(
        "2 values of them (50 %) came in as NaN or infinity"
    )
    assert "50 % NaN or infinity before scaling" in panel.picture.get_attribute("aria-label")
    for values in ([], [0.0], [np.nan]):
        panel = bare(values)
        panel.move(7)
        panel.tab("Controller")
        panel.go(200)
        expect(panel.sentence).to_contain_text("step 200")
    panel = bare([2.0**-1000, 2.0**1000], format="float32")
    expect(panel.inside.locator(".aside").last).to_contain_text("50 % lie farther right")


HEIGHTS = "bars => bars.map((bar) => bar.getAttribute('height'))"


def test_the_table_of_octaves(bare):
    panel = bare([2.0**-25, 2.0**-25, 3 * 2.0**-26, 65520.0, 0.0, 1.0])
    panel.inside.locator(".octaves summary").click()
    rows = panel.inside.locator(".octaves tbody tr")
    expect(rows).to_have_count(4)  # it is filled in the next task
    assert [row.split("\t") for row in rows.all_inner_texts()] == [
        ["0", "1", "already zero"],
        ["2⁻²⁵ to 2⁻²⁴", "3", "2 rounded to zero, 1 subnormal"],
        ["2⁰ to 2¹", "1", "normal"],
        ["2¹⁵ to 2¹⁶", "1", "overflow"],
    ]
    # The bar of that octave has two parts.
    heights = {
        kind: max(map(float, panel.inside.locator(f".chart .bar.{kind}").evaluate_all(HEIGHTS)))
        for kind in ("subnormal", "normal", "overflow")
    }
    zero = panel.inside.locator(".chart .shift .bar.zero").evaluate_all(HEIGHTS)
    assert max(map(float, zero)) == pytest.approx(3 * heights["normal"], abs=0.1)
    assert heights["subnormal"] == pytest.approx(heights["normal"], abs=0.1)
    panel.button("1024").click()
    expect(rows.nth(1)).to_contain_text("subnormal")
    expect(rows.nth(1)).not_to_contain_text("rounded")
    expect(rows.nth(2)).to_contain_text("normal")


def test_the_slider_by_keyboard_and_the_chips(show, window):
    panel = show("late, log2_scale=3")
    panel.slider.focus()
    press = window.page.keyboard.press
    for key, scale in [("ArrowRight", 4), ("ArrowUp", 5), ("ArrowLeft", 4), ("End", 24),
                       ("Home", 0), ("ArrowLeft", 0)]:  # fmt: skip
        press(key)
        assert panel.slider.input_value() == str(scale)
        assert panel.slider.get_attribute("aria-valuetext") == f"2^{scale} = {2**scale}"
        assert panel.picture.get_attribute("aria-label").startswith(f"At scale 2^{scale} in")
    press("PageUp")
    assert int(panel.slider.input_value()) > 1
    for scale in (1, 8, 128, 512, 1024, 32768):
        panel.button(str(scale)).click()
        assert panel.slider.input_value() == str(int(math.log2(scale)))
        assert panel.button(str(scale)).get_attribute("aria-pressed") == "true"
    panel.button("1").focus()
    press("ArrowRight")
    press("Enter")
    assert panel.slider.input_value() == "3"


def test_the_histogram_slides_and_the_bands_stand(bare):
    panel = bare(late())
    bars = panel.inside.locator(".chart .shift")
    shift = "node => new DOMMatrix(getComputedStyle(node).transform).m41"
    bands = panel.inside.locator(".chart .bands").inner_html()
    places = []
    for scale in (0, 8, 24):
        panel.move(scale)
        places.append(bars.evaluate(shift))
    assert places[0] == 0 and places[2] == pytest.approx(3 * places[1], abs=0.02) and places[1] > 40
    assert panel.inside.locator(".chart .bands").inner_html() == bands
    titles = panel.inside.locator(".chart .title").all_text_contents()
    assert titles == ["rounded to zero", "subnormal", "normal", "overflow"]


def test_the_controller_tab(bare, tab):
    panel = bare(late(mean=-10, sd=2), tab="controller")
    panel.go(1)
    expect(panel.sentence).to_have_text("step 1: scale 2¹⁵, applied; next scale 2¹⁵")
    before = panel.summary.inner_text()
    panel.go(5)
    panel.button("Inject overflow").click()
    expect(panel.sentence).to_have_text(
        "step 5: scale 2¹⁵, skipped: an overflow was injected; next scale 2¹⁴"
    )
    panel.go(6)
    expect(panel.sentence).to_have_text("step 6: scale 2¹⁴, applied; next scale 2¹⁴")
    panel.go(25)
    expect(panel.sentence).to_contain_text("next scale 2¹⁵, after 20 finite steps")
    panel.button("Clear").click()
    expect(panel.summary).to_have_text(before)
    panel.inside.get_by_label("doubles after").fill("1")
    panel.step.focus()
    for key, step in [("Home", 1), ("ArrowRight", 2), ("End", 200)]:
        tab.keyboard.press(key)
        assert panel.step.get_attribute("aria-valuetext").startswith(f"step {step}, scale 2^")
    skipped = re.compile(r"skipped: the scaled gradients overflow float16; next scale 2")
    texts = []
    for step in range(1, 20):
        panel.go(step)
        texts.append(panel.sentence.inner_text())
    assert any(map(skipped.search, texts))
    assert panel.inside.locator(".trace .skips").get_attribute("d").count("M") > 20
    panel.inside.get_by_label("doubles after").fill("0")
    assert panel.inside.get_by_label("doubles after").get_attribute("aria-invalid") == "true"
    assert "growth_steps=1, tab=" in panel.copied()


def test_the_controller_falls_to_zero_and_rises_to_infinity(bare):
    panel = bare(late(), tab="controller")
    for step in range(1, 200, 10):
        panel.go(step)
        panel.button("10 in a row").click()
    expect(panel.summary).to_contain_text("at scale 0 the next finite gradient is divided by zero")
    panel.button("Clear").click()
    for step in range(1, 142, 10):
        panel.go(step)
        panel.button("10 in a row").click()
    panel.go(151)
    expect(panel.sentence).to_contain_text("0 / 0 makes the weights NaN")
    panel.go(152)
    expect(panel.sentence).to_contain_text("skipped: the weights are NaN")
    panel = bare(late(), tab="controller", growth_steps=1, format="bfloat16")
    panel.go(200)
    expect(panel.sentence).to_contain_text("scale ∞, skipped")
    expect(panel.summary).to_contain_text("Nothing stops its rise")
    panel = bare([np.nan, 1.0], tab="controller")
    expect(panel.sentence).to_contain_text("hold NaN or infinity at every scale")
    panel = bare(late(), tab="controller", format="float4_e2m1fn")
    expect(panel.inside.get_by_text("float4_e2m1fn has no infinity")).to_be_visible()


def test_playing_and_reduced_motion(bare, tab):
    panel = bare(late(), tab="controller")
    panel.button("Play").click()
    expect(panel.button("Pause")).to_be_visible()
    tab.wait_for_function(
        """() => Number(document.querySelector("[data-scalescope]").shadowRoot
          .querySelector(".player .slider").value) > 2"""
    )
    panel.button("Pause").click()
    at = panel.step.input_value()
    tab.wait_for_timeout(300)
    assert panel.step.input_value() == at
    tab.emulate_media(reduced_motion="reduce")
    try:
        panel = bare(late(), tab="controller")
        for step in ("2", "3"):
            panel.button("Next step").click()
            assert panel.step.input_value() == step
        tab.wait_for_timeout(300)
        assert panel.step.input_value() == "3"
    finally:
        tab.emulate_media(reduced_motion="no-preference")


def test_the_live_region_says_the_last_picture_and_nothing_at_first(bare):
    panel = bare(late())
    node = panel.inside.locator(".spoken")
    assert node.inner_text() == ""
    node.evaluate("""node => {
      node.texts = [];
      new MutationObserver(() => node.texts.push(node.textContent))
        .observe(node, {childList: true, characterData: true, subtree: true});
    }""")
    for scale in range(8):
        panel.move(scale)
    expect(node).to_contain_text("At scale 2^7 in float16: ")
    assert len(node.evaluate("node => node.texts")) == 1


def test_names_of_layers_are_text(show, window):
    panel = show("layers")
    name = "</script><img src=x onerror=document.titl…"
    last = panel.inside.locator(".ladder tbody th").last
    assert last.text_content().startswith(name[:30]) and last.text_content().endswith("…")
    assert len(last.text_content()) == 40 and last.get_attribute("title").endswith("'evil'>")
    assert window.page.title() != "evil" and panel.inside.locator("img").count() == 0


def test_letters_stay_out_of_the_notebook_and_ctrl_s_saves(show, window):
    panel = show("layers")
    show("late", "two")
    cells = "return cells.map(c => [c.model.id, c.model.type, c.model.sharedModel.getSource()])"
    before = window.js(cells)
    growth = panel.inside.get_by_label("doubles after")

    def press(focus):
        focus.focus()
        mode = window.js("return panel.content.mode")
        for key in ("a", "b", "x", "d", "d", "z", "m", "ArrowUp", "ArrowDown"):
            window.page.keyboard.press(key)
        window.page.wait_for_timeout(100)
        assert window.js(cells) == before
        assert window.js("return panel.content.mode") == mode

    for focus in (panel.slider, panel.button("8"), panel.inside.locator(".octaves summary")):
        press(focus)
    panel.tab("Controller")
    for focus in (panel.step, growth, panel.button("Play")):
        press(focus)
    panel.step.focus()
    window.js("panel.context.model.dirty = true")
    for _ in range(20):  # JupyterLab ignores a save while it ends the one before
        window.page.keyboard.press("Control+s")
        window.page.wait_for_timeout(250)
        if not window.js("return panel.context.model.dirty"):
            break
    else:
        pytest.fail("Ctrl+S does not save.")


def test_two_do_not_disturb_each_other(show):
    one, two = show("layers"), show("late, format='bfloat16', log2_scale=9", "two")
    before = two.state()
    one.move(20)
    one.format.select_option("float8_e4m3fn")
    one.tab("Controller")
    one.button("Inject overflow").click()
    assert two.state() == before
    before = one.state()
    two.move(3)
    two.tab("Controller")
    assert one.state() == before


STEPS = """async node => {
  const slider = node.querySelector(".scale .slider"), times = [], texts = [];
  for (let i = 0; i < 200; i++) {
    const before = performance.now();
    slider.value = i % 50 < 25 ? i % 25 : 24 - i % 25;
    slider.dispatchEvent(new InputEvent("input", {bubbles: true, composed: true}));
    node.getBoundingClientRect();
    times.push(performance.now() - before);
    await new Promise(requestAnimationFrame);
    texts.push([slider.value, node.querySelector(".scale-text").textContent,
      node.querySelector(".chart").getAttribute("aria-label")]);
  }
  return {times, texts};
}"""


@pytest.mark.parametrize("arguments", ["late", "layers"])
def test_200_steps_are_there_in_the_next_frame_and_leave_the_kernel_alone(
    show, window, arguments, capsys
):
    panel = show(arguments)
    window.page.wait_for_timeout(300)
    window.frames.clear()
    found = panel.inside.evaluate(STEPS)
    assert window.frames == []
    for scale, text, label in found["texts"]:
        assert text.endswith(f" = {2 ** int(scale)}")
        assert label.startswith(f"At scale 2^{scale} in float16: ")
    assert len({label for _, _, label in found["texts"]}) == 25
    p50, p95 = np.percentile(found["times"], [50, 95])
    with capsys.disabled():
        print(f"\nScaleScope, {arguments}: handler and layout p50 {p50:.1f} ms, p95 {p95:.1f} ms")


@pytest.mark.parametrize(
    "arguments",
    ["late", "layers, format='float8_e5m2', log2_scale=9",
     "late, format='bfloat16', growth_steps=3, tab='controller'"],
)  # fmt: skip
def test_the_copied_code_reproduces_the_state(show, window, arguments):
    panel = show(arguments)
    if arguments == "late":
        panel.move(12)
    panel.button("Copy as code").click()
    expect(panel.inside.get_by_text("copied", exact=True)).to_be_visible()
    code = window.page.evaluate("navigator.clipboard.readText()")
    assert panel.copied() == code and code.startswith("ScaleScope(gradients")
    given = code[len("ScaleScope(gradients") : -1]
    copy = show(arguments.split(",")[0] + given, "two")
    assert copy.state() == panel.state()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_serious_accessibility_violation(show, window, theme):
    panel = show("layers, log2_scale=10")
    window.set_theme(theme)
    # axe leaves out what is scrolled away, and all in a body without height, as JupyterLab's is.
    window.page.set_viewport_size({"width": 1200, "height": 2800})
    window.page.add_style_tag(content="body { height: 100vh }")
    try:
        for name in ("Gradients", "Controller"):
            panel.tab(name)
            if name == "Gradients":
                panel.inside.locator(".octaves summary").click()
            else:
                panel.button("Inject overflow").click()
            panel.button("Copy as code").click()
            found = Axe().run(window.page, context="[data-scalescope]", options={}).response
            colors = [rule for rule in found["passes"] if rule["id"] == "color-contrast"]
            assert len(colors[0]["nodes"]) > 10  # it looked into the shadow root
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


# A drawing's texts have to be inside it; its shapes are cut off where they stand out.
TOO_FAR_OUT = """host => {
  const found = [...host.shadowRoot.querySelectorAll("*")].filter((node) => {
    if (node.closest("svg svg") || (node.ownerSVGElement && node.tagName !== "text")) return false;
    const {left, right, width} = node.getBoundingClientRect();
    const box = node.ownerSVGElement?.getBoundingClientRect() ?? {left: 0, right: innerWidth};
    return width && (left < box.left - 0.5 || right > box.right + 0.5);
  });
  return [document.scrollingElement.scrollWidth - innerWidth,
    ...found.map((node) => node.outerHTML.slice(0, 80))].filter(Boolean);
}"""


@pytest.mark.parametrize("name", formats.FORMATS)
def test_a_phone_scrolls_nothing_sideways(bare, tab, name):
    layers = {f"a_rather_long_scope/block_{k}/dense/kernel": late(seed=k) for k in range(3)}
    for width in (360, 480, 700):
        panel = bare(layers, format=name, log2_scale=24, width=width)
        host = tab.locator("[data-scalescope]")
        panel.inside.locator(".octaves summary").click()
        panel.button("Copy as code").click()
        assert host.evaluate(TOO_FAR_OUT) == []
        panel.tab("Controller")
        assert host.evaluate(TOO_FAR_OUT) == []


def stored(*scopes):
    """A notebook with ScaleScopes in its outputs, as a learner would get it from someone else."""
    cells = []
    for index, scope in enumerate(scopes):
        output = new_output("execute_result", data=scope._repr_mimebundle_(), execution_count=1)
        cells.append(new_code_cell("ScaleScope(g)", id=f"s{index}", outputs=[output]))
        cells[-1].execution_count = 1
    return new_notebook(cells=cells, metadata={"kernelspec": KERNEL})


def test_exported_html_works_offline(browser, tmp_path):
    html, _ = HTMLExporter(**NO_CDN).from_notebook_node(
        nbformat.from_dict(stored(ScaleScope(late()), ScaleScope({"a": [1.0], "b": [2.0**-30]})))
    )
    (tmp_path / "notebook.html").write_text(html, encoding="utf-8")
    page = browser.new_page(viewport={"width": 360, "height": 800})
    errors, asked = [], []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.context.set_offline(True)
    page.goto(f"file://{tmp_path}/notebook.html")
    hosts = page.locator("[data-scalescope]")
    assert hosts.count() == 2
    one, two = Panel(hosts.first), Panel(hosts.last)
    one.button("1024").click()
    assert one.picture.get_attribute("aria-label").startswith("At scale 2^10")
    assert two.tile("zero") == "50 %"
    two.move(9)
    assert two.tile("zero") == "0 %"
    two.tab("Controller")
    assert hosts.last.evaluate(TOO_FAR_OUT) == []
    page.context.close()
    assert errors == [] and asked == [f"file://{tmp_path}/notebook.html"]


def test_an_untrusted_notebook_shows_the_table(window):
    window.errors.clear()
    window.write("notebooks/foreign.ipynb", stored(ScaleScope(late())))
    window.open("notebooks/foreign.ipynb")
    output = window.output("s0")
    table = output.locator("table")
    expect(table).to_be_visible()
    expect(table.locator("caption")).to_contain_text("3,000 gradients in float16")
    assert table.locator("th[scope=row]").all_inner_texts() == [
        f"2^{scale} = {2**scale}" for scale in (0, 3, 7, 9, 10, 15)
    ]
    assert "{" not in output.inner_text() and ".scalescope" not in output.inner_text()
    assert not window.js("return Boolean(document.querySelector('[data-scalescope]')?.shadowRoot)")
    assert table.bounding_box()["width"] < 1100
    assert window.errors == []
