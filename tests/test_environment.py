"""The Makefile, start.py and their environments, tried out with stand-ins for Python
and uv: no network.
"""

import ast
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from functools import partial
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import start
from tools import install

ROOT = Path(__file__).resolve().parents[1]
REAL = sys.executable
COURSE = """Makefile pyproject.toml linter/pyproject.toml requirements.txt
    tests/requirements.txt
    tests/colab-requirements.txt tests/colab-constraints.txt
    tests/colab-tpu-requirements.txt tools/environment.sh start.py
    tools/install.py tools/lab_settings.json tools/package-lock.json"""
TOOLS = "sh make test mkdir rm touch grep tail cat uname mktemp id sleep cp chmod seq find sed mv"

# A Python that says it is version $V; `-m venv` copies it, `-m pip` brings uv or logs what
# it should install.
PYTHON = r"""#!/bin/sh
case "$*" in
    *version_info*) echo $V ;;
    *sys.executable*) echo "$0" ;;
    *ensurepip*) exit $NO_VENV ;;
    tools/install.py*) exec $REAL "$@" ;;
    "-m venv"*) for folder; do :; done
        mkdir -p "$folder/bin" && cp "$0" "$folder/bin/python" ;;
    "-m pip --python"*" uv") (eval "$WHEN_UV_COMES") && cp "$BROUGHT" "${4%/*}/uv" ;;
    "-m pip install"*) echo "pip $*" >> "$CALLS"; eval "$WHEN_INSTALLING" ;;
    "-m jupyterlab"*) echo "JupyterLab $*" ;;
esac
"""
UV = r"""#!/bin/sh
echo "uv $*" >> "$CALLS"
eval "$WHEN_INSTALLING"
"""


