"""Runs the quick tests and the blank notebooks on other Pythons and on the oldest
versions.

    .venv/bin/python -m tools.matrix [3.11 3.12 3.13]

Each Python that is found is tried with the newest versions that requirements.txt admits
and with the oldest TensorFlow, Keras and ipywidgets. One more leg has oneDNN off, which
stands for a processor without fast bfloat16, and one runs the notebooks on the packages
of Colab's TPU runtimes with tensorflow-tpu, as if a TPU were there: there is none.
Environments are made under .matrix/, one at a time (2.8 GB), and removed. What has run
is written to tests/records/, also after an interrupt.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tools.canonical import COURSE
from tools.notebooks import selected
from tools.soak import MACHINE, recorded

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


def main(wanted: list[str]) -> int:
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["3.11", "3.12", "3.13"]))
