"""Run the rows of docs/migration.md in the libraries that they name, and record it.

    python -m tools.migration            with every library and version
    python -m tools.migration JAX        with one

Each run has a virtual environment of its own, gone afterwards. `migration_steps` runs the
code by the library's own Python and asserts what each row does. What did so is noted in
data/migration.json, with a digest of its code: the page shows no row that has not run as
it stands.
"""

import datetime
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from course_utils import hardware, paths
from tools.casts import python_of

PATH = paths.data("migration.json")
# column: (Python, what pip installs)
RUNS = {
    "TF 2.3": [("3.8", "tensorflow==2.3.4 protobuf<3.21")],
    "TF 2.4–2.15": [
        ("3.8", "tensorflow==2.4.4 protobuf<3.21"),
        ("3.11", "tensorflow==2.15.1"),
    ],
    "Keras 3": [
        ("3.11", "tensorflow==2.16.2 keras==3.3.3"),
        ("3.12", "tensorflow==2.20.0 keras==3.13.2"),
        ("3.12", "tensorflow==2.21.0 keras==3.15.1"),
    ],
    "PyTorch": [("3.12", "numpy torch==2.15.0")],
    "JAX": [("3.12", "jax==0.12.0.1 optax==0.2.8")],
}


def digest(code) -> str:
    """What tells whether a row has changed since it ran."""
    return hashlib.sha256(code.encode()).hexdigest()[:12]


def ran(record, column, task) -> list[dict]:
    """The runs of a column in which this row, as it stands, did what it says."""
    now = digest(record["code"][column][task])
    return [
        run
        for run in record["runs"]
        if run["column"] == column and run["rows"].get(task) == now
    ]


def run(column, version, packages):
    """One run of a column, from an environment that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "bin/python"
        uv = Path(sys.executable).with_name("uv")
        make = [uv, "venv", "-q", "--python", python_of(version), folder]
        subprocess.run(make, check=True)
        install = [uv, "pip", "install", "-q", "--python", python, *packages.split()]
        subprocess.run(install, check=True)
        command = [python, Path(__file__).with_name("migration_steps.py"), column]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    code = json.loads(PATH.read_text(encoding="utf-8"))["code"][column]
    return {
        "column": column,
        "versions": found["versions"],
        "cpu": str(hardware.detect()),
        "date": datetime.date.today().isoformat(),
        "rows": {task: digest(code[task]) for task in found["rows"]},
    }


def main(*columns):
    for column in columns or RUNS:
        new = [run(column, *what) for what in RUNS[column]]
        record = json.loads(PATH.read_text(encoding="utf-8"))
        old = [old for old in record.get("runs", []) if old["column"] != column]
        record["runs"] = sorted(old + new, key=lambda r: [*RUNS].index(r["column"]))
        text = json.dumps(record, ensure_ascii=False, indent=1)
        PATH.write_text(text + "\n", encoding="utf-8")
        for one in new:
            left = [t for t in record["code"][column] if t not in one["rows"]]
            print(column, one["versions"], "without", *(left or ["none"]), sep=", ")


if __name__ == "__main__":
    main(*sys.argv[1:])
