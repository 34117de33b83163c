"""Let the notebooks of a folder run twice: below their cells stand the code cells once
more.

    python -m tools.twice FOLDER

Whoever chooses Run All again in the same kernel does this; no cell may raise the second
time. A section whose recorded waiting is more than SECONDS is left out the second time:
whole, because its cells read what its others write.
"""

import sys
from pathlib import Path

import nbformat

from tools.canonical import COURSE, read, text_of

SECONDS = 20


def twice(nb, waiting):
    """Return a notebook with its cells repeated; `waiting` has seconds by the cells'
    ids.
    """
    sections = [[]]
    for cell in nb.cells:
        if cell.cell_type == "markdown" and cell.source.startswith("## "):
            sections.append([])
        if cell.cell_type == "code":
            sections[-1].append(cell)
    for section in sections:
        if sum(waiting.get(cell.id, 0) for cell in section) <= SECONDS:
            again = (
                nbformat.v4.new_code_cell(cell.source, id=f"{cell.id}-2")
                for cell in section
            )
            nb.cells.extend(again)
    return nb


if __name__ == "__main__":
    for path in sorted(Path(sys.argv[1]).glob("[0-9]*.ipynb")):
        solved = read(COURSE / "notebooks/solved" / path.name)
        waiting = {cell.id: cell.metadata.get("seconds", 0) for cell in solved.cells}
        path.write_text(text_of(twice(read(path), waiting)), encoding="utf-8")
