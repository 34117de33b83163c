"""The Makefile and its environments, tried out with stand-ins for Python and uv: no
network.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
COURSE = [
    "Makefile",
    "pyproject.toml",
    "requirements.txt",
    "tests/requirements.txt",
    "tests/colab-requirements.txt",
    "tests/colab-constraints.txt",
    "tools/environment.sh",
    "tools/lab_settings.json",
]
TOOLS = "sh make test mkdir rm touch grep tail cat uname mktemp id sleep cp chmod seq".split()

# A Python that says it is version $V; `-m venv` copies it, `-m pip` logs what it should
# install.
PYTHON = r"""#!/bin/sh
case "$*" in
    *version_info*) echo $V ;;
    *sys.executable*) echo "$0" ;;
    *ensurepip*) exit $NO_VENV ;;
    "-m venv"*) mkdir -p "$3/bin" && cat "$0" > "$3/bin/python" && chmod +x "$3/bin/python" ;;
    "-m pip install"*) echo "pip $*" >> "$CALLS"; eval "$WHEN_INSTALLING" ;;
    "-m jupyterlab"*) echo "JupyterLab $*" ;;
esac
"""
UV = r"""#!/bin/sh
echo "uv $*" >> "$CALLS"
case "$1" in
    venv) for folder; do :; done; mkdir -p "$folder/bin" && cp "$5" "$folder/bin/python" ;;
    pip) eval "$WHEN_INSTALLING" ;;
