"""What holds for every explorer, on a bare page: its width, keys, words and speed."""

import numpy as np
import pytest
from explorer_pages import TOO_FAR_OUT, Panel
from helpers.every_explorer import SOURCES, made
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

# What stands out after each change: every popup, choice and button, and every slider at
# both ends and in the middle of each of these.
EVERYWHERE = f"""root => {{
  const [found, seen] = [[], (css) => [...root.querySelectorAll(css)]
    .filter((node) => node.checkVisibility())];
  const look = () => found.push(...({TOO_FAR_OUT})(root.getRootNode().host));
  const set = (node, type, value) => {{
    node.value = value;
    node.dispatchEvent(new Event(type, {{ bubbles: true }}));
    look();
  }};
  const slide = () => {{
    for (const node of seen("input[type=range]")) {{
      for (const to of [node.min, (+node.min + +node.max) / 2, node.max]) set(node, "input", to);
    }}
  }};
  look();
  slide();
  for (const summary of seen("summary")) {{ summary.click(); look(); summary.click(); }}
  for (const node of seen("select")) {{
    for (const {{ value }} of node.options) {{ set(node, "change", value); slide(); }}
  }}
  for (const node of seen(".chip, .card")) {{ node.click(); look(); }}
  return found;
}}"""
# Milliseconds that each of `count` events takes, layout included: every slider is
# dragged to and fro in its turn; FloatLab's knob gets arrows, and bits and cards are
# clicked.
TIMES = """async (root, count) => {
  const nodes = [...root.querySelectorAll("input[type=range], .knob, .row .bit, .card")]
    .filter((node) => node.checkVisibility()), times = [];
  const act = (node, turn) => {
    if (node.matches(".bit, .card")) return node.click();
    const key = turn % 10 < 5 ? "ArrowRight" : "ArrowLeft";
    if (!node.min) return node.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
    node.value = Number(node.min) + (node.max - node.min) * (1 + Math.sin(turn / 5)) / 2;
    node.dispatchEvent(new InputEvent("input", {bubbles: true, composed: true}));
  };
  for (let k = 0; k < count; k += 1) {
    const node = nodes[37 * k % nodes.length], turn = Math.floor(k / nodes.length);
    const before = performance.now();
    act(node, turn);
    node.getBoundingClientRect();
    times.push(performance.now() - before);
    await new Promise(requestAnimationFrame);
  }
  return times;
}"""
# What stands out of a printed page, which is as wide as this in the event before it.
PRINTED = f"""root => addEventListener("beforeprint", () => {{
  document.body.style.width = "553px";
  document.found = ({TOO_FAR_OUT})(root.getRootNode().host);
  document.body.style.width = null;
}})"""
# Texts below 9 points, and the color of quiet ones if it is paler than 7 to 1.
PALE = """root => {
  const host = root.getRootNode().host;
  const brush = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
  const luminance = (color) => {
    brush.fillStyle = getComputedStyle(host).backgroundColor;
    brush.fillRect(0, 0, 1, 1);
    brush.fillStyle = color;
    brush.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...brush.getImageData(0, 0, 1, 1).data].map((byte) =>
      byte > 10 ? ((byte / 255 + 0.055) / 1.055) ** 2.4 : byte / 3295);
    return 0.05 + 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const size = (node) => {
    const {a = 1, b = 0} = node.getScreenCTM?.() ?? {};
    return Math.hypot(a, b) * parseFloat(getComputedStyle(node).fontSize);
  };
  const page = luminance("transparent");
  const probe = host.shadowRoot.appendChild(document.createElement("i"));
  probe.style.color = "var(--quiet)";
  const quiet = luminance(getComputedStyle(probe).color);
  probe.remove();
  const contrast = Math.max(page, quiet) / Math.min(page, quiet);
  const small = [...root.querySelectorAll("*")].filter((node) =>
    node.checkVisibility({visibilityProperty: true}) && !node.closest(".spoken, sup, sub")
    && [...node.childNodes].some(({nodeType, data}) => nodeType === 3 && data.trim())
    && size(node) < 11.99);
  return [...new Set(small.map((node) => node.outerHTML.slice(0, 60))),
    ...(contrast < 7 ? [`contrast ${contrast}`] : [])];
}"""
SETTLED = "() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))"
each = pytest.mark.parametrize("name", SOURCES)


