"""Stored explorers carry a picture for where no script runs, of what they are now."""

import base64
import configparser
import copy
import re

import pytest

from tools import canonical_form, notebook_cells, notebooks, pictures

# Explorers of what the reader's own cells trained or measured; all others need no cell.
MEASURED = {"softmax-cliff", "does-it-pay", "blocklab"}
SOLVED = sorted((canonical_form.COURSE / "notebooks" / "solved").glob("*.ipynb"))
PLACES = {
    (path.stem, cell.id): data["text/html"]
    for path in SOLVED
    for cell, data in pictures.explorers(canonical_form.read(path))
}
STORED = [
    pytest.param(text, id=f"{stem}-{cell}") for (stem, cell), text in PLACES.items()
]


@pytest.mark.parametrize("text", STORED)
def test_a_stored_explorer_has_a_picture_and_the_table_folded(text):
    assert pictures.is_fresh(text)
    encoded = re.search('src="data:image/png;base64,([^"]*)"', text)[1]
    assert len(base64.b64decode(encoded)) <= 33_000
    alone = pictures.undrawn(text)
    shown = pictures.HOST.match(alone)[2]
    assert "<img" not in shown and shown.startswith("<table")
    assert not pictures.is_fresh(alone)
    # another script
    assert not pictures.is_fresh(text.replace("</script>", " </script>", 1))


@pytest.mark.parametrize(
    ("notebook", "cell"), [place for place in PLACES if place[1] not in MEASURED]
)
def test_an_explorer_cell_runs_by_itself_and_shows_what_is_stored(notebook, cell):
    own = notebook_cells.Cells(notebook)
    names = own.run(cell)  # with no name of another cell
    shown = eval(own.sources[cell].splitlines()[-1], names)._repr_mimebundle_()
    assert shown["text/html"] == pictures.undrawn(PLACES[notebook, cell])


def test_nbval_compares_what_is_shown_without_the_picture():
    settings = configparser.RawConfigParser()
    settings.read(canonical_form.COURSE / "tests" / "nbval.cfg")
    rule = settings["pictures"]
    for stored in STORED:
        (text,) = stored.values
        found = re.sub(rule["regex"], rule["replace"], text)
        assert found == pictures.undrawn(text)


def test_a_picture_stays_where_the_explorer_is_the_same_and_is_missed_elsewhere(
    tmp_path,
):
    path = next(path for path in SOLVED if path.name.startswith("01"))
    old = canonical_form.read(path)
    new = copy.deepcopy(old)
    (_, first), (cell, second) = pictures.explorers(new)
    first["text/html"] = pictures.undrawn(first["text/html"])
    other = pictures.undrawn(second["text/html"]).replace("<caption", "<caption ")
    second["text/html"] = other
    pictures.carry(old, new)
    assert pictures.is_fresh(first["text/html"]) and second["text/html"] == other
    notebooks.write(tmp_path / path.name, new)
    (fault,) = notebooks.picture_faults(tmp_path / path.name)
    assert f"cell {cell.id!r} has no picture" in fault and "--draw" in fault
