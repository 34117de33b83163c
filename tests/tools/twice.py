"""Let the notebooks of a folder run twice: a last cell runs the code cells above it once more.

    python tests/tools/twice.py FOLDER

Whoever chooses Run All again in the same kernel does this; no cell may raise the second time. A
section that took more than SECONDS the first time is left out the second: whole, because its cells
read what its others write.
"""

import sys
from pathlib import Path

import nbformat
from canonical import read, text_of

SECONDS = 20
CLOCK = """\
import time

_took, _started = [], []

def _start(info):
    _started.append(time.perf_counter())

def _end(result):
    if _started:  # not this cell, which began before there was a clock
        _took.append((result.info.raw_cell, time.perf_counter() - _started.pop()))

get_ipython().events.register("pre_run_cell", _start)
get_ipython().events.register("post_run_cell", _end)
"""
AGAIN = """\
_run, _sections, _first = list(_took), {sections}, 0
for _count in _sections:
    _cells, _first = _run[_first : _first + _count], _first + _count
    if sum(_seconds for _, _seconds in _cells) <= {seconds}:
        for _source, _ in _cells:
            print(_source[:70])  # the last of them is what raised
            get_ipython().run_cell(_source).raise_error()
"""


def twice(nb):
    """Give a notebook a clock above its cells and a cell below that repeats them; return it."""
    sections = [0]  # how many code cells each has
    for cell in nb.cells:
        if cell.cell_type == "markdown" and cell.source.startswith("## "):
            sections.append(0)
        sections[-1] += cell.cell_type == "code"
    clock = nbformat.v4.new_code_cell(CLOCK, id="clock")
    source = AGAIN.format(sections=sections, seconds=SECONDS)
    nb.cells = [clock, *nb.cells, nbformat.v4.new_code_cell(source, id="again")]
    return nb


if __name__ == "__main__":
    for path in sorted(Path(sys.argv[1]).glob("[0-9]*.ipynb")):
        path.write_text(text_of(twice(read(path))), encoding="utf-8")
