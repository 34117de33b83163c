"""The Makefile and its environments, tried out with stand-ins for Python and uv: no network."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
COURSE = [
    "Makefile",
    "requirements.txt",
    "tests/requirements.txt",
    "tests/colab-requirements.txt",
    "tests/colab-constraints.txt",
    "tests/tools/environment.sh",
]
TOOLS = "sh make test mkdir rm touch grep tail cat uname mktemp id sleep".split()

# A Python that says it is version $V; `-m venv` copies it, `-m pip` logs what it should install.
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
OFFLINE = "echo 'dns error: failed to lookup address' >&2; exit 2"


class Machine:
    """A copy of the plumbing in a folder with a space, and a PATH that holds stand-ins only."""

    def __init__(self, folder: Path):
        self.root, self.bin = folder / "my course", folder / "bin"
        self.calls = folder / "calls.txt"
        for name in COURSE:
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)
        self.bin.mkdir()
        for tool in [*TOOLS, "cp", "chmod"]:
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.calls.touch()
        self.temporary = folder / "tmp"
        self.temporary.mkdir()

    def add(self, name: str, text: str):
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def add_python(self, name: str, version: str, no_venv: int = 0):
        self.add(name, PYTHON.replace("$V", version).replace("$NO_VENV", str(no_venv)))

    def start(self, *arguments: str, when_installing: str = "", **kwargs) -> subprocess.Popen:
        env = {
            "PATH": str(self.bin),
            "HOME": str(self.bin.parent),
            "TMPDIR": str(self.temporary),
            "CALLS": str(self.calls),
            "WHEN_INSTALLING": when_installing,
        }
        # A test run that was itself started in the background ignores Ctrl-C, and so would make.
        kwargs["preexec_fn"] = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
        return subprocess.Popen(
            ["make", *arguments], cwd=self.root, env=env, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **kwargs,
        )  # fmt: skip

    def make(self, *arguments: str, when_installing: str = "") -> tuple[int, str]:
        process = self.start(*arguments, when_installing=when_installing)
        output = process.communicate(timeout=120)[0]
        assert "Traceback" not in output
        return process.returncode, output

    def installs(self) -> list[str]:
        return [line for line in self.calls.read_text().splitlines() if "pip install" in line]

    def stamps(self) -> list[str]:
        return sorted(path.name for path in self.root.glob(".venv/*.stamp"))


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def refusal(machine: Machine, *arguments: str, when_installing: str = "") -> str:
    """The one line that `make lab` says before make's own, when it cannot go on."""
    code, output = machine.make("lab", *arguments, when_installing=when_installing)
    lines = [line for line in output.splitlines() if not line.startswith(("make: ", "Installing"))]
    assert code != 0 and len(lines) == 1 and not machine.stamps(), output
    return lines[0]


def test_no_python_at_all(machine):
    assert refusal(machine).startswith("No Python that runs was found: install Python 3.13 from")


@pytest.mark.parametrize("version", ["2.7", "3.10", "3.14"])
def test_a_python_of_another_version(machine, version):
    machine.add_python("python3", version)
    sentence = refusal(machine)
    assert f"needs Python 3.11, 3.12 or 3.13, but python3 is Python {version}: install" in sentence


def test_a_python_without_venv(machine):
    machine.add_python("python3", "3.12", no_venv=1)
    assert "run 'sudo apt install python3.12-venv', then run make again" in refusal(machine)


def test_uv_needs_no_venv_module(machine):
    machine.add_python("python3", "3.12", no_venv=1)
    machine.add("uv", UV)
    assert machine.make("lab")[0] == 0


def test_a_python_named_by_hand(machine):
    machine.add_python("python3", "3.12")
    machine.add_python("old", "3.9")
    assert "but old is Python 3.9: give the path of another one" in refusal(machine, "PYTHON=old")
    assert "at PYTHON=nowhere: give the path" in refusal(machine, "PYTHON=nowhere")


def test_a_shim_that_does_not_answer_is_passed_over(machine):
    machine.add("python3.13", "#!/bin/sh\necho 'pyenv: command not found' >&2; exit 127\n")
    machine.add_python("python3.12", "3.14")  # a name is not a version either
    machine.add_python("python3", "3.11")
    code, output = machine.make("lab")
    assert code == 0 and "Installing about 3 GB into .venv (Python 3.11)" in output


