"""Runs every blank notebook again and again, twice in the same kernel each time.

    .venv/bin/python tests/tools/soak.py [N] [NOTEBOOK ...]

No cell may raise. The notebooks take turns, so that a slow spell of the machine meets all of them.
A summary goes to tests/records/, also after an interrupt. (Notebook 07 starts two workers seven
times in each pass.)
"""

import datetime
import os
import platform
import statistics
import sys
import time
from pathlib import Path

from canonical import COURSE, read
from twice import twice

from notebooks import execute

TODAY = datetime.date.today().isoformat()
MACHINE = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"


def write(record: Path, head: str, columns: str, rows: list[tuple], notes=()) -> Path:
    """Writes a heading, a table with these columns and a list of notes."""
    table = [columns.split(" | "), ["---"] * len(columns.split(" | ")), *rows]
    lines = [head, "", *(f"| {' | '.join(row)} |" for row in table)]
    lines += ["", *(f"- {note}" for note in notes)]
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    return record


def main(count: int, paths: list[Path]) -> int:
    seconds, errors = {path: [] for path in paths}, []
    try:
        for number in range(1, count + 1):
            for path in paths:
                start, name = time.monotonic(), f"run {number} of {count}, {path.stem}"
                if error := execute(twice(read(path)), path.parent, name):
                    errors.append(f"{path.name}, run {number}, {error}")
                else:
                    seconds[path].append(time.monotonic() - start)
    except KeyboardInterrupt:
        said = "interrupted: the table holds what had finished"
        errors.append(f"{path.name}, run {number}, {said}")
    rows = []
    for path, runs in seconds.items():
        times = [f"{f(runs):.1f}" if runs else "–" for f in (min, statistics.median, max)]
        rows.append((path.name, f"{len(runs)} of {count}", *times))
    head = (
        f"# make soak N={count}, {TODAY}\n\n{MACHINE}, Python {platform.python_version()}. Run "
        "All, and Run All again in the same kernel, its start\nand TensorFlow's import included."
    )
    columns = "notebook | finished | min s | median s | max s"
    record = write(COURSE / "tests" / "records" / f"soak-{TODAY}.md", head, columns, rows, errors)
    print(f"\n{record.read_text(encoding='utf-8')}\nWritten to {record.relative_to(COURSE)}")
    return 1 if errors else 0


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    named = [Path(name).resolve() for name in sys.argv[2:]]
    sys.exit(main(count, named or sorted((COURSE / "notebooks").glob("*.ipynb"))))
