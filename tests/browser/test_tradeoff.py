"""TradeOff as a learner uses it, on a bare page: what a limit leaves is what Python
leaves.
"""

import re

import pytest
from explorer_pages import SET, Panel
from playwright.sync_api import expect

from course_utils.explorers import TradeOff
from course_utils.explorers.tradeoff import front

pytestmark = pytest.mark.browser
POINTS = [
    dict(zip(("name", "file_kb", "packed_kb", "accuracy", "ms"), point, strict=True))
    for point in (
        ("float32", 258, 238, 0.967, 0.02),
        ("float16", 132, 120, 0.966, 0.03),
        ("int8", 70, 60, 0.965, 0.01),
        ("pruned, float32", 258.1, 37, 0.964, 0.02),
        ("pruned, int8", 70.1, 15, 0.963, 0.01),
    )
]


class Shown(Panel):
    explorer = TradeOff

    def left(self):
        """{network: whether it is on the front}, the most accurate first."""
        names = self.inside.locator("tbody th").all_inner_texts()
        return {name.removesuffix(" *"): name.endswith(" *") for name in names}


def test_what_a_limit_leaves_and_its_front_are_pythons(show):
    panel = show(POINTS, error=0.001)
    slider = panel.slider("size")
    for size in ("file_kb", "packed_kb"):
        panel.inside.get_by_label("size of").select_option(size)
        for step in (0, 20, 45, 60, 80, 100):
            slider.evaluate(SET, step)
            found = re.search(r"≤ ([\d.]+)", slider.get_attribute("aria-valuetext"))
            limit = float(found[1]) if found else float("inf")
            if any(abs(point[size] / limit - 1) < 0.01 for point in POINTS):
                continue  # the text is rounded
            left = [point for point in POINTS if point[size] <= limit]
            wanted = {p["name"]: p["name"] in front(left, size, 0.001) for p in left}
            assert list(panel.left().items()) == list(wanted.items())  # by accuracy
            expect(panel.sentence).to_contain_text(
                f"{len(left)} of 5" if left else "Nothing"
            )


def test_marks_tell_more_than_by_color(show):
    panel = show(POINTS)
    marks = panel.inside.locator(".mark")
    shapes = [marks.nth(n).get_attribute("d") for n in range(5)]
    assert ["a" in shape for shape in shapes] == [True, True, True, False, False]
    widths = [mark.bounding_box()["width"] for mark in marks.all()[:3]]
    assert widths[1] > widths[0] > widths[2]  # the slower, the larger
    names = panel.inside.locator(".label").all_text_contents()
    assert {"float32", "float16", "int8"} <= set(names)
