"""Without any network: notebook 00 from top to bottom, its session and its digits."""

import os
import shutil
import subprocess
import sys

import pytest

from tools.canonical import COURSE

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
nb = nbformat.read("notebooks/00_start_here.ipynb", 4)
for cell in nb.cells:
    cell.source = re.sub(r"\bseconds=\d+", "seconds=1", cell.source)
path = {"metadata": {"path": "notebooks"}}
nbclient.NotebookClient(nb, timeout=600, resources=path).execute()
cells = {c.id: c for c in nb.cells}
print(*[o.text for o in cells["data"].outputs if "text" in o])
"""


def test_notebook_00_runs_without_a_network(tmp_path):
    env = {k: v for k, v in os.environ.items() if k != "COURSE_MNIST"}
    env["KERAS_HOME"] = str(tmp_path / "keras")
    command = ["unshare", "-rn", sys.executable, "-c", LOOPBACK_UP + NOTEBOOK]
    done = subprocess.run(
        command, cwd=COURSE, env=env, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "not MNIST" in done.stdout