def test_pyenv_is_looked_into_last(machine):
    machine.add_python("only", "3.12")
    hidden = machine.bin.parent / ".pyenv/versions/3.12.1/bin/python"
    hidden.parent.mkdir(parents=True)
    (machine.bin / "only").rename(hidden)
    assert machine.make("lab")[0] == 0


@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_no_network_then_a_network_then_nothing_to_do(machine, tool):
    machine.add_python("python3", "3.12")
    if tool == "uv":
        machine.add("uv", UV)
    sentence = refusal(machine, when_installing=OFFLINE)
    assert sentence.startswith("The packages could not be downloaded: check the network")
    assert machine.make("test", when_installing=OFFLINE)[0] != 0 and not machine.stamps()

    code, output = machine.make("lab")
    assert code == 0 and "-m jupyterlab" in output and machine.stamps() == ["lab.stamp"]
    assert machine.installs()[-1].startswith(tool) and len(machine.installs()) == 3
    assert ("--compile-bytecode" in machine.installs()[-1]) == (tool == "uv")

    code, output = machine.make("lab")
    assert code == 0 and "Installing" not in output and len(machine.installs()) == 3


@pytest.mark.parametrize(
    "log, start",
    [
        ("OSError: [Errno 28] No space left on device", "The disk is full: free about 3 GB"),
        ("something unheard of", "Installing failed, the lines above say why"),
        ("ERROR: No matching distribution found for tensorflow", "A package does not exist for"),
    ],
)
def test_other_failures_of_the_install(machine, log, start):
    machine.add_python("python3", "3.12")
    code, output = machine.make("lab", when_installing=f"echo '{log}' >&2; exit 1")
    assert code != 0 and re.search(f"^{start}", output, re.MULTILINE) and not machine.stamps()


def test_an_interrupted_install_leaves_no_stamp_and_starts_afresh(machine):
    machine.add_python("python3", "3.12")
    process = machine.start("lab", when_installing="sleep 20", start_new_session=True)
    deadline = time.monotonic() + 10
    while not machine.installs() and time.monotonic() < deadline:
        time.sleep(0.05)
    (machine.root / ".venv/half-installed").touch()
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode != 0 and machine.installs() and not machine.stamps()
    assert not list(machine.temporary.iterdir())

    code, output = machine.make("lab")
    assert code == 0 and "Installing about" in output and machine.stamps() == ["lab.stamp"]
    assert not (machine.root / ".venv/half-installed").exists()


def test_changed_requirements_are_installed_into_the_same_environment(machine):
    machine.add_python("python3", "3.12")
    assert machine.make("lab")[0] == 0
    (machine.root / ".venv/kept").touch()
    later = time.time() + 5
    os.utime(machine.root / "requirements.txt", (later, later))
    code, output = machine.make("lab")
    assert code == 0 and "Bringing .venv up to date" in output
    assert len(machine.installs()) == 2 and (machine.root / ".venv/kept").exists()


def test_an_environment_whose_python_went_away_is_made_again(machine):
    machine.add_python("python3", "3.12")
    assert machine.make("lab")[0] == 0
    (machine.root / ".venv/bin/python").unlink()
    assert machine.make("lab")[0] == 0 and len(machine.installs()) == 2


def test_make_test_goes_on_after_a_failed_part_and_names_it(machine):
    machine.add_python("python3", "3.12")
    machine.add("python3.13", "#!/bin/sh\nexit 127\n")
    code, output = machine.make("test", "PYTEST=false")
    assert code != 0 and "make test: failed: unit solved pins\n" in output, output
    assert "No Python 3.13 was found: the blank notebooks run on this one, not on Colab's" in output
    code, output = machine.make("test")
    assert code == 0 and output.endswith("make test: all parts passed\n")
    assert len(machine.installs()) == 1  # make test is enough for make lab
    assert machine.make("lab")[0] == 0 and len(machine.installs()) == 1


def test_every_target_is_in_the_help_and_works_as_a_dry_run(machine):
    machine.add_python("python3", "3.12")
    code, output = machine.make()
    assert code == 0
    for target in "lab test quick notebooks colab matrix soak clean".split():
        assert re.search(rf"^make {target}\b", output, re.MULTILINE)
        assert machine.make("-n", target)[0] == 0
    assert "soak.py 3" in machine.make("-n", "soak", "N=3")[1]


