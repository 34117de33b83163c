"""Where no script runs, a stored explorer is a picture, with its table folded below: in
an untrusted notebook, in nbconvert's page, and in that page printed, which is the PDF of
a notebook.
"""

import pytest
from harness import FLAGS
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import sync_playwright

from tools import canonical_form, pictures

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LOOK = """host => {
  const picture = host.querySelector("img"), table = host.querySelector("table");
  return [picture.naturalWidth, picture.getBoundingClientRect().width > 300,
          table.checkVisibility(), Boolean(host.querySelector("[data-softmaxcliff]"))];
}"""


def test_what_goes_wrong_would_be_seen(lab):
    cells = [new_code_cell("1 / 0", id="bad")]
    nb = new_notebook(cells=cells, metadata=canonical_form.METADATA)
    lab.write("notebooks/small.ipynb", nb)
    lab.open("notebooks/small.ipynb")
    with pytest.raises(AssertionError, match="bad: ZeroDivisionError"):
        lab.run_all()
    lab.js("setTimeout(() => { throw new Error('thrown') })")
    lab.page.wait_for_timeout(500)
    assert "thrown" in str(lab.errors)


def test_an_untrusted_notebook_shows_the_picture(lab):
    lab.open("notebooks/solved/03_policy.ipynb")
    output = lab.output("softmax-cliff")
    output.scroll_into_view_if_needed()
    output.locator("img").wait_for()
    # the sanitizer drops the attribute of the host
    assert output.evaluate(LOOK) == [800, True, False, False]
    output.locator("summary").click()
    assert output.locator("table").is_visible()


def test_an_export_without_scripts_shows_the_picture_and_one_with_them_the_explorer(
    chromium, tmp_path
):
    nb = canonical_form.read(canonical_form.COURSE / "notebooks/solved/03_policy.ipynb")
    ((cell, _),) = pictures.explorers(nb)
    nb.cells = [cell]
    page = tmp_path / "page.html"
    page.write_text(HTMLExporter().from_notebook_node(nb)[0], encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for scripts in (False, True):
            tab = browser.new_context(java_script_enabled=scripts).new_page()
            tab.route("https://**", lambda route: route.abort())
            tab.goto(page.as_uri())
            host = tab.locator("[data-softmaxcliff]")
            assert host.locator("> img").is_visible() is not scripts
            assert not host.locator("> details table").is_visible()
            # without scripts the only picture of the page
            assert scripts or b"/Subtype /Image" in tab.pdf(format="A4")
        assert host.get_by_role("slider").first.is_visible()
        browser.close()
