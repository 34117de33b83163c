"""Runs by hand: of many notebooks, many times, with many versions.

    python -m tools.runs matrix [3.11 3.12 3.13]    on other Pythons, on the oldest versions
    python -m tools.runs soak N [NAMES]             every blank notebook N times
    python -m tools.runs twice FOLDER               let notebooks run twice in one kernel

What has run of the first two is written to tests/records/, also after an interrupt.

`matrix` runs the quick tests and the blank notebooks. Each Python that is found is tried
with the newest versions that requirements.txt admits and with the oldest TensorFlow,
Keras and ipywidgets. One more leg has oneDNN off, which stands for a processor without
fast bfloat16, and one runs the notebooks on the packages of Colab's TPU runtimes with
tensorflow-tpu, as if a TPU were there: there is none. Environments are made under
.matrix/, one at a time (2.8 GB), and removed.

`soak` runs each notebook in a new kernel, at most two at a time; a name is the start of
its file name, such as 07. No cell may raise. The notebooks take turns, so that a slow
spell of the machine meets all of them.

`twice` writes the code cells of a folder's notebooks once more below their cells, which
`make pins` then runs. Whoever chooses Run All again in the same kernel does this; no
cell may raise the second time. A section whose recorded waiting is more than
`SECONDS` is left out the second time: whole, because its cells read what its others
write.
"""

import contextlib
import datetime
import importlib.metadata
import itertools
import os
import platform
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import nbformat

from tools.canonical import COURSE, code_cells, read, text_of
from tools.notebooks import execute, selected

TODAY = datetime.date.today().isoformat()
MACHINE = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
RECORDS = COURSE / "tests" / "records"
PYTHONS = ("3.11", "3.12", "3.13")
OLDEST = ["tensorflow==2.20.*", "keras==3.13.*", "ipywidgets==7.7.1"]
TPU = {"COLAB_RELEASE_TAG": "ci", "COLAB_TPU_1VM": "1", "TPU_ACCELERATOR_TYPE": "v5e-1"}
SHOWN = [
    "tensorflow",
    "tensorflow_tpu",
    "keras",
    "numpy",
    "pandas",
    "ipywidgets",
    "ipykernel",
]
SECONDS = 20


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


def environment(version: str, *arguments: str) -> subprocess.CompletedProcess:
    """Runs tools/environment.sh for one version of Python."""
    env = os.environ | {"VERSIONS": version, "PYTHON": ""}
    command = ["sh", "tools/environment.sh", *arguments]
    return subprocess.run(command, cwd=COURSE, env=env, capture_output=True, text=True)


def versions(python: Path) -> str:
    """The versions that matter, as installed in that environment."""
    code = (
        "import sys, importlib.metadata as m; "
        "found = {d.name: d.version for d in m.distributions()};"
        "print(', '.join(f'{p} {found[p]}' for p in sys.argv[1:] if p in found))"
    )
    return subprocess.check_output([python, "-c", code, *SHOWN], text=True).strip()


def run_leg(python: Path, **variables: str) -> str:
    """Runs the quick tests, then the blank notebooks; says which of them failed.

    As on Colab's TPU runtimes it runs the notebooks alone.
    """
    quick = ["-m", "not slow and not browser and not network", "tests"]
    nbval = ["--nbval-lax", "--nbval-current-env", "--nbval-cell-timeout", "600"]
    nbval += selected(COURSE / "notebooks")
    parts = {"quick tests": quick, "notebooks": nbval}
    failed = []
    if variables == TPU:
        del parts["quick tests"]
    for part, arguments in parts.items():
        command = [
            python,
            "-m",
            "pytest",
            "-q",
            "-n",
            "2",
            "--dist",
            "loadfile",
            *arguments,
        ]
        if subprocess.run(command, cwd=COURSE, env=os.environ | variables).returncode:
            failed.append(part)
    return "failed: " + ", ".join(failed) if failed else "passed"


def legs(found: list[str]):
    """(name, versions, result, seconds) of each leg, as soon as it has run."""
    for version in found:
        kinds = {
            "newest": ["tests/requirements.txt"],
            "oldest": ["tests/requirements.txt", *OLDEST],
        }
        if version == "3.13":  # Colab's
            kinds["TPU"] = ["tests/colab-tpu-requirements.txt"]
        for kind, wanted in kinds.items():
            folder = f".matrix/{version}-{kind}"
            made = environment(version, "install", folder, "-r", *wanted)
            # whose packages are not the course's
            if kind == "TPU" and not made.returncode:
                made = environment(version, "install", folder, "--no-deps", "-e", ".")
            python = COURSE / folder / "bin" / "python"
            name = f"Python {version}, {kind}"
            settings = {name: TPU if kind == "TPU" else {}}
            if version == found[-1] and kind == "newest":
                settings[f"{name}, oneDNN off"] = {"TF_ENABLE_ONEDNN_OPTS": "0"}
            try:
                if made.returncode:
                    print(made.stderr, file=sys.stderr)
                    yield name, "–", "not installed", "–"
                    continue
                for leg, variables in settings.items():
                    print(f"== matrix: {leg}", flush=True)
                    start = time.monotonic()
                    result = run_leg(python, **variables)
                    yield (
                        leg,
                        versions(python),
                        result,
                        f"{time.monotonic() - start:.0f}",
                    )
            finally:
                shutil.rmtree(COURSE / folder, ignore_errors=True)


def matrix(*wanted: str) -> int:
    wanted = wanted or PYTHONS
    found = [v for v in wanted if environment(v, "find").returncode == 0]
    missing = ", ".join(v for v in wanted if v not in found) or "none"
    names = ", ".join(path.stem for path in selected(COURSE / "notebooks"))
    head = (
        f"{MACHINE}. Each leg: the quick tests, then Run All of the blank notebooks ({names});\n"
        f"two files at a time, seconds without the install. Pythons not found: {missing}."
    )
    with recorded("matrix", head, "leg", "versions", "result", "seconds") as rows:
        for row in legs(found):
            # a log keeps it, whatever ends the rest
            print("==", " | ".join(row), flush=True)
            rows.append(row)
    return 0 if {result for _, _, result, _ in rows} == {"passed"} else 1


def soak(count: str, *names: str) -> int:
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

    version = importlib.metadata.version
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
            list(pool.map(run, itertools.product(range(1, int(count) + 1), paths)))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for name, took in sorted(seconds.items()):
                times = (f"{each:.0f}" for each in (min(took), median(took), max(took)))
                cell = "{} s, {}".format(*slowest[name])
                rows.append((name, f"{len(took)} of {count}", *times, cell))
            rows.extend((error, "", "", "", "", "") for error in raised)
    return 1 if raised else 0


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
    for section in sections:
        if sum(waiting.get(cell.id, 0) for cell in section) <= SECONDS:
            again = (
                nbformat.v4.new_code_cell(cell.source, id=f"{cell.id}-2")
                for cell in section
            )
            nb.cells.extend(again)
    return nb


def twice(folder: str) -> int:
    for path in sorted(Path(folder).glob("[0-9]*.ipynb")):
        solved = read(COURSE / "notebooks/solved" / path.name)
        waiting = {cell.id: cell.metadata.get("seconds", 0) for cell in solved.cells}
        path.write_text(text_of(repeated(read(path), waiting)), encoding="utf-8")
    return 0


RUNS = {"matrix": matrix, "soak": soak, "twice": twice}


def main(kind="", *arguments: str) -> int:
    if kind not in RUNS or (kind != "matrix" and not arguments):
        raise SystemExit(__doc__)
    return RUNS[kind](*arguments)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
