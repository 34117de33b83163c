"""Runs every blank notebook again and again, twice in the same kernel each time.

    .venv/bin/python tests/tools/soak.py [N] [NOTEBOOK ...]
    .venv/bin/python tests/tools/soak.py [N] two-workers

The second pass is what a learner does who chooses Run All once more: no cell may raise. The
notebooks take turns, so that a slow spell of the machine meets all of them. Unless notebooks are
named, two worker processes train together afterwards, 2 N times. A summary goes to tests/records/.
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
TRAIN_TWO = ROOT / "tests" / "tools" / "train_two.py"
POLICIES = ("float32", "mixed_bfloat16", "mixed_float16")
sys.path.insert(0, str(ROOT))


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


def train_two(policy: str, folder, steps: int = 60):
    """Two workers train together: their lines, their results, and what went wrong, if anything."""
    from course_utils.distributed import ProcessError, Workers

    lines, workers = [[], []], Workers(TRAIN_TWO, 2, [policy, folder, steps], timeout=200)
    try:
        with workers:
            for rank, line in workers:
                lines[rank].append(line)
    except ProcessError as error:
        return lines, workers.results, str(error)
    left = [pid for pid in workers.pids if _is_there(pid)]
    if left:
        return lines, workers.results, f"left behind: {left}"
    one, two = workers.results
    if None in (one, two) or one["bits"] != two["bits"]:
        return lines, workers.results, f"the workers differ: {workers.results}"
    return lines, workers.results, ""


def _is_there(group):
    """Whether a process is left of those that a worker headed."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def two_workers(count: int) -> tuple[list[float], list[str]]:
    """Seconds of each of several trainings on two workers, and what went wrong."""
    seconds, errors, bits = [], [], {}
    for number in range(1, count + 1):
        policy = POLICIES[number % len(POLICIES)]
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            _, results, error = train_two(policy, folder)
        if not error and bits.setdefault(policy, results[0]["bits"]) != results[0]["bits"]:
            error = "other bits than the run before"
        if error:
            errors.append(f"run {number} ({policy}): {error}")
        else:
            seconds.append(time.monotonic() - start)
        shown = error or f"{seconds[-1]:.1f} s"
        print(f"run {number} of {count}, two workers, {policy}: {shown}", flush=True)
    return seconds, errors


def main(count: int, paths: list[Path], runs: int) -> int:
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

    together, failures = two_workers(runs)
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
            lines.append(_row(path.name, name, seconds, count))
    if runs:
        lines.append(_row("two workers train together", "", together, runs))
    lines += ["", *(f"- two workers, {error}" for error in failures)]
    lines += ["", *(f"- {path.name}, {error}" for path in paths for error in errors[path])]
    record = ROOT / "tests" / "records" / f"soak-{today}.md"
    record.parent.mkdir(exist_ok=True)
    record.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    print(f"\n{record.read_text(encoding='utf-8')}\nWritten to {record.relative_to(ROOT)}")
    return 1 if failures or any(errors.values()) else 0


def _row(name, which, seconds, count):
    times = [f"{f(seconds):.1f}" if seconds else "–" for f in (min, statistics.median, max)]
    return f"| {' | '.join([name, which, f'{len(seconds)} of {count}', *times])} |"


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    if sys.argv[2:] == ["two-workers"]:
        sys.exit(main(count, [], count))
    named = [Path(name).resolve() for name in sys.argv[2:]]
    every = sorted((ROOT / "notebooks").glob("*.ipynb"))
    sys.exit(main(count, named or every, 0 if named else 2 * count))
