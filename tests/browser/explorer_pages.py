"""Explorers on a page, as the browser tests use them: `Panel` finds things in one, `bare_pages`
gives pages without JupyterLab.
"""

from contextlib import contextmanager

from harness import FLAGS
from playwright.sync_api import sync_playwright

SET = """(input, value) => {
  input.value = value;
  input.dispatchEvent(new InputEvent("input", {bubbles: true, composed: true}));
}"""
HEARD = """node => {
  node.texts = [];
  new MutationObserver(() => { if (node.textContent) node.texts.push(node.textContent) })
    .observe(node, {childList: true, characterData: true, subtree: true});
}"""
# A drawing's texts have to be inside it; its shapes are cut off where they stand out.
TOO_FAR_OUT = """host => {
  const found = [...host.shadowRoot.querySelectorAll("*")].filter((node) => {
    if (!node.checkVisibility() || node.closest("svg svg")) return false;
    if (node.ownerSVGElement && node.tagName !== "text") return false;
    const {left, right, width} = node.getBoundingClientRect();
    const box = node.ownerSVGElement?.getBoundingClientRect() ?? {left: 0, right: innerWidth};
    return width > 1 && (left < box.left - 0.5 || right > box.right + 0.5);
  });
  return [document.scrollingElement.scrollWidth - innerWidth,
    ...found.map((node) => node.outerHTML.slice(0, 80))].filter(Boolean);
}"""


class Panel:
    """One explorer on a page; `inside` finds things in its shadow root."""

    def __init__(self, place):
        self.inside = place.locator(".explorer")
        self.spoken = self.inside.locator(".spoken")
        self.press = place.page.keyboard.press

    def button(self, name):
        return self.inside.get_by_role("button", name=name, exact=True)

    def tab(self, name):
        self.inside.get_by_role("tab", name=name, exact=True).click()

    def heard(self, selector):
        """A function that gives all texts that an element shows from now on."""
        node = self.inside.locator(selector)
        node.evaluate(HEARD)
        return lambda: node.evaluate("node => node.texts")

    def active(self, what):
        """What JavaScript says of the element that has the focus."""
        return self.inside.evaluate(f"root => (node => {what})(root.getRootNode().activeElement)")

    def too_far_out(self):
        """What stands out of the page or its drawing."""
        return self.inside.evaluate(f"root => ({TOO_FAR_OUT})(root.getRootNode().host)")


class Pages:
    """A page that can be touched. `wrong` gathers errors, messages and requests."""

    def __init__(self, page, panel):
        self.page, self.panel, self.wrong = page, panel, []
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", lambda message: self.wrong.append(message.text))
        page.on("request", lambda request: self.wrong.append(request.url))

    def show(self, explorer, width=1000):
        """Show an explorer on a new page, and return its panel."""
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.mouse.move(0, 0)  # where it lights nothing
        html = explorer._repr_mimebundle_()["text/html"]
        meta = '<meta name="viewport" content="width=device-width">'
        self.page.set_content(f"<!doctype html><html lang=en>{meta}<body>{html}")
        return self.panel(self.page.locator("body"))


@contextmanager
def bare_pages(chromium, panel):
    """`Pages` without JupyterLab, for the tests of a file; `panel` is a class."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield Pages(browser.new_context(has_touch=True).new_page(), panel)
        browser.close()


@contextmanager
def unharmed(pages):
    """Nothing may have gone wrong at the end of a test."""
    pages.wrong.clear()
    yield pages
    assert pages.wrong == []
