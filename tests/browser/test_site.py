"""The web site: whole, alive without a kernel, and asking nobody for anything."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from itertools import pairwise
from urllib.parse import unquote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from harness import FLAGS
from helpers.every_explorer import SOURCES
from playwright.sync_api import expect, sync_playwright
from server import COURSE

pytestmark = pytest.mark.slow
PHONE = {"width": 400, "height": 900}
SERIOUS = ("serious", "critical")
# What is wider than the place it has, a table's cells and code; folded things aside.
CUT = """() => [...document.querySelectorAll("pre, td")].filter(one => one.checkVisibility()
  && (one.scrollWidth > one.clientWidth || one.getBoundingClientRect().right > innerWidth))
  .map(one => one.textContent.slice(0, 40))"""


class Page(HTMLParser):
    """A page's links, anchors and pictures' words."""

    def __init__(self, path):
        super().__init__()
        self.links = []
        self.ids = set()
        self.alts = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids.add(values.get("id"))
        self.links += filter(None, [values.get("href"), values.get("src")])
        self.alts += [values.get("alt")] if tag == "img" else []


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "tools.site", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    # a link that Sphinx cannot resolve, too
    assert done.returncode == 0, done.stderr[-2000:]
    steps = [line.split(":")[0] for line in done.stdout.splitlines()]
    assert steps[:3] == ["1 of 3", "2 of 3", "3 of 3"]
    assert str(out / "index.html") in done.stdout
    assert done.stderr == ""  # TensorFlow, which takes longer than the pages, would log
    return out


def test_every_page_is_there_and_every_link_leads_somewhere(site):
    pages = {path: Page(path) for path in site.rglob("*.html")}
    notebooks = {path.stem for path in (COURSE / "notebooks/solved").glob("*.ipynb")}
    assert {path.stem for path in (site / "notebooks").glob("*.html")} == notebooks
    assert {path.stem for path in (site / "guide").glob("*.html")} == notebooks
    for path, page in pages.items():
        for link in page.links:
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            file, anchor = unquote(address.path), unquote(address.fragment)
            target = (path.parent / file).resolve() if file else path
            assert target.exists(), (path.name, link)
            # a state is no anchor: tests/browser/test_toys.py opens them
            if anchor and "=" not in anchor and target in pages:
                assert anchor in pages[target].ids, (path.name, link)
        assert all(alt and not alt.endswith((".png", ".svg")) for alt in page.alts)
    assert sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) < 15e6
    passages = site / "_static/passages.js"
    assert passages.stat().st_size < 500e3
    words = passages.read_text(encoding="utf-8").removeprefix("const PASSAGES = ")
    searched = json.loads(words.removesuffix(";\n"))
    assert len(searched) > 30
    for name, _, rows in searched:
        assert {id for _, id, _ in rows} <= pages[site / f"{name}.html"].ids, name


FIRST = re.compile(
    r'</h1>\s*(?:<div[^>]*>\s*)*<a [^>]*href="([^"]+)"><img alt="([^"]+)"[^>]*>\s*</a>'
    r'\s*(?:</div>\s*)*<p class="first-picture">[^<]*<a href="#(cell-[^"]+)">'
)


def test_a_notebooks_page_begins_with_its_picture_and_keeps_it_once(site):
    for path in (site / "notebooks").glob("*.html"):
        text = path.read_text(encoding="utf-8")
        address, words, place = FIRST.search(text).groups()
        assert (path.parent / address).is_file() and len(words) > 40, path.stem
        # a figure is the same file again where it was made, an explorer is alive there
        below = text[text.index(f'id="{place}"') :]
        assert address in below or "data:image/png" in below, path.stem
        assert text.count('class="first-picture" src') == 1


def copied(explorer):
    """The link that an explorer says it copied, or shows."""
    told = explorer.locator(".link [role=status]")
    expect(told).to_contain_text("#")  # copying takes a moment
    return told.inner_text().split()[-1]


@pytest.mark.browser
@pytest.mark.parametrize("width", [400, 1400])
def test_it_is_alive_in_a_browser_and_asks_nobody(chromium, site, width):
    alive, asked, errors = set(), [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(
            viewport={"width": width, "height": 900}, color_scheme="dark"
        )
        page.on("request", lambda request: asked.append(urlsplit(request.url).scheme))
        page.on("pageerror", lambda error: errors.append(str(error)))
        for path in sorted(site.rglob("*.html")):
            page.goto(path.as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
            ground = "getComputedStyle(document.body).backgroundColor"
            assert page.evaluate(ground) != "rgb(255, 255, 255)"
            for name in SOURCES:
                hosts = page.locator(f"[data-{name}]")
                built = hosts.evaluate_all("all => all.map(one => !!one.shadowRoot)")
                assert all(built), (path, name)
                alive |= {name} if built else set()
        page.emulate_media(media="print")
        for navigation in (".skip-to-content", ".sidebar-drawer", ".toc-drawer"):
            assert not page.locator(navigation).is_visible(), navigation
        page.emulate_media(media="screen")
        page.goto((site / "index.html").as_uri())
        explorer = page.locator("[data-floatlab]")
        expect(explorer).to_be_in_viewport()
        explorer.get_by_role("button", name="65504").click()
        expect(explorer.get_by_label("Number or code")).to_have_value("65504")
        explorer.get_by_role("button", name="Copy link: float.html#…").click()
        link = copied(explorer)
        assert link.startswith(f"{(site / 'float.html').as_uri()}#float16=65504&")
        page.goto(link)
        expect(page.locator("main > .told")).to_be_empty()
        assert page.locator(".row:visible").count() == 3
        page.go_back()
        page.goto((site / "notebooks/03_policy.html").as_uri())
        cliff = page.locator("[data-softmaxcliff]")
        cliff.get_by_role("button", name="Copy link: cliff.html#…").click()
        link = copied(cliff)
        assert link == f"{(site / 'cliff.html').as_uri()}#scale=0&batch=32"
        page.goto((site / "ask.html").as_uri())
        page.locator("a[href^='float.html#']").first.click()
        expect(page.locator(".row.selected .value")).to_have_text("infinity")
        page.goto((site / "index.html").as_uri())
        page.locator("a:has(img[src*=speed])").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Start here")
        page.goto((site / "search.html").as_uri() + "?q=subnormal")
        page.locator("#search-results li").first.wait_for(timeout=20_000)
    assert alive == set(SOURCES) and errors == []
    assert set(asked) <= {"file", "data", "blob"}


@pytest.fixture
def page(chromium):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser.new_page()


@pytest.mark.browser
def test_a_phone_and_paper_cut_nothing(page, site):
    page.set_viewport_size(PHONE)
    documents = [*site.glob("*.html"), *(site / "data").rglob("*.html")]
    for path in documents:
        page.goto(path.as_uri())
        assert page.evaluate(CUT) == [], path
    page.goto((site / "layers.html").as_uri())
    label = "one => getComputedStyle(one, '::before').content"
    assert "mixed_float16" in page.locator("td").nth(2).evaluate(label)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto((site / "rules.html").as_uri())  # long lines, whose ends are the cure
    assert page.evaluate(CUT) == []
    # A4's width between the margins
    page.set_viewport_size({"width": 718, "height": 900})
    page.emulate_media(media="print")
    for path in [*documents, *(site / "notebooks").glob("*.html")]:
        page.goto(path.as_uri())
        assert page.evaluate(CUT) == [], path


@pytest.mark.browser
def test_the_card_opens_and_no_page_has_a_serious_violation(page, site):
    page.goto((site / "index.html").as_uri())
    page.locator(".sidebar-tree").get_by_text("The decision card").click()
    expect(page.locator("h1")).to_have_text("Mixed precision: the decision card")
    for size in ({"width": 1400, "height": 900}, PHONE):
        page.set_viewport_size(size)
        for name in (
            "index",
            "ask",
            "ledger",
            "layers",
            "notebooks/01_floats",
            "search",
        ):
            query = "?q=Attempting+to+unscale" if name == "search" else ""
            page.goto((site / f"{name}.html").as_uri() + query)
            found = Axe().run(page).response["violations"]
            assert not [rule for rule in found if rule["impact"] in SERIOUS], name


# Of each text of the map: does it stand out, and its contrast with the page.
MAP = """svg => {
  const parts = (color) => (([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))(color.match(/[\\d.]+/g));
  const light = (color) =>
    (([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05)(parts(color));
  const ground = light(getComputedStyle(document.body).backgroundColor);
  const frame = svg.getBoundingClientRect();
  return [...svg.querySelectorAll("text")].map(text => {
    const box = text.getBoundingClientRect();
    const own = light(getComputedStyle(text).fill);
    return {out: box.right > frame.right || box.left < frame.left, bottom: box.bottom, top: box.top,
      size: parseFloat(getComputedStyle(text).fontSize) * frame.width / 340,
      contrast: Math.max(own, ground) / Math.min(own, ground)};
  });
}"""


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_the_map_of_the_course_is_read_and_walked_by_keys(
    chromium, site, scheme, width
):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        size = {"width": width, "height": 900}
        page = browser.new_page(viewport=size, color_scheme=scheme)
        page.goto((site / "index.html").as_uri())
        drawing = page.locator(".course-map")
        texts = drawing.evaluate(MAP)
        notebooks = len(list((COURSE / "notebooks").glob("[0-9]*.ipynb")))
        assert len(texts) == 2 * notebooks and not any(text["out"] for text in texts)
        assert min(text["size"] for text in texts) > 11
        assert min(text["contrast"] for text in texts) > 4.5
        for above, below in pairwise(texts):
            assert above["bottom"] < below["top"] + 3
        found = Axe().run(page, context=".course-map", options={}).response
        assert found["violations"] == [] and found["passes"]
        links = drawing.locator("a")
        links.first.focus()
        for _ in range(notebooks - 1):
            page.keyboard.press("Tab")
        focused = "link => link === document.activeElement"
        assert links.last.evaluate(focused)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_contain_text("How far could it")


ASK = (COURSE / "docs/ask.md").read_text(encoding="utf-8")
# What differs from one reader to the next, before a text and behind it.
TRACE = """Traceback (most recent call last):
  File "/home/ana/work 2/train.py", line {n}, in <module>
    history = model.fit(x_train, y_train, epochs={n})
  File "C:\\venv\\Lib\\site-packages\\keras\\src\\utils\\traceback_utils.py", line 12{n}
tensorflow.python.framework.errors_impl.InvalidArgumentError: """
AFTER = " [[{{{{node functional_{n}/dense_{n}/MatMul}}}}]] at 0x7f{n}b3c, shape=(None, {n}4, 8)"
FIND = """texts => texts.map(text => find(text).found.map(({passage}) =>
  `${passage.page}#${passage.id}`)[0] ?? "nothing")"""

# The addresses of the answers, by their headings.
ADDRESSES = """() => Object.fromEntries(passages.filter(one => one.page === "ask")
  .map(one => [one.heading, `ask#${one.id}`]))"""
UNKNOWN = {
    "bananas grow on trees": "shares more than a word",
    "the optimizer that scales losses": "No page says three of your words in a row",
}


def as_others_met_it(text, n):
    """An error text of the page with other numbers, names and places in it."""
    text = re.sub(r"(?<![\w.])\d+(?!\w)", lambda m: str(int(m[0]) + n), text)
    text = text.replace("'Mul'", "'AddV2'").replace("'x'", f"'x_{n}'")
    return TRACE.format(n=n) + text + AFTER.format(n=n)


def error_texts():
    """(Heading, text) of each error text that a heading of the page quotes."""
    code = re.compile(r"(`+)(.+?)(?<!`)\1(?!`)")
    for heading in re.findall("^## (.*)", ASK, re.M):
        for _, text in code.findall(heading):
            if " " in text:
                yield code.sub(r"\2", heading), text


@pytest.mark.browser
def test_a_pasted_error_leads_to_its_answer(page, site):
    page.goto((site / "search.html").as_uri())
    addresses = page.evaluate(ADDRESSES)
    texts = list(error_texts())
    assert len(texts) >= 10
    right = [addresses[heading] for heading, _ in texts]
    for n in (1, 7, 31):
        asked = [as_others_met_it(text, n) for _, text in texts]
        assert page.evaluate(FIND, asked) == right
    questions = [heading for heading in addresses if len(heading.split()) > 6]
    assert page.evaluate(FIND, questions) == [addresses[each] for each in questions]


@pytest.mark.browser
def test_the_search_needs_no_mouse_and_says_what_it_did_not_find(page, site):
    asked = []
    page.on("request", lambda request: asked.append(urlsplit(request.url).scheme))
    page.goto((site / "ask.html").as_uri())
    page.get_by_label("An error text").focus()
    page.keyboard.insert_text("'AddV2' Op\nhas type float32 that does not match")
    for key in ("Tab", "Enter"):
        page.keyboard.press(key)
    expect(page.get_by_role("status")).to_contain_text("has 8 words")
    marked = page.locator("mark").first
    expect(marked).to_have_text("Op has type float32 that does not match")
    page.get_by_role("button", name="Search this site").focus()
    for key in ("Tab", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url("**/ask.html#was-expected-to-be*")
    for text, said in UNKNOWN.items():
        page.goto((site / "search.html").as_uri() + f"?q={text}")
        expect(page.get_by_role("status")).to_contain_text(said)
    assert set(asked) == {"file"}
