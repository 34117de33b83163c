"""A kernel that does not come up is started once more; a cell is never run twice. What
exercises say on a slow machine is not compared.
"""

import json
import os
import shutil
import subprocess
import sys

import nbformat
import pytest

from course_utils.exercises import functions
from tools.canonical_form import COURSE

# It sleeps where it is started first, as a kernel of a busy machine seems to.
KERNEL = """
import pathlib, sys, time
mark = pathlib.Path(sys.argv[1])
if not mark.exists():
    mark.touch()
    time.sleep(600)
from ipykernel import kernelapp
kernelapp.launch_new_instance(sys.argv[2:])
"""
CELLS = ["open('runs', 'a').write('x')", "1 / 0"]


@pytest.mark.slow
def test_a_kernel_that_sleeps_is_started_once_more_and_no_cell_is_repeated(tmp_path):
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "one.ipynb")
    shutil.copy(COURSE / "tests/kernels.py", tmp_path / "conftest.py")
    (tmp_path / "kernel.py").write_text(KERNEL)
    argv = [sys.executable, "kernel.py", "mark", "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": "sleeper", "language": "python"}
    folder = tmp_path / "data/kernels/sleeper"
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text(json.dumps(spec))
    command = "-m pytest -p no:cacheprovider --nbval-lax --nbval-kernel-name sleeper"
    seconds = ["--nbval-kernel-startup-timeout", "15"]
    run = subprocess.run(
        [sys.executable, *command.split(), *seconds, "one.ipynb"],
        cwd=tmp_path,
        env=os.environ | {"JUPYTER_DATA_DIR": str(tmp_path / "data")},
        capture_output=True,
        text=True,
    )
    assert "1 failed, 1 passed" in run.stdout, run.stdout
    assert "ZeroDivisionError" in run.stdout
    assert (tmp_path / "runs").read_text() == "x"
    line = "The kernel of one.ipynb was started once more: Kernel didn't respond in 15 "
    assert run.stdout.count(line) == 1


@pytest.mark.slow
def test_what_is_said_on_a_slow_machine_is_not_compared_and_all_else_is(tmp_path):
    new = nbformat.v4
    stored = [new.new_output("stream", name="stdout", text="x\n")]
    said = repr(functions.STILL)
    source = f"print({said}, flush=True); display(1)"
    one = new.new_output("display_data", {"text/plain": "1"})
    cells = [
        new.new_code_cell(source, outputs=[one], execution_count=1),
        new.new_code_cell("print('y')", outputs=stored, execution_count=2),
    ]
    nbformat.write(new.new_notebook(cells=cells), tmp_path / "one.ipynb")
    shutil.copy(COURSE / "tests/kernels.py", tmp_path / "conftest.py")
    command = "-m pytest -p no:cacheprovider --nbval --nbval-current-env one.ipynb"
    run = subprocess.run(
        [sys.executable, *command.split()], cwd=tmp_path, capture_output=True, text=True
    )
    assert "1 failed, 1 passed" in run.stdout, run.stdout
    assert "FAILED one.ipynb::Cell 1" in run.stdout
