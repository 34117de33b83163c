"""The decision card: one page when it is printed, nothing cut off on a phone, nothing fetched."""

import re

import card
import pytest

pytestmark = [pytest.mark.browser]


@pytest.mark.parametrize("width", [400, 1400])
def test_the_card_is_one_page_and_fits_every_screen(pages, width):
    pages.wrong.clear()
    pages.page.set_viewport_size({"width": width, "height": 900})
    pages.page.set_content(card.PATH.read_text(encoding="utf-8"))
    assert pages.page.evaluate("document.scrollingElement.scrollWidth") <= width
    printed = pages.page.pdf(prefer_css_page_size=True, print_background=True)
    assert re.findall(rb"/Count (\d+)", printed) == [b"1"]
    assert pages.wrong == []
