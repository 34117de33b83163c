"""Without a network and without a checkout: the wheels in an environment of its own,
notebook 00 alone in a folder, from top to bottom.
"""

import os
import shutil
import subprocess

import pytest

from tools import publishing
from tools.canonical_form import COURSE

# A network namespace begins with its loopback interface down, and a kernel talks over
# it.
LOOPBACK_UP = """
import fcntl, socket, struct
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    flags = struct.unpack("16sh", fcntl.ioctl(s, 0x8913, struct.pack("16sh", b"lo", 0)))[1]
    fcntl.ioctl(s, 0x8914, struct.pack("16sh", b"lo", flags | 1))
"""


def namespace_works():
    if not shutil.which("unshare"):
        return False
    return (
        subprocess.run(["unshare", "-rn", "true"], capture_output=True).returncode == 0
    )


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not namespace_works(), reason="this system makes no network namespaces"
    ),
]
NOTEBOOK = r"""
import re, nbformat, nbclient
nb = nbformat.read("00_start_here.ipynb", 4)
for cell in nb.cells:
    cell.source = re.sub(r"\bseconds=\d+", "seconds=1", cell.source)
where = nbformat.v4.new_code_cell("import course_utils; print(course_utils.__file__)")
nb.cells.append(where)
nbclient.NotebookClient(nb, timeout=600).execute()
cells = {c.id: c for c in nb.cells}
print(*[o.text for o in cells["data"].outputs + where.outputs if "text" in o])
"""


def test_notebook_00_runs_from_a_wheel_in_an_empty_folder_without_a_network(
    own_python, tmp_path
):
    python, packages = own_python
    env = {k: v for k, v in os.environ.items() if k != "COURSE_MNIST"}
    env |= {"KERAS_HOME": str(tmp_path / "keras"), **packages}
    wheels = publishing.wheels()
    for name, data in wheels.items():
        (tmp_path / name).write_bytes(data)
    pip = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, *wheels], cwd=tmp_path, env=env, check=True)
    folder = tmp_path / "a folder with spaces"
    folder.mkdir()
    shutil.copy(COURSE / "notebooks/00_start_here.ipynb", folder)
    command = ["unshare", "-rn", python, "-c", LOOPBACK_UP + NOTEBOOK]
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "not MNIST" in done.stdout and str(tmp_path / "own") in done.stdout
