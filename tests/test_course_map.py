"""The map on the site's first page: every notebook once, by today's title, in the order in
which it can be done.
"""

import copy
import re
from xml.etree import ElementTree

import pytest

from tools import clock, course_map
from tools.canonical_form import COURSE, read

BLANK = sorted((COURSE / "notebooks").glob("[0-9]*.ipynb"))


@pytest.fixture(scope="module")
def every():
    return course_map.stops()


def test_each_notebook_is_on_it_once_with_its_title_its_minutes_and_a_link(every):
    svg = ElementTree.fromstring(course_map.drawn(every))
    links = [
        (link.get("href"), " ".join("".join(link.itertext()).split()))
        for link in svg.iter("a")
    ]
    expected = {
        f"notebooks/{path.stem}.html": f"{path.name[:2]} · "
        + read(path).cells[0].source.splitlines()[0].removeprefix("# ")
        for path in BLANK
    }
    assert len(links) == len(expected) and dict(links) == expected
    readme = (COURSE / "README.md").read_text(encoding="utf-8")
    assert all(f"| [{title}](" in readme for title in expected.values())
    shown = " ".join("".join(svg.itertext()).split())
    for number, stop in every.items():
        assert re.search(rf"\b{number} · [^·]* {stop.account.span} minutes", shown)
    assert len(svg.findall(".//circle")) == len(expected)
    hidden = [group for group in svg.iter("g") if group.get("aria-hidden") == "true"]
    assert not list(hidden[0].iter("text")) and svg.get("role") == "group"


def test_what_an_elective_needs_stands_above_it(every):
    order = [stop.number for stop, _ in course_map.rows(every)]
    assert sorted(order) == [*every]
    assert [one for one in order if every[one].is_on_path] == [*clock.CORE_PATH]
    for stop in every.values():
        cells = read(COURSE / f"notebooks/{stop.file}.ipynb").cells
        (glance,) = (cell.source for cell in cells if cell.id == "at-a-glance")
        said = glance.split("**What you'll need.**")[1].split("\n")[0]
        assert {*re.findall(r"\b0\d\b", said)} == {*stop.needs}, said
        assert all(order.index(one) < order.index(stop.number) for one in stop.needs)
    assert every["10"].after(every) == ["04", "06"] and every["12"].after(every) == [
        "06"
    ]


def test_the_words_name_each_elective_and_what_it_is_after(every):
    told = course_map.told(every)
    for number, stop in every.items():
        if not stop.is_on_path:
            place = " and ".join(stop.after(every))
            assert re.search(rf"\b{number}\b[^.]*? after {place}\b", told), number
            assert f"after {place}" in course_map.words(stop, every)
    assert "00 to 05" in told


def test_what_names_no_notebook_leaves_from_the_first(every):
    alone = copy.copy(every["13"])
    alone.needs = []
    assert alone.after(every) == ["00"]
    order = [stop.number for stop, _ in course_map.rows(every | {"13": alone})]
    assert order[:2] == ["00", "13"] and sorted(order) == [*every]
