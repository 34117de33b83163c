"""Runs by hand: of many notebooks, with many versions, and twice over.

    python -m tools.runs matrix [3.11 3.12 3.13]    on other Pythons, on the oldest versions
    python -m tools.runs twice FOLDER               let notebooks run twice in one kernel

`matrix` runs the quick tests and the blank notebooks. Each Python is tried with the
newest versions that requirements.txt admits and with the oldest TensorFlow, Keras and
ipywidgets. On 3.13, Colab's, one more leg has oneDNN off, which stands for a processor
without fast bfloat16, and one runs the notebooks alone on the packages of Colab's TPU
runtimes with tensorflow-tpu, as if a TPU were there: there is none. Environments are
made under .matrix/, one at a time (2.8 GB), and removed. The lines that begin with ==
are what is worth keeping, in tests/records.

`twice` writes the code cells of a folder's notebooks once more below their cells, which
`make pins` then runs. Whoever chooses Run All again in the same kernel does this; no
cell may raise the second time. A section whose recorded waiting is more than
`SECONDS` is left out the second time: whole, because its cells read what its others
write.
"""

import itertools
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import nbformat

from tools.canonical import COURSE, read, text_of
from tools.notebooks import selected

PYTHONS = ("3.11", "3.12", "3.13")
NEWEST = ["-r", "tests/requirements.txt"]
OLDEST = ["tensorflow==2.20.*", "keras==3.13.*", "ipywidgets==7.7.1"]
TPU = {  # its packages are not the course's, so it finds the course by its path
    "COLAB_RELEASE_TAG": "ci",
    "COLAB_TPU_1VM": "1",
    "TPU_ACCELERATOR_TYPE": "v5e-1",
    "PYTHONPATH": str(COURSE),
}
KINDS = {  # what is installed, and the variables it runs with
    "newest": (NEWEST, {}),
    "oldest": (NEWEST + OLDEST, {}),
    "oneDNN off": (NEWEST, {"TF_ENABLE_ONEDNN_OPTS": "0"}),
    "TPU": (["-r", "tests/colab-tpu-requirements.txt"], TPU),
}
VERSIONS = "from course_utils.benchmark import start; print(start.versions())"
SECONDS = 20


def run_leg(version, kind):
    """Run the quick tests and the blank notebooks in an environment of their own; return
    what failed.
    """
    requirements, variables = KINDS[kind]
    folder = f".matrix/{version}-{kind.split()[0]}"
    python = f"{folder}/bin/python"
    env = os.environ | {"VERSIONS": version, "PYTHON": ""}
    pytest = [python, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile"]
    nbval = "--nbval-lax --nbval-current-env --nbval-cell-timeout 600".split()
    parts = {
        "install": ["sh", "tools/environment.sh", "install", folder, *requirements],
        "versions": [python, "-c", VERSIONS],
        "quick tests": [*pytest, "-m", "not slow and not browser and not network"],
        "notebooks": [*pytest, *nbval, *selected(COURSE / "notebooks")],
    }
    if kind == "TPU":  # where Colab has no test tools
        del parts["quick tests"]
    failed = []
    for part, command in parts.items():
        done = subprocess.run(command, cwd=COURSE, env=env | variables)
        if done.returncode:
            failed.append(part)
        if failed == ["install"]:
            break
    shutil.rmtree(COURSE / folder, ignore_errors=True)
    return failed


def matrix(*wanted: str) -> int:
    legs = [*itertools.product(wanted or PYTHONS, ("newest", "oldest"))]
    if "3.13" in (wanted or PYTHONS):
        legs += [("3.13", "oneDNN off"), ("3.13", "TPU")]
    results = []
    for version, kind in legs:
        start = time.monotonic()
        failed = run_leg(version, kind)
        result = f"failed: {', '.join(failed)}" if failed else "passed"
        seconds = f"{time.monotonic() - start:.0f} s with the install"
        print(f"== Python {version}, {kind}: {result}, {seconds}", flush=True)
        results += failed
    return 1 if results else 0


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


def main(kind="", *arguments: str) -> int:
    match kind, arguments:
        case "matrix", _:
            return matrix(*arguments)
        case "twice", [folder]:
            return twice(folder)
    raise SystemExit(__doc__)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
