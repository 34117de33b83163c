"""Let notebooks run twice in one kernel.

    python -m tools.rerun_cells FOLDER

writes the code cells of a folder's notebooks once more below their cells, which `make
pins` then runs. Whoever chooses Run All again in the same kernel does this; no cell may
raise the second time. The quickest sections of a notebook run so, as many as take
`SECONDS` of recorded waiting together; a section runs whole or not at all, because its
cells read what its others write.
"""

import sys
from pathlib import Path

from nbformat.v4 import new_code_cell

from tools import origin
from tools.canonical_form import COURSE, read, text_of

SECONDS = 10


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
    waits = [sum(waiting.get(cell.id, 0) for cell in section) for section in sections]
    spent = 0
    quickest = set()
    for index in sorted(range(len(sections)), key=waits.__getitem__):
        spent += waits[index]
        if spent <= SECONDS:
            quickest.add(index)
    for index in sorted(quickest):
        nb.cells += [
            new_code_cell(cell.source, id=f"{cell.id}-2") for cell in sections[index]
        ]
    return nb


def main(folder):
    paths = sorted(Path(folder).glob("[0-9]*.ipynb"))
    origin.stop_at(paths, origin.worked_in, "Let tools.release write them again.")
    for path in paths:
        solved = read(COURSE / "notebooks/solved" / path.name)
        waiting = {cell.id: cell.metadata.get("seconds", 0) for cell in solved.cells}
        path.write_text(text_of(repeated(read(path), waiting)), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
