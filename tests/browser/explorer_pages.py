"""Explorers on a page, as the browser tests use them: `Panel` finds things in one,
`Pages` shows them without JupyterLab.
"""

SET = """(input, value) => {
  input.value = value;
  input.dispatchEvent(new InputEvent("input", {bubbles: true, composed: true}));
}"""
HEARD = """node => {
  node.texts = [];
  new MutationObserver(() => { if (node.textContent) node.texts.push(node.textContent) })
    .observe(node, {childList: true, characterData: true, subtree: true});
}"""
# A drawing's texts have to be inside it and apart from all others, upright or not; its
# shapes are cut off where they stand out. What scrolls may be wide, and an open popup
# covers what is below it.
TOO_FAR_OUT = """host => {
  const nodes = [...host.shadowRoot.querySelectorAll("*")].filter((node) =>
    node.checkVisibility({visibilityProperty: true}) && !node.closest("svg svg, .spoken")
    && !node.parentNode.closest?.(".scroller"));
  const found = nodes.filter((node) => {
    if (node.ownerSVGElement && node.tagName !== "text") return false;
    const {left, right, width} = node.getBoundingClientRect();
    const box = (node.ownerSVGElement ?? host).getBoundingClientRect();
    return width > 1 && (left < box.left - 0.5 || right > box.right + 0.5);
  });
  const texts = nodes.filter((node) => !node.closest("details[open], .answer")).flatMap((node) =>
    [...node.childNodes].filter(({nodeType, data}) => nodeType === 3 && data.trim()));
  const boxes = texts.flatMap((text) => {
    const range = document.createRange();
    range.selectNodeContents(text);
    const svg = text.parentNode.tagName === "text";
    const rects = svg ? [text.parentNode.getBoundingClientRect()] : [...range.getClientRects()];
    return rects.map(({left, right, top, height}) => ({svg, name: text.data, left, right,
      top: top + height / 5, bottom: top + 4 * height / 5}));
  });
  const pairs = boxes.filter(({svg}) => svg).flatMap((one) => boxes.filter((other) =>
    other !== one && other.left < one.right - 0.5 && one.left < other.right - 0.5
    && other.top < one.bottom && one.top < other.bottom).map(({name}) => `${one.name} × ${name}`));
  const page = host.getBoundingClientRect();
  const cut = boxes.filter(({left, right}) => left < page.left - 0.5 || right > page.right + 0.5);
  const named = [...pairs, ...cut.map(({name}) => name)];
  return [document.scrollingElement.scrollWidth - innerWidth, ...named,
    ...found.map((node) => node.outerHTML.slice(0, 80))].filter(Boolean);
}"""


class Panel:
    """One explorer on a page; `inside` finds things in its shadow root."""

    explorer = None  # the class that is shown

    def __init__(self, place):
        self.inside = place.locator(".explorer")
        self.spoken = self.inside.locator(".spoken")
        self.sentence = self.inside.locator(".sentence")
        self.press = place.page.keyboard.press

    def button(self, name):
        return self.inside.get_by_role("button", name=name, exact=True)

    def slider(self, name):
        return self.inside.get_by_role("slider", name=name)

    def heard(self, selector):
        """A function that gives all texts that an element shows from now on."""
        node = self.inside.locator(selector)
        node.evaluate(HEARD)
        return lambda: node.evaluate("node => node.texts")

    def active(self, what):
        """What JavaScript says of the element that has the focus."""
        return self.inside.evaluate(
            f"root => (node => {what})(root.getRootNode().activeElement)"
        )

    def too_far_out(self):
        """What stands out of the page or its drawing."""
        return self.inside.evaluate(f"root => ({TOO_FAR_OUT})(root.getRootNode().host)")


class Pages:
    """A page that can be touched. `wrong` gathers errors, messages and requests."""

    def __init__(self, page):
        self.page, self.wrong = page, []
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", lambda message: self.wrong.append(message.text))
        page.on("request", lambda request: self.wrong.append(request.url))

    def open(self, html, width):
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.mouse.move(0, 0)  # where it lights nothing
        self.page.set_content(html)

    def put(self, explorer, width=1000):
        """Show an explorer alone, and return where it is."""
        html = explorer._repr_mimebundle_()["text/html"]
        meta = '<meta name="viewport" content="width=device-width">'
        self.open(f"<!doctype html><html lang=en>{meta}<body>{html}", width)
        return self.page.locator("body")

    def show(self, kind, *arguments, width=1000, **options):
        """Show the explorer of a kind of `Panel`, and return its panel."""
        return kind(self.put(kind.explorer(*arguments, **options), width))