class Machine:
    """A copy of the plumbing in a folder with a space, and a PATH that holds stand-ins
    only.
    """

    def __init__(self, folder: Path):
        self.root = folder / "my course"
        self.bin = folder / "bin"
        self.calls = folder / "calls.txt"
        self.brought = folder / "uv"
        self.temporary = folder / "tmp"
        for name in COURSE.split():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)
        self.bin.mkdir()
        for tool in TOOLS.split():
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.calls.touch()
        self.brought.write_text(UV)
        self.brought.chmod(0o755)
        self.temporary.mkdir()

    def add(self, name: str, text: str):
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def add_python(self, name: str, version: str, no_venv: int = 0):
        text = PYTHON.replace("$V", version).replace("$NO_VENV", str(no_venv))
        self.add(name, text.replace("$REAL", shlex.quote(REAL)))

    def make(
        self, *arguments: str, when_installing: str = "", when_uv_comes: str = ""
    ) -> tuple[int, str]:
        run = subprocess.run(
            ["make", *arguments],
            cwd=self.root,
            env={
                "PATH": str(self.bin),
                "HOME": self.bin.parent,
                "TMPDIR": self.temporary,
                "CALLS": self.calls,
                "WHEN_INSTALLING": when_installing,
                "WHEN_UV_COMES": when_uv_comes,
                "BROUGHT": self.brought,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            # so that Ctrl-C in there interrupts no test, but does interrupt make where
            # the tests themselves run in the background and ignore it
            start_new_session=True,
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )
        return run.returncode, run.stdout

    @property
    def installs(self) -> list[str]:
        calls = self.calls.read_text().splitlines()
        return [line for line in calls if "pip install" in line]

    @property
    def stamps(self) -> list[str]:
        return [path.name for path in self.root.glob(".venv/*.stamp")]


@pytest.fixture
def machine(tmp_path):
    """One with Python 3.12."""
    machine = Machine(tmp_path)
    machine.add_python("python3", "3.12")
    return machine


STEPS = "1 of 3: an empty", "2 of 3: uv", "3 of 3: the packages"
OFFLINE = "echo 'dns error: failed to lookup address' >&2; exit 2"
NO_NETWORK = "The packages could not be downloaded: check the network"
NO_PACKAGE = "echo 'No matching distribution' >&2; exit 1"
# An argument, what the install does, what is said
REFUSALS = [
    ("PYTHON=old", "", "but old is Python 3.10: give the path of another"),
    ("PYTHON=nowhere", "", "at PYTHON=nowhere: give the path"),
    ("", OFFLINE, NO_NETWORK),
    ("", "echo 'No space left' >&2; exit 1", "full: free about 3 GB"),
    ("", "exit 1", "Installing failed, the lines above say why"),
    ("", NO_PACKAGE, "does not exist for"),
    ("WHEELS=stick", NO_PACKAGE, "WHEELS lacks a package for Python 3.12"),
]


@pytest.mark.parametrize("argument, installing, sentence", REFUSALS)
def test_what_stops_it_is_one_sentence_that_says_what_to_do(
    machine, argument, installing, sentence
):
    machine.add_python("old", "3.10")
    code, output = machine.make("lab", *argument.split(), when_installing=installing)
    skipped = ("make: ", "Installing about", "No matching", *STEPS)
    (said,) = (line for line in output.splitlines() if not line.startswith(skipped))
    assert code != 0 and sentence in said and not machine.stamps


def test_what_is_no_python_for_it_is_passed_over_and_pyenv_looked_into_last(machine):
    machine.add("python3.13", "#!/bin/sh\necho 'pyenv: not found' >&2; exit 127\n")
    machine.add_python("python3.12", "3.14")  # a name is not a version either
    machine.add_python("python3", "3.12", no_venv=1)
    venv = "'sudo apt install python3.12-venv', then run make again"
    assert venv in machine.make("lab")[1]
    (machine.bin / "python3").unlink()
    wrong = "needs Python 3.11, 3.12 or 3.13, but python3.12 is Python 3.14: install"
    assert wrong in machine.make("lab")[1]
    (machine.bin / "python3.12").unlink()
    nothing = "No Python that runs was found: install Python 3.13 from"
    assert nothing in machine.make("lab")[1] and not machine.installs
    pyenv = machine.bin.parent / ".pyenv/versions/3.11.1/bin"
    pyenv.mkdir(parents=True)
    machine.add_python("python", "3.11")
    (machine.bin / "python").rename(pyenv / "python")
    assert "Installing about 3 GB into .venv (Python 3.11)" in machine.make("lab")[1]


@pytest.mark.parametrize("tool", ["brought", "theirs", "pip"])
def test_no_network_then_a_network_then_nothing_to_do(machine, tool):
    """uv comes through pip, or is on the PATH, or cannot be had."""
    comes = "exit 1" if tool == "pip" else ""
    if tool == "theirs":  # which needs no venv module
        machine.add_python("python3", "3.12", no_venv=1)
        machine.add("uv", UV)
        comes = "echo 'it is there' >&2; exit 1"
    code, output = machine.make("test", when_installing=OFFLINE, when_uv_comes=comes)
    assert code != 0 and NO_NETWORK in output and not machine.stamps
    code, output = machine.make("lab", when_uv_comes=comes)
    assert code == 0 and "-m jupyterlab" in output and machine.stamps == ["lab.stamp"]
    assert [line for line in output.splitlines() if "it is there" in line] == []
    assert [step in output for step in STEPS] == [True, tool != "theirs", True]
    assert "token" not in output  # JupyterLab makes a random one
    settings = machine.root / ".venv/share/jupyter/lab/settings/overrides.json"
    news, panels = json.loads(settings.read_text()).values()
    assert news == {"fetchNews": "false"} and panels == {"saveState": True}
    last = machine.installs[-1]
    assert last.startswith("pip" if tool == "pip" else "uv pip install --compile-byte")
    before = len(machine.installs)
    assert machine.make("lab")[0] == 0 and len(machine.installs) == before


def test_where_no_network_is_uv_is_not_waited_for_twice(machine):
    code, output = machine.make("lab", when_uv_comes=OFFLINE)
    assert code != 0 and NO_NETWORK in output and not machine.installs


def test_where_uv_finds_no_packages_pip_does_as_it_knows_another_index(machine):
    """A room's index stands in the settings of pip, which uv does not read."""
    failing = 'case "$*" in *compile-bytecode*) exit 1 ;; esac'
    code, output = machine.make("lab", when_installing=failing)
    assert code == 0 and "with pip, which takes longer than uv" in output
    assert [line.split()[0] for line in machine.installs] == ["uv", "pip"]


def test_a_folder_of_wheels_is_installed_from_by_pip_and_no_network_is_asked(machine):
    machine.add("uv", UV)  # it would ask a network for the environment's pip
    assert machine.make("lab", "WHEELS=a stick")[0] == 0
    (call,) = machine.installs
    assert "--no-index --find-links a stick -r requirements.txt" in call
    assert "uv" not in machine.calls.read_text()


def test_the_bar_is_as_long_as_what_has_come(capsys):
    """Of uv's own lines, in megabytes of what it names."""
    step = install.Step("3 of 3: the packages")
    step.read(["Resolved 9 packages in 2s\n", "Downloading numpy (30.0MiB)\n"])
    assert f"[{'.' * install.WIDTH}] 0 of 30 MiB" in step.line()
    step.read(["Downloading tensorflow (90.0MiB)\n", " Downloaded numpy\n"])
    quarter = install.WIDTH // 4
    assert f"[{'#' * quarter}{'.' * 3 * quarter}] 30 of 120 MiB" in step.line()
    step.read(["Prepared 9 packages in 4s\n", "Installed 9 packages in 1s\n"])
    assert "translating to byte code, 0 s" in step.line()


def test_an_interrupted_install_leaves_no_stamp_and_starts_afresh(machine):
    interrupted = "touch .venv/half-installed; kill -INT 0; sleep 20"
    assert machine.make("lab", when_installing=interrupted)[0] != 0
    assert (machine.root / ".venv/half-installed").exists() and not machine.stamps
    assert not list(machine.temporary.iterdir())
    code, output = machine.make("lab")
    assert code == 0 and "Installing about" in output and machine.stamps
    assert not (machine.root / ".venv/half-installed").exists()


def test_changed_requirements_are_installed_again_and_a_lost_python_means_afresh(
    machine,
):
    assert machine.make("lab")[0] == 0
    later = time.time() + 5
    os.utime(machine.root / "requirements.txt", (later, later))
    assert "Bringing .venv up to date" in machine.make("lab")[1]
    (machine.root / ".venv/bin/python").unlink()
    assert "Installing about" in machine.make("lab")[1] and len(machine.installs) == 3


def test_make_test_goes_on_after_a_failed_part_and_says_what_was_left_out(machine):
    leaving = "mkdir -p .pytest_cache; echo 7 >.pytest_cache/unit.left-out; false"
    code, output = machine.make("test", f"PYTEST={leaving}")
    _, _, end = output.partition("make test: failed: unit compared\n")
    assert code != 0 and "notebooks left out" in end and "\n7\n" in end
    # nothing stale
    code, output = machine.make("test")
    _, _, end = output.partition("make test: all parts passed\n")
    assert code == 0 and end.count("\n") == 2  # canaries and notebooks
    assert machine.make("lab")[0] == 0
    assert len(machine.installs) == 1  # make test is enough for make lab


def test_the_matrix_goes_on_after_a_failed_leg_and_names_it(machine):
    for version in ("3.12", "3.13"):
        machine.add_python(f"python{version}", version)
    code, output = machine.make("matrix")
    legs = re.findall("^== Python (.*): failed", output, re.MULTILINE)
    assert code != 0 and legs == ["3.11, newest", "3.11, oldest"]
    assert output.count(": passed") == len(machine.installs) == 6
    assert "keras==3.13.*" in machine.installs[1]
    assert "colab-tpu" in machine.installs[-1]


def test_every_target_is_in_the_help_and_works_as_a_dry_run(machine):
    targets = re.findall(r"^make (\w+)", machine.make()[1], re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text("utf-8")
    phony = set(re.search("^.PHONY: (.+)", makefile, re.M)[1].split())
    parts = "help lint unit every compared solved blank pins-run again"
    assert phony - {*parts.split()} == {*targets}
    for target in targets:
        assert machine.make("-n", target)[0] == 0, target
    soak = machine.make("-n", "soak", "N=3", "NAMES=07")[1]
    assert soak.count("notebooks/07_*.ipynb") == 3 and "/10_" not in soak


def test_the_container_opens_notebook_00_behind_its_token(machine):
    text = (ROOT / ".devcontainer/devcontainer.json").read_text("utf-8")
    container = json.loads(re.sub("^//.*", "", text, flags=re.M))
    for when in ("onCreateCommand", "postAttachCommand"):
        code, recipe = machine.make("-n", *shlex.split(container[when])[1:])
        assert code == 0, when
    ((port, looks),) = container["portsAttributes"].items()
    assert looks["onAutoForward"] == "openBrowser" and f"--port {port} " in recipe
    assert container["forwardPorts"] == [int(port)]
    told = dict(re.findall(r"--(\S+?)=\"?([^\s\"]*)", recipe))
    origin = told.pop("ServerApp.allow_origin_pat")  # a server tries it so:
    assert re.match(origin, "https://a-8888.app.github.dev")
    assert not re.match(origin, "https://a-8888.app.github.dev.org")
    page = "/lab/tree/notebooks/00_start_here.ipynb"  # and no token is taken off
    assert told == {"ServerApp.root_dir": ".", "LabApp.default_url": page}


def test_a_wheelhouse_holds_what_builds_the_course_too(machine):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    words = machine.make("-n", "wheelhouse")[1].split()
    names = [Requirement(one).name for one in project["build-system"]["requires"]]
    assert {*names, "editables"} <= {*words}


def test_slides_leave_out_the_cells_with_solutions(machine):
    recipe = machine.make("-n", "slides")[1]
    for path in (ROOT / "notebooks").glob("[0-9]*.ipynb"):
        for tag in re.findall(r'"(exercise-\d+|prediction)"', path.read_text("utf-8")):
            assert f"'{tag}'" in recipe, (path.name, tag)


def test_slides_ask_no_address_for_diagrams_and_fonts(machine):
    slides = machine.root / "dist/slides"
    theme = slides / "node_modules/reveal.js/dist/theme/simple.css"
    theme.parent.mkdir(parents=True)
    theme.write_text("@import url(https://a);\nbody {}\n")
    page = slides / "02.slides.html"
    page.write_text(
        "  import mermaid from 'https://a';\n  mermaid.initialize({});\n<p>\n"
    )
    assert machine.make("slides")[0] == 0
    assert (theme.read_text(), page.read_text()) == ("body {}\n", "<p>\n")


def test_what_a_learner_made_outlives_make_clean(machine):
    made = ".course_progress.jsonl", "notebooks/mine.ipynb", "data/measurements/own/a"
    for name in (*made, "dist/x"):
        (machine.root / name).parent.mkdir(parents=True, exist_ok=True)
        (machine.root / name).touch()
    assert machine.make("clean")[0] == 0 and not (machine.root / "dist").exists()
    assert all((machine.root / name).exists() for name in made)


# One start line for every system


@pytest.fixture
def begin(machine, monkeypatch, capfd):
    """A function that runs start.py with the machine's Python 3.12 and returns its exit
    status and all that was said.
    """
    monkeypatch.chdir(machine.root)
    monkeypatch.setattr(start, "HERE", str(machine.root))
    monkeypatch.setattr(sys, "executable", str(machine.bin / "python3"))
    monkeypatch.setenv("PATH", str(machine.bin))
    monkeypatch.setenv("HOME", str(machine.bin.parent))
    monkeypatch.setenv("CALLS", str(machine.calls))

    monkeypatch.setenv("BROUGHT", str(machine.brought))
    monkeypatch.setenv("WHEN_UV_COMES", "")

    def begin(*arguments, when_installing=""):
        monkeypatch.setenv("WHEN_INSTALLING", when_installing)
        status = sentence = ""
        try:
            status = start.main([*arguments])
        except SystemExit as stopped:  # with the installer's status, or a sentence
            sentence = stopped.code
        if isinstance(sentence, int):
            status, sentence = sentence, ""
        elif sentence:
            status = 1
        captured = capfd.readouterr()
        return status, captured.out + captured.err + sentence

    return begin


def test_start_py_installs_in_steps_and_then_opens_at_once_as_make_lab_does(
    machine, begin
):
    status, said = begin("--no-browser", "--port", "8899")
    (call,) = machine.installs
    assert call.startswith("uv") and call.endswith(" pip -r requirements.txt")
    steps = [said.index(step) for step in STEPS]
    assert status == 0 and steps == sorted(steps)
    assert machine.stamps == ["lab.stamp"]
    settings = machine.root / ".venv/share/jupyter/lab/settings/overrides.json"
    assert settings.read_text() == (ROOT / "tools/lab_settings.json").read_text()
    (opened,) = re.findall("^JupyterLab (-m .+)", said, re.M)
    recipe = machine.make("-n", "lab", "ARGS=--no-browser --port 8899")[1]
    (made,) = re.findall(r"-m jupyterlab .+\n.+", recipe)
    assert opened.split() == made.replace("\\\n", "").split()
    status, said = begin()
    assert status == 0 and "1 of" not in said and "opens it tomorrow" in said
    assert machine.make("lab")[0] == 0 and len(machine.installs) == 1
    later = time.time() + 5
    os.utime(machine.root / "requirements.txt", (later, later))
    assert "Bringing .venv up to date." in begin()[1] and len(machine.installs) == 2


@pytest.mark.parametrize(
    "installing, sentence",
    [
        (OFFLINE, NO_NETWORK),
        ("echo 'No space left' >&2; exit 1", "full: free about 3 GB"),
        ("exit 1", "Installing failed, the lines above say why"),
        (NO_PACKAGE, "does not exist for"),
    ],
)
def test_an_install_of_start_py_that_fails_is_one_sentence_and_begins_anew(
    machine, begin, installing, sentence
):
    status, said = begin(when_installing=installing)
    assert status == 1 and sentence in said.splitlines()[-1]
    assert not machine.stamps and (machine.root / ".venv/incomplete").exists()
    for name in ("half-installed", "lab.stamp"):  # whatever else there may be
        (machine.root / ".venv" / name).touch()
    status, said = begin()
    assert status == 0 and STEPS[0] in said and machine.stamps == ["lab.stamp"]
    left = {path.name for path in (machine.root / ".venv").iterdir()}
    assert not left & {"half-installed", "incomplete"}


def test_start_py_asks_no_network_for_a_folder_of_wheels(machine, begin):
    assert begin("--wheels", "a stick")[0] == 0
    (call,) = machine.installs
    folder = machine.root / "a stick"
    assert f"--no-index --find-links {folder} -r requirements.txt" in call


def test_start_py_interrupted_leaves_no_whole_environment(machine, begin, monkeypatch):
    def interrupted(command):
        (machine.root / ".venv").mkdir()
        (machine.root / ".venv/incomplete").touch()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(start.subprocess, "call", interrupted)
        status, said = begin()
    assert status == 1 and said.endswith("the same line starts again.")
    assert "Installing about" in machine.make("lab")[1]


def test_start_py_looks_for_another_python_and_says_which_one_is_needed(
    machine, begin, monkeypatch
):
    (machine.bin / "python3").unlink()
    machine.add_python("old", "3.8")
    monkeypatch.setattr(sys, "executable", str(machine.bin / "old"))
    status, said = begin()
    assert status == 1 and said.count("\n") == 0 and not machine.installs
    needs = "needs Python 3.11, 3.12 or 3.13, but this is Python 3.8: install Python"
    assert needs in said
    machine.add_python("python3.12", "3.12", no_venv=1)
    assert "'sudo apt install python3.12-venv', then start" in begin()[1]
    machine.add_python("python3.11", "3.11")
    assert "into .venv (Python 3.11), in three" in begin()[1]


def test_start_py_can_be_read_by_python_2_and_knows_the_versions_of_make():
    """Tried by hand with 2.7, 3.6, 3.8 and 3.10, which no machine need have."""
    source = (ROOT / "start.py").read_bytes().decode("ascii")
    new = ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.Starred, ast.AsyncFunctionDef
    for node in ast.walk(ast.parse(source)):
        assert not isinstance(node, new), node.lineno
        if isinstance(node, ast.arguments):
            assert not node.posonlyargs + node.kwonlyargs
            assert not any(each.annotation for each in node.args)
        if isinstance(node, ast.Call):
            assert getattr(node.func, "id", "") != "print"
    sh = (ROOT / "tools/environment.sh").read_text("utf-8")
    assert tuple(re.search(r"VERSIONS:-([\d. ]+)", sh)[1].split()) == start.VERSIONS


def test_a_hub_installs_the_same_list_on_a_python_of_the_course(tmp_path):
    """As repo2docker reads binder/: nothing outside it, and pip runs in the course's
    folder.
    """
    binder = ROOT / "binder"
    listed = (binder / "requirements.txt").read_text("utf-8").splitlines()
    assert [line for line in listed if line[0] != "#"] == ["-r ../requirements.txt"]
    version = (binder / "runtime.txt").read_text("utf-8").strip()
    assert version.removeprefix("python-") in start.VERSIONS
    wanted = {"PATH": os.environ["PATH"], "NB_PYTHON_PREFIX": str(tmp_path)}
    subprocess.run([binder / "postBuild"], cwd=ROOT, env=wanted, check=True)
    settings = tmp_path / "share/jupyter/lab/settings/overrides.json"
    assert settings.read_text() == (ROOT / "tools/lab_settings.json").read_text()


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


@pytest.mark.slow
def test_without_chromium_the_browser_tests_are_left_out_and_one_line_says_so(tmp_path):
    """A test that starts a browser without the fixture `chromium` fails here."""
    report = tmp_path / "unit.xml"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-m",
        "browser",
    ]
    wanted = {"PATH": tmp_path, "PLAYWRIGHT_BROWSERS_PATH": tmp_path}
    env = {
        key: value for key, value in os.environ.items() if key not in ("CHROMIUM", "CI")
    }
    run = subprocess.run(
        [*command, f"--junitxml={report}", "tests/browser"],
        cwd=ROOT,
        env=env | wanted,
        capture_output=True,
        text=True,
    )
    counts = pytest.RunResult.parse_summary_nouns(run.stdout.splitlines())
    assert counts.keys() == {"skipped", "deselected"}, run.stdout[-4000:]
    line = (
        f"{counts['skipped']} tests left out: they need Chromium. "
        "Install it (apt install chromium), or name it in CHROMIUM.\n"
    )
    assert line in run.stdout and report.with_suffix(".left-out").read_text() == line


def test_a_leg_of_the_matrix_tells_its_versions(capsys):
    """It named a module that was gone: each leg passed, and none said on what."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (code,) = re.findall(r"\.matrix/bin/python -c '(.+?)'", makefile)
    exec(code, {})  # in this process, which has TensorFlow
    told = capsys.readouterr().out
    assert re.fullmatch(r"3\.\d+\.\d+, 2\.\S+, 3\.\S+, \w+ \w+\n", told)
