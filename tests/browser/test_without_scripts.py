"""Where no script runs, a stored explorer is a picture, with its table folded below."""

import pytest
from harness import FLAGS
from playwright.sync_api import sync_playwright

from tools import canonical, pictures

pytestmark = pytest.mark.browser

LOOK = """host => {
  const picture = host.querySelector("img"), table = host.querySelector("table");
  return [picture.naturalWidth, picture.getBoundingClientRect().width > 300,
          table.checkVisibility(), Boolean(host.querySelector("[data-softmaxcliff]"))];
}"""


def test_an_untrusted_notebook_shows_the_picture(lab):
    lab.open("notebooks/solved/03_policy.ipynb")
    output = lab.output("softmax-cliff")
    output.scroll_into_view_if_needed()
    output.locator("img").wait_for()
    # the sanitizer drops the attribute of the host
    assert output.evaluate(LOOK) == [800, True, False, False]
    output.locator("summary").click()
    assert output.locator("table").is_visible()


def test_a_page_without_scripts_shows_the_picture_and_a_page_with_them_the_explorer(
    chromium, tmp_path
):
    nb = canonical.read(canonical.COURSE / "notebooks/solved/03_policy.ipynb")
    ((_, data),) = pictures.explorers(nb)
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html><body>{data['text/html']}", encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for scripts in (False, True):
            tab = browser.new_context(java_script_enabled=scripts).new_page()
            tab.goto(page.as_uri())
            host = tab.locator("[data-softmaxcliff]")
            assert host.locator("> img").is_visible() is not scripts
            assert not host.locator("> details table").is_visible()
        assert host.get_by_role("slider").first.is_visible()
        browser.close()
