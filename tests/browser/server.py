"""A JupyterLab server of its own for the browser tests: a copy of the course, own
settings.
"""

import json
import os
import secrets
import shutil
import socket
import sysconfig
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from course_utils import processes

COURSE = Path(__file__).resolve().parents[2]
START_SECONDS = 90
# What `make lab` sets; and cells outside the window exist in the page too, nothing is
# saved behind a test's back, and no request for news leaves the machine.
SETTINGS = json.loads((COURSE / "tools/lab_settings.json").read_text(encoding="utf-8"))
SETTINGS |= {
    "@jupyterlab/notebook-extension:tracker": {
        "windowingMode": "none",
        "scrollPastEnd": False,
    },
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
    },
}


@dataclass
class Server:
    """Where JupyterLab answers, and the folder that it shows."""

    url: str
    token: str
    root: Path
    progress: Path  # the file that COURSE_PROGRESS names


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment(folder):
    """Return variables with which nothing of the user's own Jupyter is read or written."""
    own = {
        "COURSE_PACE": "0.2",  # pages are looked at, and no time is
        "COURSE_PROGRESS": folder / "progress.json",
        "IPYTHONDIR": folder / "ipython",
    }
    for name in ("config", "data", "runtime"):
        own[f"JUPYTER_{name.upper()}_DIR"] = folder / name
    unwanted = ("JUPYTER_", "JUPYTERLAB_", "MPLBACKEND", "PYTEST_")
    unset = {key: None for key in os.environ if key.startswith(unwanted)}
    return unset | {"JUPYTER_PREFER_ENV_PATH": "1"} | own


def wait_until_up(server, process):
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(
                f"{server.url}/api/status?token={server.token}", timeout=5
            )
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError("\n".join(["JupyterLab did not start:", *process.errors]))


@contextmanager
def running(folder):
    """Start JupyterLab on a copy of the course below `folder`; stop it at the end for
    certain.
    """
    root = folder / "course"
    port = free_port()
    token = secrets.token_hex(16)
    skip = shutil.ignore_patterns(".ipynb_checkpoints")
    shutil.copytree(COURSE / "notebooks", root / "notebooks", ignore=skip)
    server = Server(f"http://127.0.0.1:{port}", token, root, folder / "progress.json")
    options = ["--no-browser", "--expose-app-in-browser", "--allow-root"]
    options += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
    options += [f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={root}"]
    options += ["--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    options += [f"--LabApp.app_settings_dir={folder}"]
    (folder / "overrides.json").write_text(json.dumps(SETTINGS))
    program = Path(sysconfig.get_path("scripts")) / "jupyter-lab"
    process = processes.start(processes.script(program, *options), environment(folder))
    threading.Thread(
        target=list, args=[processes.watch([process])], daemon=True
    ).start()
    try:
        wait_until_up(server, process)
        yield server
    finally:
        processes.stop([process], grace=30)  # the server takes its kernels along
