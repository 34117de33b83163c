"""The lab report and the class board in a browser: no script, no request, any width, two pages."""

import re

import pytest
from reports import HOSTILE, report

from course_utils.report import board

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("text", ["", *HOSTILE])
def test_pages_stay_in_their_width_and_do_nothing(text, pages):
    pages.wrong.clear()
    pages.page.on("dialog", lambda dialog: pages.wrong.append(dialog.message) or dialog.dismiss())
    made = report(text)
    for html in (made.html(), board.html({text: made.data}, {text: "why"})):
        for scheme, width in (("light", 1000), ("dark", 400)):
            pages.page.emulate_media(color_scheme=scheme)
            pages.page.set_viewport_size({"width": width, "height": 900})
            pages.page.set_content(html)
            color = pages.page.evaluate("getComputedStyle(document.body).color")
            assert (color == "rgb(0, 0, 0)") == (scheme == "light")
            assert pages.page.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0
            named = "svg => svg.every(each => each.getAttribute('aria-label'))"
            assert pages.page.locator("svg").evaluate_all(named)
    assert pages.wrong == []


def test_a_report_is_printed_on_two_pages(pages):
    made = report(words="A sentence of this length, and a question at its end? " * 20)
    made.data["curves"] = {f"loss {n}": {"float32": [2.0, 1.0]} for n in range(4)}
    made.data["findings"] *= 3
    made.data["card"] *= 4
    pages.page.set_content(made.html())
    printed = pages.page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 2
