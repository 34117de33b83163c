"""Runs the quick tests and the blank notebooks on other Pythons and on the oldest versions.

    .venv/bin/python tests/tools/matrix.py [3.11 3.12 3.13]

Each Python that is found is tried with the newest versions that requirements.txt admits and with
the oldest TensorFlow, Keras and ipywidgets. One more leg has oneDNN off, which stands for a
processor without fast bfloat16. Environments are made under .matrix/, one at a time (2.8 GB), and
removed. A summary goes to tests/records/.
"""

import datetime
import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OLDEST = ["tensorflow==2.20.*", "keras==3.13.*", "ipywidgets==7.7.1"]
SHOWN = ["tensorflow", "keras", "numpy", "pandas", "ipywidgets", "ipykernel"]


def environment(version: str, *arguments: str) -> subprocess.CompletedProcess:
    """Runs tests/tools/environment.sh for one version of Python."""
    env = os.environ | {"VERSIONS": version, "PYTHON": ""}
    return subprocess.run(
        ["sh", "tests/tools/environment.sh", *arguments],
        cwd=ROOT, env=env, capture_output=True, text=True,
    )  # fmt: skip


def versions(python: Path) -> str:
    """The versions that matter, as installed in that environment."""
    code = (
        "import sys, importlib.metadata as m; "
        "print(', '.join(f'{p} {m.version(p)}' for p in sys.argv[1:]))"
    )
    return subprocess.check_output([python, "-c", code, *SHOWN], text=True).strip()


def run_leg(python: Path, **variables: str) -> str:
    """Runs the quick tests, then the blank notebooks; says which of them failed."""
    quick = ["-m", "not slow and not browser and not network", "tests"]
    notebooks = sorted(str(p) for p in (ROOT / "notebooks").glob("*.ipynb"))
    nbval = ["--nbval-lax", "--nbval-current-env", "--nbval-cell-timeout", "600", *notebooks]
    failed = []
    for part, arguments in {"quick tests": quick, "notebooks": nbval}.items():
        command = [python, "-m", "pytest", "-q", *arguments]
        if subprocess.run(command, cwd=ROOT, env=os.environ | variables).returncode:
            failed.append(part)
    return "failed: " + ", ".join(failed) if failed else "passed"


def main(wanted: list[str]) -> int:
    rows = []

    def leg(name, python, **variables):
        print(f"== matrix: {name}", flush=True)
        start = time.monotonic()
        result = run_leg(python, **variables)
        rows.append((name, versions(python), result, f"{time.monotonic() - start:.0f}"))

    found = [v for v in wanted if environment(v, "find").returncode == 0]
    for version in found:
        for kind, pins in {"newest": [], "oldest": OLDEST}.items():
            folder = f".matrix/{version}-{kind}"
            made = environment(version, "install", folder, "-r", "tests/requirements.txt", *pins)
            python = ROOT / folder / "bin" / "python"
            name = f"Python {version}, {kind}"
            if made.returncode:
                print(made.stderr, file=sys.stderr)
                rows.append((name, "–", "not installed", "–"))
            else:
                leg(name, python)
                if version == found[-1] and kind == "newest":
                    leg(f"{name}, oneDNN off", python, TF_ENABLE_ONEDNN_OPTS="0")
            shutil.rmtree(ROOT / folder, ignore_errors=True)

    today = datetime.date.today().isoformat()
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    missing = ", ".join(v for v in wanted if v not in found) or "none"
    lines = [
        f"# make matrix, {today}",
        "",
        f"{machine}. Each leg: the quick tests, then Run All of the blank notebooks; seconds",
        f"without the install. Pythons looked for and not found: {missing}.",
        "",
        "| leg | versions | result | seconds |",
        "|---|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]
    record = ROOT / "tests" / "records" / f"matrix-{today}.md"
    record.parent.mkdir(exist_ok=True)
    record.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"\n{record.read_text(encoding='utf-8')}\nWritten to {record.relative_to(ROOT)}")
    return 0 if rows and all(row[2] == "passed" for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["3.11", "3.12", "3.13"]))
