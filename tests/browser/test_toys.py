"""The site's pages of one explorer each: what their address keeps, what it refuses, and
that they stand alone.
"""

from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from explorer_pages import SET, TOO_FAR_OUT
from helpers.every_explorer import made
from playwright.sync_api import expect

from course_utils import formats
from course_utils.explorers import FloatLab
from tools import toys

pytestmark = [pytest.mark.browser, pytest.mark.slow]
HOST = "main > :is([data-floatlab], [data-scalescope], [data-softmaxcliff]:not(.away))"
# What a reader sees of an explorer and is told, apart from the number line's window, which
# stays where it was while x moves in it.
PICTURE = """host => {
  const copy = host.shadowRoot.querySelector(".explorer").cloneNode(true);
  for (const gone of copy.querySelectorAll(".spoken, .lens, .link p, [hidden]")) gone.remove();
  for (const node of copy.querySelectorAll("[tabindex], .lit")) {
    node.removeAttribute("tabindex");
    node.classList.remove("lit");
  }
  const values = [...host.shadowRoot.querySelectorAll("input, select")]
    .map(({ value, checked }) => [value, checked]);
  return [copy.innerHTML.replaceAll(' class=""', ""), values];
}"""
LONG_AGO = 900  # ms: a change is settled
STATES = {
    "float": [
        "f16=65519.999&round=even", "f32=0x00000001", "bf16=-4200000000&round=up",
        "f16=0xFE01", "f8_e4m3fn=464&saturate=true", "rows=f16.bf16&bf16=2%5E-130",
        "f8_e5m2=inf&rows=f32.f8_e5m2", "f16=1e%2B5", "f16=%CF%80",
        "tf32=1.00048828125000000000000001&round=away",
    ],
    "bathtub": [
        "scale=15", "scale=48&format=float8_e4m3fn", "follow=-1.5&format=bfloat16",
        "scale=3&of=mnist_cnn/dense/kernel&follow=6.1e-8",
    ],
    "cliff": [
        "scale=15", "scale=24&batch=1", "output=miss&scale=7", "output=false-alarm&batch=256",
    ],
}  # fmt: skip
BROKEN = {
    "float": [
        "f16=twelve", "f16=", "f16", "=", "&", "f16=1&f16=2", "f16=1&bf16=2", "f12=1",
        "round=sideways", "round=even&round=even", "saturate=maybe", "rows=", "rows=f99",
        "rows=f16.f16", "rows=f32&f16=1", "f16=0x12345", "f16=1,5", "f16=%zz", "f16=%E2%28",
        "__proto__=1", "toString=1", "constructor=x", "f16=" + "9" * 2001, "x" * 9000,
        "f16=<img src=x onerror=alert(1)>", "<script>alert(1)</script>=1", "f16=😀",
        "saturate=true&f16=", "f16=1&extra=2", "codes=1", "f16=1e", "f16=--1", "f16=0x",
    ],
    "bathtub": [
        "scale=49", "scale=-1", "scale=1.5", "scale=NaN", "scale=1e99", "scale=15x", "scale=",
        "format=float12", "of=nobody", "follow=0", "follow=inf", "follow=<b>1</b>", "follow=1e-999",
        "scale=3&scale=4", "scale=3&scale=3", "of=__proto__",
    ],
    "cliff": [
        "scale=25", "batch=33", "batch=0", "output=relu", "output=", "scale=3&output=tanh",
        "output=softmax&output=miss", "samples=1", "scale=%",
    ],
}  # fmt: skip
each = pytest.mark.parametrize("name", toys.TITLES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("toys")
    for name in toys.TITLES:
        (out / f"{name}.html").write_text(toys.page(name), encoding="utf-8")
    return out


class Toy:
    """A page in a tab. `wrong` gathers errors, messages, dialogs and requests but its own."""

    def __init__(self, page, path):
        self.page, self.address, self.wrong = page, path.as_uri(), []
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", lambda message: self.wrong.append(message.text))
        page.on("request", lambda request: self.asked(request.url))
        page.on("dialog", lambda d: self.wrong.append(d.message) or d.dismiss())
        self.host = page.locator(HOST)
        self.told = page.locator("main > .told")

    def asked(self, url):
        if url.split("#")[0] != self.address:
            self.wrong.append(url)

    def open(self, end=""):
        """Open it anew, in a history of its own."""
        self.page.goto("about:blank")
        self.page.goto(self.address + (f"#{end}" if end else ""))
        self.page.evaluate("document.fonts.ready")
        return self

    def turn_to(self, link):
        """Follow a link of the page to itself, as by hand in the field of the address."""
        self.page.goto(link)
        self.page.evaluate(
            "() => new Promise(requestAnimationFrame)"
        )  # hashchange is late
        return self

    def link(self):
        return self.host.evaluate(
            "host => host.shadowRoot.querySelector('.link').address()"
        )

    def end(self):
        self.page.wait_for_timeout(LONG_AGO)
        return self.page.evaluate("location.hash.slice(1)")

    def picture(self):
        return self.host.evaluate(PICTURE)


@pytest.fixture
def open_toy(bare, folder):
    browser, made = bare.page.context.browser, []

    def open_toy(name, end="", **options):
        page = browser.new_page(
            **{"viewport": {"width": 1000, "height": 900}} | options
        )
        made.append(Toy(page, folder / f"{name}.html"))
        return made[-1].open(end)

    yield open_toy
    for toy in made:
        toy.page.close()
        assert toy.wrong == []


@each
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_axe_finds_nothing_and_nothing_stands_out(name, scheme, width, open_toy):
    for state in (STATES[name][-1], "no state"):
        size = {"width": width, "height": 4000}  # axe leaves out what is scrolled away
        toy = open_toy(name, state, viewport=size, color_scheme=scheme)
        assert toy.page.evaluate("document.documentElement.scrollWidth") <= width
        assert toy.host.evaluate(TOO_FAR_OUT) == []
        found = Axe().run(toy.page, options={}).response
        passes = {rule["id"]: rule["nodes"] for rule in found["passes"]}
        assert len(passes["color-contrast"]) > 10
        assert [(rule["id"], rule["nodes"]) for rule in found["violations"]] == []


@each
def test_a_link_opens_the_same_picture(name, open_toy):
    size = {"width": 360, "height": 800}
    toy, again = open_toy(name), open_toy(name)
    phones = [
        open_toy(name, viewport=size, color_scheme=one) for one in ("light", "dark")
    ]
    first = toy.picture()
    for end in STATES[name]:
        toy.open(end)
        expect(toy.told).to_be_empty()
        assert toy.picture() != first, end
        link = toy.link()
        again.turn_to(link)
        assert again.link() == link and again.picture() == toy.picture(), end
        light, dark = (phone.turn_to(link).picture() for phone in phones)
        assert light == dark
        assert light[1] == toy.picture()[1]
    again.turn_to(again.address + "#")
    assert again.picture() == first


@each
def test_a_broken_state_is_one_sentence_and_the_first_state(name, open_toy):
    toy = open_toy(name)
    first = toy.picture()
    for number, end in enumerate(BROKEN[name]):
        toy.turn_to(f"{toy.address}#{STATES[name][0]}")
        assert toy.picture() != first
        if number < 3:
            toy.open(end)
        else:
            toy.turn_to(f"{toy.address}#{end}")
        expect(toy.told).to_contain_text("which this page cannot show")
        told = toy.told.inner_text()
        assert len(told) < 150 and told.endswith(".") and ". " not in told, end
        assert toy.page.locator("main > .told *").count() == 0
        assert toy.picture() == first, end
    toy.turn_to(f"{toy.address}#{STATES[name][0]}")
    expect(toy.told).to_be_empty()


def test_what_is_shown_as_text_is_what_was_asked(open_toy):
    toy = open_toy("float", quote("f16=<b>1</b>", safe="="))
    expect(toy.told).to_contain_text("“f16=<b>1</b>”")
    toy = open_toy("float", "f16=1&round=sideways&saturate=true")
    expect(toy.told).to_contain_text("“round=sideways”")


def test_back_and_forward_and_what_is_a_change(open_toy):
    toy = open_toy("float")
    page, count = toy.page, lambda: toy.page.evaluate("history.length")
    start = count()
    ends = [toy.end()]
    for act in (
        lambda: toy.host.get_by_role("button", name="2049").click(),
        lambda: toy.host.get_by_label("rounding").select_option("up, toward +∞"),
        lambda: toy.host.get_by_role("button", name="pi", exact=True).click(),
        lambda: toy.host.get_by_label("Number or code").press_sequentially("00"),
        lambda: toy.host.locator("[data-format=bfloat16] .bit").nth(0).click(),
    ):
        act()
        ends.append(toy.end())
    assert ends[:4] == ["", "f16=2049", "f16=2049&round=up", "f16=%CF%80&round=up"]
    # a wrong entry has no address
    assert ends[4] == ends[3]
    assert ends[5].startswith("bf16=-3.15625&") and count() == start + 4
    states = [ends[n] for n in (0, 1, 2, 3, 5)]
    other = open_toy("float")
    steps = [(page.go_back, end) for end in states[-2::-1]]
    for go, end in [*steps, *((page.go_forward, end) for end in states[1:])]:
        go()
        assert toy.end() == end
        assert other.turn_to(f"{toy.address}#{end}").picture() == toy.picture()
    assert count() == start + 4
    # two changes without a pause are two, and settled when the next begins
    page.goto(toy.address + "#f16=1")
    start = count()
    toy.host.get_by_role("button", name="2049").click()
    toy.host.get_by_role("button", name="65504").click()
    assert (toy.end(), count()) == ("f16=65504", start + 2)


@pytest.mark.parametrize("name", ["bathtub", "cliff"])
def test_a_slider_that_is_dragged_is_one_entry_and_the_address_follows(name, open_toy):
    toy = open_toy(name)
    slider = toy.host.get_by_role("slider").first
    start = toy.page.evaluate("history.length")
    slider.dispatch_event("pointerdown", {"bubbles": True, "composed": True})
    for value in (3, 9, 20):
        slider.evaluate(SET, value)
        assert toy.end() == f"scale={value}"
        assert toy.page.evaluate("history.length") == start + 1
    toy.page.go_back()
    assert toy.end() == ""
    expect(slider).to_have_js_property("value", "0")
    slider.focus()
    for _ in range(5):
        toy.page.keyboard.press("ArrowRight")
    assert toy.end() == "scale=5"
    assert toy.page.evaluate("history.length") == start + 1


def test_an_output_keeps_scale_and_batch(open_toy):
    toy = open_toy("cliff", "scale=15&batch=256")
    toy.page.get_by_label("The network ends in").select_option("miss")
    assert toy.end() == "scale=15&batch=256&output=miss"
    expect(toy.host.get_by_label("samples in the batch")).to_have_value("256")
    toy.page.go_back()
    expect(toy.page.get_by_label("The network ends in")).to_have_value("softmax")
    # those that are not seen cannot have the focus, nor be read aloud
    toy.page.get_by_label("The network ends in").focus()
    names = set()
    for _ in range(12):
        toy.page.keyboard.press("Tab")
        names.add(toy.page.evaluate("document.activeElement.className"))
    assert "away" not in names


COPIES = """can => Object.defineProperty(navigator, "clipboard", {value: {writeText: (text) => {
  document.copied = text;
  return can ? Promise.resolve() : Promise.reject(new Error("no"));
}}})"""


@each
def test_a_button_copies_the_link_or_shows_it(name, open_toy):
    toy = open_toy(name, STATES[name][0])
    button = toy.host.get_by_role("button", name="Copy link: ")
    told = toy.host.locator(".link [role=status]")
    for can, words in ((True, "Copied: "), (False, "Copying is not allowed here. ")):
        toy.page.evaluate(COPIES, can)
        button.focus()
        toy.page.keyboard.press("Enter")
        expect(told).to_contain_text(words)
        address = told.inner_text().split()[-1]
        assert address == toy.page.evaluate("document.copied") == toy.link()
        assert address.startswith(f"{toy.address}#")
        toy.open(address.split("#")[1])


@each
def test_links_in_the_text_lead_to_states(name, open_toy):
    toy = open_toy(name)
    links = toy.page.locator("a[href^='#']")
    seen = set()
    for link in links.all():
        link.click()
        expect(toy.told).to_be_empty()
        assert toy.page.evaluate("scrollY") == 0
        seen.add(str(toy.picture()))
    # one of them may be the first state
    assert len(seen) == links.count() > 3


def test_the_text_of_the_float_page_is_true(open_toy):
    toy = open_toy("float")

    def value(end):
        toy.page.goto(f"{toy.address}#{end}")
        return toy.host.locator(".row.selected:visible .value").inner_text()

    assert value("f16=65519.999") == value("f16=65520&saturate=true") == "65504"
    assert value("f16=65520") == "infinity" and value("bf16=65520") == "65536"
    assert value("f16=2^-25") == "0" != value("f16=2^-24")
    assert (value("f16=2049"), value("f16=2049&round=up")) == ("2048", "2050")
    assert (value("f8_e4m3fn=464"), value("f8_e4m3fn=465")) == ("448", "NaN")
    assert value("f16=1.0004") == "1"
    assert formats.facts("float16")["largest"] == 65504


@pytest.mark.parametrize(
    ("page", "source"),
    [
        ("float", "FloatLab('2049', formats=['bfloat16', 'float16'])"),
        ("float", "FloatLab('0x7C01', formats=['float16'])"),
        ("bathtub", "ScaleScope(records.gradients(of='weights')[85])"),
    ],
)
def test_a_notebook_copies_a_link_that_its_page_shows(page, source, pages, open_toy):
    body = pages.put(made(source))
    if page == "bathtub":
        body.get_by_role("slider").evaluate(SET, 7)
    body.get_by_role("button", name=f"Copy link: {page}.html#…").click()
    told = body.locator(".link [role=status]")
    # a page without an address may not copy
    expect(told).to_contain_text(f"{page}.html#")
    file, end = told.inner_text().split()[-1].split("#")
    assert file == f"{page}.html"
    toy = open_toy(page, end)
    expect(toy.told).to_be_empty()
    for part in (".row:visible", ".reading", ".scaled", ".chart .share"):
        texts = [place.locator(part).all_text_contents() for place in (body, toy.host)]
        assert sorted(texts[0]) == sorted(texts[1])
        assert texts[0] or part.startswith(".row") == (page == "bathtub")


def test_a_link_to_a_format_that_is_not_open_opens_its_row(open_toy):
    toy = open_toy("float")
    rows = toy.host.locator(".row:visible")
    assert rows.count() == len(toys.ROWS)
    toy.turn_to(f"{toy.address}#f8_e4m3fn=464")
    assert rows.count() == len(toys.ROWS) + 1
    expect(toy.host.locator(".row.selected .value")).to_have_text("448")
    assert toy.link().endswith("#f8_e4m3fn=464&rows=f32.f16.bf16.f8_e4m3fn")
    toy.page.go_back()
    expect(rows).to_have_count(len(toys.ROWS))
    # who says which rows, and asks for a number in another one, contradicts themselves
    toy.turn_to(f"{toy.address}#rows=f32&f16=1")
    expect(toy.told).to_contain_text("which this page cannot show")


def test_nan_keeps_its_bits_in_the_address(pages, open_toy):
    body = pages.put(FloatLab("nan", ["float16"]))
    body.locator(".bit").nth(15).click()
    expect(body.get_by_label("Number or code")).to_have_value("0x7E01")
    toy = open_toy("float", "f16=0x7E01")
    expect(toy.host.locator(".row.selected .hex")).to_have_text("0x7E01")
