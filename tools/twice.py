"""Let notebooks run twice in one kernel.

    python -m tools.twice FOLDER

writes the code cells of a folder's notebooks once more below their cells, which `make
pins` then runs. Whoever chooses Run All again in the same kernel does this; no cell may
raise the second time. A section whose recorded waiting is more than `SECONDS` is left
out the second time: whole, because its cells read what its others write.
"""

import sys
from pathlib import Path

from nbformat.v4 import new_code_cell

from tools.canonical import COURSE, read, text_of

SECONDS = 20


def repeated(nb, waiting):
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
            nb.cells += [
                new_code_cell(cell.source, id=f"{cell.id}-2") for cell in section
            ]
    return nb


def main(folder):
    for path in sorted(Path(folder).glob("[0-9]*.ipynb")):
        solved = read(COURSE / "notebooks/solved" / path.name)
        waiting = {cell.id: cell.metadata.get("seconds", 0) for cell in solved.cells}
        path.write_text(text_of(repeated(read(path), waiting)), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
