"""Let the notebooks of a folder run twice: each code cell stands in them a second time, below.

    python tests/tools/twice.py FOLDER

Whoever chooses Run All again in the same kernel does this; no cell may raise the second time.
"""

import copy
import sys
from pathlib import Path

from canonical import code_cells, read, text_of


def twice(nb):
    """Return a notebook with its code cells once more, under ids that end in `-again`."""
    nb = copy.deepcopy(nb)
    for cell in code_cells(nb):
        nb.cells.append(copy.deepcopy(cell))
        nb.cells[-1].id += "-again"
    return nb


if __name__ == "__main__":
    for path in sorted(Path(sys.argv[1]).glob("*.ipynb")):
        path.write_text(text_of(twice(read(path))), encoding="utf-8")
