"""The explorers where learners meet them: in JupyterLab, untrusted in it, and in
exported HTML.
"""

import nbformat
import pytest
from axe_playwright_python.sync_playwright import Axe
from explorer_pages import Pages, Panel
from harness import SIZE, browsing
from helpers.every_explorer import HOSTS, IMPORTS, SOURCES, made
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_notebook, new_output
from playwright.sync_api import expect, sync_playwright

from tools.canonical_form import METADATA

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NO_CDN = {  # what nbconvert's own template would ask of other hosts
    f"{name}_url": ""
    for name in (
        "require_js",
        "mathjax",
        "jquery",
        "mermaid_js",
        "jupyter_widgets_base",
    )
}
each = pytest.mark.parametrize("name", SOURCES)


@pytest.fixture(scope="module")
def window(jupyterlab):
    """One JupyterLab window with a notebook of the explorers, for the tests of this
    file.
    """
    cells = [new_code_cell(source, id=name) for name, source in SOURCES.items()]
    cells.insert(0, new_code_cell(f"import sys; sys.path.insert(0, '..')\n{IMPORTS}"))
    with sync_playwright() as playwright, browsing(playwright, jupyterlab) as lab:
        lab.write(
            "notebooks/explorers.ipynb", new_notebook(cells=cells, metadata=METADATA)
        )
        lab.open("notebooks/explorers.ipynb")
        lab.run_all()
        yield lab
        assert lab.errors == [] and lab.outside == []


def panel(window, name):
    return Panel(window.output(name))


# Places that can have the focus, the first of each kind.
CONTROLS = "input:not([type=range]), input[type=range], select, button, .bit, .knob"


@each
def test_letters_stay_out_of_the_notebook_and_ctrl_s_saves(window, name):
    press = window.page.keyboard.press
    state = """return [panel.content.mode,
      cells.map(c => [c.model.id, c.model.type, c.model.sharedModel.getSource()])]"""
    for one in CONTROLS.split(", "):
        control = panel(window, name).inside.locator(f"{one}:visible")
        if control.count():
            control.first.focus()
            before = window.js(state)
            for key in ("a", "b", "x", "d", "d", "z", "m", "ArrowUp", "ArrowDown"):
                press(key)
            window.page.wait_for_timeout(100)
            assert window.js(state) == before
    window.js("panel.context.model.dirty = true")
    for _ in range(20):  # JupyterLab ignores a save while it ends the one before
        press("Control+s")
        window.page.wait_for_timeout(250)
        if not window.js("return panel.context.model.dirty"):
            return
    pytest.fail("Ctrl+S does not save.")


@pytest.mark.parametrize("theme", ["light", "dark"])
@each
def test_no_serious_accessibility_violation(window, name, theme):
    found = panel(window, name)
    window.set_theme(theme)
    # axe leaves out what is scrolled away, and all in a body without height, as
    # JupyterLab's is.
    window.page.set_viewport_size({"width": 1200, "height": 4200})
    window.page.add_style_tag(content="body { height: 100vh }")
    found.inside.first.evaluate("one => one.scrollIntoView()")
    try:
        states = [(".formats", "bad"), (".keys", "1.5")]
        for popup, entry in states if name == "floatlab" else [("", "")]:
            if popup:
                found.inside.locator(f"{popup} summary").click()
                found.inside.get_by_label("Number or code").fill(entry)
            window.page.wait_for_timeout(700)  # a complaint comes after a pause
            axe = Axe().run(window.page, context=f"[data-{name}]", options={})
            response = axe.response
            passes = {rule["id"]: rule["nodes"] for rule in response["passes"]}
            few = "few texts, or axe did not look into the shadow root"
            assert len(passes["color-contrast"]) > 5, few
            assert [
                (rule["id"], [node["target"] for node in rule["nodes"]])
                for rule in response["violations"]
                if rule["impact"] in ("serious", "critical")
            ] == []
    finally:
        window.set_theme("light")
        window.page.set_viewport_size(SIZE)


def test_a_border_is_dragged(window):
    """Here, as a page that had its content written into it drags no slider."""
    found = panel(window, "bitsplit").inside
    mouse = window.page.mouse
    border = found.locator(".border-slider")
    boxes = found.locator(".box")
    border.press("Home")
    border.scroll_into_view_if_needed()
    place, before = boxes.nth(2).bounding_box(), None
    while place != before:  # what stands above may still grow
        window.page.wait_for_timeout(500)
        place, before = boxes.nth(2).bounding_box(), place
    y = place["y"] + 20
    mouse.move(place["x"] + place["width"], y)
    mouse.down()
    for bits in (3, 6, 8):
        mouse.move(place["x"] + place["width"] * (bits - 1), y, steps=3)
        expect(border).to_have_js_property("value", str(bits))
    mouse.up()
    expect(found.locator(".split")).to_contain_text("bfloat16")


def stored():
    """A notebook with explorers in its outputs, as a learner would get it from someone
    else.
    """
    cells = []
    for source in [*SOURCES.values(), "FloatLab('7.5')"]:
        data = made(source)._repr_mimebundle_()
        output = new_output("execute_result", data=data, execution_count=1)
        cells.append(new_code_cell("again", outputs=[output], execution_count=1))
    return new_notebook(cells=cells, metadata=METADATA)


def test_exported_html_works_offline_on_a_phone_and_each_explorer_for_itself(
    window, tmp_path
):
    html, _ = HTMLExporter(**NO_CDN).from_notebook_node(nbformat.from_dict(stored()))
    (tmp_path / "notebook.html").write_text(html, encoding="utf-8")
    pages = Pages(
        window.context.browser.new_page(viewport={"width": 360, "height": 800})
    )
    pages.page.context.set_offline(True)
    pages.page.goto(f"file://{tmp_path}/notebook.html")
    panels = [Panel(host) for host in pages.page.locator(HOSTS).all()]
    first, other = (
        panel.inside.locator(".row[data-format=float16]")
        for panel in (panels[list(SOURCES).index("floatlab")], panels[-1])
    )
    expect(first.locator(".value")).to_have_text("infinity")
    first.locator(".bit[data-index='5']").click()
    expect(first.locator(".value")).to_have_text("32768")
    expect(other.locator(".value")).to_have_text("7.5")
    assert [each.too_far_out() for each in panels] == [[]] * len(panels)
    pages.page.context.close()
    assert pages.wrong == [f"file://{tmp_path}/notebook.html"]