esac
"""


class Machine:
    """A copy of the plumbing in a folder with a space, and a PATH that holds stand-ins
    only.
    """

    def __init__(self, folder: Path):
        self.root = folder / "my course"
        self.bin = folder / "bin"
        self.calls = folder / "calls.txt"
        for name in COURSE:
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)
        self.bin.mkdir()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.calls.touch()
        self.temporary = folder / "tmp"
        self.temporary.mkdir()

    def add(self, name: str, text: str):
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def add_python(self, name: str, version: str, no_venv: int = 0):
        self.add(name, PYTHON.replace("$V", version).replace("$NO_VENV", str(no_venv)))

    def start(self, *arguments: str, when_installing: str = "") -> subprocess.Popen:
        env = {"PATH": str(self.bin), "HOME": self.bin.parent, "TMPDIR": self.temporary}
        env |= {"CALLS": self.calls, "WHEN_INSTALLING": when_installing}
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "text": True}
        pipes |= {"stderr": subprocess.STDOUT, "start_new_session": True}
        # A test run that was itself started in the background ignores Ctrl-C, and so
        # would make.
        pipes["preexec_fn"] = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
        return subprocess.Popen(["make", *arguments], cwd=self.root, env=env, **pipes)

    def make(self, *arguments: str, when_installing: str = "") -> tuple[int, str]:
        process = self.start(*arguments, when_installing=when_installing)
        output = process.communicate(timeout=120)[0]
        assert "Traceback" not in output
        return process.returncode, output

    def installs(self) -> list[str]:
        return [
            line
            for line in self.calls.read_text().splitlines()
            if "pip install" in line
        ]

    def stamps(self) -> list[str]:
        return sorted(path.name for path in self.root.glob(".venv/*.stamp"))


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


NONE = "No Python that runs was found: install Python 3.13 from"
WRONG = "3.11, 3.12 or 3.13, but python3 is Python {}: install"
NO_VENV = "'sudo apt install python3.12-venv', then run make again"
OFFLINE = "echo 'dns error: failed to lookup address' >&2; exit 2"
NO_NETWORK = "The packages could not be downloaded: check the network"
GOOD = "3.12"
# The version of python3, whether it lacks venv, an argument, what the install does, what
# is said
REFUSALS = [
    (None, 0, "", "", NONE),
    *(
        (version, 0, "", "", WRONG.format(version))
        for version in ("2.7", "3.10", "3.14")
    ),
    (GOOD, 1, "", "", NO_VENV),
    (GOOD, 0, "PYTHON=old", "", "but old is Python 3.9: give the path of another"),
    (GOOD, 0, "PYTHON=nowhere", "", "at PYTHON=nowhere: give the path"),
    (GOOD, 0, "", OFFLINE, NO_NETWORK),
    (GOOD, 0, "", "echo 'No space left' >&2; exit 1", "disk is full: free about 3 GB"),
    (
        GOOD,
        0,
        "",
        "echo 'new' >&2; exit 1",
        "Installing failed, the lines above say why",
    ),
    (GOOD, 0, "", "echo 'No matching distribution' >&2; exit 1", "does not exist for"),
    (
        GOOD,
        0,
        "WHEELS=stick",
        "echo 'No matching distribution' >&2; exit 1",
        "The folder WHEELS lacks a package for Python 3.12",
    ),
]


@pytest.mark.parametrize("version, no_venv, argument, installing, sentence", REFUSALS)
def test_what_stops_it_is_one_sentence_that_says_what_to_do(
    machine, version, no_venv, argument, installing, sentence
):
    machine.add_python("old", "3.9")
    if version:
        machine.add_python("python3", version, no_venv)
    code, output = machine.make("lab", *argument.split(), when_installing=installing)
    skipped = ("make: ", "Installing about", "new", "No matching")
    (said,) = (line for line in output.splitlines() if not line.startswith(skipped))
    assert code != 0 and sentence in said and not machine.stamps()


def test_a_shim_that_does_not_answer_is_passed_over_and_pyenv_looked_into_last(machine):
    machine.add(
        "python3.13", "#!/bin/sh\necho 'pyenv: command not found' >&2; exit 127\n"
    )
    machine.add_python("python3.12", "3.14")  # a name is not a version either
    machine.add_python("only", "3.11")
    hidden = machine.bin.parent / ".pyenv/versions/3.11.1/bin/python"
    hidden.parent.mkdir(parents=True)
    (machine.bin / "only").rename(hidden)
    code, output = machine.make("lab")
    assert code == 0 and "Installing about 3 GB into .venv (Python 3.11)" in output


@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_no_network_then_a_network_then_nothing_to_do(machine, tool):
    # uv needs no venv module
    machine.add_python("python3", "3.12", no_venv=int(tool == "uv"))
    if tool == "uv":
        machine.add("uv", UV)
    code, output = machine.make("test", when_installing=OFFLINE)
    assert code != 0 and NO_NETWORK in output and not machine.stamps()
    code, output = machine.make("lab")
    assert code == 0 and "-m jupyterlab" in output and machine.stamps() == ["lab.stamp"]
    assert "token" not in output  # JupyterLab makes a random one
    settings = machine.root / ".venv/share/jupyter/lab/settings/overrides.json"
    # nobody is asked; panels are kept
    news, panels = json.loads(settings.read_text()).values()
    assert news == {"fetchNews": "false"} and panels == {"saveState": True}
    assert machine.installs()[-1].startswith(tool) and len(machine.installs()) == 2
    assert ("--compile-bytecode" in machine.installs()[-1]) == (tool == "uv")
    code, output = machine.make("lab")
    assert code == 0 and "Installing" not in output and len(machine.installs()) == 2


def test_a_folder_of_wheels_is_installed_from_by_pip_and_no_network_is_asked(machine):
    machine.add_python("python3", "3.12")
    machine.add("uv", UV)  # it would ask a network for the environment's pip
    assert machine.make("lab", "WHEELS=a stick")[0] == 0
    (install,) = machine.installs()
    assert "--no-index --find-links a stick -r requirements.txt" in install
    assert install.startswith("pip") and "uv" not in machine.calls.read_text()


def test_an_interrupted_install_leaves_no_stamp_and_starts_afresh(machine):
    machine.add_python("python3", "3.12")
    process = machine.start("lab", when_installing="sleep 20")
    deadline = time.monotonic() + 10
    while not machine.installs() and time.monotonic() < deadline:
        time.sleep(0.05)
    (machine.root / ".venv/half-installed").touch()
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode != 0 and machine.installs() and not machine.stamps()
    assert not list(machine.temporary.iterdir())

    code, output = machine.make("lab")
    assert (
        code == 0 and "Installing about" in output and machine.stamps() == ["lab.stamp"]
    )
    assert not (machine.root / ".venv/half-installed").exists()


def test_changed_requirements_are_installed_again_and_a_lost_python_means_afresh(
    machine,
):
    machine.add_python("python3", "3.12")
    assert machine.make("lab")[0] == 0
    (machine.root / ".venv/kept").touch()
    later = time.time() + 5
    os.utime(machine.root / "requirements.txt", (later, later))
    code, output = machine.make("lab")
    assert code == 0 and "Bringing .venv up to date" in output
    assert len(machine.installs()) == 2 and (machine.root / ".venv/kept").exists()
    (machine.root / ".venv/bin/python").unlink()
    assert machine.make("lab")[0] == 0 and len(machine.installs()) == 3


def test_make_test_goes_on_after_a_failed_part_and_names_it(machine):
    machine.add_python("python3", "3.12")
    leaving = (
        "mkdir -p .pytest_cache; echo 7 left out >.pytest_cache/unit.left-out; false"
    )
    code, output = machine.make("test", f"PYTEST={leaving}")
    assert code != 0 and "make test: failed: unit solved\n7 left out\n" in output
    # nothing stale
    assert machine.make("test")[1].endswith("make test: all parts passed\n")
    assert machine.make("lab")[0] == 0
    assert len(machine.installs()) == 1  # make test is enough for make lab


def test_without_python_3_13_the_pins_run_on_this_one(machine):
    machine.add_python("python3", "3.12")
    machine.add("python3.13", "#!/bin/sh\nexit 127\n")
    code, output = machine.make("pins")
    assert (
        code == 0
        and "No Python 3.13 was found: the blank notebooks run on this one" in output
    )


def test_every_target_is_in_the_help_and_works_as_a_dry_run(machine):
    machine.add_python("python3", "3.12")
    code, output = machine.make()
    assert code == 0
    targets = "lab wheelhouse test full quick notebooks colab site slides"
    targets += " matrix soak clean"
    for target in targets.split():
        assert re.search(rf"^make {target}\b", output, re.MULTILINE)
        assert machine.make("-n", target)[0] == 0
    soak = machine.make("-n", "soak", "N=3", "NAMES=07")[1]
    assert soak.count("notebooks/07_*.ipynb") == 3


# What is required


def requirements(name: str) -> dict[str, Requirement]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    found = [Requirement(line) for line in lines if line and line[0] not in "#-"]
    return {re.sub(r"[-_.]+", "-", r.name).lower(): r for r in found}


def test_the_ranges_and_the_environment_like_colab_s_are_what_colab_has():
    pins = requirements("tests/colab-constraints.txt")
    needed = requirements("requirements.txt")
    both = needed.keys() & pins.keys()
    assert {"tensorflow", "keras", "ml-dtypes", "ipywidgets", "ipykernel"} <= both
    for name in both:
        (pin,) = pins[name].specifier
        assert needed[name].specifier.contains(pin.version), (needed[name], pin)
    used = requirements("tests/colab-requirements.txt").keys()
    # Colab has its own front end, and the notebooks' first cell installs gfloat there.
    # Without xprof, notebook 05 does without the Profile tab.
    assert needed.keys() - used == {"jupyterlab", "gfloat", "xprof"}


# conftest.py

NEEDS_NO_BROWSER = "test_every_page_is_there_and_every_link_leads_somewhere"


def test_without_chromium_the_browser_tests_are_left_out_and_one_line_says_so(tmp_path):
    """A test that starts a browser without the fixture `chromium` fails here."""
    report = tmp_path / "unit.xml"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    command += [f"--junitxml={report}", "tests/browser"]
    command += ["--deselect", f"tests/browser/test_site.py::{NEEDS_NO_BROWSER}"]
    wanted = {"PATH": tmp_path, "PLAYWRIGHT_BROWSERS_PATH": tmp_path}
    env = {
        key: value for key, value in os.environ.items() if key not in ("CHROMIUM", "CI")
    }
    run = subprocess.run(
        command, cwd=ROOT, env=env | wanted, capture_output=True, text=True
    )
    counts = pytest.RunResult.parse_summary_nouns(run.stdout.splitlines())
    assert counts == {"skipped": counts["skipped"], "deselected": 1}, run.stdout[-4000:]
    (line,) = (line for line in run.stdout.splitlines() if "Chromium" in line)
    assert line == (
        f"{counts['skipped']} tests left out: they need Chromium. "
        "Install it (apt install chromium), or name it in CHROMIUM."
    )
    assert report.with_suffix(".left-out").read_text() == f"{line}\n"
