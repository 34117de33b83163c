"""Runs every blank notebook again and again, twice in the same kernel each time.

    .venv/bin/python tests/tools/soak.py [N] [NOTEBOOK ...]

The second pass is what a learner does who chooses Run All once more: no cell may raise. The
notebooks take turns, so that a slow spell of the machine meets all of them. A summary goes to
tests/records/.
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


def run_twice(path: Path) -> tuple[list[float], str]:
    """Seconds of each pass, the first with the kernel's start, and what went wrong, if anything."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook, timeout=600, resources={"metadata": {"path": str(path.parent)}}
    )
    seconds = []
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


def main(count: int, paths: list[Path]) -> int:
    passes = {path: ([], []) for path in paths}
    errors = {path: [] for path in paths}
    for number in range(1, count + 1):
        for path in paths:
            seconds, error = run_twice(path)
            for into, value in zip(passes[path], seconds, strict=False):  # no time if it failed
                into.append(value)
            if error:
                errors[path].append(f"run {number}, {error}")
            shown = ", ".join(f"{s:.1f} s" for s in seconds)
            print(f"run {number} of {count}, {path.name}: {error or shown}", flush=True)

    today = datetime.date.today().isoformat()
    lines = [
        f"# make soak N={count}, {today}",
        "",
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}. Run All, and Run All again in the same kernel; the first",
        "pass includes the start of the kernel and TensorFlow's import.",
        "",
        "| notebook | pass | finished | min s | median s | max s |",
        "|---|---|---|---|---|---|",
    ]
    for path in paths:
        for name, seconds in zip(("first", "again"), passes[path], strict=True):
            times = [f"{f(seconds):.1f}" if seconds else "–" for f in (min, statistics.median, max)]
            row = [path.name, name, f"{len(seconds)} of {count}", *times]
            lines.append(f"| {' | '.join(row)} |")
    lines += ["", *(f"- {path.name}, {error}" for path in paths for error in errors[path])]
    record = ROOT / "tests" / "records" / f"soak-{today}.md"
    record.parent.mkdir(exist_ok=True)
    record.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    print(f"\n{record.read_text(encoding='utf-8')}\nWritten to {record.relative_to(ROOT)}")
    return 1 if any(errors.values()) else 0


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    named = [Path(name).resolve() for name in sys.argv[2:]]
    sys.exit(main(count, named or sorted((ROOT / "notebooks").glob("*.ipynb"))))