@pytest.fixture
def shown(name, pages):
    """A function that shows the explorer at a width."""
    return lambda width=1000: Panel(pages.put(made(SOURCES[name]), width))


@each
def test_200_events_in_a_row_are_answered(shown, name, capsys):
    """How fast is printed and not asserted, since machines differ. The aim is 4 ms at
    p95; FloatLab, with seven formats in rows and again on its line, takes 5 to 6.
    """
    panel = shown()
    before = panel.inside.inner_html()
    p50, p95 = np.percentile(panel.inside.evaluate(TIMES, 200), [50, 95])
    with capsys.disabled():
        print(f"\n{name}: handler and layout p50 {p50:.1f} ms, p95 {p95:.1f} ms")
    assert panel.inside.inner_html() != before


@each
def test_nothing_stands_out_of_a_page_and_no_labels_meet(shown):
    """In a window of 400 px JupyterLab leaves 264 to an output, as a page of 280 does."""
    for width in (280, 320, 360, 400, 480, 700, 1000):
        assert shown(width).inside.evaluate(EVERYWHERE) == []


@each
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_text_is_small_or_pale(shown, scheme):
    for width in (360, 1000):
        inside = shown(width).inside
        inside.page.emulate_media(color_scheme=scheme)
        assert inside.evaluate(PALE) == []


@each
def test_what_is_drawn_before_the_first_frame_has_the_right_width(name, pages):
    """Else it is squeezed until an observer is told, and its texts are small."""
    html = made(SOURCES[name])._repr_mimebundle_()["text/html"]
    look = (
        f'[...document.querySelector("[data-{name}]").shadowRoot.querySelectorAll("svg")]'
        '.map((svg) => svg.getAttribute("viewBox") ?? svg.getAttribute("width"))'
    )
    pages.open(f"<!doctype html>{html}<script>document.first = {look}</script>", 700)
    pages.page.evaluate(SETTLED)
    assert pages.page.evaluate("document.first") == pages.page.evaluate(look)


@each
def test_nothing_stands_out_of_paper(shown):
    """An exported notebook leaves 553 px of an A4 page to an output, and tells no
    observer.
    """
    panel = shown(1200)
    panel.inside.evaluate(SETTLED)
    before = panel.inside.inner_html()
    panel.inside.evaluate(PRINTED)
    panel.inside.page.pdf(format="A4")
    assert panel.inside.page.evaluate("document.found") == []
    assert panel.inside.inner_html() == before


@each
def test_a_stranger_with_the_attribute_of_a_host_is_passed_over(name, pages):
    html = made(SOURCES[name])._repr_mimebundle_()["text/html"]
    data = [f'<script type="application/json">{text}</script>' for text in ("{", "5")]
    strangers = "".join(f"<div data-{name}>{text}</div>" for text in ["", *data])
    pages.open(f"<!doctype html>{strangers}{html}", 1000)
    expect(pages.page.locator(".explorer")).to_be_visible()
    pages.wrong.clear()  # the console may say what it thinks of them


@each
def test_sliders_are_moved_by_keys_and_say_where_they_are(shown):
    panel = shown()
    for slider in panel.inside.get_by_role("slider").all():
        slider.focus()
        texts = []
        for key in ("Home", "ArrowRight", "End", "ArrowLeft"):
            panel.press(key)
            texts.append(slider.get_attribute("aria-valuetext"))
        assert len(set(texts)) > 2 and all(texts)


@each
def test_the_last_picture_is_said_aloud_and_loading_is_not(shown):
    panel = shown()
    panel.inside.page.wait_for_timeout(600)  # what is said comes after a pause
    assert panel.spoken.inner_text() == ""
    heard = panel.heard(".spoken")
    panel.inside.evaluate(TIMES, 20)
    expect(panel.spoken).not_to_be_empty()
    assert len(heard()) == 1
