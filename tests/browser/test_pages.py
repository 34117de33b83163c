"""Pages that stand alone: the decision card, the lab report and the class board. No
script runs, nothing is asked for, any width will do, and they are printed on few pages.
"""

import re

import pytest
from helpers.reports import HOSTILE, report

from course_utils.report import board
from tools import decision_card

pytestmark = pytest.mark.browser
TOO_WIDE = "document.scrollingElement.scrollWidth - innerWidth"


@pytest.mark.parametrize("text", ["", *HOSTILE])
def test_pages_stay_in_their_width_and_do_nothing(text, pages):
    pages.page.on(
        "dialog", lambda dialog: pages.wrong.append(dialog.message) or dialog.dismiss()
    )
    made = report(text)
    for html in (made.html(), board.html({text: made.data}, {text: "why"})):
        for scheme, width in (("light", 1000), ("dark", 400)):
            pages.page.emulate_media(color_scheme=scheme)
            pages.open(html, width)
            color = pages.page.evaluate("getComputedStyle(document.body).color")
            assert (color == "rgb(0, 0, 0)") == (scheme == "light")
            assert pages.page.evaluate(TOO_WIDE) <= 0
            named = "svg => svg.every(each => each.getAttribute('aria-label'))"
            assert pages.page.locator("svg").evaluate_all(named)


def test_a_request_would_be_seen(pages):
    pages.open('<img src="https://example.com/x.png">', 400)
    assert "https://example.com/x.png" in pages.wrong
    pages.wrong.clear()


def test_a_report_is_printed_on_two_pages_and_the_card_on_one(pages):
    made = report(words="A sentence of this length, and a question at its end? " * 20)
    made.data["curves"] = {f"loss {n}": {"float32": [2.0, 1.0]} for n in range(4)}
    made.data["findings"] *= 3
    made.data["card"] *= 4
    for html, count in (
        (made.html(), 2),
        (decision_card.PATH.read_text(encoding="utf-8"), 1),
    ):
        for width in (400, 1400):
            pages.open(html, width)
            assert pages.page.evaluate(TOO_WIDE) <= 0
            printed = pages.page.pdf(prefer_css_page_size=True, print_background=True)
            assert len(re.findall(rb"/Type\s*/Page\b", printed)) == count
