"""Runs every blank notebook again and again, twice in the same kernel each time.

    .venv/bin/python tests/tools/soak.py N

No cell may raise. The notebooks take turns, so that a slow spell of the machine meets all of them.
What has run is written to tests/records/, also after an interrupt. (Notebook 07 starts two workers
seven times in each pass.)
"""

import contextlib
import datetime
import os
import platform
import sys
import time

from canonical import COURSE, read
from twice import twice

from notebooks import execute, selected

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
        lines += [f"| {' | '.join(row)} |" for row in (columns, ["---"] * len(columns), *rows)]
        record = RECORDS / f"{name.split()[0]}-{TODAY}.md"
        record.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print("", *lines, f"\nWritten to {record}", sep="\n")


def main(count: int) -> int:
    head = (
        f"{MACHINE}, Python {platform.python_version()}. Run All, and Run All again in the same "
        "kernel, its start\nand TensorFlow's import included."
    )
    columns = "notebook", "run", "seconds", "what it raised"
    with recorded(f"soak N={count}", head, *columns) as rows:
        for number in range(1, count + 1):
            for path in selected(COURSE / "notebooks"):
                start, name = time.monotonic(), f"run {number} of {count}, {path.stem}"
                error = execute(twice(read(path)), path.parent, name)
                seconds = f"{time.monotonic() - start:.1f}"
                rows.append((path.name, str(number), seconds, error or ""))
    return 1 if any(error for *_, error in rows) else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
