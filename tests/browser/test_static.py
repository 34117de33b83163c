"""FloatLab's static table says what the rows of the app say, once the script has run."""

import pytest
from chromium import FLAGS

from course_utils import formats
from course_utils.explorers import FloatLab

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("static")]

ENTRIES = ["0.1", "-pi", "65520", "-4200000000", "1e9", "1e-9", "2^-149", "-1e-400", "1e400"]
ENTRIES += ["-0", "2049", "6.5", "464", "2^-25", "123456789012.5", "inf", "-inf", "nan"]
MODES = [(rounding, saturate) for rounding in formats.ROUNDINGS for saturate in (False, True)]
CODES = [FloatLab(code, name) for code, name in [("0x7C01", "float16"), ("0xFF", "float8_e4m3fn")]]
FLOATS = [FloatLab(1 + 2**-24, rounding=rounding) for rounding in formats.ROUNDINGS]
READ = """() => [...document.querySelectorAll("[data-floatlab]")].map((host) => {
  const text = (node) => (node?.querySelector("summary") ?? node)?.textContent ?? "";
  const table = [...host.querySelectorAll("tbody tr")].map((row) => [...row.cells].map(text));
  const rows = [...host.shadowRoot.querySelectorAll(".rows .row:not([hidden])")].map((row) => [
    row.dataset.format,
    ...["sign", "exponent", "fraction"].map((field) =>
      [...row.querySelectorAll(`.bit.${field}`)].map((bit) => Number(bit.ariaPressed === "true"))
        .join("")),
    ...["hex", "value", "kind", "error"].map((part) => text(row.querySelector(`.${part}`))),
  ]);
  return { table, rows };
})"""


@pytest.fixture(scope="module")
def page(chromium):
    """A bare page."""
    playwright_api = pytest.importorskip("playwright.sync_api")
    with playwright_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser.new_page()
        browser.close()


def shown(page, labs):
    """For each FloatLab the cells of its static table, and the same of its rows."""
    failed = []
    page.on("pageerror", lambda error: failed.append(error))
    page.set_content("".join(lab._repr_mimebundle_()["text/html"] for lab in labs))
    found = page.evaluate(READ)
    assert failed == [] and len(found) == len(labs)
    return found


def in_the_table(name, *bits, code, value, kind, error):
    """A row's texts as the table has them: it leaves out the relative error."""
    if value == "no NaN here":
        return [name, value]
    parts = [part for part in error.split(" · ") if not part.startswith("relative ")]
    return [name, *bits, code, value, kind.replace("NaN", "nan"), ", ".join(parts)]


@pytest.mark.parametrize(("rounding", "saturate"), MODES)
def test_the_table_and_the_rows_say_the_same(page, rounding, saturate):
    labs = [FloatLab(entry, rounding=rounding, saturate=saturate) for entry in ENTRIES]
    labs += [*CODES, *FLOATS] if (rounding, saturate) == MODES[0] else []
    for lab, found in zip(labs, shown(page, labs), strict=True):
        assert [row[0] for row in found["table"]] == lab.formats
        for cells, (*bits, code, value, kind, error) in zip(
            found["table"], found["rows"], strict=True
        ):
            same = in_the_table(*bits, code=code, value=value, kind=kind, error=error)
            assert cells == same, (lab.entry, rounding, saturate)
