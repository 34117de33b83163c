"""The one picture of each notebook, with which its page on the site begins.

It is taken from the notebook's stored outputs: a figure, or the picture that a browser
drew of an explorer (`tools.pictures`). Both bring their words for a screen reader.
"""

import html
import re

from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from tools import pictures

# The cell whose output is the picture, by the first letters of a notebook's file.
CELLS = {
    "00": "guess-beside-measured",
    "01": "own",
    "02": "bathtub",
    "03": "softmax-cliff",
    "04": "does-it-pay",
    "05": "repairs",
    "06": "by-hand",
    "07": "cured",
    "08": "picture",
    "09": "panel",
    "10": "draw",
    "11": "blind-figure",
    "12": "signature",
    "13": "waterfall",
    "lightning": "guess-beside-measured-00",
    "workshop": "bathtub-02",
}
SECTION = re.compile(r"^## (\d+)\. (.+)$", re.M)
STORED = re.compile(
    r'<img data-of="\w+"[^>]* alt="([^"]*)" src="data:image/png;base64,([^"]+)"'
)


def cell_of(stem):
    """Return the id of the cell that shows a notebook's picture."""
    cell = CELLS.get(stem.split("_")[0])
    if cell is None:
        raise ValueError(
            f"{stem}: CELLS in tools/signatures.py names no picture of it."
        )
    return cell


def picture(nb, stem):
    """Return a notebook's picture as (PNG in base64, its words, is it an explorer's?)."""
    (cell,) = (cell for cell in nb.cells if cell.id == cell_of(stem))
    for output in cell.outputs:
        if png := output.get("data", {}).get("image/png"):
            return png, output.metadata["image/png"]["alt"], False
    (explorer,) = pictures.explorers_of(cell)
    words, png = STORED.search(explorer["text/html"]).groups()
    return png, html.unescape(words), True


def put_first(nb, stem):
    """Put a notebook's picture between its title and its text, and say below it from
    which section it comes.
    """
    png, words, is_explorer = picture(nb, stem)
    place = cell_of(stem)
    number, heading = section_of(nb, place)
    # with a width Sphinx links the picture, which opens as large as it is
    look = {"alt": words, "classes": "first-picture", "width": "100%"}
    shown = new_code_cell(
        "...",  # none without a source
        id="first-picture",
        outputs=[new_output("display_data", {"image/png": png})],
        metadata={
            "tags": ["remove-input", "first-picture"],
            "mystnb": {"image": look},
        },
    )
    told = "The first state of an explorer, alive in" if is_explorer else "From"
    caption = (
        f'<p class="first-picture">{told} section {number}, '
        f'<a href="#cell-{place}">{heading}</a>.</p>'
    )
    title, *text = nb.cells[0].source.split("\n", 1)
    nb.cells[0].source = title
    rest = new_markdown_cell("\n".join([caption, *text]), id="below-the-picture")
    nb.cells[1:1] = [shown, rest]


def section_of(nb, id):
    """Return number and heading of the section in which a cell stands."""
    headings = []
    for cell in nb.cells:
        if cell.id == id:
            return headings[-1]
        if cell.cell_type == "markdown":
            headings += SECTION.findall(cell.source)
    raise ValueError(f"There is no cell {id}.")
