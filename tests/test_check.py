"""`check`: what it says of each kind of broken machine, and what help a notebook has."""

import ast
import io
import os
import re
import subprocess
import sys
import threading
from functools import partial

import pytest

from course_utils import check, hardware, processes
from tools.canonical_form import COURSE, TROUBLE

RAISES = "raise ImportError('libcudart.so: cannot open shared object file')"
GFLOAT = "Name: gfloat\nVersion: 0.1\n"


def faults(probe):
    return [(told, way) for mark, told, way in probe() if mark == "fault"]


@pytest.mark.slow
def test_a_machine_that_runs_these_tests_has_what_the_course_needs(monkeypatch, capsys):
    monkeypatch.setattr(check, "SECONDS", 120)  # it is busy with others
    status = check.run()
    printed = capsys.readouterr().out
    assert status == 0 and "fault" not in printed, printed
    rows = [
        line.split(" │ ")[1].strip() for line in printed.splitlines() if " │ " in line
    ]
    names = "python packages tensorflow machine memory"
    assert [name for name in dict.fromkeys(rows) if name] == names.split()


def test_on_a_broken_machine_every_fault_has_its_row_and_the_status_is_1(tmp_path):
    for name, text in (
        ("tensorflow.py", RAISES),
        ("gfloat.dist-info/METADATA", GFLOAT),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    own = {"PYTHONPATH": str(tmp_path), "ONEDNN_MAX_CPU_ISA": "AVX2"}
    own["TF_ENABLE_ONEDNN_OPTS"] = "1"  # without oneDNN no process ends
    line = [sys.executable, "-m", "course_utils", "check"]
    done = subprocess.run(
        line, cwd=COURSE, env=os.environ | own, capture_output=True, text=True
    )
    told = [line for line in done.stdout.splitlines() if line.startswith("fault")]
    assert len(told) == 3 and done.stdout.endswith("3 to mend, from the top.\n"), (
        done.stdout
    )
    assert done.returncode == 1 and not done.stderr
    assert "gfloat 0.1" in told[0] and '-m pip install "gfloat<0.6,>=0.5"' in told[0]
    assert (
        "tensorflow" in told[1]
        and "libcudart.so" in done.stdout
        and "--force-re" in told[1]
    )
    assert "ONEDNN_MAX_CPU_ISA=AVX2" in told[2] and "unset it" in told[2]


def test_a_missing_package_a_wrong_python_and_what_colab_need_not_have(monkeypatch):
    installed = check._version
    lacking = {"keras": "", "nbval": ""}
    monkeypatch.setattr(check, "_version", lambda n: lacking.get(n, installed(n)))
    told = [told for told, _ in faults(check.packages)]
    assert "keras is missing" in told and "nbval is missing" in told
    monkeypatch.setenv("COLAB_RELEASE_TAG", "ci")
    assert not faults(check.packages)
    monkeypatch.setattr(sys, "version_info", (3, 10, 2))
    assert "3.11 to 3.13" in faults(check.python)[0][1]
    code = "from course_utils import check, __main__; print(*check.packages())"
    bare = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=COURSE, capture_output=True
    )
    assert b"the packages are missing" in bare.stdout and b"make lab" in bare.stdout


def test_a_python_without_the_packages_is_told_one_thing_to_do(monkeypatch):
    monkeypatch.setattr(check, "_version", lambda name: "")
    ((told, way),) = faults(check.packages)
    assert "are missing" in told and "gfloat" in told and way == check.INSTALL
    monkeypatch.setattr(check.importlib.util, "find_spec", lambda name: None)
    assert faults(check.tensorflow) == [("it is not installed", check.INSTALL)]
    for words, status in (
        (["class-board", "."], 1),
        (["examine", "m.keras"], 2),
    ):
        done = subprocess.run(
            [sys.executable, "-S", "-m", "course_utils", *words],
            cwd=COURSE, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == status and done.stderr.count("\n") == 1, done.stderr
        assert "is not installed" in done.stderr and "make lab" in done.stderr


def test_an_older_python_is_told_which_to_take():
    """Before it meets anything that it cannot read."""
    source = (COURSE / "course_utils/__main__.py").read_text(encoding="utf-8")
    ast.parse(source, feature_version=(3, 8))
    old = "import sys; sys.version_info = (3, 9, 6); import runpy;"
    line = old + "runpy.run_module('course_utils', run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", line], cwd=COURSE, capture_output=True, text=True
    )
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    assert "needs Python 3.11, 3.12 or 3.13, and this is 3.9" in done.stderr


WRONG_NUMBERS = """
import contextlib, tensorflow as tf
from course_utils import check
from course_utils.hardware import accelerators
tf.matmul = lambda a, b: tf.zeros((8, 8))
tf.config.list_physical_devices = lambda kind: [0]
tf.config.experimental.get_device_details = lambda gpu: {}
tf.device = lambda name: contextlib.nullcontext()
print("gpu:", accelerators.compute_on_gpus())
check._product()"""


