"""Runs every blank notebook again and again, twice in the same kernel each time.

    .venv/bin/python tests/tools/soak.py [N] [NOTEBOOK ...]

The second pass is what a learner does who chooses Run All once more: no cell may raise. The
notebooks take turns, so that a slow spell of the machine meets all of them. A summary goes to
tests/records/, also after an interrupt. (Notebook 07 starts two workers seven times in each pass.)
"""

import datetime
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellControlSignal, DeadKernelError

ROOT = Path(__file__).resolve().parents[2]
TODAY = datetime.date.today().isoformat()
MACHINE = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"


def run_twice(path: Path) -> tuple[list[float], str]:
    """Seconds of each pass, the first with the kernel's start, and what went wrong, if anything."""
    notebook, seconds = nbformat.read(path, as_version=4), []
    resources = {"metadata": {"path": str(path.parent)}}
    client = NotebookClient(notebook, timeout=600, resources=resources)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["COURSE_PROGRESS"] = str(Path(folder) / "progress.json")
        os.environ["IPYTHONDIR"] = str(Path(folder) / "ipython")
        start = time.monotonic()
        with client.setup_kernel():
            for _ in range(2):
                for index, cell in enumerate(notebook.cells):
                    try:
                        client.execute_cell(cell, index)
                    except (CellControlSignal, DeadKernelError) as error:
                        name = getattr(error, "ename", type(error).__name__)
                        reason = f"{name}: {getattr(error, 'evalue', error)}".splitlines()[0]
                        return seconds, f"pass {len(seconds) + 1}, cell {cell.id}: {reason}"
                seconds.append(time.monotonic() - start)
                start = time.monotonic()
    return seconds, ""


def write(record: Path, head: str, columns: str, rows: list[tuple], notes=()) -> Path:
    """Writes a heading, a table with these columns and a list of notes."""
    table = [columns.split(" | "), ["---"] * len(columns.split(" | ")), *rows]
    lines = [head, "", *(f"| {' | '.join(row)} |" for row in table)]
    lines += ["", *(f"- {note}" for note in notes)]
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    return record


def main(count: int, paths: list[Path]) -> int:
    passes, errors = {(path, name): [] for path in paths for name in ("first", "again")}, []
    try:
        for number in range(1, count + 1):
            for path in paths:
                seconds, error = run_twice(path)
                for name, value in zip(("first", "again"), seconds, strict=False):
                    passes[path, name].append(value)  # no time if it failed
                if error:
                    errors.append(f"{path.name}, run {number}, {error}")
                shown = ", ".join(f"{s:.1f} s" for s in seconds)
                print(f"run {number} of {count}, {path.name}: {error or shown}", flush=True)
    except KeyboardInterrupt:
        said = "interrupted: the table holds what had finished"
        errors.append(f"{path.name}, run {number}, {said}")
    rows = []
    for (path, name), seconds in passes.items():
        times = [f"{f(seconds):.1f}" if seconds else "–" for f in (min, statistics.median, max)]
        rows.append((path.name, name, f"{len(seconds)} of {count}", *times))
    head = (
        f"# make soak N={count}, {TODAY}\n\n{MACHINE}, Python {platform.python_version()}. Run "
        "All, and Run All again in the same kernel;\nthe first pass includes the start of the "
        "kernel and TensorFlow's import."
    )
    columns = "notebook | pass | finished | min s | median s | max s"
    record = write(ROOT / "tests" / "records" / f"soak-{TODAY}.md", head, columns, rows, errors)
    print(f"\n{record.read_text(encoding='utf-8')}\nWritten to {record.relative_to(ROOT)}")
    return 1 if errors else 0


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    named = [Path(name).resolve() for name in sys.argv[2:]]
    every = sorted((ROOT / "notebooks").glob("*.ipynb"))
    sys.exit(main(count, named or every))
