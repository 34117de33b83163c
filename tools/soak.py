"""Runs every blank notebook N times, each time in a new kernel, at most two at a time.

    .venv/bin/python -m tools.soak N [NAMES]

A name is the start of a notebook's file name, such as 07. No cell may raise. The
notebooks take turns, so that a slow spell of the machine meets all of them. (`make
pins` is what runs a notebook twice in one kernel.) What has run is written to
tests/records/, also after an interrupt.
"""

import contextlib
import datetime
import itertools
import os
import platform
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from statistics import median

from tools.canonical import COURSE, code_cells, read
from tools.notebooks import execute, selected

TODAY = datetime.date.today().isoformat()
MACHINE = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
RECORDS = COURSE / "tests" / "records"


@contextlib.contextmanager
def recorded(name: str, head: str, *columns: str):
    """A list for the rows of a table, which is written whatever ends the block."""
    rows = []
    try:
        yield rows
    finally:
        lines = [f"# make {name}, {TODAY}", "", head, ""]
        lines += [
            f"| {' | '.join(row)} |" for row in (columns, ["---"] * len(columns), *rows)
        ]
        record = RECORDS / f"{name.split()[0]}-{TODAY}.md"
        record.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print("", *lines, f"\nWritten to {record}", sep="\n")


def main(count: int, *names: str) -> int:
    paths = selected(COURSE / "notebooks", names)
    seconds = {}
    raised = []
    lanes = min(2, len(paths))
    slowest = {}  # notebook: (seconds, cell) of the cell that took longest in any run

    def run(job):
        number, path = job
        start = time.monotonic()
        nb = read(path)
        error = execute(nb, path.parent, f"run {number} of {count}, {path.stem}")
        if error:
            raised.append(f"{path.stem}, run {number}: {error}")
        else:
            seconds.setdefault(path.stem, []).append(time.monotonic() - start)
            took = max((cell.metadata.seconds, cell.id) for cell in code_cells(nb))
            slowest[path.stem] = max(took, slowest.get(path.stem, took))

    head = (
        f"{MACHINE}, Python {platform.python_version()}, TensorFlow {version('tensorflow')}, Keras "
        f"{version('keras')}.\nRun All of the blank notebooks, each in a new kernel, "
        f"{lanes} at a time."
    )
    columns = "notebook", "finished", "seconds: least", "median", "most", "longest cell"
    kind = "-".join(["soak", *names])
    with (
        recorded(f"{kind} N={count}", head, *columns) as rows,
        ThreadPoolExecutor(lanes) as pool,
    ):
        try:
            list(pool.map(run, itertools.product(range(1, count + 1), paths)))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for name, took in sorted(seconds.items()):
                times = (f"{each:.0f}" for each in (min(took), median(took), max(took)))
                cell = "{} s, {}".format(*slowest[name])
                rows.append((name, f"{len(took)} of {count}", *times, cell))
            rows.extend((error, "", "", "", "", "") for error in raised)
    return 1 if raised else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), *sys.argv[2:]))