def test_ci_script_is_bash_that_can_be_run():
    assert os.access(ROOT / ".ci/run", os.X_OK)
    subprocess.run(["bash", "-n", ROOT / ".ci/run"], check=True)


# JupyterLab's token

EMPTY_TOKEN = re.compile(r"""\.token\s*=\s*(''|""|["']?[\s,)\]]|["']?$)""", re.MULTILINE)


def test_no_command_turns_the_token_off():
    for bad in ("--ServerApp.token=''", '["--ServerApp.token="]', "c.ServerApp.token = ''\n"):
        assert EMPTY_TOKEN.search(bad)
    assert not EMPTY_TOKEN.search('f"--IdentityProvider.token={token}"')
    paths = [ROOT / "Makefile", ROOT / ".ci/run", *ROOT.glob("*.md")]
    paths += [*ROOT.glob("course_utils/**/*.py"), *ROOT.glob("tests/**/*.py")]
    for path in set(paths) - {Path(__file__)}:
        assert not EMPTY_TOKEN.search(path.read_text(encoding="utf-8")), path


# What is required


def requirements(name: str) -> dict[str, Requirement]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    found = [Requirement(line) for line in lines if line and line[0] not in "#-"]
    return {re.sub(r"[-_.]+", "-", r.name).lower(): r for r in found}


def pin(requirement: Requirement) -> str:
    return next(iter(requirement.specifier)).version


def test_every_requirement_has_an_upper_bound():
    for name in ("requirements.txt", "tests/requirements.txt"):
        for requirement in requirements(name).values():
            operators = {s.operator for s in requirement.specifier}
            assert operators in ({">=", "<"}, {"=="}), requirement


def test_the_ranges_admit_what_colab_has():
    pins = requirements("tests/colab-constraints.txt")
    asked = requirements("requirements.txt") | requirements("tests/requirements.txt")
    both = asked.keys() & pins.keys()
    assert {"tensorflow", "keras", "ml-dtypes", "ipywidgets", "ipykernel", "pytest"} <= both
    for name in both:
        assert asked[name].specifier.contains(pin(pins[name])), (asked[name], pin(pins[name]))


def test_the_colab_environment_holds_what_colab_has_nbval_and_xdist():
    pins = requirements("tests/colab-constraints.txt")
    used = requirements("tests/colab-requirements.txt")
    assert used.keys() - pins.keys() == {"nbval", "pytest-xdist"}
    needed = requirements("requirements.txt").keys()
    # Colab has its own front end, and the notebooks' first cell installs gfloat there.
    # Without xprof, notebook 05 does without the Profile tab.
    assert needed - used.keys() == {"jupyterlab", "gfloat", "xprof"}


# conftest.py

SOLVES_SOMETHING = """
import os
path = os.environ["COURSE_PROGRESS"]
assert path != "the learner's" and not os.path.exists(path)
open(path, "w").close()
"""


def test_each_notebook_that_nbval_runs_has_its_own_progress_file(tmp_path):
    shutil.copy(ROOT / "conftest.py", tmp_path)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    for name in ("one", "two"):
        notebook = nbformat.v4.new_notebook(metadata={"kernelspec": kernel})
        notebook.cells.append(nbformat.v4.new_code_cell(SOLVES_SOMETHING))
        nbformat.write(notebook, tmp_path / f"{name}.ipynb")
    command = [sys.executable, "-m", "pytest", "--nbval-lax", "--nbval-current-env", tmp_path]
    env = os.environ | {"COURSE_PROGRESS": "the learner's"}
    run = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert "2 passed" in run.stdout, run.stdout


def test_tests_that_need_mnist_are_skipped_without_it(tmp_path):
    shutil.copy(ROOT / "conftest.py", tmp_path)
    test = "import pytest\n\n@pytest.mark.mnist\ndef test_it():\n    pass\n"
    (tmp_path / "test_it.py").write_text(test)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", tmp_path]
    for path, result in {"": "1 skipped", "mnist.npz": "1 passed"}.items():
        env = os.environ | {"COURSE_MNIST": path}
        run = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
        assert result in run.stdout, run.stdout
