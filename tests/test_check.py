"""`check` and `reset`: what they say of each kind of broken machine, and what they
change.
"""

import ast
import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from course_utils import __main__ as command
from course_utils import check, datasets, exercises, hardware, paths, processes, reset
from tools.canonical import COURSE, TROUBLE

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
    names = "python packages tensorflow machine memory writing network"
    assert [name for name in dict.fromkeys(rows) if name] == names.split()
    assert check.MNIST == datasets.MNIST_URL


def test_on_a_broken_machine_every_fault_has_its_row_and_the_status_is_1(tmp_path):
    for name, text in (
        ("tensorflow.py", RAISES),
        ("gfloat.dist-info/METADATA", GFLOAT),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    place = tmp_path / "tensorflow.py/progress.json"
    own = {
        "PYTHONPATH": str(tmp_path),
        "COURSE_PROGRESS": str(place),
        "ONEDNN_MAX_CPU_ISA": "AVX2",
    }
    own["TF_ENABLE_ONEDNN_OPTS"] = "1"  # without oneDNN no process ends
    line = [sys.executable, "-m", "course_utils", "check"]
    done = subprocess.run(
        line, cwd=COURSE, env=os.environ | own, capture_output=True, text=True
    )
    told = [line for line in done.stdout.splitlines() if line.startswith("fault")]
    assert len(told) == 4 and done.stdout.endswith("4 to mend, from the top.\n"), (
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
    assert "writing" in told[3] and "folder of your own" in told[3]


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
        (["reset"], 1),
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


def test_a_device_that_computes_wrong_numbers_is_seen_without_asserts():
    command = [sys.executable, "-O", "-c", WRONG_NUMBERS]
    done = subprocess.run(command, cwd=COURSE, capture_output=True, text=True)
    assert re.search("gpu: .*ArithmeticError", done.stdout)
    assert "ArithmeticError" in done.stderr


def test_a_tensorflow_that_hangs_or_dies_is_told_in_time(monkeypatch, tmp_path, capsys):
    (tmp_path / "tensorflow.py").write_text("import time; time.sleep(60)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(check, "SECONDS", 1)
    assert check.run() == 1
    assert "fault │ tensorflow │ no answer in 1 s" in capsys.readouterr().out
    monkeypatch.setattr(check.urllib.request, "urlopen", lambda *_, **__: time.sleep(2))
    check.run()
    assert "note  │ network    │ no answer in 1 s" in capsys.readouterr().out
    monkeypatch.setattr(check, "SECONDS", 17)
    (tmp_path / "tensorflow.py").write_text("import os; os.abort()")
    assert "SIGABRT" in faults(check.tensorflow)[0][0]
    jax = processes.Outcome(["2.21", "jax"], "", "")
    monkeypatch.setattr(processes, "call", lambda *_, **__: jax)
    assert "computes with jax" in faults(check.tensorflow)[0][0]


def test_what_is_no_fault(monkeypatch):
    monkeypatch.setattr(check, "MEMORY", 1e15)
    assert [mark for mark, *_ in check.memory()] == ["note"]
    broken = hardware.Accelerator("GPU", "RTX 5090", False, "its kernels end at 9.0.")
    machine = hardware.Hardware("Linux", "CPU", 2, (), accelerators=(broken,))
    monkeypatch.setattr(hardware, "detect", lambda: machine)
    assert ("note", "GPU RTX 5090", "its kernels end at 9.0.") in check.machine()
    monkeypatch.setattr(check, "MNIST", "http://127.0.0.1:9/")
    assert [mark for mark, *_ in check.network()] == ["note"]


@pytest.fixture
def course(tmp_path, monkeypatch, progress_file):
    """A course in Git with two notebooks, one of them the learner's own, and some
    progress.
    """
    root = tmp_path / "course"
    (root / "notebooks").mkdir(parents=True)
    path = root / "notebooks/00_start_here.ipynb"
    shutil.copy(COURSE / "notebooks" / path.name, path)
    (root / "notebooks/solved").mkdir()
    (root / "notebooks/solved" / path.name).write_text("solved")
    git = ["git", "-C", root, "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for line in (["init", "-q"], ["add", "."], ["commit", "-qm", "As given"]):
        subprocess.run([*git, *line], check=True)
    (root / "notebooks/mine.ipynb").write_text("mine")
    monkeypatch.setattr(paths, "FOLDER", root)
    exercises.load("00").predict(2)
    return root


def test_reset_asks_keeps_a_copy_and_leaves_what_is_not_the_course_s(
    course, progress_file, monkeypatch, capsys
):
    path = course / "notebooks/00_start_here.ipynb"
    given = path.read_text()
    path.write_text(given.replace("guess = ...", "guess = 2"))
    before = progress_file.read_text()
    for word in ("n\n", "\n", ""):
        monkeypatch.setattr(sys, "stdin", io.StringIO(word))
        assert command.main(["reset", "--notebooks"]) == 1
    assert progress_file.read_text() == before and "guess = 2" in path.read_text()
    assert not (course / "backups").exists()
    monkeypatch.setattr(sys, "stdin", io.StringIO("Y\n"))
    assert command.main(["reset"]) == 0  # of the notebooks nobody spoke
    assert not progress_file.exists() and "guess = 2" in path.read_text()
    (copy,) = (course / "backups").rglob("*.json")
    assert json.loads(copy.read_text()) == ["00", "guess", 2]
    shutil.rmtree(course / "backups")
    assert command.main(["reset", "--notebooks", "--yes"]) == 0
    assert (
        path.read_text() == given
        and (course / "notebooks/mine.ipynb").read_text() == "mine"
    )
    assert "guess = 2" in next((course / "backups").rglob("*.ipynb")).read_text()
    assert "mine.ipynb: left alone, because it is your own" in capsys.readouterr().out
    assert reset.run(notebooks=True) == 0
    assert "nothing to put back" in capsys.readouterr().out


def test_reset_brings_back_what_was_deleted_renamed_or_is_no_text(course):
    """Solved copies too; and two of them within one second keep both copies."""
    first = course / "notebooks/00_start_here.ipynb"
    solved = course / "notebooks/solved/00_start_here.ipynb"
    given = first.read_bytes()
    for change in (
        first.unlink,
        partial(first.write_bytes, b"\xff\xfe"),
        solved.unlink,
    ):
        change()
        assert reset.run(notebooks=True, sure=True) == 0
        assert first.read_bytes() == given and solved.read_text() == "solved"
    copies = list((course / "backups").iterdir())
    assert len(copies) == 3
    assert len(list((course / "backups").rglob("*.ipynb"))) == 1


def test_reset_leaves_alone_what_was_staged_and_brings_back_what_was_moved(
    course, capsys
):
    first, mine = (course / f"notebooks/{n}.ipynb" for n in ("00_start_here", "mine"))
    given = first.read_bytes()
    moved = first.with_name("moved.ipynb")
    for arguments in (["add", mine], ["mv", first, moved]):
        subprocess.run(["git", *arguments], cwd=mine.parent, check=True)
        (moved if moved.exists() else first).write_text("changed")
        assert reset.run(notebooks=True, sure=True) == 0
        assert first.read_bytes() == given and mine.read_text() == "mine"
        assert "mine.ipynb: left alone" in capsys.readouterr().out
    assert moved.read_text() == "changed"


def test_reset_forgets_nothing_before_git_has_given_everything(
    course, progress_file, monkeypatch
):
    first = course / "notebooks/00_start_here.ipynb"
    first.write_text("changed")
    ask = reset._git
    words = {"show": ("show", "HEAD:./gone")}
    monkeypatch.setattr(reset, "_git", lambda *a: ask(*words.get(a[0], a)))
    assert reset.run(notebooks=True, sure=True) == 1
    assert progress_file.exists() and first.read_text() == "changed"


def test_reset_of_notebooks_says_that_it_needs_git(
    course, progress_file, monkeypatch, capsys
):
    """A course from an archive, a machine without Git, a folder of another owner."""

    def refused(reason):
        (course / "notebooks/00_start_here.ipynb").write_text("changed")
        assert command.main(["reset", "--notebooks", "--yes"]) == 1
        said = capsys.readouterr().err
        assert (
            reason in said
            and "unpack the course again" in said
            and said.count("\n") == 1
        )
        assert progress_file.exists() and not (course / "backups").exists()

    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(course))
        refused("the command git was not found")
    with monkeypatch.context() as patch:
        patch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
        refused("dubious ownership")
    shutil.rmtree(course / ".git")
    refused("not a git repository")


def test_reset_does_not_say_done_where_nothing_was_deleted(course, monkeypatch, capsys):
    def denied():
        raise PermissionError(13, "Permission denied", "progress.json")

    monkeypatch.setattr(reset.store, "clear", denied)
    assert reset.run(sure=True) == 1
    said = capsys.readouterr().out
    assert "stopped before the end (progress.json: Permission denied)" in said
    assert "Done" not in said and Path(said.split()[-1]).is_dir()


def test_the_line_of_the_help_works_in_the_folder_of_a_notebook(
    course, progress_file, monkeypatch
):
    """It names no folder, which is another one on Windows, and none on Colab."""
    for path in (COURSE / "notebooks").rglob("*.ipynb"):
        assert ".venv/" not in path.read_text(encoding="utf-8"), path
    (line,) = re.findall(r"`(%run -m .*?)`", TROUBLE)
    shutil.copytree(COURSE / "course_utils", course / "course_utils")
    monkeypatch.setenv("PYTHONPATH", str(course))
    first = course / "notebooks/00_start_here.ipynb"
    given = first.read_bytes()
    first.write_text("changed")
    command = [sys.executable, "-m", "IPython", "--quick", "-c", f"{line} --yes"]
    done = subprocess.run(
        command, cwd=first.parent, capture_output=True, text=True, timeout=120
    )
    assert "Done." in done.stdout and first.read_bytes() == given, done
    assert not progress_file.exists()


def test_reset_without_room_for_a_copy_changes_nothing(course, progress_file, capsys):
    (course / "backups").write_text("a file")
    assert reset.run(sure=True) == 1
    assert progress_file.exists() and "backups" in capsys.readouterr().out
