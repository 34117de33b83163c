"""Let the notebooks of a folder run twice: a last cell runs the code cells above it once more.

    python tests/tools/twice.py FOLDER

Whoever chooses Run All again in the same kernel does this; no cell may raise the second time. A
cell that took more than SECONDS the first time is left out the second.
"""

import sys
from pathlib import Path

import nbformat
from canonical import read, text_of

SECONDS = 10
CLOCK = """\
import time

_runs, _started = [], []

def _start(info):
    _started.append(time.perf_counter())

def _end(result):
    if _started:  # not this cell, which began before there was a clock
        _runs.append((result.info.raw_cell, time.perf_counter() - _started.pop()))

get_ipython().events.register("pre_run_cell", _start)
get_ipython().events.register("post_run_cell", _end)
"""
AGAIN = f"""\
for _source, _seconds in _runs[:]:
    if _seconds <= {SECONDS}:
        print(_source[:70])  # the last of them is what raised
        get_ipython().run_cell(_source).raise_error()
"""


def twice(nb):
    """Give a notebook a clock above its cells, and a cell below that repeats them; return it."""
    clock = nbformat.v4.new_code_cell(CLOCK, id="clock")
    again = nbformat.v4.new_code_cell(AGAIN, id="again")
    nb.cells = [clock, *nb.cells, again]
    return nb


if __name__ == "__main__":
    for path in sorted(Path(sys.argv[1]).glob("*.ipynb")):
        path.write_text(text_of(twice(read(path))), encoding="utf-8")
