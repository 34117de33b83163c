"""A notebook's page on the site begins with the notebook's one picture, as it is stored."""

import base64
import re

import pytest

from tools import canonical_form, signatures, site

SOLVED = sorted((canonical_form.COURSE / "notebooks" / "solved").glob("*.ipynb"))


@pytest.mark.parametrize("path", SOLVED, ids=lambda path: path.stem)
def test_a_page_begins_with_a_stored_picture_and_loses_no_text(path):
    stored = path.read_text(encoding="utf-8")
    (title, *_), *_ = (
        cell.source.splitlines() for cell in canonical_form.read(path).cells
    )
    page = site.page_of(path, set())
    first, shown, below, *_ = page.cells
    assert first.source == title
    (output,) = shown.outputs
    png = output.data["image/png"]
    assert png in stored or png.replace("\n", "\\n") in stored  # no drawing of its own
    assert base64.b64decode(png).startswith(b"\x89PNG") and len(png) < 60_000
    words = shown.metadata["mystnb"]["image"]["alt"]
    assert len(words.split()) > 8 and "&" not in words
    number, place, heading = re.search(
        r'section (\d+), <a href="#cell-([\w-]+)">(.+)</a>', below.source
    ).groups()
    assert place == signatures.cell_of(path.stem)
    sources = [cell.source for cell in page.cells]
    anchors = [n for n, text in enumerate(sources) if f'id="cell-{place}"' in text]
    (section,) = (
        n for n, text in enumerate(sources) if f"## {number}. {heading}" in text
    )
    assert section < anchors[0] and len(anchors) == 1
    before = "\n".join(cell.source for cell in canonical_form.read(path).cells[:1])
    text = re.sub(r'<p class="first-picture">.*</p>', "", below.source)
    assert (title + text).split() == before.split()


def test_each_notebook_has_a_picture_of_its_own():
    assert len(signatures.CELLS) == len(SOLVED)
    assert {signatures.cell_of(path.stem) for path in SOLVED} == {
        *signatures.CELLS.values()
    }


def test_a_notebook_without_one_is_named():
    with pytest.raises(
        ValueError, match="77_new: CELLS in tools/signatures.py names no"
    ):
        signatures.cell_of("77_new")