@pytest.mark.slow
def test_a_device_that_computes_wrong_numbers_is_seen_without_asserts():
    command = [sys.executable, "-O", "-c", WRONG_NUMBERS]
    done = subprocess.run(command, cwd=COURSE, capture_output=True, text=True)
    assert re.search("gpu: .*ArithmeticError", done.stdout)
    assert "ArithmeticError" in done.stderr


class Screen(io.StringIO):
    """What stands on a screen: what was flushed, and a row that `seen` waits for."""

    def __init__(self):
        super().__init__()
        self.seen = threading.Event()

    def flush(self):
        if "python is a fast one" in self.getvalue():
            self.seen.set()


def test_each_row_is_shown_once_it_and_those_before_it_are_known(monkeypatch):
    """The second probe waits until the row of the first stands on the screen."""
    screen = Screen()

    def probe(name):
        def ask():
            waited = name == "packages" and not screen.seen.wait(10)
            yield "fault" if waited else "ok", f"{name} is a fast one", ""

        ask.__name__ = name
        return ask

    names = "python packages tensorflow machine memory".split()
    for name in names:
        monkeypatch.setattr(check, name, probe(name))
    monkeypatch.setattr(sys, "stdout", screen)
    assert check.run() == 0, screen.getvalue()
    rows = [line.split(" │ ")[1] for line in screen.getvalue().splitlines()[1:-1]]
    assert [name.strip() for name in rows] == names


def test_a_tensorflow_that_hangs_or_dies_is_told_in_time(monkeypatch, tmp_path, capsys):
    (tmp_path / "tensorflow.py").write_text("import time; time.sleep(60)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(check, "SECONDS", 1)
    assert check.run() == 0  # a first start is slow on a sound machine, too
    assert "note  │ tensorflow │ slow to start: no answer in 1 s" in (
        capsys.readouterr().out
    )
    monkeypatch.setattr(check, "SECONDS", 17)
    (tmp_path / "tensorflow.py").write_text("import os; os.abort()")
    assert "SIGABRT" in faults(check.tensorflow)[0][0]
    jax = processes.Outcome(["2.21", "jax"], "", "")
    monkeypatch.setattr(processes, "call", lambda *_, **__: jax)
    assert "computes with jax" in faults(check.tensorflow)[0][0]


def test_the_row_of_a_slow_start_comes_before_the_start_is_given_up(monkeypatch):
    """Where both have the same time, a busy machine may read a slow start as a fault."""
    given = []

    def call(function, variables, timeout):
        given.append(timeout)
        return processes.Outcome(["2.21", "tensorflow"], "", "")

    monkeypatch.setattr(processes, "call", call)
    list(check.tensorflow())
    assert given[0] >= check.SECONDS + 10


def test_what_is_no_fault(monkeypatch):
    monkeypatch.setattr(check, "MEMORY", 1e15)
    assert [mark for mark, *_ in check.memory()] == ["note"]
    broken = hardware.Accelerator("GPU", "RTX 5090", False, "its kernels end at 9.0.")
    machine = hardware.Hardware("Linux", "CPU", 2, (), accelerators=(broken,))
    monkeypatch.setattr(hardware, "detect", lambda: machine)
    assert ("note", "GPU RTX 5090", "its kernels end at 9.0.") in check.machine()


def test_the_line_of_the_help_puts_the_notebooks_back_and_keeps_the_learner_s(tmp_path):
    """In the folder of a notebook, by somebody whom Git has not been told of."""
    folder = tmp_path / "notebooks"
    folder.mkdir()
    given = folder / "00.ipynb"
    given.write_text("as given")
    nobody = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    run = partial(subprocess.run, cwd=folder, env=nobody, shell=True, check=True)
    author = "git -c user.name=a -c user.email=a@b.c"
    run(f"git init -q && git add . && {author} commit -qm Given")
    given.write_text("damaged")
    back, again = re.findall(r"`!(git stash .*?)`", TROUBLE)
    run(back)
    assert given.read_text() == "as given"
    run(again)
    assert given.read_text() == "damaged"


def test_the_help_puts_notebooks_back_that_a_hub_has_committed(tmp_path):
    """nbgitpuller commits what a learner changed, before it pulls."""
    nobody = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    run = partial(subprocess.run, env=nobody, shell=True, check=True)
    author = "git -c user.name=a -c user.email=a@b.c"
    (tmp_path / "course/notebooks").mkdir(parents=True)
    (tmp_path / "course/notebooks/00.ipynb").write_text("as given")
    course = f"git init -q && git add . && {author} commit -qm Given"
    run(course, cwd=tmp_path / "course")
    run("git clone -q course mine", cwd=tmp_path)
    folder = tmp_path / "mine/notebooks"
    mine = folder / "00.ipynb"
    mine.write_text("mine")
    run(f"{author} commit -qam 'Automatic commit by nbgitpuller'", cwd=folder)
    back, again = re.findall(r"`!(git checkout .*?)`", TROUBLE)
    run(back, cwd=folder)
    assert mine.read_text() == "as given"
    run(again, cwd=folder)
    assert mine.read_text() == "mine"
